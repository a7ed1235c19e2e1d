"""CAST between Arroyo types, as Spark SQL text.

A cast that cannot be done fails the run (ANSI mode); TRY_CAST gives NULL. Most casts
mean the same in both engines; the tables hold those that do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context
from decimal import Decimal as Exact
from functools import partial
from typing import TypeAlias

from arroyo_nb.codecs.timestamps import timestamp_text
from arroyo_nb.functions.datafusion import (
    Operand,
    datafusion_call,
    text_literal,
    type_name,
)
from arroyo_nb.functions.let_binding import once
from arroyo_nb.functions.literals import text_constant
from arroyo_nb.functions.text_casts import text_as
from arroyo_nb.functions.time_units import DAY_US, UNIT_US
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    DATE,
    FLOAT,
    INT,
    NULL,
    Decimal,
    ListOf,
    Primitive,
    StructOf,
    Timestamp,
    Type,
    quoted,
    quoted_text,
    spark_type,
)

_Template: TypeAlias = Callable[[str, Type, Type, bool], str]

_SIGNED = frozenset(map(Primitive, ("TINYINT", "SMALLINT", "INT", "BIGINT")))
_FROM_NUMBER = {0: "timestamp_seconds", 3: "timestamp_millis", 6: "timestamp_micros"}
_TO_NUMBER = {0: "unix_seconds", 3: "unix_millis", 6: "unix_micros"}
_LARGEST = {
    "TINYINT UNSIGNED": 2**8 - 1,
    "SMALLINT UNSIGNED": 2**16 - 1,
    "INT UNSIGNED": 2**32 - 1,
    "BIGINT UNSIGNED": 2**64 - 1,
}


def cast(
    value: str,
    source: Type,
    target: Type,
    *,
    literal: str | None = None,
    constant: str | None = None,
    tries: bool = False,
    only_where: str = "",
) -> str:
    """The SQL text of a cast.

    Parameters
    ----------
    literal
        The value of a text literal.
    constant
        SQL of DataFusion for a literal of a time or an interval.
    tries
        Whether it is TRY_CAST.
    only_where
        As in :func:`~arroyo_nb.functions.datafusion.datafusion_call`.

    >>> from arroyo_nb.schema import BIGINT, INT
    >>> cast("`a`", INT, BIGINT)
    'CAST(`a` AS bigint)'
    """
    if source == target:
        return value
    if literal is not None and (known := text_constant(literal, target)):
        return known
    if template := datafusion_cast(source, target, tries=tries):
        if literal is not None:
            constant = text_literal(literal)
        operands = [Operand(value, source, constant)]
        return datafusion_call(template, operands, target, only_where=only_where)
    special = _special(source, target)
    if special is not None:
        return special(value, source, target, tries)
    return _checked(f"{_word(tries)}({value} AS {spark_type(target)})", target, tries)


def datafusion_cast(
    source: Type, target: Type, *, tries: bool = False, literal: str | None = None
) -> str:
    """How DataFusion is asked for a cast: its SQL with ``{0}`` for the value; empty:
    Spark means it alike.

    Parameters
    ----------
    literal
        The value of a text literal.

    Examples
    --------
    >>> from arroyo_nb.schema import INTERVAL, TEXT
    >>> datafusion_cast(TEXT, INTERVAL)
    'CAST({0} AS INTERVAL)'
    """
    if literal is not None and text_constant(literal, target):
        return ""
    if not _in_datafusion(source, target):
        return ""
    return f"{_word(tries)}({{0}} AS {type_name(target)})"


def decimal_constant(number: str, target: Decimal) -> str:
    """The Spark SQL of a literal DOUBLE as a DECIMAL, as it is rounded in a DOUBLE.

    >>> decimal_constant("1.005", Decimal(10, 2))
    'CAST(1.00BD AS decimal(10,2))'
    """
    exact = rounded_decimal(float(number), target)
    return "" if exact is None else f"CAST({exact:f}BD AS {spark_type(target)})"


def rounded_decimal(number: float, target: Decimal) -> Exact | None:
    """A number as a DECIMAL; None where it does not fit."""
    scaled = Exact(number * 10.0**target.scale)
    if not scaled.is_finite():
        return None
    whole = scaled.to_integral_value(ROUND_HALF_UP)
    if whole.copy_abs() >= 10**target.precision:
        return None
    return whole.scaleb(-target.scale, Context(prec=target.precision))


def _word(tries: bool) -> str:
    return "TRY_CAST" if tries else "CAST"


def _in_datafusion(source: Type, target: Type) -> bool:
    match source, target:
        case ListOf(one), ListOf(other):
            return one != other and not _is_plain(one, other)
        case ListOf(), Primitive():
            return True
        case _, ListOf(element):
            return _in_datafusion(source, element)
        case StructOf(ones), StructOf(others):
            pairs = zip(ones, others, strict=True)
            return any(_in_datafusion(one.type, other.type) for one, other in pairs)
    return (_kind(source), _kind(target)) in _IN_DATAFUSION


def _is_plain(source: Type, target: Type) -> bool:
    """Whether Spark's own CAST means the same."""
    match source, target:
        case _ if source in (target, NULL):
            return True
        case ListOf(one), ListOf(other):
            return _is_plain(one, other)
        case StructOf(ones), StructOf(others):
            pairs = zip(ones, others, strict=True)
            return all(_is_plain(one.type, other.type) for one, other in pairs)
    return (
        not _in_datafusion(source, target)
        and _special(source, target) is None
        and str(target) not in _LARGEST
    )


