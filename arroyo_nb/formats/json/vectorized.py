"""The fast reader of JSON records: Arrow reads a whole block of lines, or refuses.

It must never give other rows than the exact reader. So it refuses what Arrow reads
otherwise: two documents on a line, NaN, infinities; and it reads timestamps and
numbers in quotes as text, checks their form and converts them itself. A top-level
``null`` crashes Arrow's reader, so it is looked for before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from arroyo_nb.formats.json.decimals import (
    EITHER,
    NUMBER,
    NUMBERS,
    DecimalForms,
    decimals_of,
    either_of,
)
from arroyo_nb.formats.json.strict import (
    FIRST_DAY,
    FIRST_US,
    LAST_DAY,
    LAST_US,
    UNIT_NS,
    BadRecord,
    JsonNumber,
    is_deep,
    parse,
)
from arroyo_nb.schema import (
    Decimal,
    Field,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
    arrow_schema,
    arrow_type,
)
from arroyo_nb.tape import END_OF_TIME_US

if TYPE_CHECKING:
    import pyarrow as pa

_NUMERIC = frozenset(
    {"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"}
    | {f"{name} UNSIGNED" for name in ("TINYINT", "SMALLINT", "INT", "BIGINT")}
)
_PLAIN = _NUMERIC | {"BOOLEAN", "TEXT"}
_DAY = r"^[12][0-9]{3}-[0-9]{2}-[0-9]{2}$"

# What Arrow reads otherwise than the rules say: a line that does not begin with an
# object, a second document on a line, numbers that JSON does not have. A literal
# first makes a search ten times faster.
_ODD_BEGIN = re.compile(rb"^[ \t\r]*[^{ \t\r\n]", re.MULTILINE)
_SECOND = re.compile(rb"\}[ \t\r]*(?:\{|null)")
_ODD_NUMBER = re.compile(rb"(?:NaN|Inf|Infinity)[ \t\r\n]*[,\]}]")
_FILLED_LINE = re.compile(rb"^[ \t\r]*[^ \t\r\n]", re.MULTILINE)

_WHOLE = r"^-?(?:0|[1-9][0-9]*)$"
_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"
_EXPONENT = re.compile(rb"[:,\[]\s*-?[0-9][0-9.]*[eE](?:-[0-9]{2}|\+?[0-9]{3})")
"""A number of which Arrow 26 may make a wrong DECIMAL, or end the process."""
_DIGITS = r"^[-+0-9.]*$"
"""Texts that Arrow makes no wrong DECIMAL of, as it may of one with an exponent."""
_INSTANT = (
    r"^[12][0-9]{3}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"(?:\.[0-9]{1,9})?(?:Z|[-+][0-9]{2}(?::?[0-9]{2})?)?$"
)
_LONGEST_ZULU = len("2023-01-02T03:04:05.123456Z")
_NO_ZONE = r"^(.{10}[T ][0-9:]{8}(?:\.[0-9]+)?)$"


class BlockRefused(Exception):
    """The block must be read record by record."""


class BlockReader:
    """Reads blocks of lines of one schema.

    The first record chooses how a column is read: a number or a number in quotes, an
    instant as text or as a number. A block that mixes them is refused. Parameters are
    those of the exact reader.
    """

    def __init__(
        self,
        schema: Schema,
        event_time: str | None,
        forms: DecimalForms = NUMBERS,
    ) -> None:
        self._schema = schema
        self._event_time = event_time
        self._forms = forms
        self._has_decimals = any(has_decimals(field.type) for field in schema)
        self._suits = all(_is_suited(f.type, f.name, forms) for f in schema)

    def read(self, block: bytes) -> pa.Table | None:
        """The block's rows; None where it must be read record by record."""
        try:
            return self.read_like(block, first_record(block)) if self._suits else None
        except BadRecord:
            return None

    def read_like(self, block: bytes, first: Any) -> pa.Table | None:
        """The same, where columns are read as those of a given record."""
        if not self._suits or not isinstance(first, dict) or _is_odd(block):
            return None
        if self._has_decimals and _EXPONENT.search(block):
            return None
        # Arrow passes over what is not declared, however deep it is.
        if any(map(is_deep, block.split(b"\n"))):
            return None
        try:
            block.decode("utf-8")  # Arrow does not check the text that it skips
            rows = self._read(block, first)
            return self._converted(rows) if _is_complete(rows, block) else None
        except (BlockRefused, UnicodeDecodeError):
            return None

    def _read(self, block: bytes, first: Mapping[str, Any]) -> pa.Table:
        import pyarrow as pa
        from pyarrow import json

        names = self._schema.names
        types = [
            _read_type(f.type, first.get(f.name), f.name, self._forms)
            for f in self._schema
        ]
        try:
            return json.read_json(
                pa.BufferReader(block),
                # In one piece: a record over the end of a block is an error to Arrow.
                json.ReadOptions(use_threads=False, block_size=len(block) + 1),
                json.ParseOptions(
                    explicit_schema=pa.schema(zip(names, types, strict=True)),
                    unexpected_field_behavior="ignore",
                ),
            )
        except pa.ArrowInvalid as problem:
            raise BlockRefused from problem

    def _converted(self, rows: pa.Table) -> pa.Table:
        import pyarrow as pa

        columns = []
        for field in self._schema:
            column = _convert(field.type, rows[field.name], field.name, self._forms)
            required = not field.nullable or field.name == self._event_time
            if required and column.null_count:
                raise BlockRefused
            if field.name == self._event_time:
                _check_range(column, FIRST_US, END_OF_TIME_US - 1)
            columns.append(column)
        try:
            return pa.Table.from_arrays(columns, schema=arrow_schema(self._schema))
        except pa.ArrowInvalid as problem:
            raise BlockRefused from problem


