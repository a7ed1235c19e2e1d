"""What a topic's records look like: their format, their columns, a table for them.

It is a guess from a sample, for a person to correct, and goes by the majority: records
that are of another kind, or have a value of another type, are counted as odd. What has
no single type in most of the sample becomes a column of type JSON, which takes any
value.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from arroyo_nb.connectors import CONNECTORS, format_options
from arroyo_nb.formats import FORMATS
from arroyo_nb.plan.tables.render_ddl import (
    PLAIN_NAME,
    written_columns,
    written_event_time,
    written_name,
    written_text,
)
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    EPOCH,
    HIDDEN_COLUMNS,
    JSON,
    MICROSECOND,
    NULL,
    TEXT,
    Field,
    ListOf,
    StructOf,
    Timestamp,
    Type,
)

if TYPE_CHECKING:
    from arroyo_nb.catalog import ConnectorTable

REGISTRY = b"\0"
"""Where a schema registry is used a record begins with this, and four bytes more."""

REGISTRY_BYTES = 5

ODD_SHARE = 0.1
"""Values of another type make a column one of them when they are more; fewer are bad
data."""

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_LONGS = range(-(2**63), 2**63)
_WIDER: Mapping[frozenset[Type | None], Type] = {
    frozenset((BIGINT, DOUBLE)): DOUBLE,
    frozenset((Timestamp(), TEXT)): TEXT,
}

Document: TypeAlias = dict[str, Any]


class GuessedColumn(NamedTuple):
    """What a sample has of one field.

    Attributes
    ----------
    name
        Its name; a column has it too.
    type
        The type that takes its values.
    nulls
        In how many records it is NULL, or missing.
    least, most
        Of a number, a text, a truth value or a time as it is written; None: of another
        value, or of none.
    times
        The unit that its numbers count the time in since 1970; empty: they are none.
    disorder
        By how much a time lies before the newest one so far, at most; a few that are
        more than a year from the others are left out.
    """

    name: str
    type: Type
    nulls: int = 0
    least: Any = None
    most: Any = None
    times: str = ""
    disorder: timedelta = timedelta()


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

Numbered: TypeAlias = "list[tuple[int, Document]]"
"""Documents with their places in the sample."""


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
    if not found.fields and found.format in FORMATS.names:
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
            return Guess("avro", (), options, odd=numbers)
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
    try:
        return "\0" not in value.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _objects(values: Iterable[tuple[int, bytes]]) -> Numbered:
    """Those of the values that are JSON objects."""
    found: Numbered = []
    for number, value in values:
        try:
            document = json.loads(value)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            found.append((number, document))
    return found


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
    columns, fitting = _columns(documents)
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
    columns, _ = _columns(rows)
    told = ((0, key) for key in keys if key)
    named = {name for _, key in _objects(told) for name in _content(key)}
    if not named & {column.name for column in columns}:
        named = _likely_key(columns, changes)
    # Of a row before, a database may tell its key alone: nothing else is NOT NULL.
    return Guess(
        "debezium_json",
        tuple(Field(column.name, column.type) for column in columns),
        options,
        frozenset(column.name for column in columns if column.name in named),
        columns=columns,
        odd=tuple(n for n, _ in changes),
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


def _columns(documents: Numbered) -> tuple[tuple[GuessedColumn, ...], tuple[int, ...]]:
    """The columns, in the order in which they were first seen, and the places of the
    documents whose values are all of their types."""
    values: dict[str, dict[int, Any]] = {}
    for row, (_, document) in enumerate(documents):
        for name, value in document.items():
            if name and name not in HIDDEN_COLUMNS and value is not None:
                values.setdefault(name, {})[row] = value
            elif name and name not in HIDDEN_COLUMNS:
                values.setdefault(name, {})
    columns, odd = [], set()
    for name, found in values.items():
        type_, others = _majority(found)
        odd |= others
        fitting = {row: value for row, value in found.items() if row not in others}
        columns.append((name, type_, fitting))
    rows = [row for row in range(len(documents)) if row not in odd]
    described = tuple(
        _described(name, type_, [found.get(row) for row in rows])
        for name, type_, found in columns
    )
    return described, tuple(documents[row][0] for row in rows)


def _majority(values: Mapping[int, Any]) -> tuple[Type, set[int]]:
    """The type of most values, and those that are of another one, which are few."""
    types = {row: _type_of(value) for row, value in values.items()}
    counted = Counter(types.values()).most_common()
    allowed = len(types) * ODD_SHARE
    others: set[Type | None] = set()
    joined: Type | None = NULL
    for type_, count in counted:
        wider = _joined(joined, type_) if joined is not None else None
        is_wide = wider is None or (joined, wider) == (Timestamp(), TEXT)
        if is_wide and count <= allowed:
            allowed -= count
            others.add(type_)
        else:
            joined = wider
    odd = {row for row, type_ in types.items() if type_ in others}
    whole = joined is not None and _is_whole(joined)
    return (joined, odd) if joined is not None and whole else (JSON, set())


def _described(name: str, type_: Type, values: Sequence[Any]) -> GuessedColumn:
    there = [value for value in values if value is not None]
    found = GuessedColumn(name, type_, len(values) - len(there))
    if not there or isinstance(type_, ListOf | StructOf) or type_ == JSON:
        return found
    found = found._replace(least=min(there), most=max(there))
    unit = _unit(type_, found.least, found.most)
    if unit or isinstance(type_, Timestamp):
        instants = [_instant_us(value, unit) for value in there]
        found = found._replace(times=unit, disorder=_disorder(instants))
    return found


UNITS: Mapping[str, int] = {
    "seconds": 10**6,
    "millis": 10**3,
    "micros": 1,
}
"""The units of numbers that count a time, in microseconds: what the functions that read
them end with."""

_FIRST_US, _LAST_US = 631_152_000 * 10**6, 4_102_444_800 * 10**6
"""The years 1990 to 2099: numbers that lie there, in one of the units, may be times."""


def _unit(type_: Type, least: Any, most: Any) -> str:
    if type_ != BIGINT:
        return ""
    fitting = (
        unit
        for unit, us in UNITS.items()
        if least * us >= _FIRST_US and most * us <= _LAST_US
    )
    return next(fitting, "")


def _instant_us(value: Any, unit: str) -> int:
    if unit:
        return int(value * UNITS[unit])
    moment = datetime.fromisoformat(value)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // MICROSECOND


LONGEST_DISORDER = timedelta(days=366)
"""A column whose times are in more disorder is no event time."""

FAR_US = LONGEST_DISORDER // MICROSECOND
"""Times that are farther from the others are taken for wrong, where they are few."""


def _disorder(instants_us: Sequence[int]) -> timedelta:
    middle_us = sorted(instants_us)[len(instants_us) // 2]
    near = [us for us in instants_us if abs(us - middle_us) <= FAR_US]
    if len(instants_us) - len(near) <= ODD_SHARE * len(instants_us):
        instants_us = near
    newest = accumulate(instants_us, max)
    behind = (top - us for top, us in zip(newest, instants_us, strict=True))
    return timedelta(microseconds=max(behind))


_TIME_NAME = re.compile(
    r"time|stamp|(?:^|_)(?:ts|at|date|when|dt)(?:_|$)|[a-z](?:At|Ts|On)$|_(?:ms|us)$"
    r"|millis|micros|epoch"
)
_HAPPENED = re.compile(r"event|occur|happen|(?:^|_)(?:time|timestamp|ts)$|^at$")
_LATER = re.compile(r"updat|modif|process|ingest|expir|until|due|birth|load|end")


def time_unit(value: Any) -> str:
    """The unit in which a number counts a time since 1970; empty: it is none.

    >>> time_unit(1_700_000_000_123), time_unit("soon")
    ('millis', '')
    """
    if not isinstance(value, int) or isinstance(value, bool):
        return ""
    nanos = _FIRST_US * 1000 <= value <= _LAST_US * 1000
    return "nanos" if nanos else _unit(BIGINT, value, value)


def rows_of_records(values: Iterable[bytes]) -> Iterator[Document]:
    """What JSON records say, each a row: of a document with its schema beside it the
    payload, of a change the rows before and after; what is no object is passed over."""
    for value in values:
        body = value[REGISTRY_BYTES:] if _is_registered(value) else value
        for _, document in _objects([(0, body)]):
            content = _content(document)
            if not _is_change(content):
                yield content
                continue
            for side in ("before", "after"):
                if isinstance(row := content.get(side), dict):
                    yield row


def likely_event_time(columns: Iterable[GuessedColumn]) -> GuessedColumn | None:
    """The column that most likely says when something happened: always there, and by
    its name a time where it is a number."""
    there = [c for c in columns if not c.nulls and _may_be_time(c)]
    return max(there, key=_time_rank, default=None)


def _may_be_time(column: GuessedColumn) -> bool:
    named = _TIME_NAME.search(column.name) or _TIME_NAME.search(column.name.lower())
    is_time = isinstance(column.type, Timestamp) or bool(column.times and named)
    return is_time and column.disorder <= LONGEST_DISORDER


def _time_rank(column: GuessedColumn) -> tuple[bool, bool, bool]:
    name = column.name.lower()
    is_text = isinstance(column.type, Timestamp)
    return not _LATER.search(name), bool(_HAPPENED.search(name)), is_text


def _type_of(value: Any) -> Type | None:
    """The type of a JSON value; NULL of one that tells nothing, None: it has none."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int():
            return BIGINT if value in _LONGS else None
        case float():
            return DOUBLE
        case str():
            return Timestamp() if _is_time(value) else TEXT
        case list():
            nothing: Type | None = NULL
            element = reduce(_joined, map(_type_of, value), nothing)
            return None if element is None else ListOf(element)
        case _:
            return _struct({name: _type_of(inner) for name, inner in value.items()})


