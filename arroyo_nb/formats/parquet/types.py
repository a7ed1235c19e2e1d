"""Which types of a file a declared type takes, and how the values become its own.

A conversion is exact: a value that the declared type does not hold is refused, with
two exceptions that SQL has too: a DOUBLE becomes the nearest FLOAT, and of a time its
microseconds are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from arroyo_nb.codecs.json_text import JsonText, json_text
from arroyo_nb.formats.json.strict import FIRST_DAY, FIRST_US, LAST_DAY, LAST_US
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    FLOAT,
    INT,
    INT_UNSIGNED,
    JSON,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Primitive,
    StructOf,
    Timestamp,
    Type,
    arrow_type,
)

if TYPE_CHECKING:
    import pyarrow as pa

_TEXTS = ("string", "large_string", "string_view")
_BYTES = ("binary", "large_binary", "binary_view", "fixed_size_binary")
_LISTS = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")

# Which of pyarrow's tests a type of a file passes for one that is declared.
_TAKEN = {
    "BOOLEAN": ("boolean",),
    "FLOAT": ("floating", "integer"),
    "DOUBLE": ("floating", "integer"),
    "TEXT": (*_TEXTS, *_BYTES, "date", "time"),
    "BYTEA": (*_BYTES, *_TEXTS),
    "DATE": ("date",),
    "TIME": ("time",),
    "INTERVAL": ("duration",),
    "NULL": ("null",),
    "BIGINT": ("integer", "decimal", "duration"),
}
_INTEGERS = ("integer", "decimal")

_MOST_DIGITS = 38
_PER_S = {"s": 1, "ms": 10**3, "us": 10**6}


class Misfit(Exception):
    """Some of the values do not fit into the type."""


def takes(wanted: Type, found: pa.DataType, *, may_lack: bool = False) -> bool:
    """Whether values of a type of a file can be those of a declared type; ``may_lack``:
    also where a STRUCT has no field that may be NULL."""
    import pyarrow.types as kinds

    if wanted == JSON:
        return True
    found = _storage(found, wanted)
    # Whatever a column of nothing but NULLs was to be, its writer did not know either.
    if kinds.is_null(found):
        return True
    match wanted:
        case Timestamp():
            return bool(kinds.is_timestamp(found) or kinds.is_date(found))
        case Decimal():
            return bool(kinds.is_decimal(found) or kinds.is_integer(found))
        case ListOf(StructOf((key, value))) if kinds.is_map(found):
            return takes(key.type, found.key_type, may_lack=may_lack) and takes(
                value.type, found.item_type, may_lack=may_lack
            )
        case ListOf(element):
            return _is_any(found, _LISTS) and takes(
                element, found.value_type, may_lack=may_lack
            )
        case StructOf(fields):
            if not kinds.is_struct(found):
                return False
            there = {field.name: field.type for field in found}
            return all(
                takes(f.type, there[f.name], may_lack=may_lack)
                if f.name in there
                else may_lack and f.nullable
                for f in fields
            )
        case Primitive(name):
            return _is_any(found, _TAKEN.get(name, _INTEGERS))


def declared_type(found: pa.DataType) -> Type:
    """The type to declare for values of a type of a file; JSON where SQL has none that
    takes every one."""
    import pyarrow.types as kinds

    if _is_extension(found, _JSON):
        return JSON
    if _is_extension(found, _UUID):
        return TEXT
    found = _storage(found, JSON)
    if _is_any(found, (*_TEXTS, "time")):
        return TEXT
    if kinds.is_boolean(found):
        return BOOLEAN
    if kinds.is_integer(found):
        wide = found.bit_width > (16 if kinds.is_unsigned_integer(found) else 32)
        if kinds.is_unsigned_integer(found) and wide:
            return BIGINT_UNSIGNED if found.bit_width == 64 else INT_UNSIGNED
        return BIGINT if wide else INT
    if kinds.is_floating(found):
        return DOUBLE if kinds.is_float64(found) else FLOAT
    if kinds.is_decimal(found):
        # One of more digits is a number of JSON, which has any number of them.
        fits = found.precision <= _MOST_DIGITS
        return Decimal(found.precision, found.scale) if fits else JSON
    if kinds.is_timestamp(found) or kinds.is_date(found):
        return Timestamp()
    if kinds.is_duration(found):
        return BIGINT
    if _is_any(found, _BYTES):
        return BYTEA
    if kinds.is_map(found):
        key = Field("key", declared_type(found.key_type))
        return ListOf(StructOf((key, Field("value", declared_type(found.item_type)))))
    if _is_any(found, _LISTS):
        return ListOf(declared_type(found.value_type))
    if kinds.is_struct(found) and found.num_fields:
        return StructOf(tuple(Field(f.name, declared_type(f.type)) for f in found))
    return TEXT if kinds.is_null(found) else JSON


def convert(values: pa.Array, type_: Type) -> pa.Array:
    """Values of a file in a declared type, which :func:`takes` them.

    Raises
    ------
    Misfit, pa.ArrowInvalid
        When one of them does not fit.
    """
    import pyarrow as pa
    import pyarrow.types as kinds

    found = values.type
    if type_ == JSON and not _is_any(_storage(found, JSON), _TEXTS):
        return _json_texts(values)
    if type_ == TEXT and _is_extension(found, _UUID):
        written = values.storage.to_pylist()
        texts = (None if one is None else str(UUID(bytes=one)) for one in written)
        return pa.array(texts, pa.string())
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if kinds.is_dictionary(found):
        values = values.cast(found.value_type)
    if kinds.is_null(found):
        return pa.nulls(len(values), arrow_type(type_))
    match type_:
        case ListOf(element):
            return _list(values, element)
        case StructOf(fields):
            return _struct(values, fields)
        case _:
            return _scalars(values, type_)


def _list(values: pa.Array, element: Type) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    if kinds.is_map(values.type):
        assert isinstance(element, StructOf)
        key, value = (field.name for field in element.fields)
        entry = [
            pa.field(key, values.type.key_type, nullable=False),
            pa.field(value, values.type.item_type),
        ]
        values = values.cast(pa.list_(pa.struct(entry)))
    elif not kinds.is_list(values.type):
        values = values.cast(pa.list_(values.type.value_type))
    lengths = values.value_lengths().fill_null(0).cast("int32")
    ends = pc.cumulative_sum(lengths)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    # Flattened is what the lists of this slice have: their buffer may have more.
    elements = convert(values.flatten(), element)
    return pa.ListArray.from_arrays(
        offsets, elements, arrow_type(ListOf(element)), mask=values.is_null()
    )


def _struct(values: pa.Array, fields: tuple[Field, ...]) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    there = {field.name for field in values.type}
    parts = [
        convert(pc.struct_field(values, f.name), f.type)
        if f.name in there
        else pa.nulls(len(values), arrow_type(f.type))
        for f in fields
    ]
    for field, part in zip(fields, parts, strict=True):
        if not field.nullable and part.null_count > values.null_count:
            raise Misfit(field.name)
    inner = list(arrow_type(StructOf(fields)))
    return pa.StructArray.from_arrays(parts, fields=inner, mask=values.is_null())


def _scalars(values: pa.Array, type_: Type) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    found, wanted = values.type, arrow_type(type_)
    if kinds.is_date(found):
        _check_range(values.cast("date32").cast("int32"), FIRST_DAY, LAST_DAY)
    if kinds.is_time(found) and type_ == TEXT:
        return _clock_texts(values)
    if kinds.is_duration(found):
        values = _cast(values, pa.duration("us"))
        if type_ == BIGINT:
            return values.cast("int64")
    if kinds.is_integer(found) and kinds.is_decimal(wanted):
        # Arrow asks for a precision that holds any such integer, not these ones.
        values = values.cast(pa.decimal256(76, wanted.scale))
    if _is_any(found, _BYTES) and type_ == TEXT:
        values = values.cast("binary")
    made = _cast(values, wanted)
    if kinds.is_timestamp(wanted):
        if kinds.is_timestamp(found) and found.unit == "ns":
            made = _floored(made, values)
        _check_range(made.cast("int64"), FIRST_US, LAST_US)
    if kinds.is_float32(wanted) and not kinds.is_float32(found):
        finite = pc.is_finite(values.cast("float64"))
        if pc.any(pc.and_(finite, pc.is_inf(made))).as_py():
            raise Misfit("a number beyond FLOAT")
    return made


def _cast(values: pa.Array, type_: pa.DataType) -> pa.Array:
    import pyarrow.compute as pc

    # Nanoseconds are cut: Spark keeps microseconds.
    options = pc.CastOptions(target_type=type_, allow_time_truncate=True)
    return pc.cast(values, options=options)


def _floored(made: pa.Array, found: pa.Array) -> pa.Array:
    """Instants of microseconds, none of them after its nanoseconds: Arrow cuts
    towards 1970."""
    import pyarrow.compute as pc

    count = made.cast("int64")
    is_after = pc.greater(pc.multiply(count, 1000), found.cast("int64"))
    return pc.subtract(count, is_after.cast("int64")).cast(made.type)


def _check_range(numbers: pa.Array, first: int, last: int) -> None:
    import pyarrow.compute as pc

    ends = pc.min_max(numbers).as_py()
    if ends["min"] is not None and not first <= ends["min"] <= ends["max"] <= last:
        raise Misfit("a time that cannot be shown")


def _clock_texts(values: pa.Array) -> pa.Array:
    """Times of day, as SQL writes them: a fraction of 3 or 6 digits, where there is
    one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = _cast(values, pa.time64("us")).cast("string")
    texts = pc.replace_substring_regex(texts, r"\.0+$", "")
    return pc.replace_substring_regex(texts, r"(\.\d{3})000$", r"\1")


