"""Scalar functions in their corners, evaluated by Spark, against what Arroyo gives.

That every function gives what its example says is tested in test_examples.
"""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, date, datetime, timedelta

import pytest
from bound import call, cast, lit, ts

from arroyo_nb.functions import scalar
from arroyo_nb.schema import BIGINT, DATE, DOUBLE, INT, JSON, TEXT, ListOf
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.user_functions import register_datafusion

T = datetime(2023, 5, 7, 13, 14, 15, 123456, tzinfo=UTC)
MOMENT = "2023-05-07T13:14:15.123456"
SUNDAY = ts(MOMENT)
ONE_TO_THREE = call("make_array", 1, 2, 3)
TWO_SMALL = cast(call("make_array", 1, 2), ListOf(INT))
HOLES = call("make_array", 1, None)
HOLED = [1, None, 1, 2, 3]
HOLED_LIST = call("array_concat", HOLES, ONE_TO_THREE)
HOLES_OF_ONE = cast(call("make_array", None), ListOf(BIGINT))
HOLES_OF_THREE = call("make_array", 1, None, 2)
NESTED = call("make_array", call("make_array", 1, 2), call("make_array", 3))
A_MAP = call("map", call("make_array", "a", "b"), call("make_array", 1, 2))
DAY = timedelta(days=1)
NOTHING = cast(lit(None), TEXT)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# (function, arguments, result)
CASES = [
    ("abs", [-3], 3),
    ("acos", [1.0], 0.0),
    ("acosh", [1.0], 0.0),
    ("asin", [0.0], 0.0),
    ("asinh", [0.0], 0.0),
    ("atan", [0.0], 0.0),
    ("atan2", [1.0, 1.0], math.pi / 4),
    ("atanh", [0.0], 0.0),
    ("cbrt", [27.0], 3.0),
    ("ceil", [1.2], 2.0),
    ("ceil", [1e300], 1e300),
    ("cos", [0.0], 1.0),
    ("cosh", [0.0], 1.0),
    ("cot", [math.pi / 4], pytest.approx(1.0)),
    ("degrees", [math.pi], 180.0),
    ("exp", [0.0], 1.0),
    ("factorial", [5], 120),
    ("factorial", [20], 2432902008176640000),
    ("factorial", [-3], 1),
    ("floor", [-1.2], -2.0),
    ("floor", [3], 3.0),
    ("gcd", [12, -18], 6),
    ("gcd", [0, 0], 0),
    ("lcm", [4, 6], 12),
    ("lcm", [4, 0], 0),
    ("isnan", [cast(lit("NaN"), DOUBLE)], True),
    ("isnan", [cast(lit(None), DOUBLE)], None),
    ("iszero", [0.0], True),
    ("ln", [math.e], 1.0),
    ("ln", [0.0], -math.inf),
    ("ln", [-1.0], pytest.approx(math.nan, nan_ok=True)),
    ("log", [1000.0], pytest.approx(3.0)),
    ("log", [2.0, 8.0], pytest.approx(3.0)),
    ("log10", [100], 2.0),
    ("log2", [8], 3.0),
    ("nanvl", [cast(lit("NaN"), DOUBLE), 2.0], 2.0),
    ("pi", [], math.pi),
    ("power", [2, 10], 1024),
    ("power", [3, 39], 3**39),
    ("power", [-2, 63], -(2**63)),
    ("power", [7, 0], 1),
    ("power", [0, 0], 1),
    ("power", [0, 9], 0),
    ("power", [-1, 10**9 + 1], -1),
    ("power", [-1, 10**9], 1),
    ("power", [cast(lit(None), BIGINT), 0], 1),
    ("power", [cast(lit(None), BIGINT), 2], None),
    ("power", [2, cast(lit(None), BIGINT)], None),
    ("power", [2.0, 0.5], pytest.approx(math.sqrt(2))),
    ("radians", [180], math.pi),
    ("round", [2.5], 3.0),
    ("round", [-2.5], -3.0),
    ("round", [1.2345, 2], 1.23),
    ("signum", [-2.0], -1.0),
    ("sin", [0.0], 0.0),
    ("sinh", [0.0], 0.0),
    ("sqrt", [9], 3.0),
    ("sqrt", [-1.0], pytest.approx(math.nan, nan_ok=True)),
    ("tan", [0.0], 0.0),
    ("tanh", [0.0], 0.0),
    ("trunc", [-1.9], -1.0),
    ("trunc", [1.987, 2], pytest.approx(1.98)),
    # conditional
    ("coalesce", [None, 2, 3], 2),
    ("coalesce", [NOTHING], None),
    ("greatest", [1, None, 3], 3),
    ("greatest", [1, 2.5], 2.5),
    ("least", [1, None, 3], 1),
    ("least", [7], 7),
    ("nullif", [1, 1], None),
    ("nvl", [None, "x"], "x"),
    ("nvl2", [None, 1, 2.5], 2.5),
    ("nvl2", [0, 1, 2], 1),
    # text
    ("ascii", ["a"], 97),
    ("bit_length", ["é"], 16),
    ("btrim", ["  a b "], "a b"),
    ("btrim", ["xxaxx", "x"], "a"),
    ("character_length", ["héé😀"], 4),
    ("chr", [128512], "😀"),
    ("concat", ["a", None, 1, True, 2.0, SUNDAY], f"a1true2.0{MOMENT}"),
    ("concat", [NOTHING], ""),
    ("concat_ws", [",", "a", None, 1], "a,1"),
    ("concat_ws", [NOTHING, "a"], None),
    ("contains", ["abc", "b"], True),
    ("ends_with", ["abc", "bc"], True),
    ("find_in_set", ["b", "a,b"], 2),
    ("initcap", ["hi-there ÄPFEL 2nd"], "Hi-There Äpfel 2nd"),
    ("left", ["abc", 2], "ab"),
    ("left", ["abc", -1], "ab"),
    ("left", ["abc", -9], ""),
    ("levenshtein", ["kitten", "sitting"], 3),
    ("lower", ["ÀB"], "àb"),
    ("lpad", ["a", 3], "  a"),
    ("lpad", ["abc", 2, "x"], "ab"),
    ("ltrim", [" a "], "a "),
    ("octet_length", ["é"], 2),
    ("overlay", ["abcdef", "X", 2, 3], "aXef"),
    ("overlay", ["abcdef", "XY", 2], "aXYdef"),
    ("repeat", ["ab", 2], "abab"),
    ("replace", ["aXbX", "X", "-"], "a-b-"),
    ("reverse", ["abc"], "cba"),
    ("right", ["abc", 2], "bc"),
    ("right", ["abc", -1], "bc"),
    ("right", ["abc", -9], ""),
    ("rpad", ["a", 3, "xy"], "axy"),
    ("rtrim", [" a "], " a"),
    ("split_part", ["a,b", ",", 2], "b"),
    ("split_part", ["a,b", ",", 3], ""),
    ("starts_with", ["abc", "ab"], True),
    ("strpos", ["abc", "c"], 3),
    ("strpos", ["abc", "x"], 0),
    ("substr", ["abcdef", 3], "cdef"),
    ("substr", ["abcdef", 2, 3], "bcd"),
    ("substr", ["abcdef", 0, 2], "a"),
    ("substr", ["abcdef", -5], "abcdef"),
    ("substr", ["abcdef", -5, 3], ""),
    ("substr_index", ["a.b.c", ".", 2], "a.b"),
    ("substr_index", ["a.b.c", ".", -1], "c"),
    ("to_hex", [255], "ff"),
    ("translate", ["abc", "ab", "x"], "xc"),
    ("upper", ["ß"], "SS"),
    # regular expressions
    ("regexp_like", ["Abc", "^a"], False),
    ("regexp_like", ["Abc", "^a", "i"], True),
    ("regexp_count", ["abab", "a"], 2),
    ("regexp_count", ["abab", "A", 2, "i"], 1),
    ("regexp_match", ["ab12", r"([a-z]+)(\d+)"], ["ab", "12"]),
    ("regexp_match", ["ab12", r"\d+"], ["12"]),
    ("regexp_match", ["ab", r"\d"], None),
    ("regexp_replace", ["abab", "a", "$"], "$bab"),
    ("regexp_replace", ["xabab", "(a)(b)", r"\2${1}$1"], "xbaaab"),
    ("regexp_replace", ["abab", "A", "x", "gi"], "xbxb"),
    ("regexp_replace", ["abc", "z", "x"], "abc"),
    ("regexp_replace", ["a\\b", r"\\", "/"], "a/b"),
    # digests
    ("md5", ["a"], hashlib.md5(b"a").hexdigest()),
    ("sha224", ["a"], hashlib.sha224(b"a").digest()),
    ("sha256", ["a"], hashlib.sha256(b"a").digest()),
    ("sha384", ["a"], hashlib.sha384(b"a").digest()),
    ("sha512", ["a"], hashlib.sha512(b"a").digest()),
    ("digest", ["a", "sha256"], hashlib.sha256(b"a").digest()),
    ("digest", ["a", "md5"], hashlib.md5(b"a").digest()),
    ("encode", ["az", "hex"], "617a"),
    ("encode", ["a", "base64"], "YQ"),
    ("decode", ["617a", "hex"], b"az"),
    ("decode", ["YQ", "base64"], b"a"),
    # dates and times
    ("date_bin", [timedelta(minutes=15), SUNDAY], at("2023-05-07T13:00")),
    (
        "date_bin",
        [timedelta(hours=1), ts("1969-12-31T23:59:00")],
        at("1969-12-31T23:00"),
    ),
    (
        "date_bin",
        [timedelta(hours=1), SUNDAY, ts("2020-01-01T00:30:00")],
        at("2023-05-07T12:30"),
    ),
    ("date_part", ["year", SUNDAY], 2023),
    ("date_part", ["quarter", SUNDAY], 2),
    ("date_part", ["month", MOMENT], 5),
    ("date_part", ["week", SUNDAY], 18),
    ("date_part", ["day", SUNDAY], 7),
    ("date_part", ["hour", SUNDAY], 13),
    ("date_part", ["minute", SUNDAY], 14),
    ("date_part", ["second", SUNDAY], 15),
    ("date_part", ["millisecond", SUNDAY], 15_123),
    ("date_part", ["microsecond", SUNDAY], 15_123_456),
    ("date_part", ["DOW", SUNDAY], 0),
    ("date_part", ["doy", SUNDAY], 127),
    ("date_part", ["epoch", ts("1970-01-02T00:00:00.5")], 86_400.5),
    ("date_trunc", ["hour", SUNDAY], at("2023-05-07T13:00")),
    ("date_trunc", ["week", SUNDAY], at("2023-05-01")),
    ("date_trunc", ["quarter", SUNDAY], at("2023-04-01")),
    ("from_unixtime", [86_400], at("1970-01-02")),
    ("make_date", [2023, 2, 28], date(2023, 2, 28)),
    ("to_char", [SUNDAY, "%Y-%m-%d %H:%M:%S%.3f"], "2023-05-07 13:14:15.123"),
    ("to_char", [SUNDAY, "it's %a %-d %b, 100%% (%j)"], "it's Sun 7 May, 100% (127)"),
    ("to_date", ["2023-05-07"], date(2023, 5, 7)),
    ("to_date", ["07.05.2023", "%Y-%m-%d", "%d.%m.%Y"], date(2023, 5, 7)),
    ("to_timestamp", [86_400], at("1970-01-02")),
    ("to_timestamp", [1.5], at("1970-01-01T00:00:01.5")),
    ("to_timestamp", [MOMENT + "Z"], T),
    ("to_timestamp", ["2023-05-07T15:14:15.123456+02:00"], T),
    (
        "to_timestamp",
        ["7/5/23 13:14", "%Y", "%-d/%-m/%y %H:%M"],
        at("2023-05-07T13:14"),
    ),
    ("to_timestamp_seconds", [SUNDAY], at("2023-05-07T13:14:15")),
    ("to_timestamp_millis", [1_500], at("1970-01-01T00:00:01.5")),
    ("to_timestamp_millis", [MOMENT], at("2023-05-07T13:14:15.123")),
    ("to_timestamp_micros", [1_500], at("1970-01-01T00:00:00.0015")),
    ("to_timestamp_nanos", [1_500], at("1970-01-01T00:00:00.000001")),
    ("to_timestamp_nanos", [-1], at("1969-12-31T23:59:59.999999")),
    ("to_unixtime", [ts("1970-01-02")], 86_400),
    # lists
    ("array_length", [ONE_TO_THREE], 3),
    ("array_length", [cast(lit(None), ListOf(INT))], None),
    ("cardinality", [ONE_TO_THREE], 3),
    ("array_has", [ONE_TO_THREE, 2], True),
    ("array_has", [HOLES, 2], False),
    ("array_has", [TWO_SMALL, 5_000_000_000], False),
    ("array_has", [ONE_TO_THREE, cast(lit(2), INT)], True),
    ("array_has", [ONE_TO_THREE, 2.5], False),
    ("array_has", [ONE_TO_THREE, None], None),
    ("array_element", [ONE_TO_THREE, 1], 1),
    ("array_element", [ONE_TO_THREE, -1], 3),
    ("array_element", [ONE_TO_THREE, 4], None),
    ("array_element", [ONE_TO_THREE, 0], None),
    ("array_distinct", [call("make_array", 1, 1)], [1]),
    ("array_reverse", [ONE_TO_THREE], [3, 2, 1]),
    ("array_max", [ONE_TO_THREE], 3),
    ("array_append", [ONE_TO_THREE, 4], [1, 2, 3, 4]),
    ("array_append", [TWO_SMALL, 5_000_000_000], [1, 2, 5_000_000_000]),
    ("array_append", [TWO_SMALL, None], [1, 2, None]),
    ("array_position", [ONE_TO_THREE, 3], 3),
    ("array_position", [ONE_TO_THREE, 9], None),
    ("array_position", [TWO_SMALL, 2], 2),
    ("array_position", [ONE_TO_THREE, None], None),
    ("array_to_string", [HOLES, ","], "1"),
    ("array_to_string", [HOLES, ",", "?"], "1,?"),
    ("string_to_array", ["a.b.", "."], ["a", "b", ""]),
    ("empty", [ONE_TO_THREE], False),
    ("make_array", [1, 2.5], [1.0, 2.5]),
    ("array_position", [HOLES, cast(lit(None), BIGINT)], 2),
    ("array_position", [call("make_array", 1, 2, 1), 1, 2], 3),
    ("array_length", [NESTED, 1], 2),
    ("array_length", [NESTED, 2], 2),
    ("array_length", [NESTED, 3], None),
    ("array_append", [cast(lit(None), ListOf(INT)), 1], [1]),
    ("array_prepend", [None, TWO_SMALL], [None, 1, 2]),
    ("array_positions", [HOLES, None], [2]),
    ("array_positions", [HOLES, 7], []),
    ("array_any_value", [call("make_array", None, None)], None),
    ("array_concat", [HOLES, cast(lit(None), ListOf(INT)), ONE_TO_THREE], HOLED),
    ("array_concat", [cast(lit(None), ListOf(INT))], None),
    ("flatten", [call("make_array", HOLES, None, ONE_TO_THREE)], HOLED),
    ("flatten", [ONE_TO_THREE], [1, 2, 3]),
    ("array_ndims", [NESTED], 2),
    ("array_dims", [NESTED], [2, 2]),
    ("array_dims", [ONE_TO_THREE], [3]),
    ("array_distance", [ONE_TO_THREE, HOLES_OF_THREE], None),
    ("array_remove", [HOLED_LIST, None], [1, 1, 2, 3]),
    ("array_remove", [ONE_TO_THREE, 9], [1, 2, 3]),
    ("array_remove_n", [HOLED_LIST, 1, 0], HOLED),
    ("array_remove_n", [HOLED_LIST, 1, 9], [None, 2, 3]),
    ("array_remove_n", [HOLED_LIST, 1, -(2**63) + 1], [None, 2, 3]),
    ("array_remove_n", [HOLED_LIST, 1, 2**62], [None, 2, 3]),
    ("array_remove_all", [HOLED_LIST, None], [1, 1, 2, 3]),
    ("array_replace", [HOLED_LIST, 1, None], [None, None, 1, 2, 3]),
    ("array_replace_n", [HOLED_LIST, None, 7, 1], [1, 7, 1, 2, 3]),
    ("array_replace_all", [HOLED_LIST, 1, 0], [0, None, 0, 2, 3]),
    ("array_slice", [ONE_TO_THREE, 2, 3], [2, 3]),
    ("array_slice", [ONE_TO_THREE, -2, -1], [2, 3]),
    ("array_slice", [ONE_TO_THREE, 0, -3], [1]),
    ("array_slice", [ONE_TO_THREE, 3, 2], []),
    ("array_slice", [ONE_TO_THREE, 4, 9], []),
    ("array_slice", [ONE_TO_THREE, None, None], None),
    ("array_slice", [ONE_TO_THREE, 3, 1, -2], [3, 1]),
    ("array_slice", [cast(lit(None), ListOf(INT)), 1, 2], None),
    ("array_sort", [HOLED_LIST], [None, 1, 1, 2, 3]),
    ("array_sort", [HOLED_LIST, "DESC"], [None, 3, 2, 1, 1]),
    ("array_sort", [HOLED_LIST, "asc", "nulls last"], [1, 1, 2, 3, None]),
    ("array_sort", [HOLED_LIST, "desc", "NULLS LAST"], [3, 2, 1, 1, None]),
    ("array_resize", [ONE_TO_THREE, 1], [1]),
    ("array_resize", [ONE_TO_THREE, 5], [1, 2, 3, None, None]),
    ("array_pop_back", [cast(call("make_array"), ListOf(INT))], []),
    ("array_pop_front", [cast(call("make_array"), ListOf(INT))], []),
    ("array_distinct", [HOLED_LIST], [None, 1, 2, 3]),
    ("array_union", [HOLES, call("make_array", 3, None, 2)], [None, 1, 2, 3]),
    ("array_intersect", [HOLED_LIST, call("make_array", 3, None)], [None, 3]),
    ("array_except", [call("make_array", 3, 3, None, 1), HOLES], [3]),
    ("array_has_all", [HOLED_LIST, call("make_array", None, 3)], True),
    ("array_has_all", [ONE_TO_THREE, call("make_array", 3, 4)], False),
    ("array_has_any", [HOLED_LIST, call("make_array", None, 9)], True),
    ("array_has_any", [ONE_TO_THREE, call("make_array", 9)], False),
    ("generate_series", [3], [0, 1, 2, 3]),
    ("generate_series", [5, 1], []),
    ("generate_series", [5, 1, -2], [5, 3, 1]),
    ("generate_series", [1, 5, -1], []),
    ("generate_series", [2**63 - 2, 2**63 - 1], [2**63 - 2, 2**63 - 1]),
    ("generate_series", [1, None], None),
    ("range", [3], [0, 1, 2]),
    ("range", [1, 1], []),
    ("range", [5, 1, -2], [5, 3]),
    (
        "range",
        [ts("2024-01-01"), ts("2024-01-02"), timedelta(hours=12)],
        [at("2024-01-01"), at("2024-01-01T12:00")],
    ),
    (
        "generate_series",
        [cast(lit("2024-01-01"), DATE), cast(lit("2024-01-03"), DATE), DAY],
        [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)],
    ),
    ("array_repeat", [cast(lit(None), BIGINT), 2], [None, None]),
    ("array_repeat", ["a", -1], []),
    # structs, maps and types
    ("struct", [1, None], {"c0": 1, "c1": None}),
    ("named_struct", ["a", 1, "b", "x"], {"a": 1, "b": "x"}),
    ("map", [call("make_array", "a"), HOLES_OF_ONE], [{"key": "a", "value": None}]),
    ("map_extract", [A_MAP, "b"], [2]),
    ("map_extract", [A_MAP, "z"], [None]),
    ("map_values", [A_MAP], [1, 2]),
    ("arrow_cast", [1.9, "Int32"], 1),
    ("arrow_cast", [1, "Timestamp(Second, None)"], at("1970-01-01T00:00:01")),
    ("arrow_typeof", [SUNDAY], "Timestamp(Nanosecond, None)"),
    ("to_local_time", [SUNDAY], T),
    *(
        ("union_tag", [cast(lit(text), JSON)], tag)
        for text, tag in (
            *((None, "null"), ("null", "null"), (" true", "bool"), ("-12", "int")),
            *(("1e3", "float"), ('"a"', "str"), ("[]", "array"), ("{}", "object")),
        )
    ),
    ("union_extract", [cast(lit(r'"a\u00e9\"b"'), JSON), "str"], 'aé"b'),
    ("union_extract", [cast(lit("7"), JSON), "int"], 7),
    ("union_extract", [cast(lit("7"), JSON), "float"], None),
    ("union_extract", [cast(lit("false"), JSON), "bool"], False),
    ("union_extract", [cast(lit('{"a": 1} '), JSON), "object"], '{"a": 1}'),
    # what greatest() and OR say of NULL
    ("substr", ["abc", cast(lit(None), BIGINT)], None),
    ("substr", ["abc", 2, cast(lit(None), BIGINT)], None),
    ("lcm", [cast(lit(None), BIGINT), 0], None),
    ("round", [2.675, 2], 2.68),
    ("round", [546.555, 2], 546.55),
    ("encode", ["a" * 60, "base64"], "YWFh" * 20),
]


