"""Updating aggregates against DuckDB over the surviving rows, after every batch."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from histories import Folded, Relation, duck, expired, histories, pieces, stepped, table
from hypothesis import given, settings
from hypothesis import strategies as st

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.aggregate import AggregateKernel
from arroyo_nb.changelog.measures import AggregateCall, Order
from arroyo_nb.changelog.state_updates import StateUpdate
from arroyo_nb.errors import RunProblem, Unsupported
from arroyo_nb.functions.aggregates import aggregate

INPUT = pa.schema(
    [
        ("k", pa.string()),
        ("g", pa.float64()),
        ("s", pa.struct({"x": pa.int32(), "y": pa.list_(pa.string())})),
        ("i", pa.int64()),
        ("f", pa.float64()),
        ("h", pa.float64()),
        ("d", pa.decimal128(6, 2)),
        ("t", pa.string()),
        ("b", pa.bool_()),
        ("p", pa.bool_()),
    ]
)
QUARTERS = st.integers(-20, 20).map(lambda n: n / 4)
ROWS = st.fixed_dictionaries(
    {
        "k": st.sampled_from(["a", "b", None]),
        "g": st.sampled_from([0.0, -0.0, math.nan, None]),
        "s": st.sampled_from([None, {"x": 1, "y": ["u"]}, {"x": None, "y": None}]),
        "i": st.none() | st.integers(-4, 4),
        "f": st.none() | QUARTERS,
        "h": st.none() | QUARTERS,
        "d": st.none() | st.integers(-300, 300).map(lambda n: Decimal(n) / 100),
        "t": st.sampled_from([None, "", "x", "y"]),
        "b": st.none() | st.booleans(),
        "p": st.none() | st.booleans(),
    }
)
LONG, REAL, TEXT, BOOL = pa.int64(), pa.float64(), pa.string(), pa.bool_()
DECIMAL = pa.decimal128(6, 2)


def call(function: str, type_: pa.DataType, *arguments: str, **more) -> AggregateCall:
    return AggregateCall(
        "m", function, type_, arguments, kernel=aggregate(function).kernel, **more
    )


MEASURES: list[tuple[AggregateCall, str]] = [
    (call("count", LONG), "count(*)"),
    (call("count", LONG, where="p"), "count(*) FILTER (p)"),
    (call("count", LONG, "i"), "count(i)"),
    (call("count", LONG, "s", distinct=True), "count(DISTINCT s)"),
    (
        call("count", LONG, "f", distinct=True, where="p"),
        "count(DISTINCT f) FILTER (p)",
    ),
    (call("approx_distinct", LONG, "t"), "count(DISTINCT t)"),
    (call("sum", LONG, "i"), "sum(i)::BIGINT"),
    (call("sum", LONG, "i", where="p"), "(sum(i) FILTER (p))::BIGINT"),
    (call("sum", LONG, "i", distinct=True), "sum(DISTINCT i)::BIGINT"),
    (call("sum", REAL, "f"), "sum(f)"),
    (call("sum", REAL, "f", distinct=True), "sum(DISTINCT f)"),
    (call("sum", pa.decimal128(16, 2), "d"), "sum(d)::DECIMAL(16, 2)"),
    (call("avg", REAL, "i"), "avg(i)"),
    (call("avg", REAL, "f"), "avg(f)"),
    (call("avg", REAL, "f", distinct=True, where="p"), "avg(DISTINCT f) FILTER (p)"),
    (
        call("avg", pa.decimal128(10, 6), "d"),
        "(trunc(sum(d) * 1000000 / count(d)) / 1000000)::DECIMAL(10, 6)",
    ),
    *[
        (call(f, t, c), f"{f}({c})")
        for f in ("min", "max")
        for c, t in [
            ("i", LONG),
            ("f", REAL),
            ("t", TEXT),
            ("d", DECIMAL),
        ]
    ],
    (call("min", LONG, "i", where="p"), "min(i) FILTER (p)"),
    (call("max", BOOL, "b"), "max(b)"),
    (call("bool_and", BOOL, "b"), "bool_and(b)"),
    (call("bool_or", BOOL, "b", where="p"), "bool_or(b) FILTER (p)"),
    *[(call(f, LONG, "i"), f"{f}(i)") for f in ("bit_and", "bit_or", "bit_xor")],
    (call("median", LONG, "i"), "trunc(median(i))::BIGINT"),
    (call("median", REAL, "f"), "median(f)"),
    (call("median", DECIMAL, "d"), "trunc(median(d), 2)::DECIMAL(6, 2)"),
    (call("approx_median", REAL, "f"), "median(f)"),
    (
        call("approx_percentile_cont", REAL, "f", parameter=0.3),
        "quantile_cont(f, 0.3)",
    ),
    (call("array_agg", pa.list_(LONG), "i"), "array_agg(i ORDER BY i NULLS LAST)"),
    (
        call("array_agg", pa.list_(REAL), "f", distinct=True, where="p"),
        "array_agg(DISTINCT f ORDER BY f NULLS LAST) FILTER (p)",
    ),
    (
        call("array_agg", pa.list_(TEXT), "t", order=(Order("i", descending=True),)),
        "array_agg(t ORDER BY i DESC NULLS LAST, t NULLS LAST, i)",
    ),
    (
        call("string_agg", TEXT, "t", parameter="|"),
        "string_agg(t, '|' ORDER BY t)",
    ),
    (
        call("first_value", LONG, "i", order=(Order("f", nulls_first=True),)),
        "first(i ORDER BY f NULLS FIRST, i NULLS LAST)",
    ),
    (
        call("last_value", LONG, "i", order=(Order("f"), Order("t"))),
        "last(i ORDER BY f NULLS LAST, t NULLS LAST, i NULLS LAST)",
    ),
    (
        call("nth_value", LONG, "i", parameter=2),
        "array_agg(i ORDER BY i NULLS LAST)[2]",
    ),
    (
        call("nth_value", LONG, "i", parameter=-2),
        "array_agg(i ORDER BY i NULLS LAST)[-2]",
    ),
    (call("var", REAL, "f"), "var_samp(f)"),
    (call("var", REAL, "i", distinct=True), "var_samp(DISTINCT i)"),
    (call("var_pop", REAL, "i"), "var_pop(i)"),
    (call("stddev", REAL, "f", where="p"), "stddev_samp(f) FILTER (p)"),
    (call("stddev_pop", REAL, "d"), "stddev_pop(d)"),
    (call("covar_samp", REAL, "f", "h"), "covar_samp(f, h)"),
    (call("covar_pop", REAL, "f", "h"), "covar_pop(f, h)"),
    (
        call("corr", REAL, "f", "h"),
        "CASE WHEN regr_sxx(f, h) > 0 AND regr_syy(f, h) > 0 THEN corr(f, h) END",
    ),
    *[
        (call(f, REAL, "f", "h"), f"CASE WHEN regr_sxx(f, h) > 0 THEN {f}(f, h) END")
        for f in ("regr_slope", "regr_intercept")
    ],
    *[
        (call(f, REAL, "f", "h"), f"{f}(f, h)")
        for f in ("regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy")
    ],
    (call("regr_count", LONG, "f", "h"), "regr_count(f, h)"),
    (
        call("regr_r2", REAL, "f", "h"),
        "CASE WHEN regr_sxx(f, h) > 0 AND regr_syy(f, h) > 0 THEN regr_r2(f, h) END",
    ),
]


def renamed(calls: list[AggregateCall]) -> tuple[AggregateCall, ...]:
    return tuple(
        AggregateCall(**{**vars(c), "name": f"m{n}"}) for n, c in enumerate(calls)
    )


def query(keys: list[str], measures: list[str]) -> str:
    named = [f"{text} AS m{n}" for n, text in enumerate(measures)]
    group = f"GROUP BY {', '.join(keys)}" if keys else "HAVING count(*) > 0"
    return f"SELECT {', '.join([*keys, *named])} FROM rows {group}"


KEYS = st.lists(st.sampled_from(["k", "g", "s"]), unique=True)
CUTS = st.lists(st.integers(0, 6), max_size=2)


def check(history, keys, measures, cuts, retracts=True) -> None:
    calls, texts = [m[0] for m in measures], [m[1] for m in measures]
    operator = AggregateKernel(INPUT, tuple(keys), renamed(calls), retracts)
    state, relation, folded = operator.layout.empty(), Relation(INPUT), Folded()
    for batch in history:
        relation.take_in(batch)
        parts = pieces(table(batch, INPUT), cuts)
        partials = [operator.partial(part) for part in parts]
        state, changes = stepped(operator, state, partials, 0)
        assert changes.schema.names == [*operator.output.names, "_weight"]
        folded.fold(changes)
        folded.equals(duck(query(keys, texts), rows=relation.table()))
        saved = operator.layout.to_bytes(state)
        operator = pickle.loads(pickle.dumps(operator))
        state = operator.layout.from_bytes(saved)


@pytest.mark.long("queries")
@pytest.mark.parametrize(("measure", "text"), MEASURES, ids=[m[1] for m in MEASURES])
@given(data=st.data())
def test_each_aggregate_follows_its_rows(measure, text, data):
    check(data.draw(histories(ROWS)), ["k"], [(measure, text)], data.draw(CUTS))


@given(histories(ROWS), KEYS, st.lists(st.sampled_from(MEASURES), max_size=8), CUTS)
def test_any_query_follows_its_rows(history, keys, measures, cuts):
    if keys or measures:  # DISTINCT where there are keys only
        check(history, keys, measures, cuts)


@settings(max_examples=30)
@given(histories(ROWS), st.lists(st.sampled_from(MEASURES), min_size=1, max_size=4))
def test_an_input_that_only_appends_keeps_extremes_only(history, measures):
    appends = [[(row, w) for row, w in batch if w > 0] for batch in history]
    check(appends, ["k"], [*measures, *EXTREMES], [2], retracts=False)


EXTREMES = [m for m in MEASURES if m[0].function in ("min", "max")]


def changes(operator: AggregateKernel, *batches: pa.Table, every_us: int = 0) -> list:
    state, sent = operator.layout.empty(), []
    for n, batch in enumerate(batches):
        state, out = stepped(operator, state, [operator.partial(batch)], n * every_us)
        sent.append(out.to_pylist())
    return sent


def test_the_state_of_an_extreme_that_only_falls_is_one_value():
    schema = pa.schema({"k": TEXT, "v": LONG})
    operator = AggregateKernel(schema, ("k",), (call("max", LONG, "v"),), False)
    rows = pa.table({"k": ["a"] * 5 + ["b"], "v": [3, 9, 1, None, 9, 2]}, schema=schema)
    state, _ = stepped(
        operator,
        operator.layout.empty(),
        [operator.partial(rows.slice(i, 1)) for i in range(6)],
        0,
    )
    assert state["max v"].select(["_slot", "0"]).to_pylist() == [
        {"_slot": 0, "0": 9},
        {"_slot": 1, "0": 2},
    ]


def test_sums_of_integers_wrap_and_come_back():
    schema = pa.schema({"v": LONG, "_weight": LONG})
    operator = AggregateKernel(schema, (), (call("sum", LONG, "v"),))
    most = 2**63 - 1
    sent = changes(
        operator,
        pa.table({"v": [most, 1], "_weight": [1, 1]}),
        pa.table({"v": [1], "_weight": [-1]}),
    )
    assert sent == [
        [{"m": -(2**63), "_weight": 1}],
        [{"m": -(2**63), "_weight": -1}, {"m": most, "_weight": 1}],
    ]


def test_sums_of_unsigned_numbers_are_told_in_full():
    # What Spark has for a BIGINT and an INT UNSIGNED.
    widest = pa.decimal128(38, 0)
    schema = pa.schema({"u": pa.decimal128(20, 0), "u4": LONG})
    calls = renamed([call("sum", widest, "u"), call("sum", widest, "u4")])
    rows = {"u": [Decimal(2**64 - 1)] * 9, "u4": [2**32 - 1] * 9}
    [[row]] = changes(AggregateKernel(schema, (), calls), pa.table(rows, schema=schema))
    assert row == {"m0": 9 * (2**64 - 1), "m1": 9 * (2**32 - 1), "_weight": 1}


def test_a_float_that_is_retracted_leaves_no_trace():
    schema = pa.schema({"k": TEXT, "v": REAL, "_weight": LONG})
    operator = AggregateKernel(schema, ("k",), (call("sum", REAL, "v"),))
    values = [0.1, 1e300, -7e-310, math.inf, math.nan]
    there = pa.table({"k": ["a"], "v": [0.3], "_weight": [1]})
    come = pa.table({"k": ["a"] * 5, "v": values, "_weight": [1] * 5})
    go = come.set_column(2, "_weight", pa.array([-1] * 5))
    first, _, last = changes(operator, there, come, go)
    assert last[-1] == first[0]


def test_a_decimal_sum_that_does_not_fit_is_an_error():
    schema = pa.schema({"v": pa.decimal128(38, 0)})
    operator = AggregateKernel(schema, (), (call("sum", pa.decimal128(38, 0), "v"),))
    rows = pa.table({"v": [Decimal("9" * 38)] * 2}, schema=schema)
    with pytest.raises(RunProblem, match="more than the 38 digits"):
        changes(operator, rows)


def test_the_median_of_two_integers_is_truncated_and_does_not_overflow():
    schema = pa.schema({"k": TEXT, "v": LONG})
    operator = AggregateKernel(schema, ("k",), (call("median", LONG, "v"),))
    rows = {"k": list("aabb"), "v": [2**63 - 1, 2**63 - 3, -3, 0]}
    [sent] = changes(operator, pa.table(rows, schema=schema))
    assert [row["m"] for row in sent] == [2**63 - 2, -1]


def test_a_weighted_percentile_is_where_the_weight_reaches_it():
    schema = pa.schema({"v": LONG, "w": REAL})
    function = "approx_percentile_cont_with_weight"
    middle = call(function, LONG, "v", "w", parameter=0.5)
    rows = pa.table({"v": [3, 1, 2], "w": [8.0, 1.0, 1.0]}, schema=schema)
    [[row]] = changes(AggregateKernel(schema, (), (middle,)), rows)
    assert row["m"] == 3


@pytest.mark.parametrize("fraction", [0.0, 0.35, 0.5, 1.0])
def test_a_weighted_percentile_does_not_depend_on_other_groups(fraction):
    schema = pa.schema({"k": LONG, "v": LONG, "w": REAL})
    function = "approx_percentile_cont_with_weight"
    asked = call(function, LONG, "v", "w", parameter=fraction)
    operator = AggregateKernel(schema, ("k",), (asked,))
    values, weight = list(range(20)), [0.1] * 20
    one = {"k": [0] * 20, "v": values, "w": weight}
    [[alone]] = changes(operator, pa.table(one, schema=schema))
    keys = [k for k in range(100) for _ in values]
    many = {"k": keys, "v": values * 100, "w": weight * 100}
    [sent] = changes(operator, pa.table(many, schema=schema))
    assert {row["m"] for row in sent} == {alone["m"]}
    assert alone["m"] is not None


@pytest.mark.parametrize("function", ["array_agg", "string_agg"])
def test_more_values_than_lists_can_hold_are_refused(function):
    schema = pa.schema({"v": TEXT, "_weight": LONG})
    type_ = TEXT if function == "string_agg" else pa.list_(TEXT)
    operator = AggregateKernel(schema, (), (call(function, type_, "v"),))
    rows = pa.table({"v": ["x"], "_weight": [1 << 31]}, schema=schema)
    with pytest.raises(RunProblem, match=f"{function} collects 2\\*\\*31 values"):
        changes(operator, rows)


def test_an_update_carries_the_latest_event_time_of_its_group():
    schema = pa.schema({"k": TEXT, "_timestamp": pa.timestamp("us")})
    count = (call("count", LONG),)
    operator = AggregateKernel(schema, ("k",), count, time="_timestamp")
    late = pa.table({"k": ["a"], "_timestamp": [datetime(2024, 1, 1)]}, schema=schema)
    on_time = pa.table(
        {"k": ["a"], "_timestamp": [datetime(2024, 1, 2)]}, schema=schema
    )
    _, update = changes(operator, on_time, late)
    assert [(c["m"], c["_timestamp"].day, c["_weight"]) for c in update] == [
        (1, 2, -1),
        (2, 2, 1),
    ]


def test_idle_groups_are_retracted_once_and_start_anew():
    schema = pa.schema({"k": TEXT, "_weight": LONG})
    operator = AggregateKernel(schema, ("k",), (call("count", LONG),))

    def batch(k: str, weight: int) -> list:
        rows = pa.table({"k": [k], "_weight": [weight]}, schema=schema)
        return [operator.partial(rows)]

    state, _ = stepped(operator, operator.layout.empty(), batch("a", 2), 1)
    state, _ = stepped(operator, state, batch("b", 1), 2)
    state, _ = stepped(
        operator, state, batch("a", -1), 3
    )  # a retract is no sign of life
    state, gone = expired(operator, state, 2)
    assert gone.to_pylist() == [{"k": "a", "m": 1, "_weight": -1}]
    same, again = expired(operator, state, 2)
    assert same is state
    assert (again.schema, len(again)) == (gone.schema, 0)
    state, late = stepped(operator, state, batch("a", -1), 4)  # finds nothing
    assert len(late) == 0
    state, anew = stepped(operator, state, batch("a", 1), 5)
    assert anew.to_pylist() == [{"k": "a", "m": 1, "_weight": 1}]


def test_a_group_of_which_too_much_is_taken_back_is_forgotten():
    """Retracts of rows from before the group expired, in whatever company."""
    schema = pa.schema({"v": LONG})
    calls = renamed([call("count", LONG, "v"), call("sum", LONG, "v")])
    operator = AggregateKernel(schema, (), calls)
    too_much = [[(5, -1)], [(5, -2), (7, 1)], [(5, -1), (None, 2)]]
    fresh = operator.partial(pa.table({"v": [1]}, schema=schema))
    first = [{"m0": 1, "m1": 1, "_weight": 1}]
    for rows in too_much:
        batch = operator.partial(table([({"v": v}, w) for v, w in rows], schema))
        # Of a group that is not there, and of one that is.
        state, sent = stepped(operator, operator.layout.empty(), [batch], 0)
        assert (len(sent), sum(map(len, state.values()))) == (0, 0)
        state, sent = stepped(operator, state, [fresh], 1)
        assert sent.to_pylist() == first
        for _ in range(2):
            state, _ = stepped(operator, state, [batch], 2)
        assert sum(map(len, state.values())) == 0
        state, sent = stepped(operator, state, [fresh], 3)
        assert sent.to_pylist() == first


def test_windows_that_are_over_leave_with_their_rows():
    at = pa.timestamp("us")
    schema = pa.schema({"end": at, "k": pa.string(), "n": LONG})
    median = AggregateCall(
        "m", "median", LONG, ("n",), kernel=aggregate("median").kernel
    )
    operator = AggregateKernel(schema, ("end", "k"), (median,))

    def batch(*rows: tuple) -> list:
        columns = [list(column) for column in zip(*rows, strict=True)]
        weight = pa.array(columns.pop(), LONG)
        names = (pa.array(c, f.type) for c, f in zip(columns, schema, strict=True))
        return [
            operator.partial(pa.table([*names, weight], [*schema.names, "_weight"]))
        ]

    rows = batch((10, "a", 1, 1), (10, "a", 3, 1), (20, "a", 5, 1), (10, "b", 7, 1))
    state, _ = stepped(operator, operator.layout.empty(), rows, 0)
    state, final, following = operator.close(state, "end", 9)
    assert (len(final), following) == (0, 10)
    state, _ = stepped(operator, state, batch((10, "a", 1, -1), (10, "b", 7, -1)), 0)
    state, final, following = operator.close(state, "end", 10)
    assert final.select(["k", "m"]).to_pylist() == [{"k": "a", "m": 3}]
    assert following == 20
    state, final, following = operator.close(state, "end", 2**60)
    assert final.select(["k", "m"]).to_pylist() == [{"k": "a", "m": 5}]
    assert (sum(map(len, state.values())), following) == (0, None)


def test_a_later_time_alone_is_a_change_of_a_timed_row():
    schema = pa.schema({"k": pa.string(), "_timestamp": pa.timestamp("us")})
    operator = AggregateKernel(schema, ("k",), (), time="_timestamp")

    def batch(moment: int, weight: int) -> pa.Table:
        columns = [["a"], pa.array([moment], pa.timestamp("us")), [weight]]
        return pa.table(columns, [*schema.names, "_weight"])

    state, sent = operator.layout.empty(), []
    for moment, weight in ((1, 1), (5, 1), (2, -1), (1, -1)):
        state, out = stepped(
            operator, state, [operator.partial(batch(moment, weight))], 0
        )
        times = out["_timestamp"].cast(pa.int64()).to_pylist()
        sent.append(list(zip(out["_weight"].to_pylist(), times, strict=True)))
    assert sent == [[(1, 1)], [(-1, 1), (1, 5)], [], [(-1, 5)]]


def test_aggregates_that_do_not_exist_are_refused():
    operator = AggregateKernel(INPUT, (), (call("sum", LONG, "t"),))
    with pytest.raises(Unsupported, match=r"no updating aggregate sum\(string\)"):
        _ = operator.layout


def test_a_state_goes_on_with_more_aggregates_of_what_it_keeps():
    def named(n, function, type_, *arguments):
        return replace(call(function, type_, *arguments), name=f"agg_{n}")

    schema = pa.schema([("k", TEXT), ("f", REAL)])
    calls = (named(0, "sum", REAL, "f"), named(1, "count", LONG, "f"))
    more = (named(2, "avg", REAL, "f"), named(3, "count", LONG))
    before = AggregateKernel(schema, ("k",), calls)
    after = AggregateKernel(schema, ("k",), (*calls, *more))

    def rows(*pairs):
        values = [{"k": k, "f": f, WEIGHT: w} for k, f, w in pairs]
        return pa.Table.from_pylist(values, schema.append(pa.field(WEIGHT, LONG)))

    first = rows(("a", 1.0, 1), ("a", 3.0, 1), ("b", 5.0, 1), ("c", None, 1))
    update, _ = before.step(before.layout.empty(), [before.partial(first)], 0)
    saved = before.layout.to_bytes(
        update.applied_to(before.layout.empty(), before.layout)
    )
    # A log has the changes of a state: those are read with fewer columns, too.
    StateUpdate.from_bytes(update.to_bytes(before.layout), after.layout)
    state = after.layout.from_bytes(saved)
    second = rows(("a", 8.0, 1), ("a", 1.0, -1), ("c", None, 1), ("d", 2.0, 1))
    _, changes = after.step(state, [after.partial(second)], 0)
    told = {(r.pop("k"), r.pop(WEIGHT)): [*r.values()] for r in changes.to_pylist()}
    assert told == {
        # As they were sent, without what nobody knew of.
        ("a", -1): [4.0, 2, None, None],
        ("c", -1): [None, 0, None, None],
        ("a", 1): [11.0, 2, 5.5, 2],
        ("c", 1): [None, 0, None, 2],
        ("d", 1): [2.0, 1, 2.0, 1],
    }
    # A sum of another column is in no state of before.
    other = AggregateKernel(schema, ("k",), (*calls, named(2, "max", REAL, "f")))
    with pytest.raises(RunProblem, match="does not belong to this query"):
        other.layout.from_bytes(saved)
    with pytest.raises(RunProblem, match="does not belong to this query"):
        before.layout.from_bytes(after.layout.to_bytes(state))