def _json_texts(values: pa.Array) -> pa.Array:
    """Values as texts of JSON, as a sink would write them."""
    import pyarrow as pa

    found, type_ = values.type, declared_type(values.type)
    rows = (_plain(values) if type_ == JSON else convert(values, type_)).to_pylist()
    documents = (_document(row, found) for row in rows)
    texts = (None if one is None else json_text(one) for one in documents)
    return pa.array(texts, pa.string())


def _document(value: Any, found: pa.DataType) -> Any:
    """A converted value as one whose JSON is that of the value in the file."""
    import pyarrow.types as kinds

    if value is None:
        return None
    if found.num_fields == 0:
        if kinds.is_date(found):
            return value.date()
        is_document = _is_extension(found, _JSON)
        return JsonText(value) if is_document else value
    if kinds.is_map(found):
        pairs = ((entry["key"], entry["value"]) for entry in value)
        return {
            key if isinstance(key, str) else json_text(key): _document(
                one, found.item_type
            )
            for key, one in pairs
        }
    if kinds.is_struct(found):
        return {field.name: _document(value[field.name], field.type) for field in found}
    return [_document(one, found.value_type) for one in value]


def _plain(values: pa.Array) -> pa.Array:
    """Values of a type that SQL has not, such as a decimal of 50 digits."""
    import pyarrow as pa

    return values.storage if isinstance(values, pa.ExtensionArray) else values


def _storage(found: pa.DataType, wanted: Type) -> pa.DataType:
    """The type that holds the values of a type of a file."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if isinstance(found, pa.BaseExtensionType):
        # The bytes of a UUID are no text.
        as_text = _is_extension(found, _UUID) and wanted == TEXT
        return pa.string() if as_text else found.storage_type
    return found.value_type if kinds.is_dictionary(found) else found


_UUID, _JSON = "arrow.uuid", "arrow.json"


def _is_extension(found: pa.DataType, name: str) -> bool:
    import pyarrow as pa

    is_extension = isinstance(found, pa.BaseExtensionType)
    return is_extension and found.extension_name == name


def _is_any(found: pa.DataType, tests: tuple[str, ...]) -> bool:
    import pyarrow.types as kinds

    return any(getattr(kinds, f"is_{test}")(found) for test in tests)