def _struct(types: Mapping[str, Type | None]) -> Type | None:
    known = {name: type_ for name, type_ in types.items() if type_ is not None}
    # Within a struct there is no type for any JSON value, nor for an odd name.
    if len(known) < len(types) or not all(map(PLAIN_NAME.fullmatch, types)):
        return None
    return StructOf(tuple(Field(name, type_) for name, type_ in known.items()))


def _joined(left: Type | None, right: Type | None) -> Type | None:
    """The type that takes values of both."""
    match left, right:
        case _ if left == right or right == NULL:
            return left
        case _ if left == NULL:
            return right
        case ListOf(one), ListOf(other):
            element = _joined(one, other)
            return None if element is None else ListOf(element)
        case StructOf(some), StructOf(others):
            types: dict[str, Type | None] = {field.name: field.type for field in some}
            for field in others:
                types[field.name] = _joined(types.get(field.name, NULL), field.type)
            return _struct(types)
        case _:
            return _WIDER.get(frozenset((left, right)))


def _is_whole(type_: Type) -> bool:
    """Whether nothing in it is still unknown."""
    match type_:
        case ListOf(element):
            return _is_whole(element)
        case StructOf(fields):
            return bool(fields) and all(_is_whole(field.type) for field in fields)
        case _:
            return type_ != NULL


