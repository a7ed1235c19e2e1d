"""Aggregates: the types that DataFusion gives, and which of them run where."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.editor import completion
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.aggregates import (
    FAMILIES,
    AggregateFunction,
    names,
)
from arroyo_nb.functions.examples import split_example
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.plan.nodes import (
    Measure,
    Ordering,
    Sink,
    UpdatingAggregate,
    WindowAggregate,
)
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.schema import BIGINT, DOUBLE
from arroyo_nb.spark.aggregates import is_native, measure_sql

TABLES = Path(__file__).parents[2] / "golden" / "tables.sql"


@cache
def tables() -> Catalog:
    return plan_script(TABLES.read_text(encoding="utf-8"), Catalog()).catalog


def planned(call: str, groups: str = "name") -> Sink:
    query = f"SELECT {call} AS x FROM trips GROUP BY {groups}"
    return plan_script(query, tables()).sinks[0]


def measure(call: str, groups: str = "name") -> Measure:
    kinds = (UpdatingAggregate, WindowAggregate)
    (found,) = (n for n in walk(planned(call, groups)) if isinstance(n, kinds))
    (made,) = found.measures
    return made


AGGREGATES = {row.name: row for family in FAMILIES for row in family.AGGREGATES}
TYPES = {
    "approx_distinct(name)": "BIGINT UNSIGNED",
    "approx_median(price)": "DOUBLE",
    "approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY seats)": "INT",
    "approx_percentile_cont_with_weight(id, 1) WITHIN GROUP (ORDER BY fare)": "DOUBLE",
    "array_agg(at)": "TIMESTAMP[]",
    "avg(price)": "DECIMAL(14, 6)",
    "avg(seats)": "DOUBLE",
    "bit_and(seats)": "INT",
    "bit_or(id)": "BIGINT",
    "bit_xor(seats)": "INT",
    "bool_and(done)": "BOOLEAN",
    "corr(fare, seats)": "DOUBLE",
    "count(tags)": "BIGINT NOT NULL",
    "covar_pop(id, ratio)": "DOUBLE",
    "covar_samp(price, fare)": "DOUBLE",
    "first_value(tags)": "TEXT[]",
    "last_value(at)": "TIMESTAMP",
    "max(at)": "TIMESTAMP",
    "median(seats)": "INT",
    "median(ratio)": "FLOAT",
    "min(place)": "STRUCT<city TEXT, at STRUCT<lat DOUBLE, lon DOUBLE>>",
    "nth_value(done, -3)": "BOOLEAN",
    "stddev(seats)": "DOUBLE",
    "stddev_pop(price)": "DOUBLE",
    "string_agg(name, '; ')": "TEXT",
    "sum(price)": "DECIMAL(20, 2)",
    "sum(ratio)": "DOUBLE",
    "sum(seats)": "BIGINT",
    "var(fare)": "DOUBLE",
    "var_pop(fare)": "DOUBLE",
    "regr_count(fare, id)": "BIGINT UNSIGNED",
    **{
        f"regr_{word}(fare, seats)": "DOUBLE"
        for word in ["avgx", "avgy", "intercept", "r2", "slope", "sxx", "sxy", "syy"]
    },
}


@pytest.mark.parametrize(("call", "type_"), TYPES.items(), ids=TYPES)
def test_types(call: str, type_: str) -> None:
    (field,) = planned(call).schema
    assert str(field) == f"x {type_}"


def test_completion_offers_every_aggregate() -> None:
    assert set(AGGREGATES) <= {name for name, _ in completion._functions()}
    assert set(names()) >= {"mean", "stddev_samp", "var_samp"}


@pytest.mark.parametrize("call", TYPES)
@pytest.mark.parametrize("distinct", [False, True])
def test_over_a_window_all_are_run(call: str, distinct: bool) -> None:
    name = call.split("(")[0]
    if distinct:
        if AGGREGATES[name].arguments > 1 or AGGREGATES[name].within:
            return
        call = call.replace("(", "(DISTINCT ", 1)
    made = measure(call, "tumble('1 minute')")
    assert made.type == measure(call).type
    if is_native(made):
        assert measure_sql(made, row_time="").startswith("CAST(")


@pytest.mark.parametrize("row", AGGREGATES.values(), ids=AGGREGATES)
def test_the_example_of_an_aggregate_can_be_planned(row: AggregateFunction) -> None:
    call, result = split_example(row.example)
    assert measure(call).function == row.name
    assert result


def test_a_constant_is_no_argument() -> None:
    joined = measure("string_agg(DISTINCT name, ' | ' ORDER BY name DESC)")
    (argument,) = joined.arguments
    assert (argument.name, joined.parameter, joined.distinct) == ("name", " | ", True)
    assert joined.order == (Ordering(argument, descending=True, nulls_first=True),)
    assert measure("nth_value(name, -2)").parameter == -2
    assert measure("array_agg(name)").parameter is None


def test_null_comes_last_unless_the_order_descends() -> None:
    order = measure("array_agg(name ORDER BY id, at DESC, fare NULLS FIRST)").order
    assert [(o.descending, o.nulls_first) for o in order] == [
        (False, False),
        (True, True),
        (False, True),
    ]


def test_an_order_that_changes_nothing_is_dropped() -> None:
    assert measure("sum(seats ORDER BY at)") == measure("sum(seats)")
    assert measure("first_value(name ORDER BY at)") != measure("first_value(name)")


def test_within_group_gives_the_first_argument() -> None:
    group = "WITHIN GROUP (ORDER BY seats {})"
    upper = measure("approx_percentile_cont(0.9) " + group.format("DESC"))
    lower = measure("approx_percentile_cont(0.1) " + group.format(""))
    assert upper.arguments == lower.arguments
    assert (upper.parameter, lower.parameter) == (0.1, 0.1)


def test_moments_are_of_doubles() -> None:
    made = measure("covar_pop(price, seats)")
    assert [type_of(argument) for argument in made.arguments] == [DOUBLE, DOUBLE]
    assert type_of(measure("bit_or(id)").arguments[0]) == BIGINT


def test_an_order_without_an_argument_is_a_call_without_arguments() -> None:
    with pytest.raises(CatalogProblem, match=r"first_value\(\) takes one argument"):
        planned("first_value(ORDER BY at)")
