"""CREATE TABLE for a topic or a recording of it, from what its records look like."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from arroyo_nb.connectors import CONNECTORS, format_options
from arroyo_nb.kafka.peek.guess import UNREAD, Guess
from arroyo_nb.plan.tables.create_table import BAD_DATA
from arroyo_nb.plan.tables.render_ddl import (
    written_columns,
    written_event_time,
    written_name,
    written_table,
    written_type,
)
from arroyo_nb.schema import Field
from arroyo_nb.schema_registry import API_SECRET, CLIENT_OPTIONS
from arroyo_nb.with_options import REFERENCE

if TYPE_CHECKING:
    from arroyo_nb.catalog import ConnectorTable


def create_table(servers: str, topic: str, guess: Guess) -> str:
    """A statement that declares the topic as a source, from its beginning.

    Parameters
    ----------
    servers
        Where its broker is.
    topic
        Its name; that of the table is made from it.
    guess
        What it holds.
    """
    options = {
        "connector": "kafka",
        "bootstrap_servers": servers,
        "topic": topic,
        "type": "source",
        "source.offset": "earliest",
    }
    return _declared(topic, options, guess, live=True)


def feed_table(name: str, options: Mapping[str, str], guess: Guess) -> str:
    """A statement that declares a feed as a source.

    Parameters
    ----------
    name
        What the name of the table is made from.
    options
        How it is connected to.
    guess
        What it gives.
    """
    if CONNECTORS.get(options["connector"]).info.typed:
        options = {**options, "type": "source"}
    return _declared(name, options, guess, live=True)


def tape_table(topic: str, path: str, guess: Guess) -> str:
    """A statement that declares a recording of a topic as a source."""
    options = {"connector": "tape", "path": path}
    return _declared(topic, options, guess)


def tape_table_like(table: ConnectorTable, path: str) -> str:
    """A statement that declares a recording of a table's topic as that table was."""
    options = {"connector": "tape", "path": path, **written_event_time(table)}
    connector, format_ = CONNECTORS.get("tape"), str(table.format)
    options_of = format_options(connector, format_)
    defaults = {o.name: o.default if o.fills_in else None for o in options_of}
    defaults[BAD_DATA.name] = BAD_DATA.default
    for name in ("format", *defaults, *CLIENT_OPTIONS):
        value = table.spec.options.get(name)
        if value == defaults.get(name):
            continue
        # What is printed here has no password in it.
        is_secret = name == API_SECRET and not REFERENCE.search(str(value))
        if not is_secret:
            options[name] = (
                str(value).lower() if isinstance(value, bool) else str(value)
            )
    return written_table(written_name(table.name), written_columns(table), options)


def _declared(
    topic: str, options: Mapping[str, str], guess: Guess, *, live: bool = False
) -> str:
    if not guess.fields:  # only a schema registry knows its columns
        guess = UNREAD
    columns = [_column(field, field.name in guess.key) for field in guess.fields]
    columns += _event_time(guess)
    options = {**options, "format": guess.format, **guess.options}
    if guess.columns:
        # What comes later to a topic nobody has seen: it ends no run.
        options["bad_data"] = "drop" if guess.odd or live else "fail"
    return written_table(written_table_name(topic), columns, options)


def _event_time(guess: Guess) -> list[str]:
    """The watermark, and the column that it is for: a generated one for a number."""
    time = guess.event_time
    if time is None:
        return []
    column = instant = written_name(time.name)
    generated = []
    if time.times:
        taken = {field.name.lower() for field in guess.fields}
        column = next(name for name in _event_time_names() if name not in taken)
        instant = f"to_timestamp_{time.times}({instant})"
        generated = [f"{column} TIMESTAMP GENERATED ALWAYS AS ({instant}) STORED"]
    # The expression of a watermark is over what is read, not over generated columns.
    delay = _delay(time.disorder)
    return [*generated, f"WATERMARK FOR {column} AS {instant} - INTERVAL '{delay}'"]


def _event_time_names() -> Iterator[str]:
    yield "event_time"
    yield from map("event_time_{}".format, itertools.count(2))


_DELAYS: Mapping[str, timedelta] = {
    "5 seconds": timedelta(seconds=5),
    "30 seconds": timedelta(seconds=30),
    "1 minute": timedelta(minutes=1),
    "5 minutes": timedelta(minutes=5),
    "15 minutes": timedelta(minutes=15),
    "1 hour": timedelta(hours=1),
    "6 hours": timedelta(hours=6),
    "1 day": timedelta(days=1),
}
"""What a watermark may stay behind by, as it is written."""


def _delay(disorder: timedelta) -> str:
    """The least of the delays that no record of the sample came later than."""
    fitting = (text for text, delay in _DELAYS.items() if disorder <= delay)
    return next(fitting, f"{disorder.days + 1} days")


def _column(field: Field, is_key: bool) -> str:
    # A changelog's row is known by its key, which is never NULL.
    ends = " NOT NULL" if is_key or not field.nullable else ""
    ends += " PRIMARY KEY" if is_key else ""
    return f"{written_name(field.name)} {written_type(field.type)}{ends}"


def written_table_name(topic: str) -> str:
    """A name for the table that needs no quotes, if any.

    >>> written_table_name("shop.Orders-v2")
    'shop_orders_v2'
    """
    name = re.sub(r"\W", "_", topic.lower(), flags=re.ASCII)
    return written_name(name if not name[:1].isdigit() else f"_{name}")
