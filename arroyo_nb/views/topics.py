"""Topics of a broker: a list of them, and a look into one, or into a feed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from arroyo_nb.formats import FORMATS
from arroyo_nb.kafka.peek.guess import Guess
from arroyo_nb.kafka.peek.topics import Topic, TopicRecord
from arroyo_nb.schema import EPOCH
from arroyo_nb.views.formatting import count, escaped, lines, plain
from arroyo_nb.views.listing import listing

RECORDS = 5
"""How many of the newest records are shown."""

VALUE_CHARS = 160
TITLE_CHARS = 300
STATEMENT_CHARS = 20_000

WHOLE_CHARS = 4_000
"""How much is shown of the record that is shown as a whole."""


def topics(found: Iterable[Topic]) -> dict[str, str]:
    """The topics as a MIME bundle."""
    rows = [(t.name, count(len(t.partitions)), count(t.records)) for t in found]
    return listing(("topic", "partitions", "records"), rows, nothing="no topic yet")


_ARRAYS = (
    "each record is a JSON array, which is read as a text; a query that makes a row of "
    "each element:"
)


class Peek(NamedTuple):
    """What a look into a topic or a feed found.

    Attributes
    ----------
    topic
        The topic; None: it is a feed, whose messages are records of one partition.
    records
        Its newest records, the oldest one first.
    guessed
        What they are taken for.
    statement
        Declares the table.
    rows
        How many records are listed.
    offered
        Whether the next cell has the statement.
    query
        What makes rows of the elements, where each record is a JSON array; else empty.
    """

    topic: Topic | None
    records: Sequence[TopicRecord]
    guessed: Guess
    statement: str
    rows: int = RECORDS
    offered: bool = False
    query: str = ""


def peek(found: Peek) -> dict[str, str]:
    """A topic, its newest records, one of them as a whole, what is known of their
    columns, and a table for them, as a MIME bundle."""
    parts = [] if found.topic is None else [_partitions(found.topic)]
    if found.records:
        shown = found.records[-found.rows :]
        parts.append(_messages(shown) if found.topic is None else _records(shown))
        parts += _whole(found)
        if found.guessed.columns:
            parts.append(_columns(found.guessed))
        parts.append(_statement(_looks_like(found), found.statement))
        if found.query:
            parts.append(_statement(_ARRAYS, found.query))
    return {
        "text/html": "".join(part.get("text/html", "") for part in parts),
        "text/plain": "\n\n".join(part["text/plain"] for part in parts),
    }


def _looks_like(found: Peek) -> str:
    guessed = found.guessed
    said = f"it looks like {guessed.format}"
    if guessed.format not in FORMATS.names:
        said += ", which is not read yet: its records are bytes"
    if guessed.odd:
        first = found.records[guessed.odd[0]]
        said += (
            f"; {count(len(guessed.odd))} of {count(guessed.records)} records do not, "
            f"the first is {_place(found, first)}"
        )
    place = ", in the next cell" if found.offered else ""
    return f"{said}; as a table{place}:"


def _whole(found: Peek) -> Iterator[dict[str, str]]:
    """The newest record of those that are alike, as a whole."""
    odd = set(found.guessed.odd)
    for number in reversed(range(len(found.records))):
        record = found.records[number]
        if record.value is not None and number not in odd:
            place = f"record {_place(found, record)}, as a whole:"
            yield _statement(place, _indented(record.value))
            return


def _place(found: Peek, record: TopicRecord) -> str:
    if found.topic is None:
        return str(record.offset)
    return f"{record.partition}:{record.offset}"


def _indented(value: bytes) -> str:
    try:
        text = json.dumps(json.loads(value), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = value.decode("utf-8", "backslashreplace")
    cut = text[:WHOLE_CHARS]
    more = len(text) - len(cut)
    return f"{cut}\n... {count(more)} characters more" if more else cut


def _columns(guessed: Guess) -> dict[str, str]:
    records = guessed.records - len(guessed.odd)
    rows = [
        (
            column.name,
            str(column.type),
            f"{column.nulls / max(records, 1):.0%}",
            _value(column.least),
            _value(column.most),
        )
        for column in guessed.columns
    ]
    columns = ("column", "type", "NULL", "least", "most")
    return listing(columns, rows, nothing="no column")


def _value(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:VALUE_CHARS]


def files(
    name: str, holds: str, rows: dict[str, str], statement: str, *, offered: bool
) -> dict[str, str]:
    """What files hold: their first rows, and a table for them, as a MIME bundle.

    Parameters
    ----------
    name, holds
        What they are called, and what was found in them.
    rows
        Their first rows.
    statement
        Declares the table.
    offered
        Whether the next cell has the statement.
    """
    place = ", in the next cell" if offered else ""
    declared = _statement(f"{name}: {holds}; as a table{place}:", statement)
    return {
        "text/html": f"{rows['text/html']}{declared['text/html']}",
        "text/plain": f"{rows['text/plain']}\n\n{declared['text/plain']}",
    }


def tape(statement: str) -> dict[str, str]:
    """A table for a tape, as a MIME bundle."""
    return _statement("as a table:", statement)


def _statement(title: str, statement: str) -> dict[str, str]:
    title = plain(title, TITLE_CHARS)
    text = "\n".join(plain(line, STATEMENT_CHARS) for line in statement.split("\n"))
    pre = f"<pre>{lines(statement, STATEMENT_CHARS)}</pre>"
    return {
        "text/html": f"<div>{escaped(title, TITLE_CHARS)}</div>{pre}",
        "text/plain": f"{title}\n{text}",
    }


def _partitions(topic: Topic) -> dict[str, str]:
    rows = [
        (str(p.number), count(p.first), count(p.next), count(p.records))
        for p in topic.partitions
    ]
    columns = ("partition", "first offset", "next offset", "records")
    return listing(columns, rows, nothing="no partition")


def _records(records: Sequence[TopicRecord]) -> dict[str, str]:
    rows = [
        (f"{r.partition}:{r.offset}", _time(r), _words(r.key), _words(r.value))
        for r in records
    ]
    return listing(("record", "time (UTC)", "key", "value"), rows, nothing="no record")


def _messages(records: Sequence[TopicRecord]) -> dict[str, str]:
    rows = [(str(r.offset), _time(r), _words(r.value)) for r in records]
    return listing(("record", "arrived (UTC)", "value"), rows, nothing="no message")


def _time(record: TopicRecord) -> str:
    if record.timestamp_ms is None:
        return ""
    try:
        moment = EPOCH + timedelta(milliseconds=record.timestamp_ms)
    except OverflowError:  # whoever writes a record chooses its time
        return str(record.timestamp_ms)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{record.timestamp_ms % 1000:03}"


def _words(data: bytes | None) -> str:
    """Bytes as text, else in hexadecimal; a null as nothing at all."""
    if data is None:
        return ""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return f"0x{data[:VALUE_CHARS].hex()}"
    return text[:VALUE_CHARS]
