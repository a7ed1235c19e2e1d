"""A run becomes a job and comes back, with its state: no row is lost or comes twice."""

import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from job_process import job_process

from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs.status import status

WITHIN_S, LOOK_S = 120, 0.2
SOURCE = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '400');"
SCRIPT = """
CREATE TABLE lines WITH (connector = 'single_file', path = '{here}/lines.json',
    type = 'sink', format = 'json');
CREATE TABLE files WITH (connector = 'filesystem', path = '{here}/files',
    type = 'sink', format = 'parquet', 'rolling_policy.file_size' = '20000');
CREATE TABLE sums WITH (connector = 'single_file', path = '{here}/sums.json',
    type = 'sink', format = 'debezium_json');
INSERT INTO lines SELECT counter FROM ticks;
INSERT INTO files SELECT counter, counter % 7 AS rest FROM ticks;
INSERT INTO sums SELECT counter % 7 AS rest, count(*) AS n FROM ticks GROUP BY 1;
"""


def lines(path):
    """The whole lines of a file that may be written at this moment."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]


class Sinks:
    """What the tables have."""

    def __init__(self, here):
        self._here = here

    @property
    def counters(self):
        return [row["counter"] for row in lines(self._here / "lines.json")]

    @property
    def in_files(self):
        files = (self._here / "files").glob("*.parquet")
        return [n for f in files for n in pq.read_table(f)["counter"].to_pylist()]

    @property
    def sums(self):
        """What the changes come to; each must find the row that it speaks of."""
        now = {}
        for change in lines(self._here / "sums.json"):
            before, after = change["before"], change["after"]
            if before is not None:
                assert now.pop(before["rest"]) == before["n"]
            if after is not None:
                assert after["rest"] not in now
                now[after["rest"]] = after["n"]
        return now


def check(sinks):
    """Each counter once, in every table: also where they end, a batch apart."""
    found = sinks.counters
    assert found == list(range(len(found)))
    files = sorted(sinks.in_files)
    assert files == list(range(len(files)))
    counts = sum(sinks.sums.values())
    assert sinks.sums == Counter(n % 7 for n in range(counts))
    return len(found)


@pytest.mark.parametrize(
    "turns", [1, pytest.param(20, marks=pytest.mark.long("edits"))], ids=str
)
def test_there_and_back_while_rows_come(session, tmp_path, eventually, turns):
    sinks, job, rows = Sinks(tmp_path), tmp_path / "jobs" / "count", 0
    spec = job / "job.yaml"
    session.run(SOURCE)
    run = session.run(
        SCRIPT.format(here=tmp_path), name="count", keep=True, trigger="1s"
    )

    def more():
        ended = session.get("count").error is not None
        return ended or (len(sinks.counters) > rows + 100 and len(sinks.sums) == 7)

    text = ""
    for _ in range(turns):
        eventually(more, WITHIN_S, LOOK_S)
        session.promote("count", job, with_state=True)
        assert (run.state.value, run.error) == ("stopped", None)
        assert text in ("", spec.read_text())
        text = spec.read_text()
        rows = check(sinks)
        with job_process(spec) as process:
            process.event("running")
            assert status(spec).state == "running"
            eventually(more, WITHIN_S, LOOK_S)
            run = session.attach(spec)
            assert process.process.wait(WITHIN_S) == 143
        rows = len(sinks.counters)
    eventually(more, WITHIN_S, LOOK_S)
    run.stop().wait(WITHIN_S)
    assert run.resumed
    assert check(sinks) > rows


def test_what_was_only_previewed_is_not_handed_over(session, tmp_path, eventually):
    session.run(SOURCE)
    script = SCRIPT.format(here=tmp_path)
    run = session.run(script, name="count", sinks=False)
    eventually(lambda: run.rows_in > 0)
    with pytest.raises(RunProblem, match="only previewed the rows of 'lines'") as told:
        session.promote("count", tmp_path / "job", with_state=True)
    assert "--sinks" in told.value.hint
    assert not run.state.ended
    assert not (tmp_path / "job").exists()
    run.stop().wait(WITHIN_S)


def test_after_a_handover_the_run_is_not_gone_on_with_here(
    session, tmp_path, eventually
):
    session.run(SOURCE)
    run = session.run(SCRIPT.format(here=tmp_path), name="count")
    eventually(lambda: run.rows_in > 0)
    session.promote("count", tmp_path / "job", with_state=True)
    again = session.resume("count")
    with pytest.raises(RunProblem, match="was handed over to '"):
        again.wait(WITHIN_S)
    assert status(tmp_path / "job" / "job.yaml").state == "stopped"
    other = session.run(SCRIPT.format(here=Path(tmp_path, "x")), name="count")
    other.stop().wait_quietly(WITHIN_S)
    with pytest.raises(RunProblem, match="the job has state already"):
        session.promote("count", tmp_path / "job", with_state=True)


def test_what_never_forgot_is_not_handed_to_a_job_with_a_time_to_live(
    session, tmp_path, eventually
):
    session.run(SOURCE.replace(");", ", message_count = '1000000');"))
    run = session.run(SCRIPT.format(here=tmp_path), name="count")
    eventually(lambda: run.rows_in > 0)
    spec = session.promote("count", tmp_path / "job").folder / "job.yaml"
    with_ttl = spec.read_text().replace("\nsql:", "\noptions:\n  ttl: 1h\nsql:")
    spec.write_text(with_ttl)
    with pytest.raises(RunProblem, match="the job has a time to live") as told:
        session.promote("count", tmp_path / "job", with_state=True, overwrite=True)
    assert "--ttl" in told.value.hint
    assert not run.state.ended
    run.stop().wait(WITHIN_S)
