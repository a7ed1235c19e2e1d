"""What lowering promises beyond the windows' contents: where the watermark comes from,
what may not move below it, and how a plan looks to Spark."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from bound import call, cast, col, count, lit, measure, named, op, source
from microbatches import batch_reader, reader, run_to_end, write_chunks
from sqlglot import exp

from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.typing import typed
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    DOUBLE,
    INT_UNSIGNED,
    TEXT,
    WINDOW_STRUCT,
    Decimal,
    Field,
    StructOf,
    Timestamp,
)
from arroyo_nb.spark import observe
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.observe import WindowInputs, read_observed

S = 1_000_000
SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64())])
EVENTS = source(Field("k", TEXT), Field("v", BIGINT))
K, V = col("k", TEXT), col("v", BIGINT)


def s(n):
    return timedelta(seconds=n)


def at(seconds):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def watermark(delay=0, event_time=None, expression=None):
    return nodes.Watermark(EVENTS, event_time, s(delay), expression)


def counted(node, window=None):
    window = window or nodes.Tumble(s(10))
    return nodes.WindowAggregate(node, window, "w", (), (count(),))


@pytest.fixture
def stream(engine, tmp_path):
    """Runs a plan over batches; gives (batch, *visible values) in order."""

    def run(plan, batches):
        folder = tmp_path / "tape"
        folder.mkdir()
        write_chunks(folder, SCHEMA, batches)

        def work():
            frame = visible(lower(plan, reader(engine.session, folder)), plan)
            return run_to_end(frame, tmp_path / "state")

        outcome = engine.worker.call(work)
        return [(batch, *row.values()) for batch, row in outcome.rows]

    return run


@pytest.fixture
def once(engine, tmp_path):
    """Runs a plan as a batch query; gives the rows as dictionaries."""

    def run(plan, rows):
        write_chunks(tmp_path, SCHEMA, [rows])

        def work():
            frame = lower(plan, batch_reader(engine.session, tmp_path))
            return visible(frame, plan).toArrow().to_pylist()

        return engine.worker.call(work)

    return run


def seconds(rows):
    return sorted((batch, int(w["start"].timestamp()), n) for batch, w, n in rows)


def test_what_a_filter_takes_out_still_moves_the_watermark(stream):
    positive = nodes.Filter(watermark(), op(exp.GT, V, lit(0), BOOLEAN))
    batches = [
        [("a", 1, 1 * S)],
        [("a", -1, 30 * S)],  # filtered, and closes [0, 10)
        [("a", 1, 2 * S)],  # admitted: the batch before had no watermark yet
        [("a", 1, 3 * S)],  # late
    ]
    assert seconds(stream(counted(positive), batches)) == [(2, 0, 2)]


def test_a_filter_above_windows_leaves_their_watermark_alone(stream):
    wide = counted(watermark(), nodes.Tumble(s(10)))
    keyed = nodes.WindowAggregate(
        watermark(), nodes.Tumble(s(10)), "w", (named("k", K),), (count(),)
    )
    assert wide.schema.names == ("w", "n")
    only_a = nodes.Filter(keyed, op(exp.EQ, K, lit("a"), BOOLEAN))
    batches = [[("a", 1, 1 * S)], [("b", 1, 30 * S)], [("b", 1, 31 * S)]]
    rows = stream(only_a, batches)
    # b's row at 30 closes a's window in the next batch, though no row of b is left.
    assert [(b, int(w["start"].timestamp()), k, n) for b, w, k, n in rows] == [
        (2, 0, "a", 1)
    ]


def test_the_end_of_the_stream_flushes_whatever_the_filter_says(stream):
    known = nodes.Filter(
        watermark(), typed(exp.Not(this=op(exp.Is, K, lit(None), BOOLEAN)), BOOLEAN)
    )
    assert seconds(stream(counted(known), [[("a", 1, 5 * S)]])) == [(2, 0, 1)]


def test_the_end_of_the_stream_is_no_row(stream):
    no_key = nodes.Filter(watermark(), op(exp.Is, K, lit(None), BOOLEAN))
    named_k = nodes.Project(no_key, (named("k", K), named("v", V)))
    assert stream(named_k, [[(None, 1, 5 * S), ("a", 2, 6 * S)]]) == [(0, None, 1)]


def test_nor_is_it_where_the_filter_alone_takes_it_out(stream):
    known = nodes.Filter(watermark(), op(exp.GT, V, lit(1), BOOLEAN))
    named_v = nodes.Project(known, (named("v", V),))
    assert stream(named_v, [[("a", 1, 5 * S), ("a", 2, 6 * S)]]) == [(0, 2)]


def test_event_time_made_from_a_column(stream):
    own = call("to_timestamp", V)
    batches = [[("a", 12, 0)], [("a", 25, 0)], [("a", 13, 0)]]
    rows = stream(counted(watermark(delay=1, event_time=own)), batches)
    assert seconds(rows) == [(2, 10, 2), (4, 20, 1)]


def test_a_delay_of_microseconds_is_not_cut_off(stream):
    short = counted(watermark(delay=0.0015), nodes.Tumble(s(0.001)))
    newest = ("a", 1, 10 * S)
    batches = [[newest], [newest], [("a", 1, 10 * S - 1_400)]]
    counts = {w["start"]: n for _, w, n in stream(short, batches)}
    assert counts == {at(9.998): 1, at(10): 2}


def test_windows_close_by_a_watermark_expression(stream):
    # WATERMARK FOR t AS to_timestamp(v): a column that says how far time has come.
    follows = watermark(expression=call("to_timestamp", V))
    batches = [
        [("a", 0, 1 * S)],
        [("a", 9, 50 * S)],  # event time is far ahead, the watermark is not: 9
        [("a", 10, 2 * S)],  # so this row is in time, and 10 closes [0, 10)
        [("a", 0, 3 * S)],  # the watermark of the batch before was 9: in time
        [("a", 0, 4 * S)],  # late
    ]
    rows = stream(counted(follows), batches)
    assert seconds(rows) == [(3, 0, 3), (6, 50, 1)]


def test_a_window_of_windows_closes_by_a_watermark_expression(stream):
    inner = nodes.WindowAggregate(
        watermark(expression=call("to_timestamp", V)),
        nodes.SessionWindow(s(5)),
        "w",
        (named("k", K),),
        (count(),),
    )
    outer = nodes.WindowAggregate(inner, None, "w", (), (count("groups"),))
    batches = [[("a", 0, S), ("b", 0, S)], [("a", 20, 2 * S)], [("a", 20, 40 * S)]]
    rows = stream(outer, batches)
    assert sorted((b, int(w["end"].timestamp()), n) for b, w, n in rows) == [
        (2, 6, 1),
        (2, 7, 1),
        (4, 45, 1),
    ]


def test_rows_a_gap_apart_are_two_sessions(stream):
    gap = counted(watermark(), nodes.SessionWindow(s(5)))
    rows = stream(gap, [[("a", 1, 0), ("a", 1, 5 * S), ("b", 1, 10 * S - 1)]])
    # e.3: spacing < gap is one session; a microsecond decides.
    assert [(w["start"], w["end"], n) for _, w, n in sorted(rows, key=str)] == [
        (at(0), at(5), 1),
        (at(5), at(15) - timedelta(microseconds=1), 2),
    ]


def test_the_worked_examples(stream):
    # e.7: (1, a) (4, b) (11, c), and the input ends
    rows = [[("a", 1, 1 * S), ("b", 1, 4 * S), ("c", 1, 11 * S)]]
    hop = counted(watermark(1), nodes.Hop(slide=s(5), width=s(10)))
    found = [(int(w["end"].timestamp()), n) for _, w, n in stream(hop, rows)]
    assert sorted(found) == [(5, 2), (10, 2), (15, 1), (20, 1)]


def test_a_union_of_windows_is_windowed(stream):
    left = counted(watermark())
    both = nodes.Union((left, left))
    again = nodes.WindowAggregate(
        both, None, "w", (), (measure("sum", col("n", BIGINT), BIGINT),)
    )
    batches = [[("a", 1, S)], [("a", 1, 30 * S)]]
    assert seconds(stream(again, batches)) == [(2, 0, 2), (3, 30, 2)]


@pytest.mark.parametrize("ours", [True, False], ids=["our_count", "spark_histogram"])
def test_a_shared_aggregate_is_observed_once(engine, tmp_path, monkeypatch, ours):
    monkeypatch.setattr(observe, "has_pane_counts", lambda _spark: ours)
    shared = counted(watermark())
    wide = counted(watermark(), nodes.Tumble(s(60)))
    plan = nodes.Union((shared, shared, wide))
    folder = tmp_path / "tape"
    folder.mkdir()
    write_chunks(folder, SCHEMA, [[("a", 1, 5 * S), ("a", 1, 65 * S)]])
    inputs = WindowInputs()

    def work():
        rows = lower(plan, reader(engine.session, folder), inputs=inputs)
        outcome = run_to_end(visible(rows, plan), tmp_path / "state")
        told = outcome.progress[0]["observedMetrics"] if not ours else {}
        return outcome, {**told, **inputs.taken(0)}

    outcome, metrics = engine.worker.call(work)
    # Numbered as the plan is walked, inputs before their readers.
    assert [dict(read_observed(metrics, n).pane_rows) for n in range(3)] == [
        {at(0): 1, at(60): 1},
        {at(0): 1, at(60): 1},
        {},
    ]
    assert len(outcome.rows) == 6


def test_row_time(once):
    moment = typed(exp.Anonymous(this="row_time", expressions=[]), Timestamp())
    plain = nodes.Project(watermark(), (named("t", moment),))
    windowed = nodes.Project(counted(watermark()), (named("t", moment),))
    assert once(plain, [("a", 1, 5 * S)]) == [{"t": at(5)}]
    last = at(10) - timedelta(microseconds=1)
    assert once(windowed, [("a", 1, 5 * S)]) == [{"t": last}]


def test_measures(once):
    m = measure
    money = cast(V, Decimal(10, 2))
    big = cast(V, BIGINT_UNSIGNED)
    over_one = op(exp.GT, V, lit(1), BOOLEAN)
    measures = (
        count("all"),
        m("count", V, BIGINT, name="known"),
        m("count", V, BIGINT, name="distinct", distinct=True),
        m("sum", V, BIGINT, name="sum", distinct=True),
        m("avg", V, DOUBLE, name="avg", distinct=True),
        m("max", V, BIGINT, name="max", distinct=True),
        m("min", K, TEXT, name="min"),
        m("avg", V, DOUBLE, name="mean"),
        m("sum", V, BIGINT, name="where", where=over_one),
        m("count", V, BIGINT, name="some", where=over_one, distinct=True),
        m("sum", money, Decimal(20, 2), name="money"),
        m("sum", big, BIGINT_UNSIGNED, name="big"),
        m("sum", V, BIGINT, name="none", where=lit(False), distinct=True),
    )
    plan = nodes.WindowAggregate(watermark(), nodes.Tumble(s(10)), "w", (), measures)
    rows = [("b", 1, 0), ("a", 1, 0), ("a", 2, 0), ("a", None, 0)]
    (got,) = once(plan, rows)
    assert list(got) == ["w", *(x.name for x in measures)]
    w, *values = got.values()
    assert w == {"start": at(0), "end": at(10)}
    assert [str(value) for value in values] == [
        *("4", "3", "2", "3", "1.5", "2", "a", "1.3333333333333333"),
        *("2", "1", "4.00", "4", "None"),
    ]


def test_measures_of_decimals_and_unsigned_numbers(once):
    def of(function, type_, result, *, distinct=False):
        name = f"{function} {type_} {distinct}"
        return measure(function, cast(V, type_), result, name=name, distinct=distinct)

    money, widest = Decimal(10, 2), Decimal(38, 10)
    measures = (
        of("sum", money, Decimal(20, 2), distinct=True),
        of("sum", widest, widest, distinct=True),
        of("sum", INT_UNSIGNED, BIGINT_UNSIGNED, distinct=True),
        of("sum", BIGINT_UNSIGNED, BIGINT_UNSIGNED, distinct=True),
        of("avg", money, Decimal(14, 6), distinct=True),
        of("avg", money, Decimal(14, 6)),
        of("avg", widest, Decimal(38, 14)),
    )
    plan = nodes.WindowAggregate(watermark(), nodes.Tumble(s(10)), "w", (), measures)
    (got,) = once(plan, [("a", v, 0) for v in (1, 2, 2, None)])
    (none,) = once(plan, [("a", None, 0)])
    _, *values = got.values()
    assert [str(value) for value in values] == [
        *("3.00", "3.0000000000", "3", "3"),
        *("1.500000", "1.666666", "1.66666666666666"),
    ]
    assert list(none.values())[1:] == [None] * len(measures)


def test_measures_of_bits_truth_and_spread(once):
    m, real = measure, cast(V, DOUBLE)
    odd = op(exp.GT, op(exp.Mod, V, lit(2), BIGINT), lit(0), BOOLEAN)
    measures = (
        m("bit_and", V, BIGINT),
        m("bit_or", V, BIGINT, distinct=True),
        m("bool_and", odd, BOOLEAN),
        m("bool_or", odd, BOOLEAN, distinct=True),
        m("var", real, DOUBLE),
        m("var_pop", real, DOUBLE),
        m("stddev_pop", real, DOUBLE),
        m("stddev", real, DOUBLE, where=op(exp.GT, V, lit(6), BOOLEAN)),
        m("bool_or", odd, BOOLEAN, name="none", where=lit(False)),
    )
    plan = nodes.WindowAggregate(watermark(), nodes.Tumble(s(10)), "w", (), measures)
    (got,) = once(plan, [("a", v, 0) for v in (3, 7, 7, 2, None)])
    del got["w"]
    # NULL counts for nothing; the spread of one value has no estimate.
    spread = {"var": 6.916666666666667, "var_pop": 5.1875, "stddev_pop": 5.1875**0.5}
    assert got == {
        "bit_and": 2,
        "bit_or": 7,
        "bool_and": False,
        "bool_or": True,
        **{name: pytest.approx(value) for name, value in spread.items()},
        "stddev": 0.0,
        "none": None,
    }


def test_the_spread_of_one_row_is_unknown(once):
    real = cast(V, DOUBLE)
    measures = tuple(measure(f, real, DOUBLE) for f in ("var", "stddev", "var_pop"))
    plan = nodes.WindowAggregate(watermark(), nodes.Tumble(s(10)), "w", (), measures)
    (got,) = once(plan, [("a", 3, 0)])
    assert list(got.values())[1:] == [None, None, 0.0]


def test_groups_without_measures_are_the_distinct_keys(once):
    plan = nodes.WindowAggregate(
        watermark(), nodes.Tumble(s(10)), "w", (named("k", K),), ()
    )
    rows = once(plan, [("a", 1, 0), ("a", 2, 0), ("b", 1, 0)])
    assert sorted(row["k"] for row in rows) == ["a", "b"]
    assert list(rows[0]) == ["w", "k"]


def test_the_window_may_be_projected_away_and_is_still_there(once):
    n = nodes.Project(counted(watermark()), (named("n", col("n", BIGINT)),))
    again = nodes.WindowAggregate(
        n, None, "window", (), (measure("sum", col("n", BIGINT), BIGINT),)
    )
    width = nodes.Project(
        again,
        (
            named("window", col("window", WINDOW_STRUCT)),
            named("sum", col("sum", BIGINT)),
        ),
    )
    rows = once(width, [("a", 1, 0), ("a", 2, 11 * S)])
    assert [row["sum"] for row in rows] == [1, 1]


def operators(frame):
    """The physical plan's operators, from the top down, without their arguments."""
    text = frame._jdf.queryExecution().executedPlan().toString()
    lines = (line.lstrip(" +-:*()0123456789") for line in text.splitlines() if line)
    return [line.split(" ")[0].split("(")[0] for line in lines]


