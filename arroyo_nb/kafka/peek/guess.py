"""What a topic's records look like: their format and their columns.

It is a guess from a sample, for a person to correct, and goes by the majority: records
that are of another kind, or have a value of another type, are counted as odd.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, NamedTuple

from arroyo_nb.kafka.peek.column_types import (
    Document,
    GuessedColumn,
    Numbered,
    guess_columns,
    likely_event_time,
)
from arroyo_nb.schema import BIGINT, BYTEA, TEXT, Field

AVRO = "avro"

REGISTRY = b"\0"
"""Where a schema registry is used a record begins with this, and four bytes more."""

REGISTRY_BYTES = 5


_READ_OPS = frozenset("crud")
"""What a change may be that is read; another tells that a table was emptied, or
nothing of a row."""

_CONTROL = re.compile(r"[^\t\n\f\r\x1b\x20-\x7e\x85\xa0-\U0010ffff]")
"""What no text has; a terminal's colors begin with ESC."""


class Guess(NamedTuple):
    """What was found.

    Attributes
    ----------
    format
        As the dialect calls it.
    fields
        The columns; one that has a value in every record is NOT NULL.
    options
        What the format needs besides.
    key
        Names of the columns that name a row, of a changelog.
    event_time
        The column that is likely the event time; None: there is none.
    columns
        What is known of each column.
    records
        How many the sample has, tombstones not counted.
    odd
        Which of them are not like the others, by their place in the sample.
    """

    format: str
    fields: tuple[Field, ...]
    options: Mapping[str, str] = {}
    key: frozenset[str] = frozenset()
    event_time: GuessedColumn | None = None
    columns: tuple[GuessedColumn, ...] = ()
    records: int = 0
    odd: tuple[int, ...] = ()


UNREAD = Guess("raw_bytes", (Field("value", BYTEA),))
"""A table of records as they are."""


def guess(values: Iterable[bytes | None], keys: Iterable[bytes | None] = ()) -> Guess:
    """The format and the columns of a sample of records.

    >>> guess([b'{"id": 1, "name": "a"}', b'{"id": 2.5}']).fields[0].type.name
    'DOUBLE'
    >>> guess([b"hello"]).format
    'raw_string'

    Parameters
    ----------
    values
        The records, in the order in which they came; what was deleted is None.
    keys
        Their keys.
    """
    sample = [(n, value) for n, value in enumerate(values) if value is not None]
    found = _of_sample(sample, keys)
    # Only the registry knows the columns of Avro.
    if not found.fields and found.format != AVRO:
        found = _of_whole_records(sample)
    fitting = set(found.odd)
    return found._replace(
        records=len(sample), odd=tuple(n for n, _ in sample if n not in fitting)
    )


def _of_sample(
    sample: Sequence[tuple[int, bytes]], keys: Iterable[bytes | None]
) -> Guess:
    """The guess; its odd records are not those but the fitting ones."""
    registered = [(n, value) for n, value in sample if _is_registered(value)]
    if _are_most(registered, sample):
        bodies = _objects((n, value[REGISTRY_BYTES:]) for n, value in registered)
        if not _are_most(bodies, registered):
            numbers = tuple(n for n, _ in registered)
            options = {"avro.confluent_schema_registry": "true"}
            return Guess(AVRO, (), options, odd=numbers)
        return _of_documents(bodies, keys, {"json.confluent_schema_registry": "true"})
    documents = _objects(sample)
    if _are_most(documents, sample):
        return _of_documents(documents, keys, {})
    return _of_whole_records(sample)


def _of_whole_records(sample: Sequence[tuple[int, bytes]]) -> Guess:
    """The guess where no record has a field that can be a column: it is one itself."""
    texts = tuple(n for n, value in sample if _is_text(value))
    if _are_most(texts, sample):
        return Guess("raw_string", (Field("value", TEXT),), odd=texts)
    return UNREAD._replace(odd=tuple(n for n, _ in sample))


def _are_most(some: Sized, of: Sized) -> bool:
    return 2 * len(some) > len(of)


def _is_registered(value: bytes) -> bool:
    return value.startswith(REGISTRY) and len(value) > REGISTRY_BYTES


