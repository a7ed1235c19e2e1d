"""Scalar functions that DuckDB has too: how each is written for both engines.

The columns are those of :func:`inputs`. Two texts are the call here and, where it is
another one, the call there.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

ROWS = 1000
COLUMNS = {
    **dict.fromkeys("ij", "BIGINT"),  # of the whole range
    **dict.fromkeys("kl", "BIGINT"),  # -25 to 25
    "n": "BIGINT",  # 0 to 20
    **dict.fromkeys("xy", "DOUBLE"),  # of the whole range, infinities, NaN
    **dict.fromkeys("pr", "DOUBLE"),  # between -1000 and 1000
    "q": "DOUBLE",  # between -1 and 1
    **dict.fromkeys("st", "TEXT"),
    "c": "TEXT",  # of one character at most
    "o": "BOOLEAN",
    **dict.fromkeys("ab", "TIMESTAMP"),
    **dict.fromkeys("fg", "BIGINT[]"),
    "h": "TEXT[]",
}

_LETTERS = "aabbcAB,.-  \t01xßéÀ中😀%'\\"
_WHOLE = (0, 1, -1, 2**63 - 1, -(2**63), 2**31, -(2**31) - 1, 2**53 + 1)
_REAL = (
    *(0.0, -0.0, 0.5, -0.5, 2.5, -2.5, 1.005, 2.675, 1e-300, 1e300, -1e300, 1e16),
    *(math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308),
)
_TIMES = (
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2024, 2, 29, 12, tzinfo=UTC),
    datetime(2020, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(1900, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(2261, 12, 31, 5, 6, 7, 890123, tzinfo=UTC),
)


def inputs(seed: int) -> dict[str, list[object]]:
    """Random values of the columns; each is NULL in one row of eight."""
    random_ = random.Random(seed)

    def text() -> str:
        length = random_.choice((0, 1, 2, 3, 5, 8, 8, 200))
        return "".join(random_.choices(_LETTERS, k=length))

    def numbers() -> list[int | None]:
        values = (None, 0, 1, 1, 2, 3, -7, 2**62)
        return random_.choices(values, k=random_.choice((0, 1, 2, 4, 9)))

    def time() -> datetime:
        day = datetime(1950, 1, 1, tzinfo=UTC)
        return day + timedelta(microseconds=random_.randrange(5 * 10**15))

    makers = {
        "i": lambda: random_.randrange(-(2**63), 2**63),
        "k": lambda: random_.randrange(-25, 26),
        "n": lambda: random_.randrange(21),
        "x": lambda: random_.choice((1, 10.0, 1e10, 1e-10)) * random_.gauss(0, 1),
        "p": lambda: round(random_.uniform(-1000, 1000), random_.choice((0, 1, 3, 9))),
        "q": lambda: random_.choice((0.0, 1.0, -1.0, random_.uniform(-1, 1))),
        "s": text,
        "c": lambda: "".join(random_.choices(_LETTERS, k=random_.randrange(2))),
        "o": lambda: random_.random() < 0.5,
        "a": time,
        "f": numbers,
        "h": lambda: random_.choices(
            (None, "", "a", "b", "é,"), k=random_.randrange(5)
        ),
    }
    corners = {"i": _WHOLE, "x": _REAL, "a": _TIMES}
    same = dict(zip("jlyrtbg", "ikxpsaf", strict=True))

    def value(column: str) -> object:
        kind = same.get(column, column)
        if random_.random() < 0.125:
            return None
        if kind in corners and random_.random() < 0.3:
            return random_.choice(corners[kind])
        return makers[kind]()

    return {column: [value(column) for _ in range(ROWS)] for column in COLUMNS}


@dataclass(frozen=True)
class Pair:
    """One function in both engines.

    Parameters
    ----------
    name
        The function.
    here, there
        The call for our planner, and for DuckDB; empty: the same.
    where
        In SQL of both: the rows that are compared.
    why
        Why the others are not: how the engines differ there.
    """

    name: str
    here: str
    there: str = ""
    where: str = "TRUE"
    why: str = ""


_IEEE = "Arroyo's result is IEEE 754's (i.3), DuckDB refuses"
_RANGE = "an overflow: an error in both"
_ZERO = "Arroyo's zero has a sign, which DuckDB forgets"
_BEFORE_1970 = "Arroyo cuts a fraction off towards 1970"


def _same(*names: str, of: str) -> Iterator[Pair]:
    for name in names:
        yield Pair(name, f"{name}({of})")


NUMBERS = (
    *_same("atan", "cbrt", "degrees", "exp", "isnan", "radians", "tanh", of="x"),
    *_same("cosh", "sinh", "asinh", "cos", "sin", "tan", of="p"),
    *_same("acos", "asin", of="q"),
    Pair("atan2", "atan2(x, y)", where="abs(y) > 0 AND abs(x) > 0", why=_ZERO),
    *_same("ceil", "floor", "trunc", of="x"),
    *_same("log10", "log2", "ln", of="abs(p) + 0.5"),
    Pair("signum", "signum(p)", "sign(p)::DOUBLE"),
    Pair("abs", "abs(i)", where="i > -9223372036854775807 - 1", why=_RANGE),
    Pair("abs", "abs(x)"),
    Pair("acosh", "acosh(abs(p) + 1)"),
    Pair("atanh", "atanh(q)", where="abs(q) < 1", why=_IEEE),
    Pair("cot", "cot(p)", where="abs(p) > 0", why=_IEEE),
    Pair("factorial", "factorial(n)", "factorial(n::INT)"),
    Pair("gcd", "gcd(k, l)"),
    Pair("gcd", "gcd(i, j)", where="least(i, j) > -9223372036854775808", why=_RANGE),
    Pair("lcm", "lcm(k, l)"),
    Pair("log", "log(p)", where="p > 0", why=_IEEE),
    Pair("log", "log(2, p)", "log(2, p)", where="p > 0", why=_IEEE),
    Pair("sqrt", "sqrt(x)", where="x > 0 OR x IS NULL", why=_IEEE),
    Pair("pi", "pi()"),
    Pair("power", "power(k, n % 8)", "power(k, n % 8)::BIGINT"),
    Pair("power", "power(p, q)", where="p > 0", why="DuckDB refuses a complex result"),
    Pair("round", "round(p)"),
    Pair("round", "round(p, 2)"),
    Pair("round", "round(p * 1000, -2)", "round(p * 1000, -2)"),
    Pair("round", "round(x)"),
    Pair("trunc", "trunc(p)"),
    Pair("coalesce", "coalesce(i, k, 7)"),
    Pair("greatest", "greatest(i, j, k)"),
    Pair("greatest", "greatest(s, t)"),
    Pair("greatest", "greatest(a, b)"),
    Pair("least", "least(x, y, p)"),
    Pair("least", "least(s, t)"),
    Pair("nullif", "nullif(k, l)"),
    Pair("nullif", "nullif(s, c)"),
    Pair("nvl", "nvl(s, t)", "ifnull(s, t)"),
    Pair("nvl2", "nvl2(i, s, t)", "CASE WHEN i IS NOT NULL THEN s ELSE t END"),
    Pair(
        "nanvl",
        "nanvl(x, p)",
        "CASE WHEN p IS NULL THEN NULL WHEN isnan(x) THEN p ELSE x END",
    ),
    Pair("iszero", "iszero(x)", "x = 0"),
    Pair("to_hex", "to_hex(n)", "lower(hex(n))"),
    Pair("to_hex", "to_hex(i)", "lower(hex(i))"),
)

_ONE_TO_ONE = "Unicode's full mapping, as Rust's: DuckDB's is of one character to one"
_FOUND = "'([ab])(.)'"

TEXTS = (
    *_same("reverse", "md5", "bit_length", "lower", of="s"),
    *_same("concat", of="s, t, c"),
    *_same("contains", "starts_with", of="s, t"),
    Pair(
        "levenshtein",
        "levenshtein(s, t)",
        where="bit_length(s || t) = 8 * length(s || t)",
        why="DuckDB counts bytes, Arroyo characters",
    ),
    *_same("contains", "starts_with", "ends_with", "strpos", of="s, c"),
    *_same("left", "right", of="s, k"),
    *_same("lpad", "rpad", of="s, n::INT, '.-'"),
    Pair(
        "replace",
        "replace(s, c, 'xy')",
        where="c <> ''",
        why="an empty text is found between all characters",
    ),
    Pair("repeat", "repeat(c, n)"),
    Pair("ascii", "ascii(s)", where="s <> ''", why="of an empty text DuckDB's is -1"),
    Pair("btrim", "btrim(s, ' ')", "trim(s, ' ')"),
    Pair("btrim", "trim(both 'ab ' from s)", "trim(s, 'ab ')"),
    Pair("ltrim", "ltrim(s)"),
    Pair("ltrim", "trim(leading 'ab' from s)", "ltrim(s, 'ab')"),
    Pair("rtrim", "rtrim(s, 'ab')"),
    Pair("character_length", "character_length(s)", "length(s)"),
    Pair("octet_length", "octet_length(s)", "strlen(s)"),
    Pair("chr", "chr(n * 997 + 65)", "chr((n * 997 + 65)::INT)"),
    Pair("concat_ws", "concat_ws('-', s, k, t)"),
    Pair(
        "find_in_set",
        "find_in_set(c, s)",
        "CASE WHEN s || c IS NOT NULL THEN "
        "coalesce(list_position(string_split(s, ','), c), 0) END",
        where="c <> ','",
        why="a text with a comma is in no list",
    ),
    Pair("upper", "upper(s)", where="NOT contains(s, 'ß')", why=_ONE_TO_ONE),
    Pair(
        "overlay",
        "overlay(s placing c from n + 1 for 2)",
        "left(s, n) || c || substr(s, n + 3)",
    ),
    Pair("split_part", "split_part(s, ',', n + 1)"),
    Pair("split_part", "split_part(s, ' ', -1)"),
    Pair("strpos", "position(c in s)"),
    Pair("substr", "substr(s, n + 1)"),
    Pair("substr", "substr(s, n + 1, 3)"),
    Pair("substr", "substring(s from n + 1 for 4)", "substr(s, n + 1, 4)"),
    Pair(
        # What counts before the text, by i.3, DuckDB counts from its end.
        "substr",
        "substr(s, k, n)",
        "CASE WHEN n IS NULL THEN NULL WHEN k > 0 THEN substr(s, k, n) "
        "WHEN k < 1 THEN left(s, greatest(k - 1 + n, 0)) END",
    ),
    Pair("translate", "translate(s, 'abß', 'xy')"),
    Pair("regexp_like", "regexp_like(s, '[ab]+1|é')", "regexp_matches(s, '[ab]+1|é')"),
    Pair("regexp_like", "s ~* 'AB|À'", "regexp_matches(s, '(?i)AB|À')"),
    Pair(
        "regexp_count",
        "regexp_count(s, 'a.')",
        "coalesce(len(regexp_extract_all(s, 'a.')), 0)",
    ),
    Pair(
        "regexp_match",
        f"regexp_match(s, {_FOUND})",
        f"CASE WHEN regexp_matches(s, {_FOUND}) THEN "
        f"[regexp_extract(s, {_FOUND}, 1), regexp_extract(s, {_FOUND}, 2)] END",
    ),
    Pair(
        "regexp_replace",
        f"regexp_replace(s, {_FOUND}, '$2-$1')",
        rf"regexp_replace(s, {_FOUND}, '\2-\1')",
    ),
    Pair("regexp_replace", "regexp_replace(s, '[ab]', 'é', 'g')"),
    Pair("sha256", "encode(sha256(s), 'hex')", "sha256(s)"),
    Pair("digest", "encode(digest(s, 'md5'), 'hex')", "md5(s)"),
    Pair("encode", "encode(s, 'hex')", "lower(hex(s))"),
    Pair("encode", "encode(s, 'base64')", "rtrim(to_base64(encode(s)), '=')"),
    Pair("decode", "decode(encode(s, 'hex'), 'hex')", "encode(s)"),
    Pair("decode", "decode(encode(s, 'base64'), 'base64')", "encode(s)"),
    Pair("string_to_array", "string_to_array(s, ',')", "string_split(s, ',')"),
)


def _of_times() -> Iterator[Pair]:
    for unit in (
        *("microsecond", "millisecond", "second", "minute", "hour"),
        *("day", "week", "month", "quarter", "year"),
    ):
        call = f"date_trunc('{unit}', a)"
        there = f"{call}::TIMESTAMP"
        if unit == "millisecond":
            where = f"a >= TIMESTAMP '1970-01-01' OR a = {call}"
            yield Pair("date_trunc", call, there, where, _BEFORE_1970)
        else:
            yield Pair("date_trunc", call, there)
    for part in (
        *("year", "quarter", "month", "week", "day", "dow", "doy"),
        *("hour", "minute", "second", "millisecond", "microsecond", "epoch"),
    ):
        yield Pair("date_part", f"date_part('{part}', a)")
    for pattern in ("%Y-%m-%d %H:%M:%S", "%d.%m.%y %I:%M %p", "%a %j", "%b %A %B"):
        yield Pair("to_char", f"to_char(a, '{pattern}')", f"strftime(a, '{pattern}')")


_READ = "%d.%m.%Y %H-%M-%S"

TIMES = (
    *_of_times(),
    Pair("date_part", "extract(month from a)"),
    Pair(
        "date_bin",
        "date_bin(INTERVAL '15 minutes', a)",
        "time_bucket(INTERVAL '15 minutes', a, TIMESTAMP '1970-01-01')",
    ),
    Pair(
        "date_bin",
        "date_bin(INTERVAL '7 days', a, TIMESTAMP '2020-03-01')",
        "time_bucket(INTERVAL '7 days', a, TIMESTAMP '2020-03-01')",
    ),
    Pair(
        "from_unixtime",
        "from_unixtime(k * 1000003)",
        "make_timestamp(k * 1000003000000)",
    ),
    Pair(
        "make_date",
        "make_date(CAST(1970 + k AS INT), CAST(n % 12 + 1 AS INT), 28)",
        "make_date(1970 + k, n % 12 + 1, 28)",
    ),
    Pair(
        "to_date",
        f"to_date(to_char(a, '{_READ}'), '{_READ}')",
        "a::DATE",
        where="a >= TIMESTAMP '1970-01-01' OR a = date_trunc('second', a)",
        why=_BEFORE_1970,
    ),
    Pair("to_local_time", "to_local_time(a)", "a"),
    Pair("to_unixtime", "to_unixtime(a)", "trunc(epoch_us(a) / 1000000)::BIGINT"),
    Pair(
        "to_timestamp",
        f"to_timestamp(to_char(a, '{_READ}'), '%Y', '{_READ}')",
        "date_trunc('second', a)::TIMESTAMP",
    ),
    Pair("to_timestamp", "to_timestamp(k)", "make_timestamp(k * 1000000)"),
    Pair(
        "to_timestamp", "to_timestamp(p)", "make_timestamp(trunc(p * 1000000)::BIGINT)"
    ),
    Pair(
        "to_timestamp_seconds", "to_timestamp_seconds(k)", "make_timestamp(k * 1000000)"
    ),
    Pair("to_timestamp_millis", "to_timestamp_millis(k)", "make_timestamp(k * 1000)"),
    Pair("to_timestamp_micros", "to_timestamp_micros(k)", "make_timestamp(k)"),
    Pair(
        "to_timestamp_nanos",
        "to_timestamp_nanos(k)",
        "make_timestamp(floor(k / 1000)::BIGINT)",
    ),
)

_BOUND = "a bound that is NULL is the end of the list to DataFusion"
_NO_SIZE = "of a NULL size DuckDB's is empty"

LISTS = (
    Pair("array_length", "array_length(f)", "len(f)"),
    Pair("cardinality", "cardinality(f)", "nullif(len(f), 0)"),
    Pair("empty", "empty(f)", "len(f) = 0"),
    Pair("array_append", "array_append(f, k)", "list_append(f, k)"),
    Pair("array_prepend", "array_prepend(k, f)", "list_prepend(k, f)"),
    Pair(
        "array_concat",
        "array_concat(f, g)",
        "list_concat(f, g)",
        where="f IS NOT NULL OR g IS NOT NULL",
        why="of NULLs alone DataFusion's is NULL, and not empty",
    ),
    Pair("array_has", "array_has(f, k)", "list_contains(f, k)"),
    Pair("array_element", "array_element(f, k)", "list_extract(f, k)"),
    Pair("array_element", "f[n]", "f[n]"),
    Pair("array_reverse", "array_reverse(f)", "list_reverse(f)"),
    Pair("array_max", "array_max(f)", "list_max(f)"),
    Pair("array_position", "array_position(f, k % 4)", "list_position(f, k % 4)"),
    Pair(
        "array_slice",
        "array_slice(f, k, l)",
        "list_slice(f, k, l)",
        where="k + l IS NOT NULL",
        why=_BOUND,
    ),
    Pair("array_slice", "f[2:4]", "f[2:4]"),
    Pair("array_slice", "f[:-2]", "f[:-2]"),
    Pair("array_slice", "f[2:]", "f[2:]"),
    Pair(
        "array_slice",
        "array_slice(f, n + 1, 9, 2)",
        "list_slice(f, n + 1, 9, 2)",
        where="n IS NOT NULL",
        why=_BOUND,
    ),
    Pair("array_sort", "array_sort(f)", "list_sort(f, 'ASC', 'NULLS FIRST')"),
    Pair("array_sort", "array_sort(f, 'DESC')", "list_sort(f, 'DESC', 'NULLS FIRST')"),
    Pair(
        "array_sort",
        "array_sort(h, 'ASC', 'NULLS LAST')",
        "list_sort(h, 'ASC', 'NULLS LAST')",
    ),
    Pair(
        "array_resize",
        "array_resize(f, n % 7, k)",
        "list_resize(f, n % 7, k)",
        where="n IS NOT NULL",
        why=_NO_SIZE,
    ),
    Pair(
        "array_resize",
        "array_resize(f, n % 7)",
        "list_resize(f, n % 7)",
        where="n IS NOT NULL",
        why=_NO_SIZE,
    ),
    Pair("array_pop_back", "array_pop_back(f)", "f[:-2]"),
    Pair("array_pop_front", "array_pop_front(f)", "f[2:]"),
    Pair("array_any_value", "array_any_value(f)", "list_any_value(f)"),
    Pair("array_repeat", "array_repeat(k, n)", "repeat([k], coalesce(n, 0))"),
    Pair("flatten", "flatten([f, g])", "flatten([f, g])"),
    Pair("make_array", "make_array(k, l)", "[k, l]"),
    Pair("generate_series", "generate_series(k, l)"),
    Pair("generate_series", "generate_series(k, l, -3)"),
    Pair("range", "range(n)"),
    Pair("range", "range(k, l, 4)"),
    Pair(
        "range",
        "range(a, a + INTERVAL '1 day', INTERVAL '7 hours')",
    ),
    Pair(
        "generate_series",
        "generate_series(a::DATE, b::DATE, INTERVAL '1000 days')",
        "list_transform(generate_series(a::DATE, b::DATE, INTERVAL '1000 days'), "
        "lambda t: t::DATE)",
    ),
    Pair(
        "array_distinct",
        "array_distinct(f)",
        "CASE WHEN list_contains(list_transform(f, lambda e: e IS NULL), TRUE) THEN "
        "[NULL] ELSE [] END || list_sort(list_distinct(f)) || f[:0]",
    ),
    Pair(
        "array_intersect",
        "array_intersect(f, array_remove_all(g, NULL))",
        "list_sort(list_intersect(f, list_filter(g, lambda e: e IS NOT NULL)))",
        where="g IS NOT NULL",
        why="a NULL list has nothing in common, which is NULL here",
    ),
    Pair(
        "array_has_all",
        "array_has_all(f, array_remove_all(g, NULL))",
        "list_has_all(f, list_filter(g, lambda e: e IS NOT NULL))",
    ),
    Pair(
        "array_has_any",
        "array_has_any(f, array_remove_all(g, NULL))",
        "list_has_any(f, list_filter(g, lambda e: e IS NOT NULL))",
    ),
    Pair(
        "array_except",
        "array_sort(array_except(f, array_prepend(NULL, g)))",
        "list_sort(list_distinct(list_filter(f, lambda e: "
        "e IS NOT NULL AND NOT coalesce(list_contains(g, e), FALSE))))",
    ),
    Pair(
        "array_remove_all",
        "array_remove_all(f, k % 4)",
        "list_filter(f, lambda e: e IS DISTINCT FROM k % 4)",
    ),
    Pair(
        "array_replace_all",
        "array_replace_all(f, k % 4, l)",
        "list_transform(f, lambda e: "
        "CASE WHEN e IS NOT DISTINCT FROM k % 4 THEN l ELSE e END)",
    ),
    Pair(
        "array_to_string",
        "array_to_string(h, '-')",
        "array_to_string(list_filter(h, lambda e: e IS NOT NULL), '-')",
    ),
    Pair(
        "array_distance",
        "array_distance([p, r], [q, p])",
        "sqrt((p - q) * (p - q) + (r - p) * (r - p))",
    ),
    Pair("struct", "struct(k, s)['c1']", "struct_pack(c0 := k, c1 := s).c1"),
    Pair("named_struct", "named_struct('v', k)", "struct_pack(v := k)"),
    Pair("get_field", "get_field(named_struct('v', k), 'v')", "k"),
    Pair(
        "map_extract",
        "map_extract(map([1, 2], [s, t]), n)",
        "[map_extract_value(map([1, 2], [s, t]), n)]",
        where="n IS NOT NULL",
        why="DuckDB's of a NULL key is NULL",
    ),
    Pair("map", "map([1, 2], [s, t])", "map_entries(map([1, 2], [s, t]))"),
    Pair("map_keys", "map_keys(map([coalesce(n, 0), 21], [s, t]))"),
    Pair("map_values", "map_values(map([1, 2], [s, t]))"),
    Pair("arrow_cast", "arrow_cast(k, 'Utf8')", "k::VARCHAR"),
    Pair("arrow_cast", "arrow_cast(p, 'Int64')", "trunc(p)::BIGINT"),
)
