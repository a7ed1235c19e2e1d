"""Which fields of structs are taken out below a watermark."""

from __future__ import annotations

from datetime import timedelta

import pytest
from bound import col, count, lit, measure, named, op, source
from sqlglot import exp

from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.typing import typed
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.verify import verify
from arroyo_nb.schema import BIGINT, BOOLEAN, TEXT, Field, StructOf
from arroyo_nb.spark.struct_fields import NarrowWatermark, narrow_watermarks

BID = StructOf((Field("price", BIGINT), Field("url", TEXT)))
EVENTS = source(Field("bid", BID), Field("k", TEXT), Field("_field_0", TEXT))
WATERMARK = nodes.Watermark(EVENTS, None, timedelta(seconds=1))
BIDS = nodes.Filter(
    WATERMARK,
    typed(exp.Not(this=op(exp.Is, col("bid", BID), lit(None), BOOLEAN)), BOOLEAN),
)


def field(name, type_):
    path = exp.Dot(this=col("bid", BID), expression=exp.Identifier(this=name))
    return typed(path, type_)


PRICE, URL = field("price", BIGINT), field("url", TEXT)


def carried(plan):
    """What is carried above the watermark: the names, and what they are."""
    made = narrow_watermarks(plan)
    verify(made)
    (found,) = (n for n in walk(made) if isinstance(n, NarrowWatermark))
    assert made.schema == plan.schema
    return {item.name: item.expression.sql() for item in found.items}


def test_fields_and_whether_there_are_any():
    assert carried(nodes.Project(BIDS, (named("price", PRICE),))) == {
        "_field_0_": '"bid".price',
        "_field_1": '"bid" IS NULL',
    }


def test_other_columns_stay():
    twice = (named("a", PRICE), named("b", PRICE), named("k", col("k", TEXT)))
    assert carried(nodes.Project(WATERMARK, twice)) == {
        "k": '"k"',
        "_field_0_": '"bid".price',
    }


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"where": op(exp.GT, PRICE, lit(1), BOOLEAN)},
        {"order": (nodes.Ordering(PRICE, descending=False, nulls_first=False),)},
    ],
)
def test_in_every_part_of_an_aggregate(more):
    measures = (measure("max", URL, TEXT, **more), count())
    window = nodes.Tumble(timedelta(seconds=10))
    aggregate = nodes.WindowAggregate(
        BIDS, window, "w", (named("price", PRICE),), measures
    )
    taken = {'"bid".price', '"bid".url', '"bid" IS NULL'}
    assert set(carried(aggregate).values()) == taken


@pytest.mark.parametrize(
    "plan",
    [
        nodes.Project(BIDS, (named("price", PRICE), named("bid", col("bid", BID)))),
        nodes.Project(WATERMARK, (named("k", col("k", TEXT)),)),
        BIDS,
    ],
    ids=["a struct that is read whole", "no struct", "nobody names columns"],
)
def test_nothing_to_take_out(plan):
    assert narrow_watermarks(plan) is plan
