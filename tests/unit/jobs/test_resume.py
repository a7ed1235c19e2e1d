"""A job that was changed is judged before it starts, by the spec in its folder."""

from dataclasses import replace
from datetime import timedelta

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.durable_files import read_checked, write_checked
from arroyo_nb.errors import PromoteProblem
from arroyo_nb.jobs.resume import judged, prepare, spec_of_plan
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_changes import JobVersion
from arroyo_nb.jobs.spec_file import read
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.options import RunOptions
from arroyo_nb.source import ScriptText
from arroyo_nb.state.compatibility import Edit, Outcome
from arroyo_nb.state.folder import StateFolder
from arroyo_nb.state.header import StateSpec
from arroyo_nb.state.identity import plan_identity
from arroyo_nb.state.resume import OnIncompatible

TABLE = "CREATE TABLE t WITH (connector = 'impulse', event_rate = 1);\n"
SINK = (
    "CREATE TABLE s WITH (connector = 'single_file', path = '{{ HERE }}/a', "
    "type = 'sink', format = 'debezium_json');\n"
)
SPEC = JobSpec(
    "job",
    f"{TABLE}{SINK}INSERT INTO s\n"
    "SELECT counter, count(*) AS n FROM t GROUP BY counter;\n",
)
ROWS = replace(SPEC, sql=SPEC.sql.replace("GROUP", "WHERE counter > 1 GROUP"))
KEY = replace(SPEC, sql=SPEC.sql.replace("counter", "subtask_index"))
RUN = "arroyo-nb run job.yaml"


def version(spec):
    return JobVersion(spec, read(ScriptText(spec.text)).plan())


@pytest.fixture
def folder(tmp_path):
    """The state of a job."""
    plan = version(SPEC).plan
    run = StateFolder(
        tmp_path / "job",
        identity=plan_identity(plan),
        name="job",
        spec=StateSpec(spec_of_plan(plan, RunOptions())),
    )
    (run.sink(0) / "batches.json").write_text("{}")
    run.lookups()
    run.release()
    return run.path


def done(folder, spec, wish=OnIncompatible.GO_ON):
    return [*prepare(folder, version(spec), wish, RUN).notes]


def test_what_is_compatible_goes_on_in_its_place(folder):
    assert done(folder, SPEC) == []
    options = RunOptions(trigger=timedelta(seconds=2), parallelism=3)
    told = done(folder, replace(SPEC, options=options, state="other"))
    assert told == ["compatible: the trigger: it is read anew at each start"]
    # Asked for in vain, as by a unit that always says so.
    assert done(folder, SPEC, OnIncompatible.FORK) == []
    assert [*folder.parent.iterdir()] == [folder]


def test_what_needs_a_fork_is_refused_with_reasons_and_the_command(folder):
    with pytest.raises(PromoteProblem) as refusal:
        done(folder, ROWS)
    told = str(refusal.value)
    assert "which it cannot go on from in its place" in told
    assert "needs fork: how rows are computed: the state and the sink hold" in told
    assert "+ Filter" in told
    assert f"'{RUN} --fork' goes on from a copy" in told
    assert f"'{RUN} --fresh' starts from nothing" in told
    assert judged(folder, version(SPEC)).outcome is Outcome.COMPATIBLE


def test_a_fork_is_the_state_of_the_new_job(folder):
    *_, told = done(folder, ROWS, OnIncompatible.FORK)
    assert told.startswith("'job' goes on from a copy of its state; the original is")
    aside = folder.with_name("job.aside-1")
    assert judged(aside, version(SPEC)).outcome is Outcome.COMPATIBLE
    # What made the state of a fork is two jobs: until it ran, nothing else fits.
    assert judged(folder, version(ROWS)).outcome is Outcome.COMPATIBLE
    assert judged(folder, version(SPEC)).outcome is Outcome.FRESH
    assert (folder / "outputs/0/sink/batches.json").exists()
    assert (folder / "lookups").exists()


def test_a_sink_elsewhere_begins_its_notes_anew(folder):
    moved = replace(SPEC, sql=SPEC.sql.replace("}}/a", "}}/b"))
    done(folder, moved, OnIncompatible.FORK)
    assert not (folder / "outputs/0/sink").exists()


def test_what_begins_anew_is_refused_also_as_a_fork(folder):
    for wish in (OnIncompatible.GO_ON, OnIncompatible.FORK):
        with pytest.raises(PromoteProblem) as refusal:
            done(folder, KEY, wish)
        told = str(refusal.value)
        assert "fresh: the state of UpdatingAggregate" in told
        assert "--fork" not in told
        assert f"'{RUN} --fresh' starts from nothing" in told
    told, again = done(folder, KEY, OnIncompatible.FRESH)
    assert again.startswith("'t' is read from its beginning again: 's' gets")
    assert str(folder.with_name("job.aside-1")) in told
    assert judged(folder, version(KEY)) is None
    assert done(folder, KEY) == []


@pytest.mark.parametrize("spec", ["", "version: 99", "{", SPEC.text + "more: 1\n"])
def test_state_that_does_not_say_what_made_it_is_only_for_the_same_plan(folder, spec):
    stamp = folder / "run.json"
    write_checked(stamp, read_checked(stamp, "stamp") | {"spec": spec})
    assert done(folder, SPEC) == []
    verdict = judged(folder, version(ROWS))
    assert [d.edit for d in verdict.differences] == [Edit.UNKNOWN]
    with pytest.raises(PromoteProblem, match="does not say which script made it"):
        done(folder, ROWS, OnIncompatible.FORK)


def test_a_spec_that_is_not_that_of_the_state_says_nothing(folder):
    stamp = folder / "run.json"
    write_checked(stamp, read_checked(stamp, "stamp") | {"spec": KEY.text})
    assert judged(folder, version(KEY)).outcome is Outcome.FRESH
    assert judged(folder, version(SPEC)).outcome is Outcome.COMPATIBLE


def test_a_script_with_a_secret_in_it_is_not_kept():
    redis = (
        "CREATE TEMPORARY TABLE r (k TEXT METADATA FROM 'key' PRIMARY KEY, v TEXT) "
        "WITH (connector = 'redis', address = 'redis://h:1', format = 'json', "
        "password = '{}');\n"
    )
    for password, is_kept in (("{{ PASSWORD }}", True), ("s3cret", False)):
        made = plan_script(redis.format(password) + SPEC.sql, Catalog())
        assert bool(spec_of_plan(made, RunOptions())) is is_kept
