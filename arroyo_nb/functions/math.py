"""Numbers. A result that depends on nothing but a DOUBLE is a DOUBLE, as IEEE 754
has it: infinities and NaN where Spark gives NULL or fails."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.signature import (
    Argument,
    Nulls,
    ParameterKind,
    Result,
    ScalarFunction,
    Signature,
    Template,
)
from arroyo_nb.schema import BIGINT, BOOLEAN, DOUBLE, INT

_ONE = Signature((DOUBLE,), DOUBLE)
_TWO = Signature((DOUBLE, DOUBLE), DOUBLE)
_WHOLE_TWO = Signature((BIGINT, BIGINT), BIGINT)

# Euclid's algorithm needs at most 92 steps for 64 bits.
_GCD = (
    "aggregate(sequence(1, 93), "
    "named_struct('a', abs({0}), 'b', abs({1})), "
    "(p, i) -> IF(p.b = 0, p, named_struct('a', p.b, 'b', p.a % p.b)), p -> p.a)"
)
# Spark gives NULL for what is negative or too large.
_FACTORIAL = (
    "(CASE WHEN {0} > 20 THEN raise_error(concat("
    "'[ARITHMETIC_OVERFLOW] Overflow happened on FACTORIAL(', {0}, ')')) "
    "WHEN {0} < 2 THEN 1L ELSE factorial(CAST({0} AS INT)) END)"
)
# Spark's power is a DOUBLE, which has 53 bits. More than 64 factors of 2 would overflow
# anyway; of 0, 1 and -1 one or two say what any number of them give. NULL has none.
_WHOLE_POWER = (
    "(CASE WHEN {1} < 0 THEN raise_error(concat("
    "'power() of whole numbers takes no negative exponent, but found ', {1})) "
    "ELSE aggregate(array_repeat({0}, CAST(IF({0} BETWEEN -1 AND 1 AND {1} > 2, "
    "2 - {1} % 2, IF({1} > 64, 64, {1})) AS INT)), "
    "nvl2({0}, 1L, NULL), (p, x) -> p * x) END)"
)
# Beyond this a DOUBLE has no fraction, and Spark's result, a BIGINT, may not hold it.
_WHOLE = "IF(abs({value}) < 9e15D, CAST({how}({value}) AS DOUBLE), {value})"


def _whole(how: str, value: str = "{0}") -> str:
    return _WHOLE.format(how=how, value=value)


def _truncated(value: str) -> str:
    return f"IF({value} < 0, {_whole('ceil', value)}, {_whole('floor', value)})"


def _logarithm(spark: str, value: str = "{0}") -> str:
    beyond = f"IF({value} = 0, double('-Infinity'), double('NaN'))"
    return f"IF({value} <= 0, {beyond}, {spark})"


def _power(arguments: Sequence[Argument]) -> str:
    base, exponent = arguments
    if base.type != BIGINT:
        return f"power({base.sql}, {exponent.sql})"
    if exponent.number is not None and exponent.number < 0:
        raise CatalogProblem(
            "power() of whole numbers takes no negative exponent",
            span=exponent.span,
            hint="cast one of them to DOUBLE",
        )
    return _WHOLE_POWER.format(base.sql, exponent.sql)


def _row(
    name: str,
    template: Template,
    doc: str,
    *signatures: Signature,
    example: str,
    aliases: tuple[str, ...] = (),
    differs: str = "",
) -> ScalarFunction:
    return ScalarFunction(
        name,
        signatures or (_ONE,),
        template,
        doc,
        aliases=aliases,
        example=example,
        differs=differs,
    )


def _same(name: str, doc: str, *, example: str) -> ScalarFunction:
    return _row(name, f"{name}({{0}})", doc, example=example)


FUNCTIONS = (
    _row(
        "abs",
        "abs({0})",
        "absolute value",
        Signature((ParameterKind.NUMBER,), Result.FIRST),
        example="abs(-3) -> 3",
    ),
    _same(
        "acos",
        "arc cosine, in radians",
        example="acos(1) -> 0.0",
    ),
    _same(
        "acosh",
        "inverse hyperbolic cosine",
        example="acosh(1) -> 0.0",
    ),
    _same(
        "asin",
        "arc sine, in radians",
        example="asin(0) -> 0.0",
    ),
    _same(
        "asinh",
        "inverse hyperbolic sine",
        example="asinh(0) -> 0.0",
    ),
    _same(
        "atan",
        "arc tangent, in radians",
        example="atan(0) -> 0.0",
    ),
    _same(
        "atanh",
        "inverse hyperbolic tangent",
        example="atanh(0) -> 0.0",
    ),
    _row(
        "atan2",
        "atan2({0}, {1})",
        "angle of the point (x, y): atan2(y, x)",
        _TWO,
        example="round(atan2(1, 1), 4) -> 0.7854",
        differs="-0.0 is taken for 0.0",
    ),
    _same(
        "cbrt",
        "cube root",
        example="cbrt(27) -> 3.0",
    ),
    _row(
        "ceil",
        _whole("ceil"),
        "nearest whole number not below",
        aliases=("ceiling",),
        example="ceil(1.2) -> 2.0",
    ),
    _same(
        "cos",
        "cosine of radians",
        example="cos(0) -> 1.0",
    ),
    _same(
        "cosh",
        "hyperbolic cosine",
        example="cosh(0) -> 1.0",
    ),
    _same(
        "cot",
        "cotangent of radians",
        example="round(cot(0.5), 4) -> 1.8305",
    ),
    _same(
        "degrees",
        "radians as degrees",
        example="degrees(pi()) -> 180.0",
    ),
    _same(
        "exp",
        "e to the power of x",
        example="exp(0) -> 1.0",
    ),
    _row(
        "factorial",
        _FACTORIAL,
        "n!, an error above 20; 1 of a negative number",
        Signature((BIGINT,), BIGINT),
        example="factorial(5) -> 120",
    ),
    _row(
        "floor",
        _whole("floor"),
        "nearest whole number not above",
        example="floor(-1.2) -> -2.0",
    ),
    _row(
        "gcd",
        _GCD,
        "greatest common divisor",
        _WHOLE_TWO,
        example="gcd(12, 18) -> 6",
    ),
    _row(
        "lcm",
        # A zero beside a NULL is NULL, which OR would not say.
        "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL "
        "WHEN {0} = 0 OR {1} = 0 THEN 0L "
        f"ELSE abs({{0}} div {_GCD} * {{1}}) END",
        "least common multiple",
        _WHOLE_TWO,
        example="lcm(4, 6) -> 12",
    ),
    _row(
        "isnan",
        # Spark's isnan(NULL) is false.
        "IF({0} IS NULL, NULL, isnan({0}))",
        "is it not a number?",
        Signature((DOUBLE,), BOOLEAN),
        example="isnan(CAST('NaN' AS DOUBLE)) -> true",
    ),
    _row(
        "iszero",
        "({0} = 0)",
        "is it zero?",
        Signature((DOUBLE,), BOOLEAN),
        example="iszero(0) -> true",
    ),
    _row(
        "ln",
        _logarithm("ln({0})"),
        "natural logarithm",
        example="ln(1) -> 0.0",
    ),
    _row(
        "log",
        lambda a: (
            _logarithm("log10({0})").format(a[0].sql)
            if len(a) == 1
            else _logarithm("log({0}, {1})", "{1}").format(a[0].sql, a[1].sql)
        ),
        "logarithm: log(x) to the base 10, log(b, x) to the base b",
        _ONE,
        _TWO,
        example="round(log(2, 8), 4) -> 3.0",
    ),
    _row(
        "log10",
        _logarithm("log10({0})"),
        "logarithm to the base 10",
        example="log10(100) -> 2.0",
    ),
    _row(
        "log2",
        _logarithm("log2({0})"),
        "logarithm to the base 2",
        example="log2(8) -> 3.0",
    ),
    _row(
        "nanvl",
        "nanvl({0}, {1})",
        "the first, or the second where it is NaN",
        _TWO,
        example="nanvl(CAST('NaN' AS DOUBLE), 2) -> 2.0",
    ),
    ScalarFunction(
        "pi",
        (Signature((), DOUBLE),),
        "pi()",
        "the number pi",
        Nulls.NEVER,
        example="pi() -> 3.141592653589793",
    ),
    _row(
        "power",
        _power,
        "x to the power of y; whole for whole numbers",
        _WHOLE_TWO,
        _TWO,
        aliases=("pow",),
        example="power(2, 10) -> 1024",
    ),
    _same(
        "radians",
        "degrees as radians",
        example="round(radians(180), 4) -> 3.1416",
    ),
    ScalarFunction(
        "random",
        (Signature((), DOUBLE),),
        "rand()",
        "0 <= x < 1",
        Nulls.NEVER,
        volatile="another number",
        example="random()",
    ),
    _row(
        "round",
        lambda a: (
            f"round({a[0].sql})"
            if len(a) == 1
            else "(round({0} * {1}) / {1})".format(a[0].sql, f"power(10D, {a[1].sql})")
        ),
        "to n decimals, half away from zero",
        Signature((DOUBLE, INT), DOUBLE, optional=1),
        example="round(2.345, 1) -> 2.3",
    ),
    _row(
        "signum",
        "signum({0})",
        "-1, 0 or 1",
        aliases=("sign",),
        example="signum(-2.5) -> -1.0",
    ),
    _same(
        "sin",
        "sine of radians",
        example="sin(0) -> 0.0",
    ),
    _same(
        "sinh",
        "hyperbolic sine",
        example="sinh(0) -> 0.0",
    ),
    _same(
        "sqrt",
        "square root; NaN of a negative number",
        example="sqrt(9) -> 3.0",
    ),
    _same(
        "tan",
        "tangent of radians",
        example="tan(0) -> 0.0",
    ),
    _same(
        "tanh",
        "hyperbolic tangent",
        example="tanh(0) -> 0.0",
    ),
    _row(
        "trunc",
        lambda a: (
            _truncated(a[0].sql)
            if len(a) == 1
            else "({} / {})".format(
                _truncated(f"({a[0].sql} * power(10D, {a[1].sql}))"),
                f"power(10D, {a[1].sql})",
            )
        ),
        "toward zero, to n decimals",
        Signature((DOUBLE, INT), DOUBLE, optional=1),
        example="trunc(-1.9) -> -1.0",
    ),
)
