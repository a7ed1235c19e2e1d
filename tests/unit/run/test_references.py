"""``{{ NAME }}`` in an option: the value of an environment variable, for a run only."""

from __future__ import annotations

import json

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import PlanProblem, RunProblem
from arroyo_nb.planner import plan_script
from arroyo_nb.run.feeds import Feeds
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.run import Run

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
    return Run("r", plan, None, folder / "state", RunOptions())


def test_a_run_reads_and_writes_what_the_variables_name(folder):
    made = run(QUERY, folder)
    (feed,) = made.feeds._feeds
    (chunk,) = feed.recorder.chunks(None)
    assert chunk.rows["id"].to_pylist() == [7]
    made.outputs[0]._make_writer(folder / "sink")
    assert (folder / "copy.json").exists()


def test_a_plan_and_the_identity_of_its_state_keep_the_reference(folder):
    plan = plan_script(QUERY, Catalog())
    Feeds(plan.sinks, speed="max", stepping=False)
    for text in (plan.identity, plan.explain(), repr(plan)):
        assert str(folder) not in text
    assert "{{ TRIPS }}/{{DAY}}.json" in plan.identity


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
