"""Random traces: what a run was at each of its micro-batches, and which rows were late.

What a run says of an earlier batch is held against its changes, folded here up to that
batch. What it says of late rows and windows is held against an oracle that knows the
rows, the micro-batches that they came in, and the delays, and nothing of a trace.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from random_histories import SCHEMAS, arrow, history, plain
from random_queries import Grammar
from seeds import of_the_day
from small_plans import small_plans

US, SECOND = timedelta(microseconds=1), timedelta(seconds=1)
START, EPOCH = datetime(2024, 1, 1), datetime(1970, 1, 1)
NEVER = datetime.max
ROWS = 36


# Results at a batch: random queries over random rows.

SORTED = (
    "SELECT k, g FROM t ORDER BY g DESC NULLS LAST, k NULLS FIRST LIMIT {n}",
    "SELECT k, count(*) AS n FROM u GROUP BY k ORDER BY n DESC, k LIMIT {n}",
    "SELECT k, max(g) AS g FROM t GROUP BY k ORDER BY k NULLS LAST LIMIT {n}",
    "SELECT g, v FROM e LIMIT {n}",
)
"""What is sorted and cut when somebody looks."""

JOINS = (
    "SELECT t.k AS k, t.g AS g, u.v AS v FROM t JOIN u ON t.k = u.k",
    "SELECT t.k AS k, u.g AS g FROM t FULL JOIN u ON t.g = u.g",
    "SELECT t.k AS k, count(u.g) AS n FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.k",
    "SELECT k, g, place FROM (SELECT k, g, row_number() OVER "
    "(PARTITION BY k ORDER BY g DESC NULLS LAST, v) AS place FROM t) WHERE place <= 2",
    "SELECT n, count(*) AS ks FROM (SELECT k, count(*) AS n FROM u GROUP BY k) "
    "GROUP BY n",
)
"""Rows that are taken back: the best of a key, a row that finds its partner."""


def random_tables(session, random: Random) -> None:
    """Rows for the tables of :mod:`random_queries`, in some micro-batches."""
    names = " ".join(f"FROM {name}" for name in SCHEMAS)
    batches = [*history(random, names), *history(random, names)]
    for name, schema in SCHEMAS.items():
        arrived = [
            (number, row)
            for number, batch in enumerate(batches)
            for weight, row in batch[name]
            if weight > 0 and _can_be_json(row, schema)
        ] or [(0, next(_usual_rows(random, name)))]
        rows = arrow(name, [row for _, row in arrived])
        moments = [number * 1_000_000 for number, _ in arrived]
        session.rows(
            name,
            rows.append_column("arrives", pa.array(moments, pa.timestamp("us"))),
        )


def _usual_rows(random: Random, name: str) -> Iterator[tuple[Any, ...]]:
    while True:
        for batch in history(random, f"FROM {name}"):
            for weight, row in batch[name]:
                if weight > 0 and _can_be_json(row, SCHEMAS[name]):
                    yield row


def _can_be_json(row: tuple[Any, ...], schema: pa.Schema) -> bool:
    """JSON has no NaN, and an event time is there."""
    return not any(
        (isinstance(value, float) and math.isnan(value))
        or (value is None and pa.types.is_timestamp(field.type))
        for value, field in zip(row, schema, strict=True)
    )


def random_outputs(random: Random, number: int) -> list[str]:
    """Queries of one script: drawn ones, with sorted and joined ones among them."""
    made = [random.choice(SORTED).format(n=random.randint(1, 6)), random.choice(JOINS)]
    while len(made) < number:
        made.append(Grammar(random).relation(random.choice((1, 1, 1, 2))).text)
    random.shuffle(made)
    return made


def folded(changes: Sequence[dict[str, Any]], batch_id: int) -> Counter[Any]:
    """What the changes of a changelog leave up to a batch."""
    left: Counter[Any] = Counter()
    for change in changes:
        if change["batch"] <= batch_id:
            if change["before"] is not None:
                left[plain(change["before"])] -= 1
            if change["after"] is not None:
                left[plain(change["after"])] += 1
    assert min(left.values(), default=0) >= 0, "taken back before it came"
    return +left


def check_moments(engine, session, seed: int, outputs: int) -> Counter[str]:
    """Each output at each batch; counts what kinds of traces there were."""
    random, seen = Random(seed), Counter[str]()
    random_tables(session, random)
    queries = random_outputs(random, outputs)
    with small_plans(engine):
        run = session.run(";\n".join(queries), name=f"moments_{seed}", wait=True)
    for output, text in enumerate(queries):
        check_output(run, output, text, seen)
    run.discard()
    return seen


def check_output(run, output: int, text: str, seen: Counter[str]) -> None:
    changes = run.changelog(output).to_pylist()
    moments, table = run.moments(output), run.table(output)
    newest = run.snapshot(20, output)
    limit = text.rpartition(" LIMIT ")[2]
    cut = int(limit) if limit.isdigit() else None
    for batch_id in range(moments.first, moments.last + 1):
        at = run.at(batch=batch_id, output=output)
        rows = Counter(plain(row) for row in at.to_pylist())
        expected = folded(changes, batch_id)
        where = f"batch {batch_id} of {text}"
        if cut is None:
            assert rows == expected, where
        else:
            assert rows <= expected, where
            assert rows.total() == min(cut, expected.total()), where
        shown = moments.snapshot(newest, batch_id, 20)
        assert shown.batch_id == batch_id
        seen["batches"] += 1
        seen["empty"] += not rows
    assert run.at(batch=moments.last, output=output).equals(table), text
    seen["traces"] += 1
    seen["sorted"] += cut is not None
    seen["retracting"] += any(change["op"] != "c" for change in changes)
    seen["appending"] += bool(changes) and all(c["op"] == "c" for c in changes)


@pytest.mark.parametrize("seed", of_the_day([0, *range(100, 110)], "moments"))
def test_results_at_each_batch(engine, session, seed):
    seen = check_moments(engine, session, seed, outputs=4)
    assert seen["batches"] > 8
    # Four queries need not take anything back; those of this seed do.
    assert seen["retracting"] or seed != 0


@pytest.mark.long("moments")
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_results_at_each_batch(engine, session, seed):
    seen = check_moments(engine, session, seed, outputs=8)
    assert seen["retracting"]
    assert seen["appending"]
    assert seen["sorted"]


# Late rows and windows.


@dataclass(frozen=True)
class Row:
    """A row of a tape, and the micro-batch that it came in."""

    batch: int
    at: datetime
    key: str
    number: int


@dataclass(frozen=True)
class Tape:
    """Rows by micro-batch, and how late they may be."""

    name: str
    delay: timedelta
    batches: tuple[tuple[Row, ...], ...]

    def text(self) -> str:
        """As a person writes it: blank lines end micro-batches."""
        lines = ["event_time | key | n"]
        for batch in self.batches:
            lines += [f"{row.at.isoformat(' ')} | {row.key} | {row.number}"
                      for row in batch]  # fmt: skip
            lines.append("")
        return "\n".join(lines)


def random_tape(random: Random, name: str, unit: timedelta, batches: int) -> Tape:
    """Rows out of order, some by far; all times are multiples of a unit."""
    delay = random.choice((0, 1, 3, 7)) * SECOND
    made, now, number = [], 0.0, 0
    for batch in range(batches):
        rows = []
        for _ in range(random.choice((1, 2, 2, 3, 5))):
            now += random.random() * 5
            back = random.choice((0, 0, 0, 2, 6, 30, 60)) * random.random()
            at = START + timedelta(seconds=max(0.0, now - back))
            at -= (at - START) % unit
            rows.append(Row(batch, at, random.choice("abc"), number))
            number += 1
        made.append(tuple(rows))
    return Tape(name, delay, tuple(made))


class Arrivals:
    """The rows of some tapes, batch by batch, and the watermark of each batch.

    Spark's watermark has whole milliseconds; it is the least of all tapes, comes of the
    batches before, and never goes back. What is late in a batch is so by the watermark
    of the batch before. An empty chunk lies between two of a tape's micro-batches, so
    that the second one knows the watermark of the first; after the last comes the end.
    """

    def __init__(self, tapes: Sequence[Tape], read: Sequence[dict[str, range]]):
        self.tapes = {tape.name: tape for tape in tapes}
        self.rows: list[dict[str, list[Row]]] = []
        self.marks: list[datetime] = []
        newest = dict.fromkeys(self.tapes, EPOCH)
        mark = EPOCH
        for ranges in read:
            self.marks.append(mark)
            self.rows.append({})
            for name, tape in self.tapes.items():
                taken = ranges.get(name, range(0))
                numbers = [chunk // 2 for chunk in taken if chunk % 2 == 0]
                rows = [row for number in numbers if number < len(tape.batches)
                        for row in tape.batches[number]]  # fmt: skip
                self.rows[-1][name] = rows
                newest[name] = max([newest[name], *(row.at for row in rows)])
                if any(chunk >= 2 * len(tape.batches) - 1 for chunk in taken):
                    newest[name] = NEVER
            known = [
                at if at in (NEVER, EPOCH) else at - at.microsecond % 1000 * US - delay
                for name, at in newest.items()
                for delay in [self.tapes[name].delay]
            ]
            mark = max(mark, min(known))

    def late_mark(self, batch: int) -> datetime:
        """What decides which rows of a batch are late."""
        return self.marks[batch - 1] if batch else EPOCH

    def of(self, name: str) -> Iterator[tuple[int, Row]]:
        """The rows of a tape with the batches that brought them."""
        for batch, rows in enumerate(self.rows):
            yield from ((batch, row) for row in rows[name])

    def closed_in(self, end: datetime) -> int | None:
        """The first batch whose watermark has reached the end of a window."""
        return next((b for b, mark in enumerate(self.marks) if mark >= end), None)


@dataclass(frozen=True)
class Fixed:
    """Tumble and hop: the windows of an instant, one by one."""

    slide: timedelta
    width: timedelta

    @property
    def sql(self) -> str:
        slide, width = (int(each / SECOND) for each in (self.slide, self.width))
        if slide == width:
            return f"tumble(INTERVAL '{width} seconds')"
        return f"hop(INTERVAL '{slide} seconds', INTERVAL '{width} seconds')"

    def windows(self, at: datetime) -> list[tuple[datetime, datetime]]:
        """Those that hold the instant, oldest first."""
        first = at - (at - EPOCH) % self.slide
        starts = []
        while first + self.width > at:
            starts.insert(0, first)
            first -= self.slide
        return [(start, start + self.width) for start in starts]


TUMBLE = Fixed(10 * SECOND, 10 * SECOND)
HOPS = (Fixed(5 * SECOND, 20 * SECOND), Fixed(4 * SECOND, 10 * SECOND))
GAP = 8 * SECOND
"""Its eighth, by which the rows of sessions are counted, is a second."""

SESSION = "session(INTERVAL '8 seconds')"


def late_in_windows(arrivals: Arrivals, tape: str, window: Fixed):
    """(row, its last missed window, how many it missed, by how much) of late rows."""
    for batch, row in arrivals.of(tape):
        mark = arrivals.late_mark(batch)
        missed = [edges for edges in window.windows(row.at) if edges[1] <= mark]
        if missed:
            yield batch, row, missed[-1], len(missed), mark - row.at


def late_in_sessions(arrivals: Arrivals, tape: str):
    """The same of sessions: a row whose gap has passed is late, and in no session."""
    for batch, row in arrivals.of(tape):
        mark = arrivals.late_mark(batch)
        if row.at + GAP - US <= mark:
            yield batch, row, (None, None), None, mark - row.at


def windows_of(arrivals: Arrivals, tape: str, window: Fixed) -> list[dict[str, Any]]:
    """Each window: rows in time, late ones, and when it was closed."""
    rows, late = Counter[Any](), Counter[Any]()
    for batch, row in arrivals.of(tape):
        for edges in window.windows(row.at):
            counts = late if edges[1] <= arrivals.late_mark(batch) else rows
            counts[edges] += 1
    return [
        told_window(arrivals, edges, rows[edges], late[edges])
        for edges in sorted(rows.keys() | late.keys())
    ]


def told_window(arrivals, edges, rows: int, late: int) -> dict[str, Any]:
    closed = arrivals.closed_in(edges[1])
    return {
        "start": edges[0],
        "end": edges[1],
        "rows": rows,
        "late_rows": late,
        "state": "open" if closed is None else "closed",
        "closed_in_batch": closed,
    }


def sessions_of(arrivals: Arrivals, tape: str) -> Counter[tuple[Any, ...]]:
    """Sessions of all keys together, each as (start, end, rows)."""
    open_: list[list[datetime]] = []
    closed: Counter[tuple[Any, ...]] = Counter()
    late = {(b, row) for b, row, *_ in late_in_sessions(arrivals, tape)}
    for batch, mark in enumerate(arrivals.marks):
        for row in arrivals.rows[batch][tape]:
            if (batch, row) not in late:
                near = [s for s in open_ if s[0] - GAP < row.at < s[-1] + GAP]
                open_ = [s for s in open_ if s not in near]
                open_.append(sorted([row.at, *(at for s in near for at in s)]))
        # Its last instant is before its end.
        ended = [s for s in open_ if s[-1] + GAP - US <= mark]
        open_ = [s for s in open_ if s not in ended]
        closed.update((s[0], s[-1] + GAP, len(s)) for s in ended)
    return closed + Counter((s[0], s[-1] + GAP, len(s)) for s in open_)


OUTPUTS = {
    "tumble": f"SELECT {TUMBLE.sql} AS w, key, count(*) AS c FROM r GROUP BY w, key",
    "hop": "SELECT {hop} AS w, count(*) AS c FROM r GROUP BY w",
    "session of a key": f"SELECT {SESSION} AS w, key, count(*) AS c FROM r "
    "GROUP BY w, key",
    "session": f"SELECT {SESSION} AS w, count(*) AS c FROM r GROUP BY w",
    "join": "SELECT a.w AS w, a.key AS key, a.c AS c, b.c AS d FROM "
    f"(SELECT {TUMBLE.sql} AS w, key, count(*) AS c FROM r GROUP BY w, key) a JOIN "
    f"(SELECT {TUMBLE.sql} AS w, key, count(*) AS c FROM s GROUP BY w, key) b "
    "ON a.w = b.w AND a.key = b.key",
}


def batches_read(run, output: int, tapes: Sequence[Tape]) -> list[dict[str, range]]:
    """The chunks that each micro-batch read, by table, as Spark's log of them says."""
    (first, *_) = run.outputs[output].observation.traces
    made: list[dict[str, range]] = []
    for batch in first.batches:
        while len(made) < batch.batch_id:
            made.append({})
        read = {key.partition("-")[2]: range(*p) for key, p in batch.stretches.items()}
        assert read.keys() <= {tape.name for tape in tapes}
        made.append(read)
    return made


