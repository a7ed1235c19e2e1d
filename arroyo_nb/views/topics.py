"""Topics of a broker: a list of them, and a look into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from arroyo_nb.kafka.topics import Record, Topic
from arroyo_nb.schema import EPOCH
from arroyo_nb.views.listing import listing
from arroyo_nb.views.words import count, escaped, lines, plain

RECORDS = 5
"""How many of the newest records are shown."""

VALUE_CHARS = 160
STATEMENT_CHARS = 20_000


def topics(found: Iterable[Topic]) -> dict[str, str]:
    """The topics as a MIME bundle."""
    rows = [(t.name, count(len(t.partitions)), count(t.records)) for t in found]
    return listing(("topic", "partitions", "records"), rows, nothing="no topic yet")


def peek(
    topic: Topic, records: Sequence[Record], guessed: str, statement: str
) -> dict[str, str]:
    """A topic, its newest records and a table for it, as a MIME bundle.

    Parameters
    ----------
    records
        The oldest one first.
    guessed
        What their format seems to be.
    statement
        Declares the table.
    """
    parts = [_partitions(topic)]
    if records:
        parts.append(_records(records[-RECORDS:]))
        parts.append(_statement(f"it looks like {guessed}; as a table:", statement))
    return {
        "text/html": "".join(part.get("text/html", "") for part in parts),
        "text/plain": "\n\n".join(part["text/plain"] for part in parts),
    }


def tape(statement: str) -> dict[str, str]:
    """A table for a tape, as a MIME bundle."""
    return _statement("as a table:", statement)


def _statement(title: str, statement: str) -> dict[str, str]:
    title = plain(title)
    text = "\n".join(plain(line, STATEMENT_CHARS) for line in statement.split("\n"))
    pre = f"<pre>{lines(statement, STATEMENT_CHARS)}</pre>"
    return {
        "text/html": f"<div>{escaped(title)}</div>{pre}",
        "text/plain": f"{title}\n{text}",
    }


def _partitions(topic: Topic) -> dict[str, str]:
    rows = [
        (str(p.number), count(p.first), count(p.next), count(p.records))
        for p in topic.partitions
    ]
    columns = ("partition", "first offset", "next offset", "records")
    return listing(columns, rows, nothing="no partition")


def _records(records: Sequence[Record]) -> dict[str, str]:
    rows = [
        (f"{r.partition}:{r.offset}", _time(r), _words(r.key), _words(r.value))
        for r in records
    ]
    return listing(("record", "time (UTC)", "key", "value"), rows, nothing="no record")


def _time(record: Record) -> str:
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
