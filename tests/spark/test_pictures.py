"""A picture of a run shows one micro-batch: checked on every picture of random runs.

Pictures are taken at the two moments at which they could mix batches: when the rows of
a batch have come and its progress has not, and when the progress has. A tape has rows
out of order and late, and some of them are a micro-batch.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from random import Random

import pytest
from seeds import of_the_day

from arroyo_nb.run.observe.snapshot import RunState, WindowState, before_end

START = datetime(2024, 3, 1, 8)
ALL_ROWS = 2_000
TABLE = """
CREATE TABLE rides (k TEXT, t TIMESTAMP NOT NULL,
    WATERMARK FOR t AS t - INTERVAL '20 seconds'
) WITH (connector = 'single_file', path = '{path}', type = 'source', format = 'json');
"""
WINDOWS = {
    "tumble": "tumble(INTERVAL '30 seconds')",
    "hop": "hop(INTERVAL '15 seconds', INTERVAL '45 seconds')",
    "session": "session(INTERVAL '10 seconds')",
}
QUERIES = {
    kind: f"SELECT {call} AS w, k, count(*) AS n FROM rides GROUP BY w, k"
    for kind, call in WINDOWS.items()
} | {"updating": "SELECT k, count(*) AS n FROM rides GROUP BY k"}


@pytest.fixture(autouse=True)
def few_rows_are_a_batch(monkeypatch):
    """So small a file would be one."""
    monkeypatch.setattr("arroyo_nb.connectors._files._chunk_bytes", lambda number: 800)


def write_tape(path, random):
    """Rows that move on by some seconds in groups; one in eight is far behind."""
    moment, rows = START, []
    for _ in range(6):
        moment += timedelta(seconds=random.choice((0, 8, 25, 70)))
        times = [_time(moment, random) for _ in range(random.randint(5, 25))]
        rows += [{"k": random.choice("abc"), "t": time} for time in times]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _time(moment, random):
    behind_s = random.uniform(30, 120) if random.random() < 0.125 else 0
    return (moment + timedelta(seconds=random.uniform(0, 10) - behind_s)).isoformat()


def pictures(session, script, name):
    """Every picture of a run at which something had changed.

    The next chunk is released by the picture of the one before: several batches between
    two polls would be one picture.
    """
    taken = []
    run = session.run(script, name=name, step=True)

    def look_and_step(_):
        taken.append(run.snapshot(ALL_ROWS))
        run.step()

    run.on_rows(lambda *_: taken.append(run.snapshot(ALL_ROWS)))
    run.on_progress(look_and_step)
    run.step()
    assert run.wait(120)
    assert run.state is RunState.FINISHED
    return [*taken, run.snapshot(ALL_ROWS)]


def check(kind, picture):
    """The statements that one batch makes true."""
    (source,) = picture.sources
    assert (source.rows, source.max_event_time) == (
        picture.rows_in,
        picture.max_event_time,
    )
    if picture.history:
        last = picture.history[-1]
        assert (last.batch_id, last.watermark) == (picture.batch_id, picture.watermark)
        assert last.max_event_time == picture.max_event_time
    assert all(change.batch_id <= picture.batch_id for change in picture.changes)
    if kind == "updating":
        assert sum(n for _, n in picture.rows) == picture.rows_in
    else:
        check_windows(kind, picture)


def check_windows(kind, picture):
    """The lesson: when the watermark passes a window's end it is closed, and its rows
    are there; not before."""
    mark = picture.watermark or datetime.min
    assert len(picture.rows) == picture.rows_out
    assert all(window["end"] <= mark for window, _, _ in picture.rows)
    for bar in picture.windows:
        late_alone = bar.rows == 0
        assert late_alone or (bar.state is WindowState.CLOSED) == (bar.end <= mark)
    if kind == "session":  # stretches, in which several sessions may lie
        assert picture.closed_sessions == picture.rows_out
        counted = sum(bar.rows + bar.late_rows for bar in picture.density)
        assert counted == picture.rows_in
        assert picture.state is not RunState.FINISHED or picture.open_sessions == 0
        return
    emitted = Counter()
    for window, _, n in picture.rows:
        emitted[window["start"]] += n
    closed = {b.start: b.rows for b in picture.windows if b.state is WindowState.CLOSED}
    assert emitted == Counter({start: n for start, n in closed.items() if n})
    if kind == "tumble":
        counted = sum(bar.rows + bar.late_rows for bar in picture.windows)
        assert counted == picture.rows_in


def play(session, path, kind, seed):
    """Pictures of a run over one tape, all of them checked."""
    write_tape(path, Random(seed))
    taken = pictures(session, TABLE.format(path=path) + QUERIES[kind], f"{kind}{seed}")
    for picture in taken:
        check(kind, picture)
    return taken


@pytest.mark.parametrize("kind", of_the_day(QUERIES, "moments", 2))
def test_a_picture_shows_one_batch(session, tmp_path, kind):
    taken = play(session, tmp_path / "tape.json", kind, seed=7)
    assert len({picture.batch_id for picture in taken}) > 4
    if kind != "updating":
        assert any(picture.late_rows for picture in taken)
        # Some were taken while windows were open, not only at the end of the stream.
        assert any(before_end(p.watermark) and p.rows_out for p in taken)


@pytest.mark.long("moments")
@pytest.mark.parametrize("seed", range(13))
@pytest.mark.parametrize("kind", QUERIES)
def test_each_picture_of_many_runs_shows_one_batch(session, tmp_path, kind, seed):
    play(session, tmp_path / "tape.json", kind, seed)
