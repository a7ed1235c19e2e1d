"""What a topic's records look like: their format, their columns, a table for them.

It is a guess from a sample, for a person to correct. What has no single type in the
sample becomes a column of type JSON, which takes any value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from arroyo_nb.connectors import CONNECTORS, format_options
from arroyo_nb.plan.written import (
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
    HIDDEN_COLUMNS,
    JSON,
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

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_LONGS = range(-(2**63), 2**63)
_WIDER: Mapping[frozenset[Type | None], Type] = {
    frozenset((BIGINT, DOUBLE)): DOUBLE,
    frozenset((Timestamp(), TEXT)): TEXT,
}

Document: TypeAlias = dict[str, Any]


class Guess(NamedTuple):
    """What was found.

    Attributes
    ----------
    format
        As the dialect calls it.
    fields
        The columns.
    options
        What the format needs besides.
    key
        Names of the columns that name a row, of a changelog.
    """

    format: str
    fields: tuple[Field, ...]
    options: Mapping[str, str] = {}
    key: frozenset[str] = frozenset()


def guess(values: Iterable[bytes | None], keys: Iterable[bytes | None] = ()) -> Guess:
    """The format and the columns of a sample of records.

    >>> guess([b'{"id": 1, "name": "a"}', b'{"id": 2.5}']).fields[0].type.name
    'DOUBLE'
    >>> guess([b"hello"]).format
    'raw_string'

    Parameters
    ----------
    values
        The records; what was deleted is None.
    keys
        Their keys.
    """
    sample = [value for value in values if value is not None]
    if sample and all(map(_is_registered, sample)):
        bodies = _objects(value[REGISTRY_BYTES:] for value in sample)
        if not bodies:
            return Guess("avro", (), {"avro.confluent_schema_registry": "true"})
        return _of_documents(bodies, keys, {"json.confluent_schema_registry": "true"})
    if documents := _objects(sample):
        return _of_documents(documents, keys, {})
    if sample and all(map(_is_text, sample)):
        return Guess("raw_string", (Field("value", TEXT),))
    return Guess("raw_bytes", (Field("value", BYTEA),))


def _is_registered(value: bytes) -> bool:
    return value.startswith(REGISTRY) and len(value) > REGISTRY_BYTES


def _is_text(value: bytes) -> bool:
    try:
        return "\0" not in value.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _objects(values: Iterable[bytes | None]) -> list[Document]:
    """The values as JSON objects; none where one of them is something else."""
    found: list[Document] = []
    for value in values:
        try:
            document = json.loads(value or b"null")
        except (ValueError, RecursionError):
            return []
        if not isinstance(document, dict):
            return []
        found.append(document)
    return found


def _of_documents(
    documents: list[Document], keys: Iterable[bytes | None], options: Mapping[str, str]
) -> Guess:
    if all(_is_envelope(document) for document in documents):
        options = {**options, "json.include_schema": "true"}
    documents = [_content(document) for document in documents]
    if not all(map(_is_change, documents)):
        return Guess("json", _fields(documents), options)
    rows = [d[side] for d in documents for side in ("before", "after") if d.get(side)]
    fields = _fields(row for row in rows if isinstance(row, dict))
    named = {name for key in _objects(k for k in keys if k) for name in _content(key)}
    key = frozenset(field.name for field in fields if field.name in named)
    return Guess("debezium_json", fields, options, key)


def _is_envelope(document: Document) -> bool:
    """Whether it is what Kafka Connect writes where it writes schemas too."""
    return set(document) == {"schema", "payload"}


def _content(document: Document) -> Document:
    payload = document["payload"] if _is_envelope(document) else document
    return payload if isinstance(payload, dict) else {}


def _is_change(document: Document) -> bool:
    return "op" in document and bool({"before", "after"} & set(document))


def _fields(documents: Iterable[Document]) -> tuple[Field, ...]:
    """The columns, in the order in which they were first seen."""
    types: dict[str, Type | None] = {}
    for document in documents:
        for name, value in document.items():
            types[name] = _joined(types.get(name, NULL), _type_of(value))
    return tuple(
        Field(name, type_ if type_ is not None and _is_whole(type_) else JSON)
        for name, type_ in types.items()
        if name and name not in HIDDEN_COLUMNS
    )


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
    columns = [_column(field, field.name in found.key) for field in found.fields]
    options = {**options, "format": found.format, **found.options}
    return _create(_table(topic), columns, options)


def _create(name: str, columns: Sequence[str], options: Mapping[str, str]) -> str:
    listed = f" (\n{_lines(columns)}\n)" if columns else ""
    given = [f"{_option(key)} = {written_text(text)}" for key, text in options.items()]
    return f"CREATE TABLE {name}{listed} WITH (\n{_lines(given)}\n);"


def _lines(parts: Sequence[str]) -> str:
    return ",\n".join(f"    {part}" for part in parts)


def _column(field: Field, is_key: bool) -> str:
    # A changelog's row is known by its key, which is never NULL.
    ends = " NOT NULL PRIMARY KEY" if is_key else ""
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
