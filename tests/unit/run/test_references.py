"""``{{ NAME }}`` in an option: the value of an environment variable, for a run only."""

from __future__ import annotations

import json
import traceback

import pyarrow.parquet as pq
import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import PlanProblem, RunProblem
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.options import FLUSH, RunOptions
from arroyo_nb.run.prepare import RunFolder, prepare
from arroyo_nb.run.run import Run
from arroyo_nb.run.sources.sources import Sources
from arroyo_nb.state.folder import StateFolder
from arroyo_nb.state.identity import plan_identity

TRIPS = """
CREATE TABLE trips (id BIGINT) WITH (
  connector = 'single_file', type = 'source', format = 'json',
  path = '{{ TRIPS }}/{{DAY}}.json'
);
CREATE TABLE copy (id BIGINT) WITH (
  connector = 'single_file', type = 'sink', format = 'json', path = '{{ COPY }}'
);
"""
QUERY = TRIPS + "INSERT INTO copy SELECT id FROM trips;"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "monday.json").write_text(json.dumps({"id": 7}) + "\n")
    monkeypatch.setenv("TRIPS", str(tmp_path))
    monkeypatch.setenv("DAY", "monday")
    monkeypatch.setenv("COPY", str(tmp_path / "copy.json"))
    return tmp_path


def run(text, folder):
    plan = plan_script(text, Catalog())
    return Run(prepare("r", plan, RunOptions()), None, RunFolder(folder / "state"))


def test_a_run_reads_and_writes_what_the_variables_name(folder):
    made = run(QUERY, folder)
    (feed,) = made.sources._feeds
    (chunk,) = feed.recorder.chunks(None)
    assert chunk.rows["id"].to_pylist() == [7]
    made.outputs[0]._make_writer(folder / "sink").close()
    assert (folder / "copy.json").exists()


def test_a_variable_is_asked_for_at_each_start(folder, monkeypatch):
    made = run(QUERY, folder)
    monkeypatch.setenv("COPY", str(folder / "other.json"))
    resumed = Run(
        prepare("r", made.plan, made.options, outputs=made.outputs), None, made.place
    )
    resumed.outputs[0]._make_writer(folder / "sink").close()
    assert (folder / "other.json").exists()
    assert not (folder / "copy.json").exists()


@pytest.mark.parametrize("bad_data", ["fail", "drop"])
def test_a_value_is_in_no_message_footer_or_picture(folder, bad_data):
    (folder / "monday.json").write_text('{"id": 7}\n{"id": 8\n')
    text = QUERY.replace("'source',", f"'source', bad_data = '{bad_data}',")
    made = run(text, folder)
    claim = StateFolder(folder / "state", identity="", name="r")
    made.sources.start(claim)
    conductor = made.sources._feeds[0]._conductor
    assert conductor.join(20)
    claim.release()
    (source,) = made.sources.sources({})
    problem = made.sources.error
    said = [*source.bad, *(traceback.format_exception(problem) if problem else ())]
    assert any("{{ TRIPS }}/{{DAY}}.json:2: " in text for text in said)
    files = (folder / "state").rglob("chunk-*.parquet")
    footers = [pq.read_metadata(path).metadata for path in files]
    assert bool(footers) is (bad_data == "drop")
    assert str(folder) not in f"{said} {footers}"


@pytest.mark.parametrize(
    ("variable", "break_it", "said"),
    [
        ("TRIPS", lambda path: None, "there is no file '{{ TRIPS }}/{{DAY}}.json'"),
        ("TRIPS", lambda path: (path / "monday.json").mkdir(parents=True), "folder"),
        ("COPY", lambda path: path.mkdir(), "cannot write '{{ COPY }}': Is a direc"),
    ],
)
def test_what_cannot_be_opened_is_told_without_the_value(
    folder, monkeypatch, variable, break_it, said
):
    secret = folder / "s3cret"
    monkeypatch.setenv(variable, str(secret))
    break_it(secret)
    with pytest.raises(RunProblem) as raised:
        run(QUERY, folder).outputs[0]._make_writer(folder / "sink")
    told = "".join(traceback.format_exception(raised.value))
    assert said in told
    assert "s3cret" not in told


def test_a_plan_and_the_identity_of_its_state_keep_the_reference(folder):
    plan = plan_script(QUERY, Catalog())
    Sources(
        plan.sinks,
        speed="max",
        tick=FLUSH,
        stepping=False,
        merge=False,
        ends_after=None,
    )
    for text in (plan_identity(plan), plan.explain(), repr(plan)):
        assert str(folder) not in text
    assert "{{ TRIPS }}/{{DAY}}.json" in plan_identity(plan)


@pytest.mark.parametrize(
    ("missing", "option", "table", "place"),
    [
        ("DAY", "path", "trips", "<cell>:9:33"),
        ("COPY", "path", "copy", "<cell>:9:1"),
    ],
)
def test_a_variable_that_is_not_set_is_refused_where_it_is_needed(
    folder, monkeypatch, missing, option, table, place
):
    monkeypatch.delenv(missing)
    plan_script(QUERY, Catalog())  # planning needs no secret
    with pytest.raises(RunProblem) as raised:
        run(QUERY, folder)
    said, *_, hint = str(raised.value).splitlines()
    assert said == (
        f"{place}: the environment variable '{missing}' is not set; "
        f"the option '{option}' of the table '{table}' needs it"
    )
    assert f"%env {missing}=" in hint


def test_a_file_behind_a_variable_is_still_not_read_and_written_at_once(
    folder, monkeypatch
):
    monkeypatch.setenv("COPY", str(folder / "monday.json"))
    with pytest.raises(PlanProblem, match="both reads and writes") as raised:
        plan_script(QUERY, Catalog())
    assert str(folder) not in str(raised.value)