def _is_time(text: str) -> bool:
    if _TIME.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def create_table(servers: str, topic: str, found: Guess) -> str:
    """A statement that declares the topic as a source, from its beginning.

    Parameters
    ----------
    servers
        Where its broker is.
    topic
        Its name; that of the table is made from it.
    found
        What it holds.
    """
    options = {
        "connector": "kafka",
        "bootstrap_servers": servers,
        "topic": topic,
        "type": "source",
        "source.offset": "earliest",
    }
    return _declared(topic, options, found)


def tape_table(topic: str, path: str, found: Guess) -> str:
    """A statement that declares a recording of a topic as a source."""
    options = {"connector": "tape", "path": path}
    return _declared(topic, options, found)


def tape_table_like(table: ConnectorTable, path: str) -> str:
    """A statement that declares a recording of a table's topic as that table was."""
    options = {"connector": "tape", "path": path, **written_event_time(table)}
    connector, format_ = CONNECTORS.get("tape"), str(table.format)
    names = ["format", *(o.name for o in format_options(connector, format_))]
    for name in (*names, "bad_data"):
        if (value := table.spec.options.get(name)) is not None:
            options[name] = (
                str(value).lower() if isinstance(value, bool) else str(value)
            )
    return _create(written_name(table.name), written_columns(table), options)


def _declared(topic: str, options: Mapping[str, str], found: Guess) -> str:
    if found.format not in FORMATS.names:  # it is known, and not read yet
        found = UNREAD
    columns = [_column(field, field.name in found.key) for field in found.fields]
    columns += _event_time(found)
    options = {**options, "format": found.format, **found.options}
    if found.columns:
        options["bad_data"] = "drop" if found.odd else "fail"
    return _create(_table(topic), columns, options)


def _event_time(found: Guess) -> list[str]:
    """The watermark, and the column that it is for where that is made of a number."""
    time = found.event_time
    if time is None:
        return []
    column = instant = written_name(time.name)
    made = []
    if time.times:
        taken = {field.name.lower() for field in found.fields}
        column = next(name for name in _event_time_names() if name not in taken)
        instant = f"to_timestamp_{time.times}({instant})"
        made = [f"{column} TIMESTAMP GENERATED ALWAYS AS ({instant}) STORED"]
    # The expression of a watermark is over what is read, not over generated columns.
    delay = _delay(time.disorder)
    return [*made, f"WATERMARK FOR {column} AS {instant} - INTERVAL '{delay}'"]


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


def _create(name: str, columns: Sequence[str], options: Mapping[str, str]) -> str:
    listed = f" (\n{_lines(columns)}\n)" if columns else ""
    given = [f"{_option(key)} = {written_text(text)}" for key, text in options.items()]
    return f"CREATE TABLE {name}{listed} WITH (\n{_lines(given)}\n);"


def _lines(parts: Sequence[str]) -> str:
    return ",\n".join(f"    {part}" for part in parts)


def _column(field: Field, is_key: bool) -> str:
    # A changelog's row is known by its key, which is never NULL.
    ends = " NOT NULL" if is_key or not field.nullable else ""
    ends += " PRIMARY KEY" if is_key else ""
    return f"{written_name(field.name)} {field.type}{ends}"


def _option(key: str) -> str:
    return key if PLAIN_NAME.fullmatch(key) else written_text(key)


def _table(topic: str) -> str:
    """A name for the table that needs no quotes, if any.

    >>> _table("shop.Orders-v2")
    'shop_orders_v2'
    """
    name = re.sub(r"\W", "_", topic.lower(), flags=re.ASCII)
    return written_name(name if not name[:1].isdigit() else f"_{name}")
