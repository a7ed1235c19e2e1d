"""Windows over random tapes, against an oracle on the rows that the watermark admits.

A tape has rows out of order, late, doubled, with NULLs and in empty batches. All
window kinds run in one query, so that an example costs one stream.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from datetime import timedelta
from functools import reduce
from itertools import pairwise
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from bound import col, count, measure, named, source
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from microbatches import EPOCH, batch_reader, micros, reader, run_to_end, write_chunks

from arroyo_nb.plan import nodes
from arroyo_nb.schema import BIGINT, TEXT, Field
from arroyo_nb.spark.late_row_query import late_rows
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.observe import PANES, WindowInputs, pane, read_observed

MS = 1_000
S = 1_000 * MS
DELAY, WIDTH, SLIDE, GAP = 5 * S, 10 * S, 4 * S, 3 * S
HOP_WIDTH = 3 * SLIDE

SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64())])
WATERMARK = nodes.Watermark(
    source(Field("k", TEXT), Field("v", BIGINT)), None, timedelta(microseconds=DELAY)
)
KEY = (named("k", col("k", TEXT)),)
MEASURES = (count(), measure("sum", col("v", BIGINT), BIGINT, name="s"))


def us(value):
    return timedelta(microseconds=value)


def over(window, keys=KEY):
    return nodes.WindowAggregate(WATERMARK, window, "window", keys, MEASURES)


TUMBLE = over(nodes.Tumble(us(WIDTH)))
HOP = over(nodes.Hop(us(SLIDE), us(HOP_WIDTH)))
SESSION = over(nodes.SessionWindow(us(GAP)))
GLOBAL = over(nodes.SessionWindow(us(GAP)), keys=())
# The most of a key in each hop: rows of one window, from all keys, once more grouped.
TOP = nodes.WindowAggregate(
    HOP,
    None,
    "window",
    (),
    (count(), measure("max", col("n", BIGINT), BIGINT, name="s")),
)
PLANS = {"tumble": TUMBLE, "hop": HOP, "session": SESSION, "all": GLOBAL, "top": TOP}
KINDS = {"tumble": TUMBLE, "hop": HOP, "session": SESSION}

moments = st.integers(0, 4 * 60).map(lambda quarter: 100 * S + quarter * 250 * MS)
# A batch costs as much with many rows as with few: each key is a case of its own.
row = st.tuples(
    st.sampled_from([*"abcdefghijkl", None]), st.none() | st.integers(-9, 9), moments
)
batches = st.lists(st.lists(row, max_size=80), min_size=2, max_size=5)


def examples(number):
    """So many; to shrink one that fails would cost a stream for each attempt."""
    return settings(
        max_examples=number,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
        print_blob=True,
    )


def watermarks(tape):
    """What each batch is late by, and what closes its windows: Spark filters by the
    watermark of the batch before, and a batch's own knows the batches before it."""
    marks, newest = [0], 0
    for batch in tape:
        newest = max([newest, *(t for _, _, t in batch)])
        marks.append(max(marks[-1], newest // MS * MS - DELAY))
    return [(marks[max(0, i - 1)], marks[i]) for i in range(len(tape))]


def fixed_windows(t, slide, width):
    newest = t - t % slide
    return [
        (start, start + width)
        for start in range(newest, newest - width, -slide)
        if start + width > t
    ]


def admitted(tape, slide, width):
    """(start, end, k, v) for each window that took a row."""
    return [
        (start, end, k, v)
        for batch, (late, _) in zip(tape, watermarks(tape), strict=True)
        for k, v, t in batch
        for start, end in fixed_windows(t, slide, width)
        if end > late
    ]


def summed(rows):
    """DuckDB's answer over rows in their windows, by kind of question."""
    table = pa.table(
        {
            "w": pa.array([r[0] for r in rows], pa.int64()),
            "e": pa.array([r[1] for r in rows], pa.int64()),
            "k": pa.array([r[2] for r in rows], pa.string()),
            "v": pa.array([r[3] for r in rows], pa.int64()),
        }
    )
    with duckdb.connect() as db:
        db.register("t", table)
        db.execute(
            "CREATE TABLE g AS SELECT w, e, k, count(*) n, sum(v)::BIGINT s "
            "FROM t GROUP BY ALL"
        )
        by_key = db.execute("SELECT w, e, k, n, s FROM g").fetchall()
        top = db.execute("SELECT w, e, NULL, count(*), max(n) FROM g GROUP BY w, e")
        return Counter(by_key), Counter(top.fetchall())


def sessions(tape, key_of):
    """Spark's own rule, batch by batch: a row is late by the end of its own session,
    and a session that has left is never met again."""
    left, open_ = [], {}
    for batch, (late, closing) in zip(tape, watermarks(tape), strict=True):
        for k, v, t in batch:
            if t + GAP - 1 > late:
                open_.setdefault(key_of(k), []).append((t, v))
        for key, rows in open_.items():
            open_[key] = []
            for run in runs(rows):
                gone = run[-1][0] + GAP - 1 <= closing
                if gone:
                    left.append((key, run))
                else:
                    open_[key] += run
    left += [(key, run) for key, rows in open_.items() for run in runs(rows)]
    return Counter(
        (run[0][0], run[-1][0] + GAP, key, len(run), total(v for _, v in run))
        for key, run in left
    )


def runs(rows):
    """Rows of one key, cut where the next is at least the gap away."""
    found = []
    for item in sorted(rows, key=lambda r: r[0]):
        if found and item[0] - found[-1][-1][0] < GAP:
            found[-1].append(item)
        else:
            found.append([item])
    return found


def total(values):
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def oracle(tape):
    tumble, _ = summed(admitted(tape, WIDTH, WIDTH))
    hop, top = summed(admitted(tape, SLIDE, HOP_WIDTH))
    return {
        "tumble": tumble,
        "hop": hop,
        "top": top,
        "session": sessions(tape, lambda k: k),
        "all": sessions(tape, lambda _: None),
    }


def streamed(engine, tape):
    """What Spark gives for all plans, and what it observed in each batch."""
    inputs = WindowInputs()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "tape")
        folder.mkdir()
        write_chunks(folder, SCHEMA, tape)

        def run():
            frames = [
                labelled(kind, plan, reader(engine.session, folder), inputs)
                for kind, plan in PLANS.items()
            ]
            union = reduce(lambda one, other: one.unionByName(other), frames)
            outcome = run_to_end(union, Path(name, "state"))
            return outcome.rows, [
                inputs.taken(told["batchId"]) for told in outcome.progress
            ]

        rows, observed = engine.worker.call(run)
    found = {kind: Counter() for kind in PLANS}
    for _, r in rows:
        edges = (micros(r["window"]["start"]), micros(r["window"]["end"]))
        found[r["kind"]][(*edges, r["k"], r["n"], r["s"])] += 1
    return found, observed


def labelled(kind, plan, read, inputs):
    # Observations of one query must not share a name: one plan is observed.
    frame = visible(lower(plan, read, inputs=inputs if kind == "hop" else None), plan)
    key = "k" if "k" in plan.schema else "CAST(NULL AS STRING) AS k"
    return frame.selectExpr(f"'{kind}' AS kind", "window", key, "n", "s")


def check_windows(engine, tape):
    found, told = streamed(engine, tape)
    assert found == oracle(tape)
    for batch, metrics in zip(tape, told, strict=False):
        observed = read_observed(metrics, 0)
        width = pane(HOP.assign) // us(1)
        panes = Counter(t - t % width for _, _, t in batch)
        assert {micros(p): n for p, n in observed.pane_rows.items()} == panes
        assert observed.rows == len(batch)
        assert observed.exact
        assert len(panes) < PANES


@given(batches)
@examples(2)
def test_windows_hold_what_the_watermark_admits(engine, tape):
    check_windows(engine, tape)


@pytest.mark.long("windows")
@given(batches)
@examples(150)
def test_windows_of_many_tapes(engine, tape):
    check_windows(engine, tape)


@st.composite
def within_the_delay(draw):
    """Rows that are never older than the newest before them less the delay, cut into
    batches anyhow."""
    rows, newest = [], 100 * S
    for k, v, step in draw(st.lists(st.tuples(*ROW_STEPS), min_size=1, max_size=150)):
        t = max(100 * S, newest + step * 250 * MS)
        newest = max(newest, t)
        rows.append((k, v, t))
    cuts = sorted(draw(st.sets(st.integers(0, len(rows)), max_size=4)))
    edges = [0, *cuts, len(rows)]
    return [rows[a:b] for a, b in pairwise(edges)]


ROW_STEPS = (st.sampled_from("abcdef"), st.integers(0, 9), st.integers(-20, 22))


def check_split(engine, tape):
    found, _ = streamed(engine, tape)
    whole = [[row for batch in tape for row in batch]]
    assert found == oracle(whole)


@given(within_the_delay())
@examples(2)
def test_any_split_of_rows_within_the_delay_gives_the_same(engine, tape):
    check_split(engine, tape)


@pytest.mark.long("windows")
@given(within_the_delay())
@examples(150)
def test_many_splits(engine, tape):
    check_split(engine, tape)


@given(batches)
@examples(2)
def test_late_rows_are_found_again(engine, tape):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_chunks(folder, SCHEMA, tape)

        def late(number, mark):
            read = batch_reader(engine.session, folder, number)
            frames = [
                late_rows(plan, read, micros_to_time(mark)).selectExpr(
                    f"'{kind}' kind",
                    "unix_micros(_timestamp) t",
                    "unix_micros(window_start) s",
                    "unix_micros(window_end) e",
                    "missed_windows n",
                    "unix_micros(timestamp_seconds(0) + late_by) b",
                )
                for kind, plan in KINDS.items()
            ]
            union = reduce(lambda one, other: one.union(other), frames)
            return union.toArrow().to_pylist()

        for number, (batch, (mark, _)) in enumerate(
            zip(tape, watermarks(tape), strict=True)
        ):
            got = engine.worker.call(late, number, mark)
            assert Counter(tuple(r.values()) for r in got) == missed(batch, mark)


def missed(batch, mark):
    times = [t for _, _, t in batch]
    shapes = {"tumble": (WIDTH, WIDTH), "hop": (SLIDE, HOP_WIDTH)}
    late = []
    for kind, shape in shapes.items():
        for t in times:
            windows = [w for w in fixed_windows(t, *shape) if w[1] <= mark]
            if windows:  # one late row, however many of its windows it missed
                late.append((kind, t, *max(windows), len(windows), mark - t))
    # A late row of sessions is in none: which one it missed is not known.
    own = [
        ("session", t, None, None, None, mark - t) for t in times if t + GAP - 1 <= mark
    ]
    return Counter(late + own)


def micros_to_time(value):
    return EPOCH + us(value)
