"""What DataFusion evaluates in Spark's workers, against DataFusion itself."""

from __future__ import annotations

import random
from datetime import date

import datafusion
import pyarrow as pa
import pytest
from bound import call, col, lit
from seeds import random_of_the_day
from sqlglot import exp

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import DataProblem
from arroyo_nb.functions.casts import cast
from arroyo_nb.functions.common_patterns import common_pattern
from arroyo_nb.functions.datafusion import text_literal
from arroyo_nb.plan.expressions.operators import binary
from arroyo_nb.plan.expressions.predicates import case, inverted
from arroyo_nb.plan.nodes import Project
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.schema import DOUBLE, TEXT, Field, StructOf
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.failures import run_problem
from arroyo_nb.spark.user_functions import datafusion_calls, register_datafusion

OPERATORS = {"~": exp.RegexpLike, "~*": exp.RegexpILike}
# (text, operator, pattern)
MATCHED = [
    ("tid", "~", "[[:digit:]]"),
    ("7", "~", "[[:^digit:]]|[[:alpha:][:digit:]]"),
    ("ПРИВЕТ", "~*", "привет"),
    ("café", "~", r"^\w+$"),
    ("٣", "~", r"\d"),
    ("éa", "~", r"\ba"),
    ("abc\n", "~", "c$"),
    ("a\rb", "~", "a.b"),
    ("α", "~", r"\p{Greek}"),
    ("-", "~", "[a-c--b]"),
    ("\u212a", "~*", "k"),
    ("\u017f", "~*", "^[r-t]$"),
]
CALLED = [
    ("regexp_match", ("Hello World", "[[:alpha:]]+")),
    ("regexp_match", ("a", "(a)|(b)")),
    ("regexp_match", ("b", "(x)?b")),
    ("regexp_replace", ("abc", "b?", "X")),
    ("regexp_replace", ("abc", ".*", "X")),
    ("regexp_replace", ("foobar", r"foo\B", "X")),
    ("regexp_replace", ("😀", "", "-", "g")),
    ("regexp_replace", ("abc", "(b)", "[$2]")),
    ("regexp_replace", ("abc", "(b)", "$1x")),
    ("regexp_replace", ("abc", "(b)", "${1}x\\1")),
    ("regexp_count", ("", "")),
    ("regexp_count", ("abab", "b", 3)),
    ("regexp_like", ("a\nb", "a.b", "s")),
]


def expected(sql: str) -> object:
    (batch,) = datafusion.SessionContext().sql(f'SELECT {sql} AS "x"').collect()
    return batch.column(0).to_pylist()[0]


def evaluate(engine, expressions, rows=None):
    def run():
        session = engine.session
        register_datafusion(session, expressions)
        texts = [spark_sql(e, row_time="NULL") for e in expressions]
        frame = session.range(1)
        if rows is not None:
            frame = session.createDataFrame(pa.table({"t": pa.array(rows)}))
        named = [f"{text} AS `{i}`" for i, text in enumerate(texts)]
        table = frame.selectExpr(*named).toArrow()
        return [table.column(place).to_pylist() for place in range(len(texts))]

    return engine.worker.call(run)


def test_patterns_mean_what_they_mean_to_datafusion(engine):
    expressions, texts = [], []
    for text, operator, pattern in MATCHED:
        expressions.append(binary(OPERATORS[operator], lit(text), lit(pattern)))
        texts.append(f"{text_literal(text)} {operator} {text_literal(pattern)}")
    for name, arguments in CALLED:
        expressions.append(call(name, *arguments))
        written = [text_literal(a) if isinstance(a, str) else str(a) for a in arguments]
        texts.append(f"{name}({', '.join(written)})")
    given = [values[0] for values in evaluate(engine, expressions)]
    assert dict(zip(texts, given, strict=True)) == {t: expected(t) for t in texts}


def test_patterns_and_flags_need_not_be_literals(engine):
    t = col("t", TEXT)
    rows = ["a", "A+", None, "é"]
    like = binary(exp.RegexpLike, lit("aé"), t)
    flagged = call("regexp_like", "AÉ", t, call("lower", "I"))
    nested = call("regexp_count", call("regexp_replace", t, r"\w", "xx"), "x")
    assert len(datafusion_calls([nested])) == 1
    assert evaluate(engine, [like, flagged, nested], rows) == [
        [True, False, None, True],
        [True, True, None, True],
        [2, 2, 0, 2],
    ]


