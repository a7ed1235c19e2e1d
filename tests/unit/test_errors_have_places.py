"""What a wrong script is told, and which of its words that points at."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan.nodes import Project
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.spark.expressions import spark_sql

TABLES = Path(__file__).parents[1] / "golden" / "tables.sql"
LONG = "9" * 5_000


@cache
def tables() -> Catalog:
    return plan_script(TABLES.read_text(encoding="utf-8"), Catalog()).catalog


def told(script: str) -> list[tuple[str, str]]:
    """The messages, each with the text that it points at."""
    with pytest.raises(ArroyoError) as caught:
        plan_script(script, tables())
    assert len(str(caught.value)) < 10_000
    found = []
    for problem in caught.value.problems:
        assert problem.span is not None, problem.message
        found.append((problem.message, script[problem.span.start : problem.span.end]))
    return found


def check(script: str, *expected: tuple[str, str]) -> None:
    found = told(script)
    assert [place for _, place in found] == [place for _, place in expected], found
    for (message, _), (part, _) in zip(found, expected, strict=True):
        assert part in message


def item(expression: str) -> str:
    return f"SELECT {expression} AS x FROM trips"


def watermark(expression: str) -> str:
    return (
        f"CREATE TABLE y (at TIMESTAMP NOT NULL, WATERMARK FOR at AS {expression}) "
        "WITH (connector = 'single_file', path = '/y', type = 'source', "
        "format = 'json')"
    )


@pytest.mark.parametrize(
    ("script", "message", "place"),
    [
        (item("1e"), "this is not a number", "1e"),
        (item(".5.5"), "this is not a number", "5.5"),
        (f"SELECT id FROM trips GROUP BY {LONG}", "Valid columns: 1 to 1", LONG),
        ("SELECT id FROM trips GROUP BY 0", "Valid columns: 1 to 1", "0"),
        (item("id::DECIMAL(abc)"), "not a whole number", "DECIMAL(abc)"),
        (item("id::DECIMAL('3')"), "not a whole number", "'3'"),
        (item("id::DECIMAL(1.5)"), "not a whole number", "1.5"),
        (item(f"id::DECIMAL({LONG})"), "not a whole number", LONG),
        (item("id::DECIMAL(1, 2, 3)"), "takes 2 at most", "DECIMAL(1, 2, 3)"),
        (item("at::TIMESTAMP(x)"), "not a whole number", "TIMESTAMP(x)"),
        (item("at::TIMESTAMP(3, 3)"), "takes 1 at most", "TIMESTAMP(3, 3)"),
        (
            item("at + INTERVAL '999999999 days'"),
            "longer than 106,751,991 days",
            "INTERVAL '999999999 days'",
        ),
        (
            item(f"at + INTERVAL '{LONG} months'"),
            "longer than",
            f"INTERVAL '{LONG} months'",
        ),
        (
            item("at + (INTERVAL '9e7 days' + INTERVAL '9 days')"),
            "expected an interval",
            "INTERVAL '9e7 days'",
        ),
        (
            item("at + (INTERVAL '90000000 days' + INTERVAL '90000000 days')"),
            "longer than",
            "INTERVAL '90000000 days' + INTERVAL '90000000 days'",
        ),
        (
            item("at - (INTERVAL '-90000000 days' - INTERVAL '90000000 days')"),
            "longer than",
            "INTERVAL '-90000000 days' - INTERVAL '90000000 days'",
        ),
        (
            watermark("at - INTERVAL '90000000 days' - INTERVAL '90000000 days'"),
            "could not plan watermark expression: an interval is longer",
            "at - INTERVAL '90000000 days' - INTERVAL '90000000 days'",
        ),
        ("SET updating_ttl = '-\t5 s'", "must not be negative", "'-\t5 s'"),
        ("SET updating_ttl = '٣ s'", "expected an interval", "'٣ s'"),
        (
            "SELECT count(*) FROM trips GROUP BY tumble('-\t5 s')",
            "longer than zero",
            "'-\t5 s'",
        ),
        ("INSERT INTO totals", "expected a query", "totals"),
        (
            "CREATE TABLE a.b (x INT) WITH (connector = 'blackhole')",
            "a schema in a table name",
            "a",
        ),
    ],
)
def test_odd_literals(script: str, message: str, place: str) -> None:
    check(script, (message, place))


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_number_of_any_length_is_a_number(sign: str) -> None:
    (sink,) = plan_script(item(f"{sign}{LONG}"), tables()).sinks
    (field,) = sink.schema
    assert str(field.type) == "DOUBLE"
    (sink,) = plan_script(item(f"{sign}{'0' * 5_000}7"), tables()).sinks
    (field,) = sink.schema
    assert str(field.type) == "BIGINT"


@pytest.mark.parametrize(
    ("expression", "message", "place"),
    [
        ("regexp_match(name, '(')", "missing )", "'('"),
        ("regexp_like(name, '[')", "unterminated character set", "'['"),
        ("regexp_count(name, 'a{')", "repetition {", "'a{'"),
        ("regexp_replace(name, '*', 'x')", "nothing to repeat", "'*'"),
        ("name ~ '(a'", "missing )", "'(a'"),
        ("name !~* 'a)'", "unbalanced parenthesis", "'a)'"),
        ("regexp_like(name, 'a', 'q')", "flag 'q'", "'q'"),
        ("regexp_match(name, 'a(?=b)')", "look-around (?=", "'a(?=b)'"),
        (r"name ~ '(a)\1'", "back-reference", r"'(a)\1'"),
        ("date_part('yaer', at)", "part of a date 'yaer'", "'yaer'"),
        ("extract(foo FROM at)", "part of a date 'foo'", "extract(foo FROM at)"),
        ("date_trunc('dya', at)", "unit of date_trunc 'dya'", "'dya'"),
        ("date_trunc(name, at)", "must be a literal", "name"),
        ("to_char(at, '%Q')", "the specifier '%Q'", "'%Q'"),
        ("to_timestamp(name, '%Y', '%Q')", "is not known", "'%Q'"),
        ("to_date(name, '%')", "the specifier '%'", "'%'"),
        ("encode(name, 'bse64')", "unknown encoding", "'bse64'"),
        ("decode(name, 'x')", "unknown encoding", "'x'"),
        ("digest(name, 'sha1')", "unknown digest", "'sha1'"),
        ("date_bin('15 mintes', at)", "expected an interval", "'15 mintes'"),
        ("make_array(INTERVAL '1 month')", "with months", "INTERVAL '1 month'"),
        ("date_bin('0 s', at)", "longer than zero", "'0 s'"),
        ("date_bin(INTERVAL '0 s', at)", "longer than zero", "INTERVAL '0 s'"),
        ("date_bin(name, at)", "date_bin() does not take", "date_bin(name, at)"),
    ],
)
def test_a_literal_that_a_function_does_not_know(
    expression: str, message: str, place: str
) -> None:
    check(item(expression), (message, place))


def test_a_near_name_is_told() -> None:
    with pytest.raises(ArroyoError, match="did you mean 'day'"):
        plan_script(item("date_trunc('dya', at)"), tables())


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("month(at)", "write date_part('month', ...)"),
        ("datediff(at, at)", "subtract one timestamp from the other"),
        ("dateadd(at, 1)", "add an INTERVAL to the timestamp"),
        ("cont(*)", "did you mean 'count'?"),
        ("cont(*) FILTER (WHERE id > 1)", "did you mean 'count'?"),
        ("moth(at)", None),
    ],
)
def test_an_unknown_function_is_told_with_a_hint_that_helps(
    expression: str, hint: str | None
) -> None:
    with pytest.raises(ArroyoError, match="Invalid function") as failed:
        plan_script(item(expression), tables())
    assert failed.value.hint == hint


@pytest.mark.parametrize(
    "expression", ["date_part('month', at)", "at - at", "at + INTERVAL '1 day'"]
)
def test_what_those_hints_say_can_be_written(expression: str) -> None:
    assert plan_script(item(expression), tables()).sinks


def test_text_is_an_interval_where_one_is_wanted() -> None:
    (sink,) = plan_script(
        "SELECT date_bin('15 minutes', at) FROM trips", tables()
    ).sinks
    assert sink.schema.names == ('date_bin(Utf8("15 minutes"),trips.at)',)


def test_views_that_double_are_refused_before_spark_plans_them() -> None:
    views = [
        f"CREATE VIEW v{n + 1} AS SELECT * FROM v{n} UNION ALL SELECT * FROM v{n}"
        for n in range(40)
    ]
    script = ";\n".join(["CREATE VIEW v0 AS SELECT id FROM trips", *views])
    ((message, place),) = told(f"{script};\nSELECT * FROM v40")
    assert "a plan of 10,237 nodes, more than 10,000" in message
    assert place == "* FROM v10 UNION ALL SELECT * FROM v10"


def nested(template: str, inner: str, levels: int) -> str:
    for _ in range(levels):
        inner = template.replace("{}", inner)
    return inner


def test_a_case_that_repeats_its_operand_is_refused() -> None:
    case = nested("CASE {} WHEN 1 THEN 1 WHEN 2 THEN 2 END", "id", 40)
    ((message, _),) = told(item(case))
    assert "the operand of CASE" in message


@pytest.mark.parametrize(
    ("template", "inner"),
    [
        ("trunc({})", "fare"),
        ("trunc({}, 2)", "fare"),
        ("ln({})", "fare"),
        ("log(2.0, {})", "fare"),
        ("floor({})", "fare"),
        ("(1.0 / {})", "fare"),
        ("(1.0 % {})", "fare"),
        ("substr({}, 1, 2)", "name"),
        ("left({}, 3)", "name"),
        ("regexp_replace({}, 'a', 'b')", "name"),
        ("encode({}, 'hex')", "name"),
        ("date_bin('5 s', {}, '2024-01-01')", "at"),
        ("{}::TEXT::TIMESTAMP", "at"),
        ("{}::TEXT::DOUBLE", "fare"),
    ],
)
def test_the_spark_text_of_nested_calls_grows_with_their_number(
    template: str, inner: str
) -> None:
    def length(levels: int) -> int:
        query = item(nested(template, inner, levels))
        (sink,) = plan_script(query, tables()).sinks
        assert isinstance(sink.input, Project)
        (only,) = sink.input.items
        return len(spark_sql(only.expression, row_time=""))

    assert length(40) - length(39) == length(39) - length(38)


SINK = "WITH (connector = 'blackhole')"
NOWHERE = ("Table nowhere not found", "nowhere")


@pytest.mark.parametrize(
    "made",
    [
        ("CREATE TABLE q (a INT b) " + SINK, "expected )", "b"),
        ("CREATE OR REPLACE VIEW q AS SELECT id id id FROM trips", "syntax", "id"),
        ("CREATE TABLE IF NOT EXISTS q (a FOO) " + SINK, "Unsupported SQL type", "FOO"),
        (
            "CREATE TABLE q WITH (connector = 'sample', dataset = 'flihgts')",
            "unknown dataset",
            "dataset = 'flihgts'",
        ),
        ("CREATE VIEW q AS SELECT nope FROM trips", "column 'nope'", "nope"),
        (
            "CREATE VIEW q AS SELECT count(*) FROM trips GROUP BY tumble(5)",
            "unsupported Duration",
            "5",
        ),
        ("CRATE TABLE q (a INT) " + SINK, "syntax error at 'CRATE'", "CRATE"),
        ("CREATE MATERIALIZED VIEW q AS SELECT 1", "MATERIALIZED", "CREATE"),
    ],
)
def test_what_failed_is_told_once_and_hides_nothing_else(
    made: tuple[str, str, str],
) -> None:
    script, message, place = made
    check(
        f"{script}; SELECT x FROM q; INSERT INTO q SELECT y FROM q;"
        "CREATE VIEW r AS SELECT a FROM q UNION ALL SELECT b FROM q; SELECT z FROM r;"
        "SELECT id FROM nowhere",
        (message, place),
        NOWHERE,
    )


@pytest.mark.parametrize(
    ("query", "message", "place"),
    [
        ("SELECT tumble(5) AS w, count(*) FROM trips GROUP BY w", "Duration", "5"),
        ("SELECT tumble(5), count(*) FROM trips GROUP BY tumble(5)", "Duration", "5"),
        ("SELECT nope, count(*) FROM trips GROUP BY 1, nope", "'nope'", "nope"),
        (
            "SELECT nope AS n, count(*) FROM trips GROUP BY n HAVING n > 1",
            "'nope'",
            "nope",
        ),
    ],
)
def test_a_bad_item_is_told_once(query: str, message: str, place: str) -> None:
    check(query, (message, place))


@pytest.mark.parametrize(
    ("query", "message", "place"),
    [
        ("\ufeffSELECT nope FROM trips", "column 'nope'", "nope"),
        ("SELECT /*/* */*/ nope FROM trips", "column 'nope'", "nope"),
        ("SELECT '/*', nope /* '*/ FROM trips -- /*", "column 'nope'", "nope"),
        ("SELECT \"/*\", $$/*$$, E'\\'/*' FROM trips", "column '/*'", '"/*"'),
        ("SELECT id /* a /* b */ FROM trips", "unterminated comment", "/*"),
        ("SELECT id FROM trips WHERE id IN ()", "expected a value", ")"),
        ("SELECT id FROM trips GROUP BY ALL", "GROUP BY ALL is", "GROUP BY ALL"),
        ("SELECT id FROM trips, LATERAL (SELECT 1) x", "LATERAL is", "1) x"),
        ("SELECT id FROM LATERAL (SELECT 1) x", "LATERAL", "1) x"),
        ("SELECT id FROM (VALUES (1)) t", "VALUES", "1)) t"),
        ("SELECT id FROM trips FOR UPDATE", "FOR UPDATE", "FOR UPDATE"),
        ("SELECT ? FROM trips", "syntax error at '?'", "?"),
        ("SELECT id = ANY(tags) FROM trips", "ANY is not supported", "ANY(tags)"),
        ("SELECT ROW(1, 2) FROM trips", "a row value is", "ROW(1, 2)"),
        ("SELECT sum(*) FROM trips", "'*' may only stand", "*"),
        ("SELECT 'a' 'b' FROM trips", "a text right after", "'a' 'b'"),
    ],
)
def test_what_is_not_run_is_called_by_its_name(
    query: str, message: str, place: str
) -> None:
    check(query, (message, place))