def check_late_rows(engine, session, seed: int) -> Counter[str]:
    """One tape alone, and two that are joined."""
    random, seen = Random(seed), Counter[str]()
    unit = SECOND if seed % 2 else timedelta(microseconds=997)
    r, s = (random_tape(random, name, unit, random.randint(6, 9)) for name in "rs")
    for tape in (r, s):
        delay = f"{int(tape.delay / SECOND)} seconds"
        session.rows(tape.name, tape.text(), watermark=delay)
    hop = HOPS[seed % 3 > 0]
    script = ";\n".join(OUTPUTS.values()).format(hop=hop.sql)
    with small_plans(engine):
        run = session.run(script, name=f"late_{seed}", wait=True)
    for output, kind in enumerate(OUTPUTS):
        tapes = (r, s) if kind == "join" else (r,)
        arrivals = Arrivals(tapes, batches_read(run, output, tapes))
        assert [row for _, row in arrivals.of("r")] == [
            row for batch in r.batches for row in batch
        ], "each row is read once, in its order"
        check_kind(run, output, kind, arrivals, hop)
        late = run.late(output).num_rows
        seen[kind] += late
        seen["traces"] += 1
        moments = run.moments(output)
        changes = run.changelog(output).to_pylist()
        for batch_id in range(moments.first, moments.last + 1):
            at = run.at(batch=batch_id, output=output)
            rows = Counter(plain(row) for row in at.to_pylist())
            assert rows == folded(changes, batch_id)
    run.discard()
    return seen


