"""OVER on Arrow tables: random functions and frames against DuckDB."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from calls import SCHEMA, Case, computed, expected, kernel_of, some_case, some_rows

from arroyo_nb.changelog.measures import AggregateCall, Order
from arroyo_nb.functions.aggregates import aggregate
from arroyo_nb.functions.over import over_function
from arroyo_nb.over.aggregates import _cut, _members, aggregate_over
from arroyo_nb.over.frame import Edge, OverFrame
from arroyo_nb.over.kernel import CallLimit, OrderedCalls, OverKernel
from arroyo_nb.over.pieces import Pieces
from arroyo_nb.over.rows import OverCall


def same(one: object, other: object) -> bool:
    """NaN is NaN, no list is an empty one, and a float is near the other."""
    if isinstance(one, list) or isinstance(other, list):
        pairs = [*zip(one or [], other or [], strict=False)]
        return len(one or []) == len(other or []) == len(pairs) and all(
            same(a, b) for a, b in pairs
        )
    if isinstance(one, float) and other is not None:
        b = float(str(other))
        is_nan = math.isnan(one) and math.isnan(b)
        return is_nan or one == b or math.isclose(one, b, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


def check(seed: int) -> None:
    random = Random(seed)
    rows, case = some_rows(random, random.randint(0, 40)), some_case(random)
    found, wanted = computed(case, rows), expected(case, rows)
    assert found.keys() == wanted.keys(), case.sql
    wrong = {u for u in wanted if not same(found[u], wanted[u])}
    assert not wrong, (seed, case.sql, {u: (found[u], wanted[u]) for u in wrong})


@pytest.mark.parametrize("seed", range(40))
def test_a_random_function_over_a_random_frame(seed: int) -> None:
    for number in range(5):
        check(1000 * seed + number)


@pytest.mark.long("windows")
@pytest.mark.parametrize("seed", range(100))
def test_many_random_functions(seed: int) -> None:
    for number in range(200):
        check(1000 * (seed + 1000) + number)


@pytest.mark.parametrize("seed", range(50))
def test_the_order_of_arrival_changes_nothing(seed: int) -> None:
    """Also where peers are many: a batch that runs again has another order."""
    random = Random(seed)
    rows, case = some_rows(random, 60), some_case(random)
    places = list(range(60))
    random.shuffle(places)
    frame = case.call.frame
    by_distance = frame is not None and frame.unit == "range"
    order = case.order if by_distance else (Order("b"),)
    case = Case(case.call, ("w",), order, "")
    one, other = computed(case, rows), computed(case, rows.take(pa.array(places)))
    assert all(same(one[u], other[u]) for u in one)


def of_values(*calls: OverCall) -> OverKernel:
    """A kernel over one column, by which the rows are ordered."""
    schema = pa.schema({"v": pa.int64()})
    return OverKernel(schema, (), ("v",), ("v",), (OrderedCalls((Order("v"),), calls),))


@pytest.mark.parametrize("seed", range(30))
def test_calls_of_several_orders_are_those_of_each(seed: int) -> None:
    random = Random(seed)
    rows, cases = some_rows(random, 30), []
    while len(cases) < 3:
        case = some_case(random)
        cases += [case] * (case.keys == ("w",))
    groups = tuple(
        OrderedCalls(case.order, (replace(case.call, name=f"x{n}"),))
        for n, case in enumerate(cases)
    )
    names = tuple(SCHEMA.names)
    found = OverKernel(SCHEMA, ("w",), names, names, groups)(rows)
    places = found["u"].to_pylist()
    for number, case in enumerate(cases):
        values = dict(zip(places, found[f"x{number}"].to_pylist(), strict=True))
        assert all(same(values[u], x) for u, x in computed(case, rows).items())


def test_a_window_without_rows() -> None:
    for seed in range(30):
        case = some_case(Random(seed))
        assert kernel_of(case)(SCHEMA.empty_table()).num_rows == 0


def test_rows_of_one_bucket_go_by_their_share() -> None:
    """DataFusion's ntile: ten rows in four buckets are 3, 2, 3 and 2, where the
    standard has 3, 3, 2 and 2."""
    function = over_function("ntile")
    assert function is not None
    for buckets, wanted in ((4, [3, 2, 3, 2]), (3, [4, 3, 3]), (20, [1] * 10)):
        call = OverCall("x", pa.int64(), function.compute, parameter=buckets)
        kernel = of_values(call)
        found = kernel(pa.table({"v": range(10)}))["x"].to_pylist()
        assert np.bincount(found)[1:].tolist() == wanted
        assert found == sorted(found)


def test_frames_are_written_out_a_piece_at_a_time() -> None:
    random = np.random.default_rng(1)
    low = random.integers(0, 20, 50)
    frames = Pieces(((low, low + random.integers(0, 5, 50)),))
    assert sum(len(piece.sizes) for piece in _cut(frames, 7)) == 50
    cut = [np.c_[_members(piece)] for piece in _cut(frames, 7)]
    assert all(len(part) <= 7 + 4 for part in cut)
    whole = np.concatenate([part[:, 1] for part in cut])
    assert whole.tolist() == _members(frames)[1].tolist()


def test_a_range_moves_beyond_the_greatest_number() -> None:
    """What is an offset away of the greatest BIGINT is none of the least ones."""
    edge = 2**63 - 1
    count = AggregateCall("x", "count", pa.int64(), kernel=aggregate("count").kernel)
    frame = OverFrame("range", Edge("preceding", 1), Edge("following", 2))
    call = OverCall("x", pa.int64(), aggregate_over, frame=frame, aggregate=count)
    kernel = of_values(call)
    values = [-edge - 1, -edge, edge - 1, edge]
    found = kernel(pa.table({"v": values}))
    assert found["x"].to_pylist() == [2, 2, 2, 2]


@pytest.mark.parametrize("last", [0, 1, 2, 2**63 - 1])
def test_a_limit_leaves_the_first_rows(last: int) -> None:
    """Values are those among all rows of the partition."""
    rank, lead = over_function("rank"), over_function("lead")
    assert rank is not None
    assert lead is not None
    calls = (
        OverCall("x", pa.int64(), rank.compute),
        OverCall("y", pa.int64(), lead.compute, ("v",)),
    )
    kernel = replace(of_values(*calls), limit=CallLimit("x", last))
    found = kernel(pa.table({"v": [5, 3, 3, 8]})).to_pylist()
    rows = [(3, 1, 3), (3, 1, 5), (5, 3, 8), (8, 4, None)]
    assert [tuple(row.values()) for row in found] == [r for r in rows if r[1] <= last]
