"""What a job that starts from nothing does to its sinks is said before it does it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from arroyo_nb.cli import main
from arroyo_nb.errors import PromoteProblem
from arroyo_nb.jobs.resume import prepare, spec_of_plan
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_changes import JobVersion, judge
from arroyo_nb.jobs.spec_file import read
from arroyo_nb.run.options import RunOptions
from arroyo_nb.source import ScriptText
from arroyo_nb.state.compatibility import Edit, Outcome
from arroyo_nb.state.folder import StateFolder
from arroyo_nb.state.header import StateSpec
from arroyo_nb.state.identity import plan_identity
from arroyo_nb.state.resume import OnIncompatible

SCRIPT = """CREATE TABLE orders (id BIGINT, city TEXT, at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at) WITH (connector = 'kafka', bootstrap_servers = 'b:9092',
  topic = 'all-orders', type = 'source', 'source.offset' = 'earliest', format = 'json');
CREATE TABLE answers WITH (connector = 'single_file', path = '/x/a', type = 'sink',
  format = 'json');
INSERT INTO answers
SELECT tumble(INTERVAL '1 hour') AS w, city, count(*) AS n FROM orders GROUP BY w, city;
"""
OLD = JobSpec("job", SCRIPT)
TWICE = (
    "'orders' begins anew, with 'source.offset' = 'earliest': 'answers' gets the "
    "results of records that were read before a second time"
)
START = (
    "to begin where the old run stopped, write 'source.start_offsets' = '0:5, 1:7' in "
    "the table 'orders'; windows and keys that were open then begin without their "
    "earlier rows"
)


def edited(old, new):
    assert old in SCRIPT
    return JobSpec("job", SCRIPT.replace(old, new))


WINDOWS = (
    "'answers' has the windows that end up to 2026-01-01 10:00:00: to write none of "
    "them twice and the others whole, read the sources from their beginning, with "
    "HAVING w.end > TIMESTAMP '2026-01-01 10:00:00.000000'"
)


MORE = edited("count(*) AS n", "count(*) AS n, max(id) AS newest")


def version(spec):
    return JobVersion(spec, read(ScriptText(spec.text)).plan())


def write_state(path):
    """The state of a run that has read some records of two partitions."""
    plan = version(OLD).plan
    run = StateFolder(
        path,
        identity=plan_identity(plan),
        name="job",
        spec=StateSpec(spec_of_plan(plan, RunOptions())),
    )
    run.release()
    checkpoint = path / "outputs" / "0" / "checkpoint"
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True)
    (checkpoint / "commits" / "3").write_text("v1\n{}")
    mark = int(datetime(2026, 1, 1, 10, tzinfo=UTC).timestamp()) * 1000
    facts = json.dumps({"batchWatermarkMs": mark, "batchTimestampMs": 0, "conf": {}})
    places = json.dumps({"all-orders": {"0": 5, "1": 7}})
    (checkpoint / "offsets" / "3").write_text(f"v1\n{facts}\n{places}")


def test_the_refusal_says_what_fresh_does_and_offers_the_offsets(tmp_path):
    write_state(tmp_path / "job")
    new = version(MORE)
    with pytest.raises(PromoteProblem) as told:
        prepare(tmp_path / "job", new, OnIncompatible.GO_ON, "arroyo-nb run job.yaml")
    assert str(told.value.hint).splitlines()[1:] == [TWICE, START, WINDOWS]
    done = prepare(
        tmp_path / "job", new, OnIncompatible.FRESH, "arroyo-nb run job.yaml"
    )
    assert done.notes[1:] == (TWICE, START, WINDOWS)


def test_diff_says_it_too(tmp_path, capsys):
    for name, spec in (("old", OLD), ("new", MORE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.yaml").write_text(spec.text)
    write_state(tmp_path / "old" / "state" / "job")
    assert main(["diff", str(tmp_path / "old"), str(tmp_path / "new")]) == 1
    lines = capsys.readouterr().out.splitlines()
    notes = [f"note: {said}" for said in (TWICE, START, WINDOWS)]
    assert lines[-4:] == ["verdict: fresh", *notes]


def test_a_start_at_the_end_misses_what_came_meanwhile(tmp_path):
    write_state(tmp_path / "job")
    sql = MORE.sql.replace("'source.offset' = 'earliest', ", "")
    new = version(JobSpec("job", sql))
    notes = prepare(tmp_path / "job", new, OnIncompatible.FRESH, "run it").notes
    assert "records that came since the old run stopped are read by nobody" in notes[1]
    assert notes[2] == START


def test_a_file_is_read_again(tmp_path):
    write_state(tmp_path / "job")
    sql = MORE.sql.replace("'kafka', bootstrap_servers = 'b:9092'", "'single_file'")
    sql = sql.replace("topic = 'all-orders'", "path = '/x/o.json'")
    sql = sql.replace("'source.offset' = 'earliest', ", "")
    new = version(JobSpec("job", sql))
    notes = prepare(tmp_path / "job", new, OnIncompatible.FRESH, "run it").notes
    assert notes[1:] == (
        "'orders' is read from its beginning again: 'answers' gets the results of its "
        "earlier rows a second time",
        WINDOWS,
    )


def test_the_condition_that_is_offered_leaves_the_written_windows_out():
    condition = WINDOWS.partition("with ")[2]
    sql = MORE.sql.replace("GROUP BY w, city", f"GROUP BY w, city {condition}")
    kept = version(JobSpec("job", sql))
    # And it can be taken out once the job has gone on.
    assert judge(kept, version(MORE)).outcome is Outcome.FORK


UPDATING = SCRIPT.partition("SELECT")[0].replace("id BIGINT", "fare DOUBLE")
UPDATING = UPDATING.replace("'json');\nINSERT", "'debezium_json');\nINSERT")


def updating(aggregates):
    sql = f"{UPDATING}SELECT city, {aggregates} FROM orders GROUP BY city;\n"
    return version(JobSpec("job", sql))


@pytest.mark.parametrize(
    ("aggregates", "edit"),
    [
        ("sum(fare), avg(fare)", Edit.AGGREGATE_OF_KEPT),
        ("sum(fare), count(fare), count(*)", Edit.AGGREGATE_OF_KEPT),
        ("sum(fare) + count(*), sum(fare)", Edit.AGGREGATE_OF_KEPT),
        ("avg(fare), sum(fare)", Edit.AGGREGATE_OF_ROWS),
        ("sum(fare), max(fare)", Edit.AGGREGATE_OF_ROWS),
        ("sum(fare), count(city)", Edit.AGGREGATE_OF_ROWS),
        ("sum(fare), avg(fare) FILTER (WHERE fare > 1)", Edit.AGGREGATE_OF_ROWS),
        ("sum(fare), count(DISTINCT fare)", Edit.AGGREGATE_OF_ROWS),
        ("avg(fare)", Edit.KEPT),
    ],
)
def test_an_aggregate_of_what_an_updating_state_has_goes_on(aggregates, edit):
    found = judge(updating("sum(fare)"), updating(aggregates)).differences
    assert edit in {difference.edit for difference in found}


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        ("city TEXT", "city TEXT, note TEXT", Outcome.FORK),
        ("id BIGINT", "note TEXT, id BIGINT", Outcome.FORK),
        ("city TEXT", "city TEXT, note TEXT NOT NULL", Outcome.FRESH),
        ("id BIGINT", "id INT, note TEXT", Outcome.FRESH),
        ("id BIGINT, ", "note TEXT, ", Outcome.FRESH),
    ],
)
def test_nullable_columns_that_nobody_used_take_no_state_away(old, new, outcome):
    assert judge(version(OLD), version(edited(old, new))).outcome is outcome


def test_a_new_column_that_is_kept_begins_anew():
    sql = edited("city TEXT", "city TEXT, note TEXT").sql
    used = sql.replace("w, city, count", "w, city, note, count")
    used = used.replace("GROUP BY w, city", "GROUP BY w, city, note")
    assert judge(version(OLD), version(JobSpec("job", used))).outcome is Outcome.FRESH