def check_kind(run, output, kind, arrivals, hop) -> None:
    window = hop if kind == "hop" else TUMBLE
    expected, shown = [], Counter()
    for tape in arrivals.tapes:
        if kind.startswith("session"):
            found = list(late_in_sessions(arrivals, tape))
        else:
            found = list(late_in_windows(arrivals, tape, window))
        for batch, row, edges, missed, by in found:
            expected.append((row.number, row.key, row.at, *edges, missed, by, batch))
            if tape == "r" and missed is not None:
                closed = arrivals.closed_in(edges[1])
                shown[batch, *edges, arrivals.late_mark(batch), closed] += 1
            elif tape == "r":
                shown[batch, row.at, arrivals.late_mark(batch)] += 1
    table = run.late(output).to_pylist()
    listed = [tuple(row.get(name) for name in LATE_COLUMNS) for row in table]
    assert Counter(listed) == Counter(expected), kind
    snapshot = run.snapshot(20, output)
    assert snapshot.late_rows >= len(expected)
    assert run.outputs[output].observation.late_rows == len(expected), kind
    told = Counter[Any]()
    for each in snapshot.late:
        edges = each.batch_id, each.start, each.end, each.watermark, each.closed_in
        told[edges] += each.rows
    if kind.startswith("session"):
        # Each row stands at its own time.
        for (batch, at, mark), rows in shown.items():
            inside = [e for e in snapshot.late if e.start <= at < e.end]
            assert (batch, mark) in {(e.batch_id, e.watermark) for e in inside}, rows
        assert sum(told.values()) == sum(shown.values())
    else:
        assert told == shown, kind
    if kind.startswith("session"):
        check_sessions(run, output, kind, arrivals)
    else:
        several = len(arrivals.tapes) > 1
        windows = [
            ({"table": tape} if several else {}) | bar
            for tape in arrivals.tapes
            for bar in windows_of(arrivals, tape, window)
        ]
        assert run.windows(output).to_pylist() == windows, kind