def first_record(block: bytes) -> Any:
    """The first line that is not blank, parsed.

    Raises
    ------
    BadRecord
        When it is not JSON.
    """
    return parse(block.lstrip().split(b"\n", 1)[0])


def _is_odd(block: bytes) -> bool:
    if _SECOND.search(block) or (
        (b"NaN" in block or b"Inf" in block) and _ODD_NUMBER.search(block)
    ):
        return True
    # Counting is cheap: most blocks are never searched.
    plain_lines = block.startswith(b"{") + block.count(b"\n{")
    return plain_lines != _lines(block) and _ODD_BEGIN.search(block) is not None


def _lines(block: bytes) -> int:
    return block.count(b"\n") + (not block.endswith(b"\n"))


def _is_suited(type_: Type, path: str, forms: DecimalForms) -> bool:
    match type_:
        case Decimal(_, scale):
            # Bytes of numbers with another scale than the column's are converted by
            # the exact reader.
            return forms.form(path, scale) in (NUMBER, EITHER, scale)
        case Timestamp() | Primitive("DATE"):
            return True
        case StructOf(fields):
            # NOT NULL inside a value is left to the exact reader.
            return all(
                f.nullable and _is_suited(f.type, f"{path}.{f.name}", forms)
                for f in fields
            )
        case ListOf(element):
            return _is_plain(element) and _of_numbers(element, f"{path}[]", forms)
        case Primitive(name):
            return name in _PLAIN


def _is_plain(type_: Type) -> bool:
    """Whether Arrow reads it rightly by itself: what lies in a list is not converted.

    (1e39 is an infinite FLOAT to Arrow, and an instant has many forms.)
    """
    match type_:
        case Primitive(name):
            return name in _PLAIN and name != "FLOAT"
        case Decimal():
            return True
        case ListOf(element):
            return _is_plain(element)
        case StructOf(fields):
            return all(f.nullable and _is_plain(f.type) for f in fields)
        case _:
            return False


def _of_numbers(type_: Type, path: str, forms: DecimalForms) -> bool:
    """Whether texts of its DECIMALs are numbers."""
    match type_:
        case ListOf(element):
            return _of_numbers(element, f"{path}[]", forms)
        case StructOf(fields):
            return all(_of_numbers(f.type, f"{path}.{f.name}", forms) for f in fields)
        case Decimal(_, scale):
            return forms.form(path, scale) == NUMBER
        case _:
            return True


def has_decimals(type_: Type) -> bool:
    """Whether a value of the type has a DECIMAL in it."""
    match type_:
        case ListOf(element):
            return has_decimals(element)
        case StructOf(fields):
            return any(has_decimals(f.type) for f in fields)
        case _:
            return isinstance(type_, Decimal)


def _read_type(type_: Type, first: Any, path: str, forms: DecimalForms) -> pa.DataType:
    import pyarrow as pa

    match type_:
        case Timestamp():
            return pa.int64() if isinstance(first, JsonNumber) else pa.string()
        case Primitive("DATE"):
            return pa.int32() if isinstance(first, JsonNumber) else pa.string()
        case Primitive(name) if name in _NUMERIC and _is_quoted(first):
            return pa.string()
        case Decimal(_, scale) if forms.form(path, scale) != NUMBER:
            # After a number, Arrow would read the digits of a text as one too.
            return pa.string()
        case Decimal():
            return pa.string() if _is_quoted(first) else arrow_type(type_)
        case StructOf(fields):
            inner = first if isinstance(first, dict) else {}
            return pa.struct(
                (
                    f.name,
                    _read_type(f.type, inner.get(f.name), f"{path}.{f.name}", forms),
                )
                for f in fields
            )
        case _:
            return arrow_type(type_)


