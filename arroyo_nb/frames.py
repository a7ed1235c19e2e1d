"""DataFrames of other libraries as Arrow rows and columns of the dialect, and rows by
key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arroyo_nb.catalog import LookupTable
from arroyo_nb.connectors import TableSpec
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INT_UNSIGNED,
    INTERVAL,
    SMALLINT,
    TEXT,
    TIME,
    TINYINT,
    Decimal,
    Field,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
    arrow_schema,
    check_visible,
)

if TYPE_CHECKING:
    import pyarrow as pa

_INDEX = "__index_level_"
"""What an index without a name is called where pandas hands over its rows."""


FRAME = "frame"
"""What stands for a connector where rows were handed in."""


def lookup_table(name: str, frame: Any, keys: Sequence[str]) -> LookupTable:
    """A lookup table of the rows of a DataFrame.

    Raises
    ------
    CatalogProblem
        When it is none, has no such key, or a column whose type SQL lacks.
    RunProblem
        When two rows have one key.
    """
    rows, schema = typed_rows(rows_of(frame))
    for column in schema.names:
        check_visible(column)
    for key in keys:
        if key not in schema:
            raise CatalogProblem(
                f"the DataFrame of '{name}' has no column '{key}'",
                hint=did_you_mean(key, schema.names),
            )
        if isinstance(schema[key].type, ListOf | StructOf):
            raise CatalogProblem(
                f"the key '{key}' of '{name}' is {schema[key].type}",
                hint="a key can be a number, a text, a time or a BOOLEAN",
            )
    if not keys:
        raise CatalogProblem(f"the lookup table '{name}' has no key")
    spec = TableSpec(name, schema, primary_key=tuple(keys))
    rows = keyed(rows, keys, name)
    return LookupTable(spec, FRAME, schema.names, rows=rows)


def gives_rows(value: Any) -> bool:
    """Whether a value of the notebook is a DataFrame."""
    # A class has the methods of its instances.
    methods = ("__arrow_c_stream__", "toArrow")
    return not isinstance(value, type) and any(hasattr(value, m) for m in methods)


def rows_of(frame: Any) -> pa.Table:
    """The rows of a DataFrame.

    Parameters
    ----------
    frame
        Of pandas, pyarrow, Polars, DuckDB or Spark: what gives Arrow. Spark's is
        computed. A named index of pandas is a column.

    Raises
    ------
    CatalogProblem
        When it is none, or Arrow cannot hold its columns.
    """
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    if not hasattr(frame, "__arrow_c_stream__"):
        raise CatalogProblem(
            f"a {type(frame).__name__} is not a DataFrame",
            hint="hand in one of pandas, pyarrow, Polars or Spark",
        )
    try:
        found = pa.table(frame)
    except (ValueError, TypeError) as error:
        # Arrow's errors of values are these too.
        raise CatalogProblem(
            f"the DataFrame cannot be read: {error}",
            hint="give each column a name of its own, and values of one type",
        ) from None
    return found.drop([name for name in found.column_names if name.startswith(_INDEX)])


def typed_rows(found: pa.Table) -> tuple[pa.Table, Schema]:
    """The rows with the types that columns of a table have.

    Raises
    ------
    CatalogProblem
        When a column's type has no counterpart.
    """
    import pyarrow as pa

    fields = []
    for field in found.schema:
        type_ = _type(field.type)
        if type_ is None:
            raise CatalogProblem(
                f"the column '{field.name}' is {field.type}, which is not a type of "
                "SQL",
                hint="convert it, or leave it out",
            )
        fields.append(Field(field.name, type_))
    schema = Schema(tuple(fields))
    # Finer than microseconds is cut off, as everywhere.
    columns = [
        column.cast(wanted.type, safe=not pa.types.is_temporal(wanted.type))
        for column, wanted in zip(found.columns, arrow_schema(schema), strict=True)
    ]
    return pa.table(columns, schema=arrow_schema(schema)), schema


def _type(found: pa.DataType) -> Type | None:
    import pyarrow as pa

    is_ = pa.types
    if is_.is_dictionary(found):
        return _type(found.value_type)
    if is_.is_timestamp(found):
        return Timestamp()
    if is_.is_decimal(found):
        return Decimal(found.precision, found.scale)
    if is_.is_list(found) or is_.is_large_list(found):
        element = _type(found.value_type)
        return None if element is None else ListOf(element)
    if is_.is_struct(found):
        parts = [(part.name, _type(part.type)) for part in found]
        fields = tuple(Field(name, type_) for name, type_ in parts if type_ is not None)
        return StructOf(fields) if len(fields) == len(parts) else None
    if is_.is_duration(found):
        return INTERVAL
    if is_.is_time(found):
        return TIME
    return _TYPES.get(str(found))


_TYPES: dict[str, Type] = {
    "bool": BOOLEAN,
    "int8": TINYINT,
    "int16": SMALLINT,
    "int32": INT,
    "int64": BIGINT,
    "uint8": Primitive("TINYINT UNSIGNED"),
    "uint16": Primitive("SMALLINT UNSIGNED"),
    "uint32": INT_UNSIGNED,
    "uint64": BIGINT_UNSIGNED,
    "halffloat": FLOAT,
    "float": FLOAT,
    "double": DOUBLE,
    "date32[day]": DATE,
    "date64[ms]": DATE,
    # A column of pandas that holds nothing has no type.
    **dict.fromkeys(("string", "large_string", "string_view", "null"), TEXT),
    **dict.fromkeys(("binary", "large_binary", "binary_view"), BYTEA),
}


def keyed(rows: pa.Table, keys: Sequence[str], table: str) -> pa.Table:
    """The rows that can be found by their key.

    Parameters
    ----------
    rows
        What was read.
    keys
        Columns; where one is NULL the row is never found, and left out.
    table
        What errors call it.

    Raises
    ------
    RunProblem
        When two rows have one key: which of them is meant nobody can tell.
    """
    import pyarrow.compute as pc

    for key in keys:
        rows = rows.filter(rows[key].is_valid())
    counts = rows.group_by(list(keys)).aggregate([([], "count_all")])
    twice = counts.filter(pc.greater(counts["count_all"], 1))
    if twice.num_rows:
        shown = ", ".join(f"{key} = {twice[key][0].as_py()!r}" for key in keys)
        number = twice["count_all"][0].as_py()
        raise RunProblem(
            f"the lookup table '{table}' has {number} rows of one key: {shown}",
            hint="a PRIMARY KEY is there once: choose one of the rows before",
        )
    return rows