LATE_COLUMNS = (
    *("n", "key", "event_time_1", "window_start", "window_end"),
    *("missed_windows", "late_by", "batch"),
)


def check_sessions(run, output, kind, arrivals) -> None:
    bars = run.windows(output).to_pylist()
    late = len([*late_in_sessions(arrivals, "r")])
    rows = len([*arrivals.of("r")])
    assert sum(bar["late_rows"] for bar in bars) == late
    assert sum(bar["rows"] for bar in bars) == rows - late
    sessions = sessions_of(arrivals, "r")
    if kind == "session":
        told = Counter((b["start"], b["end"], b["rows"]) for b in bars if b["rows"])
        assert told == sessions
    result = run.table(output).to_pylist()
    if kind == "session":
        given = Counter((r["w"]["start"], r["w"]["end"], r["c"]) for r in result)
        assert given == sessions
    for bar in result:
        assert any(
            b["start"] <= bar["w"]["start"] and bar["w"]["end"] <= b["end"]
            for b in bars
            if b["rows"]
        ), "each session lies in a stretch"


@pytest.mark.parametrize("seed", of_the_day([0, *range(100, 113)], "moments"))
def test_late_rows_and_windows(engine, session, seed):
    seen = check_late_rows(engine, session, seed)
    # Rows are late at random; those of this seed are.
    assert seen["tumble"] + seen["hop"] > 0 or seed != 0
