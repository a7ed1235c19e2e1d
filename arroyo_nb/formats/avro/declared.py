"""A schema that a table declares beside its columns: whether it can give them, and
whether a sink of them would write by it."""

from __future__ import annotations

from arroyo_nb.formats.avro.columns import Misfit
from arroyo_nb.formats.avro.encode import record_schema
from arroyo_nb.formats.avro.schema import (
    AvroSchema,
    AvroType,
    SchemaFault,
    parse_schema,
)
from arroyo_nb.formats.avro.strict import DatumReader
from arroyo_nb.schema import Schema


def misfit_of(text: str, columns: Schema) -> str | None:
    """Why no record of a schema can be a row of the columns; None: some can.

    >>> misfit_of('"long"', Schema(()))
    'the Avro schema does not have the columns: a record is wanted, the schema has long'
    """
    try:
        DatumReader(parse_schema(text), columns.fields, None)
    except SchemaFault as fault:
        return f"the text is no Avro schema: {fault}"
    except Misfit as problem:
        return f"the Avro schema does not have the columns: {problem}"
    return None


def is_written_by(text: str, columns: Schema) -> bool:
    """Whether rows of the columns are the same bytes by a schema as by a sink's own.

    Raises
    ------
    RunProblem
        When the columns cannot be written.
    """
    try:
        given = parse_schema(text)
    except SchemaFault:
        return False
    own = parse_schema(record_schema(columns))
    return _is_alike(given, given.root, own, own.root)


def _is_alike(
    given: AvroSchema, one: AvroType, own: AvroSchema, other: AvroType
) -> bool:
    """Whether values of two types are the same bytes, and mean the same; what types are
    called is of no account."""
    one, other = given.resolved(one), own.resolved(other)
    if (one.kind, one.logical, one.scale) != (other.kind, other.logical, other.scale):
        return False
    if [f.name for f in one.fields] != [f.name for f in other.fields]:
        return False
    parts = [*one.inner, *(f.type for f in one.fields)]
    others = [*other.inner, *(f.type for f in other.fields)]
    return len(parts) == len(others) and all(
        _is_alike(given, part, own, same)
        for part, same in zip(parts, others, strict=True)
    )
