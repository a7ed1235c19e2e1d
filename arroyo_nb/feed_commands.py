"""``%arroyo peek URL``: a look into a feed, and a table for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlsplit

from arroyo_nb.feeds import Message
from arroyo_nb.feeds import peek as feeds
from arroyo_nb.formats import FRAMING, NEWLINE
from arroyo_nb.kafka.peek.array_query import array_query
from arroyo_nb.kafka.peek.create_table import feed_table, written_table_name
from arroyo_nb.kafka.peek.guess import Guess, guess
from arroyo_nb.kafka.peek.topics import TopicRecord
from arroyo_nb.run.interrupts import interruptible
from arroyo_nb.views import topics as views
from arroyo_nb.views.notebook import publish


def peek(
    url: str,
    options: Mapping[str, str],
    rows: int,
    offer: Callable[[str, str], bool],
) -> None:
    """Look into a feed, and guess a table for it, which the next cell has.

    Parameters
    ----------
    url
        Where it is.
    options
        Other WITH options, such as headers.
    rows
        How many messages are listed.
    offer
        Puts a statement into the next cell; False: it has done so before.
    """
    with interruptible() as check:
        found = feeds.peek(url, options, check=check, seconds=feeds.SAMPLE_S)
    records, declared, guessed = _guessed(found)
    if not records:
        text = f"no message came in {feeds.SAMPLE_S:g} s"
        publish({"text/plain": f"{text}; {found.hint}" if found.hint else text})
        return
    name = found.name or table_name(url)
    statement = feed_table(name, declared, guessed)
    query = ""
    if not guessed.columns:
        table = written_table_name(name)
        query = array_query(table, [record.value for record in records])
    offered = offer(" ".join((url, found.name)).strip(), statement)
    shown = views.Peek(None, records, guessed, statement, rows, offered, query)
    publish(views.peek(shown))


def _guessed(
    found: feeds.PeekedMessages,
) -> tuple[list[TopicRecord], Mapping[str, str], Guess]:
    """The records of the messages, the options of their table, and what they are: each
    message one, or each of its lines where only these have columns."""
    records = _records((m, m.payload) for m in found.messages)
    guessed = guess(record.value for record in records)
    if guessed.columns:
        return records, found.options, guessed
    lines = ((m, line) for m in found.messages for line in m.payload.splitlines())
    apart = _records((message, line) for message, line in lines if line.strip())
    of_lines = guess(record.value for record in apart)
    if not of_lines.columns:
        return records, found.options, guessed
    return apart, {**found.options, FRAMING.name: NEWLINE}, of_lines


def _records(payloads: Iterable[tuple[Message, bytes]]) -> list[TopicRecord]:
    return [
        TopicRecord(0, number, message.arrived_us // 1000, None, payload)
        for number, (message, payload) in enumerate(payloads, 1)
    ]


def table_name(url: str) -> str:
    """A name for the table of a URL: the last word of its path, else the host's name.

    >>> table_name("https://stream.example/v2/recent-changes?x=1")
    'recent-changes'
    >>> table_name("wss://prices.example")
    'prices'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "feed"
    words = re.findall(r"[A-Za-z][\w-]*", re.sub(r"\{\{.*?\}\}", "", parts.path))
    host = (parts.hostname or "").split(".")[0]
    return words[-1] if words else (host if host[:1].isalpha() else "feed")