def _special(source: Type, target: Type) -> _Template | None:
    match source, target:
        case Primitive("NULL"), _:
            return None
        case StructOf(), StructOf():
            return None if _is_plain(source, target) else _fields
        case ListOf(), _:
            return None
        case _, ListOf():
            return _single_element
    return _SPECIAL.get((_kind(source), _kind(target)))


_KINDS = {
    **dict.fromkeys(("TEXT", "JSON"), "text"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "floating"),
    "BOOLEAN": "boolean",
    "BYTEA": "bytes",
    "DATE": "date",
    "TIME": "time",
    "INTERVAL": "interval",
    "BIGINT UNSIGNED": "unsigned",
}


def _kind(type_: Type) -> str:
    match type_:
        case Timestamp():
            return "timestamp"
        case Decimal():
            return "decimal"
        case Primitive(name) if name in _KINDS:
            return _KINDS[name]
        case _ if type_ in _SIGNED or str(type_) in _LARGEST:
            return "number"
        case _:
            return "other"


def _checked(text: str, target: Type, tries: bool) -> str:
    """Spark's types for unsigned integers are wider: their range is checked here."""
    if str(target) not in _LARGEST:
        return text
    # The words of Spark's own error, which is told as one of ours.
    found = f"'[CAST_OVERFLOW] the value ', {{0}}, ' cannot be cast to \"{target}\"'"
    return in_range(
        text, target, otherwise="NULL" if tries else f"raise_error(concat({found}))"
    )


def in_range(text: str, type_: Type, *, otherwise: str) -> str:
    """A value of Spark's wider type for an unsigned integer; ``otherwise``, in which
    ``{0}`` is the value, where it is out of the unsigned range.

    The text stands there once: nested, it would double in length with each level.
    """
    fits = f"coalesce(n BETWEEN 0 AND {_LARGEST[str(type_)]}, TRUE)"
    checked = f"n -> IF({fits}, n, {otherwise.format('n')})"
    return f"element_at(transform(array({text}), {checked}), 1)"


def _to_text(value: str, _source: Type, _target: Type, _tries: bool) -> str:
    return once(lambda texts: timestamp_text(texts[0]), [value])


def _from_number(value: str, source: Type, target: Type, tries: bool) -> str:
    """A number counts whole units of the timestamp's own; Spark keeps microseconds."""
    assert isinstance(target, Timestamp)
    # Spark's functions would keep a fraction, or not take the type.
    if source not in _SIGNED:
        value = cast(value, source, BIGINT, tries=tries)
    # `div` rounds instants before 1970 up, and BIGINT / BIGINT is an inexact DOUBLE.
    if target.digits == 9:
        return f"timestamp_micros(CAST(floor({value} / 1000BD) AS BIGINT))"
    return f"{_FROM_NUMBER[target.digits]}({value})"


def _to_number(value: str, source: Type, target: Type, tries: bool) -> str:
    assert isinstance(source, Timestamp)
    if source.digits == 9:
        number = f"(unix_micros({value}) * 1000L)"
    else:
        number = f"{_TO_NUMBER[source.digits]}({value})"
    return cast(number, BIGINT, target, tries=tries)


def _days(value: str, source: Type, target: Type, tries: bool) -> str:
    """A number counts days since 1970."""
    if source == DATE:
        return cast(f"unix_date({value})", INT, target, tries=tries)
    return f"date_from_unix_date({cast(value, source, INT, tries=tries)})"


def _precision(value: str, _source: Type, target: Type, _tries: bool) -> str:
    """Cut off towards 1970, as `div` does."""
    assert isinstance(target, Timestamp)
    if target.digits not in UNIT_US:
        return value
    units = f"unix_micros({value}) div {UNIT_US[target.digits]}L"
    return f"{_FROM_NUMBER[target.digits]}({units})"