def test_what_is_another_each_time_is_no_pattern_of_itself(engine):
    once = call("uuid"), call("uuid")
    assert evaluate(engine, [binary(exp.RegexpLike, *once)]) == [[False]]


def test_a_branch_that_is_not_taken_does_not_fail(engine):
    t = col("t", TEXT)
    is_pattern = inverted(binary(exp.EQ, t, lit("(")))
    guarded = case([is_pattern], [binary(exp.RegexpLike, lit("ab"), t)], None)
    assert evaluate(engine, [guarded], ["b", "(", "c"]) == [[True, None, False]]
    with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark's own class
        evaluate(engine, [binary(exp.RegexpLike, lit("ab"), t)], ["("])
    problem = run_problem(caught.value)
    assert isinstance(problem, DataProblem)
    assert problem.message == "a text is not a regular expression: unclosed group"


TABLE = """CREATE TABLE data (t TEXT) WITH (connector = 'single_file', path = '/x',
    format = 'json', type = 'source');"""


def planned(item):
    plan = plan_script(f"{TABLE} SELECT {item} AS y FROM data", Catalog())
    (project,) = (n for n in walk(plan.sinks[0]) if isinstance(n, Project))
    return project.items[0].expression


NUMBER = "CAST(t AS BIGINT)"


# What fails for a row that is not chosen: 'x' is no day, and 0 no divisor.
@pytest.mark.parametrize(
    ("item", "rows", "values"),
    [
        (
            "CASE WHEN t <> 'x' THEN "
            "CAST(named_struct('day', t) AS STRUCT<day DATE>).day END",
            ["2024-01-31", "x"],
            [date(2024, 1, 31), None],
        ),
        (
            "CASE WHEN t <> 'x' THEN CAST(named_struct('a', named_struct('My Day', t)) "
            'AS STRUCT<a STRUCT<"My Day" DATE>>).a."My Day" END',
            ["2024-01-31", "x"],
            [date(2024, 1, 31), None],
        ),
        (
            "coalesce(CASE WHEN t = 'x' THEN DATE '2024-02-01' END, "
            "CAST(named_struct('day', t) AS STRUCT<day DATE>).day)",
            ["2024-01-31", "x"],
            [date(2024, 1, 31), date(2024, 2, 1)],
        ),
        (
            "DATE '2024-01-31' + CASE WHEN t <> 'x' THEN CAST(t AS INTERVAL) "
            "ELSE INTERVAL '1 month' END",
            ["1 day", "x"],
            [date(2024, 2, 1), date(2024, 2, 29)],
        ),
        (
            f"DATE '2024-01-31' + CASE WHEN t <> '0' THEN "
            f"CAST(concat(CAST(10 / {NUMBER} AS TEXT), ' days') AS INTERVAL) "
            "ELSE INTERVAL '1 month' END",
            ["10", "0"],
            [date(2024, 2, 1), date(2024, 2, 29)],
        ),
        (
            f"DATE '2024-01-31' + CASE WHEN t = '0' THEN INTERVAL '1 month' "
            f"WHEN 10 / {NUMBER} > 1 THEN INTERVAL '1 day' "
            "ELSE CAST(concat(t, ' days') AS INTERVAL) END",
            ["5", "0", "20"],
            [date(2024, 2, 1), date(2024, 2, 29), date(2024, 2, 20)],
        ),
        (
            "DATE '2024-01-31' + coalesce(CASE WHEN t = '0' THEN INTERVAL '1 month' "
            f"END, TIMESTAMP '1970-01-02' - to_timestamp(10 / {NUMBER} * 0))",
            ["10", "0"],
            [date(2024, 2, 1), date(2024, 2, 29)],
        ),
        (
            "DATE '2024-01-31' + nvl(TRY_CAST(t AS INTERVAL), "
            f"CAST(concat(CAST(10 / ({NUMBER} - 1) AS TEXT), ' days') AS INTERVAL))",
            ["1 month", "11"],
            [date(2024, 2, 29), date(2024, 12, 31)],
        ),
    ],
)
def test_what_is_not_chosen_does_not_fail(engine, item, rows, values):
    assert evaluate(engine, [planned(item)], rows) == [values]


def test_a_struct_is_cast_by_a_text_that_does_not_double_with_each_level():
    type_ = DOUBLE, TEXT
    for level in range(40):
        type_ = tuple(StructOf((Field(f"f{level}", one),)) for one in type_)
    assert len(cast("`s`", *type_)) < 10_000