def test_a_tumbling_count_has_the_operators_of_hand_written_spark(engine, tmp_path):
    from pyspark.sql import functions as F  # noqa: N812

    write_chunks(tmp_path, SCHEMA, [])
    plan = nodes.WindowAggregate(
        watermark(5), nodes.Tumble(s(10)), "window", (named("k", K),), (count(),)
    )

    def both():
        read = batch_reader(engine.session, tmp_path)
        ours = visible(lower(plan, read), plan)
        by_hand = (
            read(EVENTS)
            .withWatermark("_timestamp", "5 seconds")
            .groupBy(F.window("_timestamp", "10 seconds"), "k")
            .agg(F.count("*").alias("n"))
        )
        return operators(ours), operators(by_hand), ours.schema, by_hand.schema

    ours, by_hand, schema, their_schema = engine.worker.call(both)
    assert ours == by_hand
    assert schema.names == their_schema.names


N, M = col("n", BIGINT), col("m", BIGINT)


@pytest.mark.parametrize(
    ("value", "hops"),
    [(N, 2), (op(exp.Add, N, lit(1), BIGINT), 4)],
    ids=["same", "new"],
)
def test_rows_leave_python_between_operators_for_spark(engine, tmp_path, value, hops):
    write_chunks(tmp_path, SCHEMA, [])
    counts = nodes.UpdatingAggregate(watermark(), (named("k", K),), (count(),))
    below = nodes.Project(counts, (named("m", value),))
    plan = nodes.UpdatingAggregate(below, (named("m", M),), (count("keys"),))

    def analyzed():
        frame = visible(lower(plan, reader(engine.session, tmp_path)), plan)
        return frame._jdf.queryExecution().analyzed().toString()

    text = engine.worker.call(analyzed)
    assert (text.count("MapInArrow"), text.count("TransformWithState")) == (hops, 2)