def _is_quoted(first: Any) -> bool:
    return isinstance(first, str) and not isinstance(first, JsonNumber)


def _convert(
    type_: Type, column: pa.ChunkedArray, path: str, forms: DecimalForms
) -> pa.ChunkedArray | pa.Array:
    import pyarrow as pa

    from arroyo_nb.changelog.keys import whole

    is_text = pa.types.is_string(column.type)
    try:
        match type_:
            case Timestamp(digits):
                return _instants(column) if is_text else _counted(column, digits)
            case Primitive("DATE"):
                return _cast(column, _DAY, type_) if is_text else _days(column)
            case Primitive("FLOAT" | "DOUBLE"):
                return _finite(_cast(column, _NUMBER, type_) if is_text else column)
            case Primitive(name) if name in _NUMERIC and is_text:
                return _cast(column, _WHOLE, type_)
            case Decimal(_, scale) if is_text:
                form, made = forms.form(path, scale), arrow_type(type_)
                if form == NUMBER:
                    return _cast(column, _DIGITS, type_)
                if form == EITHER:
                    found = either_of(whole(column), made, forms.plain)
                    if found is None:
                        raise BlockRefused
                    return found
                return decimals_of(whole(column), made)
            case StructOf(fields):
                return _struct(fields, whole(column), path, forms)
            case _:
                if has_decimals(type_):  # the reader lets more digits pass
                    column.validate(full=True)
                return column
    except pa.ArrowInvalid as problem:
        raise BlockRefused from problem


def _struct(
    fields: tuple[Field, ...],
    column: pa.StructArray,
    path: str,
    forms: DecimalForms,
) -> pa.StructArray:
    import pyarrow as pa

    from arroyo_nb.changelog.keys import whole

    return pa.StructArray.from_arrays(
        [
            whole(_convert(f.type, part, f"{path}.{f.name}", forms))
            for f, part in zip(fields, column.flatten(), strict=True)
        ],
        fields=list(arrow_type(StructOf(fields))),
        mask=column.is_null(),
    )


def _days(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    _check_range(column, FIRST_DAY, LAST_DAY)
    return column.cast(pa.date32())


def _cast(column: pa.ChunkedArray, form: str, type_: Type) -> pa.ChunkedArray:
    # Arrow's cast takes more than JSON has: 007 is a number to it.
    _check_form(column, form)
    return column.cast(arrow_type(type_))


def _finite(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    if pc.all(pc.is_finite(column)).as_py() is False:
        raise BlockRefused
    return column


def _counted(column: pa.ChunkedArray, digits: int) -> pa.ChunkedArray:
    """Instants from numbers in the column's unit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if digits == 9:
        # Arrow divides towards zero; an instant before the epoch must be floored.
        below = pc.if_else(pc.less(column, 0), 999, 0)
        column = pc.divide(pc.subtract_checked(column, below), 1000)
    else:
        column = pc.multiply_checked(column, UNIT_NS[digits] // 1000)
    _check_range(column, FIRST_US, LAST_US)
    return column.cast(pa.timestamp("us"))


def _instants(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Instants from text; without a zone it is UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    _check_form(column, _INSTANT)
    longest = pc.max(pc.binary_length(column)).as_py() or 0
    if longest > _LONGEST_ZULU or not pc.all(pc.ends_with(column, "Z")).as_py():
        # Arrow refuses digits beyond the unit.
        column = pc.replace_substring_regex(column, r"(\.\d{6})\d+", r"\1")
        column = pc.replace_substring_regex(column, _NO_ZONE, r"\1Z")
    return column.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))


def _check_form(column: pa.ChunkedArray, form: str) -> None:
    import pyarrow.compute as pc

    if pc.all(pc.match_substring_regex(column, form)).as_py() is False:
        raise BlockRefused


def _check_range(column: pa.ChunkedArray, low: int, high: int) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.min_max(column.cast(pa.int64())).as_py()
    if found["min"] is not None and not low <= found["min"] <= found["max"] <= high:
        raise BlockRefused


def _is_complete(rows: pa.Table, block: bytes) -> bool:
    """Whether there is one row a line; blank lines are none."""
    found: int = rows.num_rows
    return found == _lines(block) or found == sum(
        1 for _ in _FILLED_LINE.finditer(block)
    )