def _single_element(value: str, source: Type, target: Type, tries: bool) -> str:
    assert isinstance(target, ListOf)
    return f"array({cast(value, source, target.element, tries=tries)})"


def _fields(value: str, source: Type, target: Type, tries: bool) -> str:
    """Field by field, by their places; none of them is DataFusion's."""
    assert isinstance(source, StructOf)
    assert isinstance(target, StructOf)
    pairs = [*zip(source.fields, target.fields, strict=True)]

    def write(texts: Sequence[str]) -> str:
        (struct,) = texts
        fields = ", ".join(
            f"{quoted_text(new.name)}, "
            + cast(f"{struct}.{quoted(old.name)}", old.type, new.type, tries=tries)
            for old, new in pairs
        )
        return f"IF({struct} IS NULL, NULL, named_struct({fields}))"

    return once(write, [value])


def _from_text(value: str, _source: Type, target: Type, tries: bool) -> str:
    return _checked(text_as(value, target, _word(tries)), target, tries)


def _bytes_text(value: str, _source: Type, _target: Type, tries: bool) -> str:
    return f"{'try_' if tries else ''}validate_utf8(CAST({value} AS string))"


def _time_of_day(value: str, _source: Type, _target: Type, _tries: bool) -> str:
    return f"pmod(unix_micros({value}), {DAY_US}L)"


def _time_of_number(value: str, _source: Type, _target: Type, _tries: bool) -> str:
    """A number counts nanoseconds, of which Spark's TIME has none."""
    return f"CAST(floor({value} / 1000BD) AS BIGINT)"


def _time_to_number(value: str, _source: Type, _target: Type, _tries: bool) -> str:
    return f"({value} * 1000L)"


def _time_text(value: str, _source: Type, _target: Type, tries: bool) -> str:
    words = "'[CAST_OVERFLOW] the value ', {0}, ' cannot be cast to \"TIME\"'"
    outside = "NULL" if tries else f"raise_error(concat({words}))"

    def write(texts: Sequence[str]) -> str:
        # Behind the day and the T.
        clock = f"substr({timestamp_text(f'timestamp_micros({texts[0]})')}, 12)"
        fits = f"coalesce({texts[0]} BETWEEN 0 AND {DAY_US - 1}, TRUE)"
        return f"IF({fits}, {clock}, {outside.replace('{0}', texts[0])})"

    return once(write, [value])


def _floating_decimal(value: str, source: Type, target: Type, tries: bool) -> str:
    """Scaled up and rounded as a DOUBLE, which then is the digits of the DECIMAL."""
    assert isinstance(target, Decimal)
    word, type_ = _word(tries), spark_type(target)
    if source == FLOAT:
        value = f"CAST({value} AS double)"
    scaled = (
        f"round({value} * 1E{target.scale}D)" if target.scale else f"round({value})"
    )
    if target.precision <= _DIGITS_OF_BIGINT and target.scale < _DIGITS_OF_BIGINT:
        number = f"{word}({scaled} AS bigint)"
        # Their product has digits enough for each scale.
        small = f"({number} * 1E-{target.scale}BD)" if target.scale else number
        return f"{word}({small} AS {type_})"

    def write(texts: Sequence[str]) -> str:
        (number,) = texts
        # Beyond 2 ** 63 a DOUBLE is even: half of what is below 2 ** 64 is a BIGINT.
        above = f"{word}({number} / {2**64}D AS bigint)"
        below = f"CAST(({number} - {above} * {2**64}D) / 2 AS bigint)"
        large = f"CAST({above} AS decimal(19,0)) * {2**64}BD + {below} * 2BD"
        digits = (
            f"IF(abs({number}) < {_HALF}D, CAST({word}({number} AS bigint) AS string), "
            f"CAST({large} AS string))"
        )
        if tries:
            digits = f"IF(abs({number}) <= 1E38D, {digits}, NULL)"
        return f"{word}(concat({digits}, 'E-{target.scale}') AS {type_})"

    return once(write, [scaled])


_DIGITS_OF_BIGINT = 18