def test_the_name_of_a_call_is_that_of_what_it_evaluates():
    t = col("t", TEXT)
    texts = [
        spark_sql(binary(exp.RegexpLike, t, lit(pattern)), row_time="")
        for pattern in (r"\w", r"\w", r"\d")
    ]
    assert texts[0] == texts[1] != texts[2]
    assert texts[0] == "`_df_4e2832fefa86dfc1`(`t`)"


ATOMS = [*"abkS-_ ,", ".", r"\.", r"\s", "[a-c]", "[^k]", "[[:alpha:]_]", r"[\s-]", "é"]
TIMES = ["", "", "", "*", "+?", "?", "{2}", "{1,2}?"]
LETTERS = "abckKsS.-_ ,\n\r\t\u0085\u2028\u00a0é😀\u212a\u017f٣"


def random_pattern(chosen: random.Random, depth: int = 0) -> str:
    def piece() -> str:
        if depth < 2 and chosen.random() < 0.25:
            opening = chosen.choice(["(", "(?:"])
            inner = random_pattern(chosen, depth + 1)
            return f"{opening}{inner})" + chosen.choice(["", "?"])
        return chosen.choice(ATOMS) + chosen.choice(TIMES)

    parts = ["".join(piece() for _ in range(chosen.randint(1, 4)))]
    if chosen.random() < 0.2:
        parts.append("".join(piece() for _ in range(chosen.randint(1, 2))))
    text = "|".join(parts)
    if depth == 0 and len(parts) == 1:
        text = chosen.choice(["", "^"]) + text + chosen.choice(["", "$"])
    return text


def test_java_and_rust_mean_the_patterns_of_the_grammar_alike(engine):
    chosen = random_of_the_day("patterns")
    texts = [
        "".join(chosen.choices(LETTERS, k=chosen.randint(0, 9))) for _ in range(400)
    ]
    cases = []
    while len(cases) < 120:
        pattern, any_case = random_pattern(chosen), chosen.random() < 0.4
        found = common_pattern(pattern, any_case=any_case)
        if found is not None:
            cases.append((pattern, any_case, found))
    context = datafusion.SessionContext()
    context.register_record_batches("t", [[pa.record_batch({"t": texts})]])
    wanted, columns = {}, []
    for number, (pattern, any_case, found) in enumerate(cases):
        literal, flags = text_literal(pattern), "i" * any_case
        exprs = {f"m{number}": f"regexp_match(t, {literal}, '{flags}')"}
        if not found.may_be_empty:
            exprs[f"r{number}"] = f"regexp_replace(t, {literal}, '<>', '{flags}')"
            exprs[f"g{number}"] = f"regexp_replace(t, {literal}, '<>', 'g{flags}')"
        wanted |= exprs
        t = col("t", TEXT)
        given = [pattern, flags] if flags else [pattern]
        columns.append(call("regexp_match", t, *given))
        if not found.may_be_empty:
            columns.append(call("regexp_replace", t, pattern, "<>", *given[1:]))
            columns.append(call("regexp_replace", t, pattern, "<>", "g" + flags))
    assert not datafusion_calls(columns)
    select = ", ".join(f'{sql} AS "{name}"' for name, sql in wanted.items())
    select = select.replace(", '')", ")")
    table = pa.Table.from_batches(context.sql(f"SELECT {select} FROM t").collect())
    answers = evaluate(engine, columns, texts)
    for place, sql in enumerate(wanted.values()):
        assert answers[place] == table.column(place).to_pylist(), sql


def test_a_run_filters_and_computes_columns_with_datafusion(session, tmp_path):
    path = tmp_path / "words.json"
    path.write_text('{"t": "é1"}\n{"t": "-"}\n', encoding="utf-8")
    run = session.run(
        "CREATE TABLE words (t TEXT, is_word BOOLEAN GENERATED ALWAYS AS "
        rf"(t ~ '^\w+$') STORED) WITH (connector = 'single_file', path = '{path}', "
        r"format = 'json', type = 'source'); SELECT t, regexp_match(t, '\d+')[1] AS n "
        "FROM words WHERE is_word",
        wait=True,
    )
    assert run.table().select(["t", "n"]).to_pylist() == [{"t": "é1", "n": "1"}]
    assert session.head("words")["is_word"].to_pylist() == [True, False]