def columns_read(engine, tmp_path, plan, inputs=None):
    """The columns that Spark reads of Parquet files."""
    write_chunks(tmp_path, pa.schema([("s", pa.struct([("x", "int64")]))]), [])

    def work():
        read = batch_reader(engine.session, tmp_path)
        frame = visible(lower(plan, read, inputs=inputs), plan)
        return frame._jdf.queryExecution().executedPlan().toString()

    return re.findall(r"ReadSchema: struct<(.*)>", engine.worker.call(work))


STRUCT = StructOf((Field("x", BIGINT), Field("y", TEXT)))
X = typed(exp.Dot(this=col("s", STRUCT), expression=exp.Identifier(this="x")), BIGINT)
STRUCTS = nodes.Watermark(source(Field("s", STRUCT)), None, s(1))


def test_a_field_of_a_struct_is_read_alone_below_a_watermark(engine, tmp_path):
    plan = nodes.Project(STRUCTS, (named("x", X),))
    read = columns_read(engine, tmp_path, plan, WindowInputs())
    assert read == ["s:struct<x:bigint>,_timestamp:timestamp"]


def test_event_time_that_nobody_asks_for_is_not_read(engine, tmp_path):
    some = nodes.Filter(STRUCTS, op(exp.GT, X, lit(1), BOOLEAN))
    plan = nodes.Project(some, (named("x", X),))
    assert columns_read(engine, tmp_path, plan) == ["s:struct<x:bigint>"]


def test_what_the_rewrites_must_have_replaced_is_a_bug():
    with pytest.raises(TypeError, match="no lowering for Scan"):
        lower(nodes.Scan(EVENTS.table), lambda _: None)
