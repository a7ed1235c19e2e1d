"""Numbers. A DOUBLE gives a DOUBLE and a FLOAT a FLOAT, as IEEE 754 has it: infinities
and NaN where Spark gives NULL or fails.

Spark evaluates those of a DOUBLE, and of a FLOAT where its result is the rounded one of
a DOUBLE. Other functions of a FLOAT have other last digits: they are DataFusion's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions import decimals, floats
from arroyo_nb.functions.signature import (
    Argument,
    DataFusionTemplate,
    Literals,
    Nulls,
    ParameterKind,
    ScalarFunction,
    Signature,
    Template,
    same_call,
)
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    NULL,
    Decimal,
    Type,
    spark_type,
)

_ONE = (Signature((ParameterKind.FLOAT,), FLOAT), Signature((DOUBLE,), DOUBLE))
_TWO = (
    Signature((ParameterKind.FLOAT_OR_WHOLE,) * 2, FLOAT),
    Signature((DOUBLE, DOUBLE), DOUBLE),
)
_WHOLE_TWO = Signature((BIGINT, BIGINT), BIGINT)


def _logarithm(spark: str) -> str:
    beyond = "IF({0} = 0, double('-Infinity'), double('NaN'))"
    return f"IF({{0}} <= 0, {beyond}, {spark})"


def _of_floats(name: str) -> DataFusionTemplate:
    """What is DataFusion's where the arguments are FLOAT."""
    call = same_call(name)
    return lambda arguments: call(arguments) if arguments[0].type == FLOAT else ""


def _by_doubles(
    write: Callable[..., str],
) -> Callable[[Sequence[Argument]], str]:
    """What is computed as a DOUBLE, and exact as a FLOAT."""

    def template(arguments: Sequence[Argument]) -> str:
        found = write(*(a.sql for a in arguments))
        is_single = arguments[0].type == FLOAT
        return f"CAST({found} AS float)" if is_single else found

    return template


def _absolute(arguments: Sequence[Argument]) -> str:
    (argument,) = arguments
    if isinstance(argument.type, Decimal):
        return decimals.absolute(argument.sql, argument.type)
    return f"abs({argument.sql})"


def _absolute_type(types: Sequence[Type], _: Literals) -> Type:
    return DOUBLE if types[0] == NULL else types[0]


def _truncated_to(arguments: Sequence[Argument]) -> str:
    if len(arguments) == 1:
        return _by_doubles(floats.truncated)(arguments)
    value, count = arguments
    return floats.truncated_to(value.sql, count.sql, spark_type(value.type))


def _power(arguments: Sequence[Argument]) -> str:
    exponent = arguments[1]
    if arguments[0].type != BIGINT:
        return ""
    if exponent.number is not None and exponent.number < 0:
        raise CatalogProblem(
            "power() of whole numbers takes no negative exponent",
            span=exponent.span,
            hint="cast one of them to DOUBLE",
        )
    return "power({0}, {1})"


def _row(
    name: str,
    template: Template,
    doc: str,
    *signatures: Signature,
    example: str,
    aliases: tuple[str, ...] = (),
    datafusion: DataFusionTemplate | None = None,
) -> ScalarFunction:
    return ScalarFunction(
        name,
        signatures or _ONE,
        template,
        doc,
        aliases=aliases,
        example=example,
        datafusion=datafusion,
    )


def _same(name: str, doc: str, *, example: str) -> ScalarFunction:
    return _row(
        name, f"{name}({{0}})", doc, example=example, datafusion=_of_floats(name)
    )


def _in_datafusion(
    name: str, doc: str, *signatures: Signature, example: str
) -> ScalarFunction:
    return _row(name, "", doc, *signatures, example=example, datafusion=same_call(name))


_TRUNC = _row(
    "trunc",
    _truncated_to,
    "toward zero, to n decimals",
    _ONE[0],
    Signature((ParameterKind.FLOAT_OR_WHOLE, BIGINT), FLOAT),
    Signature((DOUBLE, BIGINT), DOUBLE, optional=1),
    example="trunc(-1.9) -> -1.0",
)

FUNCTIONS = (
    _row(
        "abs",
        _absolute,
        "absolute value",
        Signature((ParameterKind.NUMBER,), _absolute_type),
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
    _in_datafusion(
        "atan2",
        "angle of the point (x, y): atan2(y, x)",
        *_TWO,
        example="round(atan2(1.0, 1), 4) -> 0.7854",
    ),
    _same(
        "cbrt",
        "cube root",
        example="cbrt(27) -> 3.0",
    ),
    _row(
        "ceil",
        _by_doubles(floats.ceil),
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
    _in_datafusion(
        "factorial",
        "n!, an error above 20; 1 of a negative number",
        Signature((BIGINT,), BIGINT),
        example="factorial(5) -> 120",
    ),
    _row(
        "floor",
        _by_doubles(floats.floor),
        "nearest whole number not above",
        example="floor(-1.2) -> -2.0",
    ),
    _in_datafusion(
        "gcd",
        "greatest common divisor",
        _WHOLE_TWO,
        example="gcd(12, 18) -> 6",
    ),
    _in_datafusion(
        "lcm",
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
        datafusion=_of_floats("ln"),
        example="ln(1) -> 0.0",
    ),
    _row(
        "log",
        _logarithm("log10({0})"),
        "logarithm: log(x) to the base 10, log(b, x) to the base b",
        Signature((ParameterKind.FLOAT_OR_WHOLE,), FLOAT),
        Signature((DOUBLE,), DOUBLE),
        *_TWO,
        example="log(10, 100) -> 2.0",
        datafusion=lambda a: (
            same_call("log")(a) if len(a) == 2 else _of_floats("log")(a)
        ),
    ),
    _row(
        "log10",
        _logarithm("log10({0})"),
        "logarithm to the base 10",
        datafusion=_of_floats("log10"),
        example="log10(100) -> 2.0",
    ),
    _row(
        "log2",
        _logarithm("log2({0})"),
        "logarithm to the base 2",
        datafusion=_of_floats("log2"),
        example="log2(8) -> 3.0",
    ),
    _row(
        "nanvl",
        "nvl2({1}, nanvl({0}, {1}), NULL)",
        "the first, or the second where it is NaN",
        *_TWO,
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
        "power({0}, {1})",
        "x to the power of y; whole for whole numbers",
        _WHOLE_TWO,
        _TWO[1],
        aliases=("pow",),
        example="power(2, 10) -> 1024",
        datafusion=_power,
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
            floats.rounded(a[0].sql)
            if len(a) == 1
            else floats.rounded_to(a[0].sql, a[1].sql)
        ),
        "to n decimals, half away from zero",
        _ONE[0],
        Signature((ParameterKind.FLOAT, ParameterKind.BIGINT), FLOAT),
        Signature((DOUBLE, BIGINT), DOUBLE, optional=1),
        example="round(2.345, 1) -> 2.3",
        datafusion=_of_floats("round"),
    ),
    _row(
        "signum",
        # Adding makes 0.0 of -0.0.
        _by_doubles("(signum({}) + 0.0D)".format),
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
    _row(
        "sqrt",
        _by_doubles("sqrt({})".format),
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
    replace(
        _TRUNC,
        arroyos=replace(
            _TRUNC,
            datafusion=lambda a: same_call("trunc")(a) if len(a) == 2 else "",
        ),
    ),
)