def _floating_text(value: str, source: Type, _target: Type, _tries: bool) -> str:
    """The shortest digits, as Spark's are, but with an exponent only where it is below
    -5 (a FLOAT's: -6) or above 15. Spark's text is ``1.5E9`` from seven digits on."""
    least = -6 if source == FLOAT else -5
    exponent = "CAST(substring_index(t, 'E', -1) AS INT)"
    # 16 digits before the point, for an exponent of 15, and 22 after it.
    digits = "CAST(CAST(t AS DECIMAL(38, 22)) AS STRING)"
    plain = f"regexp_replace({digits}, '([.][0-9]+?)0+$', '$1')"
    # Java writes two digits, where one is enough to tell it from the next number.
    smallest = " ".join(f"WHEN '{t}' THEN '{s}'" for t, s in _SMALLEST.items())
    written = (
        "CASE WHEN NOT contains(t, 'E') THEN replace(t, 'Infinity', 'inf') "
        f"WHEN {exponent} BETWEEN {least} AND 15 THEN {plain} "
        f"ELSE CASE replace(replace(t, '.0E', 'E'), 'E', 'e') {smallest} "
        "ELSE replace(replace(t, '.0E', 'E'), 'E', 'e') END END"
    )
    texts = f"array(CAST({value} AS STRING))"
    return f"element_at(transform({texts}, t -> {written}), 1)"


# The first number beyond BIGINT, and the last DOUBLE below the end of BIGINT UNSIGNED.
_HALF = "9223372036854775808"
_LAST = "18446744073709549568"


def _unsigned(value: str, source: Type, target: Type, tries: bool) -> str:
    """What is a DECIMAL to Spark is cut off as other whole numbers are, not rounded."""
    write = partial(_whole, source, "TRY_CAST" if tries else "CAST")
    return _checked(once(lambda texts: write(texts[0]), [value]), target, tries)


def _whole(source: Type, word: str, value: str) -> str:
    whole = spark_type(BIGINT_UNSIGNED)
    # By way of BIGINT: it truncates, and refuses a NaN and a fraction in a text.
    small = f"CAST({word}({value} AS bigint) AS {whole})"
    match source:
        case Decimal(_, scale) if scale:
            value = f"IF({value} < 0, ceil({value}), floor({value}))"
        case Primitive("FLOAT" | "DOUBLE"):
            # Spark reads the digits that are shown of it, a part of those it has.
            above = f"CAST(CAST({value} - {_HALF}D AS bigint) AS {whole})"
            large = f"CAST({above} + {_HALF}BD AS {whole})"
            return f"IF({value} BETWEEN {_HALF}D AND {_LAST}D, {large}, {small})"
    return f"{word}({value} AS {whole})"


def _floating_number(value: str, _source: Type, target: Type, tries: bool) -> str:
    """Spark takes 2 ** 63 for the largest BIGINT, as which a DOUBLE shows it."""
    if target != BIGINT:
        return _checked(
            f"{_word(tries)}({value} AS {spark_type(target)})", target, tries
        )
    words = f'[CAST_OVERFLOW] the value {_HALF}.0 cannot be cast to "{target}"'
    outside = "NULL" if tries else f"raise_error({quoted_text(words)})"

    def write(texts: Sequence[str]) -> str:
        (number,) = texts
        inside = f"{_word(tries)}({number} AS {spark_type(target)})"
        return f"IF({number} = {_HALF}D, {outside}, {inside})"

    return once(write, [value])


_SMALLEST = {
    "4.9e-324": "5e-324",
    "9.9e-324": "1e-323",
    "1.4e-45": "1e-45",
    "2.8e-45": "3e-45",
    "4.2e-45": "4e-45",
    "5.6e-45": "6e-45",
    "8.4e-45": "8e-45",
    "9.8e-45": "1e-44",
}
"""Numbers that Java writes with a digit more than they need, which no others are."""

_WHOLE_KINDS = ("number", "unsigned")

_IN_DATAFUSION = frozenset(
    (
        *(("text", time) for time in ("date", "time", "timestamp", "interval")),
        *((kind, "bytes") for kind in _WHOLE_KINDS),
        ("interval", "text"),
        *(("decimal", "timestamp"), ("timestamp", "decimal")),
    )
)

_SPECIAL: dict[tuple[str, str], _Template] = {
    **{
        ("text", kind): _from_text
        for kind in ("boolean", "floating", "decimal", *_WHOLE_KINDS)
    },
    ("timestamp", "text"): _to_text,
    ("floating", "text"): _floating_text,
    ("bytes", "text"): _bytes_text,
    ("floating", "timestamp"): _from_number,
    ("timestamp", "floating"): _to_number,
    **{(kind, "timestamp"): _from_number for kind in _WHOLE_KINDS},
    **{("timestamp", kind): _to_number for kind in _WHOLE_KINDS},
    **{(kind, "unsigned"): _unsigned for kind in ("floating", "number", "decimal")},
    ("floating", "decimal"): _floating_decimal,
    ("floating", "number"): _floating_number,
    ("timestamp", "timestamp"): _precision,
    **dict.fromkeys((("number", "date"), ("date", "number")), _days),
    ("timestamp", "time"): _time_of_day,
    ("number", "time"): _time_of_number,
    ("time", "number"): _time_to_number,
    ("time", "text"): _time_text,
}
