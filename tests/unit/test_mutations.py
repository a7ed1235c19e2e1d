"""Broken scripts: whatever is done to a good one, a plan or an error with its place
comes back, and what is planned can be written for Spark."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan import Plan
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.verify import expressions
from arroyo_nb.spark.expressions import spark_sql

GOLDEN = Path(__file__).parents[1] / "golden"
ROUNDS, EACH, MANY = 20, 500, 200

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\s+|.", re.DOTALL)
_ODD = (
    *("0", "-1", "1e400", "1e", ".5.5", "9" * 400, "99999999999999999999", "0x1F"),
    *("''", "'('", "'-\t5 s'", "'999999999 days'", "'%Q'", "$$x$$", "E'\\n'", "'é'"),
    *("INTERVAL '90000000 days'", "INTERVAL '1 month'", "NULL", "TRUE", "*", "()"),
    *("(", ")", "[", "]", "{", "}", "<", ",", ";", ".", "::", "->", "?", "$1", ":x"),
    *("CASE", "END", "NOT", "-", "DISTINCT", "AS", "OVER ()", "IN", "BETWEEN", "IS"),
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "UNION ALL", "WITH", "CREATE"),
    *("tumble('1 s')", "hop('1 s', '2 s')", "sum(", "row_time()", "window", "trips"),
    *("JOIN", "FULL JOIN", "CROSS JOIN", "ON", "ON TRUE", "unnest(", "unnest(tags)"),
    *("OVER (PARTITION BY window ORDER BY 1)", "OVER w", "WINDOW w AS (", "lag(", "3)"),
    *("ROWS BETWEEN", "RANGE", "GROUPS", "UNBOUNDED PRECEDING", "2 FOLLOWING", "AND"),
    *("EXCLUDE TIES", "IGNORE NULLS", "FILTER (WHERE", "WITHIN GROUP (", "ntile(0)"),
    *("row_number()", "window.start", "w.end", "a.window", "array_agg(", "median("),
    *("INSERT INTO", "VIEW", "TABLE m (x BIGINT);", "PRIMARY KEY", "METADATA FROM"),
    *("'nexmark'", "'delta'", "'kinesis'", "connector", "WATERMARK FOR", "GENERATED"),
    *("DECIMAL(5, 9)", "TIMESTAMP(7)", "STRUCT<", "ARRAY[", "/*", "--", "\ufeff", "\0"),
)


@cache
def tables() -> Catalog:
    script = (GOLDEN / "tables.sql").read_text(encoding="utf-8")
    return plan_script(script, Catalog()).catalog


@cache
def scripts() -> list[list[str]]:
    """The golden scripts, each as its tokens."""
    paths = sorted((*GOLDEN.glob("plans/*.txt"), *GOLDEN.glob("errors/*.sql")))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    good = [re.split(r"\n-- error\n|\n-{40}\n", text)[0] for text in texts]
    return [_TOKEN.findall(text) for text in good if len(text) < 2_000]


def mutated(rng: random.Random) -> str:
    """One script after one to four edits."""
    tokens = list(rng.choice(scripts()))
    for _ in range(rng.randint(1, 4)):
        place, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        match rng.randrange(5):
            case 0 if len(tokens) > 1:
                del tokens[place]
            case 1:
                tokens.insert(other, tokens[place])
            case 2:
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 3:
                tokens[place] = rng.choice(_ODD)
            case _:
                tokens.insert(place, f" {rng.choice(_ODD)} ")
    return "".join(tokens)


def check(script: str) -> None:
    """A plan whose expressions are all Spark's, or errors with their places."""
    try:
        plan = plan_script(script, tables())
    except ArroyoError as error:
        problem = error
    else:
        lower(plan)
        return
    empty = problem.message == "Query is empty!"
    assert empty or all(each.span for each in problem.problems), str(problem)


def lower(plan: Plan) -> None:
    """Write every expression of a plan for Spark."""
    plan.explain()
    for node in (node for sink in plan.sinks for node in walk(sink)):
        for _, expression in expressions(node):
            spark_sql(expression, row_time="`_timestamp`")


def check_some(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(EACH):
        script = mutated(rng)
        try:
            check(script)
        except Exception as error:
            error.add_note(script)
            raise


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_broken_script_is_a_plan_or_an_error_with_a_place(seed: int) -> None:
    check_some(seed)


@pytest.mark.long("queries")
@pytest.mark.parametrize("seed", range(ROUNDS, ROUNDS + MANY))
def test_of_many_broken_scripts(seed: int) -> None:
    check_some(seed)