def _is_text(value: bytes) -> bool:
    # Protobuf and the like are often UTF-8 by chance, but have control characters.
    try:
        return _CONTROL.search(value.decode("utf-8")) is None
    except UnicodeDecodeError:
        return False


def _objects(values: Iterable[tuple[int, bytes]]) -> Numbered:
    """Those of the values that are JSON objects to the reader of a table."""
    found: Numbered = []
    for number, value in values:
        try:
            text = value.decode("utf-8-sig")
            document = _parse(text)
            if "\\u" in text:  # half a surrogate pair is no text
                json.dumps(document, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            found.append((number, document))
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON value")


_parse = json.JSONDecoder(parse_constant=_no_constant).decode


def _of_documents(
    documents: Numbered, keys: Iterable[bytes | None], options: Mapping[str, str]
) -> Guess:
    wrapped = [(n, document) for n, document in documents if _is_envelope(document)]
    if _are_most(wrapped, documents):
        options = {**options, "json.include_schema": "true"}
        documents = [(n, _content(document)) for n, document in wrapped]
    changes = [(n, document) for n, document in documents if _is_change(document)]
    if _are_most(changes, documents):
        changelog = _of_changes(changes, keys, options)
        # The dialect has no changelog without a key.
        if changelog.key:
            return changelog
    columns, fitting = guess_columns(documents)
    fields = tuple(Field(c.name, c.type, nullable=c.nulls > 0) for c in columns)
    time = likely_event_time(columns)
    return Guess("json", fields, options, event_time=time, columns=columns, odd=fitting)


def _of_changes(
    changes: Numbered, keys: Iterable[bytes | None], options: Mapping[str, str]
) -> Guess:
    rows = [
        (n, document[side])
        for n, document in changes
        for side in ("before", "after")
        if isinstance(document.get(side), dict)
    ]
    columns, fitting = guess_columns(rows)
    told = ((0, key) for key in keys if key)
    named = {name for _, key in _objects(told) for name in _content(key)}
    if not named & {column.name for column in columns}:
        named = _likely_key(columns, changes)
    rows_of, fitting_of = Counter(n for n, _ in rows), Counter(fitting)
    known = tuple(
        n
        for n, document in changes
        if str(document["op"]) in _READ_OPS and rows_of[n] == fitting_of[n]
    )
    # Of a row before, a database may tell its key alone: nothing else is NOT NULL.
    return Guess(
        "debezium_json",
        tuple(Field(column.name, column.type) for column in columns),
        options,
        frozenset(column.name for column in columns if column.name in named),
        columns=columns,
        odd=known,
    )


def _likely_key(columns: Iterable[GuessedColumn], changes: Numbered) -> set[str]:
    """The first column that tells the rows of the sample apart that were created."""
    created = [
        document["after"]
        for _, document in changes
        if document["op"] in ("c", "r") and isinstance(document.get("after"), dict)
    ]
    for column in columns:
        values = [repr(row.get(column.name)) for row in created]
        is_distinct = len(set(values)) == len(values)
        if is_distinct and not column.nulls and column.type in (BIGINT, TEXT):
            return {column.name}
    return set()


def _is_envelope(document: Document) -> bool:
    """Whether it is what Kafka Connect writes where it writes schemas too."""
    return set(document) == {"schema", "payload"}


def _content(document: Document) -> Document:
    payload = document["payload"] if _is_envelope(document) else document
    return payload if isinstance(payload, dict) else {}


def _is_change(document: Document) -> bool:
    return "op" in document and bool({"before", "after"} & set(document))


def rows_of_records(values: Iterable[bytes]) -> Iterator[Document]:
    """What JSON records say, each a row: of a document with its schema beside it the
    payload, of a change the rows before and after; what is no object is passed over."""
    for document in documents_of_records(values):
        content = _content(document)
        if not _is_change(content):
            yield content
            continue
        for side in ("before", "after"):
            if isinstance(row := content.get(side), dict):
                yield row


def documents_of_records(values: Iterable[bytes]) -> Iterator[Document]:
    """The JSON objects that records are; what is none is passed over."""
    for value in values:
        body = value[REGISTRY_BYTES:] if _is_registered(value) else value
        for _, document in _objects([(0, body)]):
            yield document