def evaluate(engine, expressions):
    engine.worker.call(lambda: register_datafusion(engine.session, expressions))
    texts = [spark_sql(e, row_time="now()") for e in expressions]
    named = [f"{text} AS `{i}`" for i, text in enumerate(texts)]

    def run():
        return engine.session.range(1).selectExpr(*named).toArrow().to_pylist()[0]

    return list(engine.worker.call(run).values())


def test_functions_give_what_arroyo_gives(engine):
    calls = [call(name, *arguments) for name, arguments, _ in CASES]
    got = evaluate(engine, calls)
    wrong = [
        (name, value, wanted)
        for (name, _, wanted), value in zip(CASES, got, strict=True)
        if value != wanted
    ]
    assert wrong == []


def test_a_result_is_null_only_where_the_table_says_so(engine):
    calls = [call(name, *arguments) for name, arguments, _ in CASES]
    got = evaluate(engine, calls)
    for (name, arguments, _), value, made in zip(CASES, got, calls, strict=True):
        nulls = [a is None or a.__class__.__name__ == "Cast" for a in arguments]
        if value is None:
            assert scalar(name).nullable(nulls), made.sql()


def test_random_functions(engine):
    one, other, text = evaluate(engine, [call("random"), call("random"), call("uuid")])
    assert 0 <= one < 1
    assert one != other
    assert len(text) == 36
