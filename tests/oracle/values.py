"""Values of each type, with corners, and texts that mean something to a function."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal as Exact
from random import Random

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
    StructOf,
    Timestamp,
    Type,
)

MONEY, WIDE = Decimal(10, 2), Decimal(38, 10)
PAIR = StructOf((Field("a", BIGINT), Field("b", TEXT)))

WHOLE = (TINYINT, SMALLINT, INT, BIGINT, INT_UNSIGNED, BIGINT_UNSIGNED)
NUMBERS = (*WHOLE, FLOAT, DOUBLE, MONEY, WIDE)
TIMESTAMPS = (Timestamp(9), Timestamp(6), Timestamp(3), Timestamp(0))
TIMES = (*TIMESTAMPS, DATE, TIME, INTERVAL)
LISTS = (ListOf(BIGINT), ListOf(TEXT), ListOf(DOUBLE))
SCALARS = (BOOLEAN, *NUMBERS, TEXT, BYTEA, *TIMES)
TYPES = (*SCALARS, *LISTS, PAIR)

DECLARED = frozenset(
    (BOOLEAN, INT, BIGINT, INT_UNSIGNED, BIGINT_UNSIGNED, FLOAT, DOUBLE, TEXT, BYTEA)
)
"""The primitive types that a column of a table may have."""

TEXTS = (
    *("", "a", "b", "abc", "aab", "Hello World", "foobar", "foo foo", "tid", "x=&y=1"),
    *("café", "cafe\u0301", "éa", "😀", "a😀b", "👨‍👩‍👧", "ß", "İ", "ﬁ", "ΑΒΓ", "σς"),
    *("ПРИВЕТ", "привет", "٣", "日本語", "a\u00a0b", " a b ", "\t x\n", "abc\n"),
    *(
        "a\r\nb",
        "a\rb",
        "a\nb",
        "a.b.c",
        "a,b,,c",
        ",",
        "a-b_c",
        "100%",
        "a\\b",
        "it's",
    ),
    *("12", "-7", " 7 ", "1.5", "true", "2024-02-29", "new york-city", "xyz" * 15),
)
PATTERNS = (
    *("a", "b?", "", ".*", "a*", "^a", "c$", "a.b", "(a)|(b)", "(x)?b", "([a-z]+)(o)"),
    *("[[:alpha:]]+", "[[:digit:]]", "[^[:space:]]", "[[:^alpha:]]", "[[:punct:]]"),
    *(r"\d", r"\D+", r"\w+", r"^\w+$", r"\s", r"\bo", r"\ba", r"foo\B", r"\W"),
    *(r"\p{Greek}", r"\p{L}+", r"\p{Lu}", "[a-c--b]", "[a-z&&[^b]]", "(?i)hello"),
    *("привет", "(?P<n>o+)", "(?m)^b", "(?s)a.b", "o{2}", "o+?", r"\.", r"a\\b", "[.]"),
    *(
        "x|",
        r"\x61",
        r"\u0061",
        r"\z",
        r"a\Z",
        "(?=a)",
        r"(a)\1",
        "(",
        "[",
        "a{2",
        "^$",
    ),
    *("é", "[à-ü]", "[^a]", "(?x) a b # c", "[]a]", "a{,2}", "(?-u)a", r"[\w&&[^\d]]"),
)
REPLACEMENTS = (
    "X",
    "",
    "$1",
    "${1}x",
    "$1x",
    "$0",
    r"\1",
    "$2",
    "$n",
    "$$",
    "-",
    r"\\",
)
LIKES = ("%", "a%", "%b", "_", "a_c", "%o%", "", r"100\%", r"a\b", "a\\\\b", "É%", "__")

DATE_TEXTS = (
    *("2024-02-29", "2024-03-01", "1969-12-31", "1900-01-01", "2024-2-9", "2024-02"),
    *("2024-03-01 10:40:00", "2024-03-01T10:40:00Z", "2024-03-01T23:40:00+02:00"),
    *("2024-03-01 10:40:00.123456", "2024-03-01 10:40", "12:34:56", " 2024-03-01 "),
    *("2024-03-01T01:00:00-05:00", "2023-02-29", "20240301", "x", "", "2024"),
)
TIME_TEXTS = ("10:11:12", "00:00:00", "23:59:59.999999", "10:11", "24:00:00", "x", "")
INTERVAL_TEXTS = (
    *("1 day", "90 seconds", "1 month", "1 year 2 months", "-3 days", "15 minutes"),
    *("1.5 hours", "0 seconds", "1 month 2 days 3 hours", "7 days", "500 milliseconds"),
)
ODD_INTERVAL_TEXTS = (*INTERVAL_TEXTS, "5", "01:02:03", "1 week", "P1D", "x", "")
NUMBER_TEXTS = (
    *("0", "1", "-1", "12", "+7", " 7 ", "1.5", "1.005", "-0", "-0.0", "1e3", "1E-2"),
    *("NaN", "inf", "-Infinity", "infinity", "", "x", "0x1F", "1_000", "127", "128"),
    *(
        "2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
    ),
    *("99999999.995", "1.", ".5", "１"),
)
BOOLEAN_TEXTS = ("true", "false", "t", "F", "yes", "no", "on", "off", "1", "0", "x", "")
FORMATS = (
    *("%Y-%m-%d", "%H:%M:%S", "%d.%m.%y %I:%M %p", "%a %j", "%b %A %B", "%F %T", "%s"),
    *("%f", "%.3f", "%e", "%U", "%V", "%u", "%D", "%C", "%%", "%Z", "%z", "%q", "text"),
    *("%-d", "%k", "%l", "%P", "%R", "%c", "%+", "%G", "%y", "%h", "%n", "%.f", "%6f"),
)
PARTS = (
    *("year", "quarter", "month", "week", "day", "dow", "doy", "hour", "minute"),
    *("second", "millisecond", "microsecond", "nanosecond", "epoch", "isodow", "x"),
)
UNITS = (
    *("year", "quarter", "month", "week", "day", "hour", "minute", "second"),
    *("millisecond", "microsecond", "DAY", "x"),
)
ENCODED = ("616263", "6G", "ff", "FF", "YWJj", "YQ==", "YQ", "", "w6k", "é")
ARROW_TYPES = (
    *("Int8", "Int32", "Int64", "UInt8", "UInt64", "Float32", "Float64", "Utf8"),
    *("Utf8View", "Boolean", "Date32", "Binary", "Timestamp(Millisecond, None)"),
    *("Timestamp(Nanosecond, None)", "Decimal128(10, 2)", "Duration(Second)", "X"),
    *("Time64(Nanosecond)", "LargeUtf8"),
)

_RANGES = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INT": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "INT UNSIGNED": (0, 2**32 - 1),
    "BIGINT UNSIGNED": (0, 2**64 - 1),
}
_REALS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1.5, 3.0, 0.1, 100.25, -1000.125),
    *(math.inf, -math.inf, math.nan),
)
_DOUBLES = (
    *(1.005, 2.675, 1e-300, 1e300, 1e16, 1e15, 123456789.123, 9e15, 5e-324),
    *(2.0**63, 1.7976931348623157e308, 0.30000000000000004, 1e-5, 1e-7),
)
_INSTANTS = (
    datetime(1970, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2024, 2, 29, 12, 30, 15, 123456),
    datetime(2024, 1, 31, 23, 0),
    datetime(2020, 12, 31, 23, 59, 59),
    datetime(1900, 1, 1, 0, 0, 0, 1),
    datetime(1965, 3, 7, 4, 5, 6, 700000),
    datetime(2261, 12, 31, 5, 6, 7, 890123),
)
_FRACTIONS = {0: 10**6, 3: 10**3}


def value_of(type_: Type, random: Random, *, small: bool = False) -> object:
    """A value that is not NULL, as Arrow takes it of Python.

    Parameters
    ----------
    small
        Whether a number is one that can stand for a length.
    """
    match type_:
        case Primitive("BOOLEAN"):
            return random.random() < 0.5
        case Primitive(name) if name in _RANGES:
            low, high = _RANGES[name]
            if small or random.random() < 0.6:
                return random.randint(max(low, -4), 9)
            return random.choice((low, high, high // 2, max(low, -1), 97, 0))
        case Primitive("FLOAT"):
            return random.choice(_REALS)
        case Primitive("DOUBLE"):
            return random.choice((*_REALS, *_DOUBLES))
        case Decimal(precision, scale):
            most = 10**precision - 1
            digits = random.choice((0, 1, -1, 150, 12345, -250, most, -most))
            # By its text: arithmetic would round it.
            return Exact(f"{digits}E-{scale}")
        case Primitive("BYTEA"):
            return random.choice((b"", b"abc", "é".encode(), b"\x00\xff", b"a\\b"))
        case Timestamp(digits):
            instant = random.choice(_INSTANTS)
            step = _FRACTIONS.get(digits, 1)
            return instant.replace(microsecond=instant.microsecond // step * step)
        case ListOf(element):
            size = random.choice((0, 1, 2, 3, 3, 4))
            return [
                None
                if random.random() < 0.15
                else _short(value_of(element, random, small=True))
                for _ in range(size)
            ]
        case StructOf(fields):
            return {f.name: value_of(f.type, random, small=True) for f in fields}
    return random.choice(TEXTS)


def _short(value: object) -> object:
    return value[:6] if isinstance(value, str) else value


def texts_for(type_: Type) -> tuple[str, ...]:
    """Texts that may be read as a type, and some that may not."""
    match type_:
        case Timestamp() | Primitive("DATE"):
            return DATE_TEXTS
        case Primitive("TIME"):
            return TIME_TEXTS
        case Primitive("INTERVAL"):
            return ODD_INTERVAL_TEXTS
        case Primitive("BOOLEAN"):
            return BOOLEAN_TEXTS
        case _ if type_ in NUMBERS:
            return NUMBER_TEXTS
    return TEXTS
