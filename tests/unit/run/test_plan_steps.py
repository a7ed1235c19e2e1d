"""The operators of a plan as values: words, badges, lines, and what is certain of their
state."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.observe.plan_steps import MOST_NODES, plan_steps, without_counts
from arroyo_nb.run.observe.progress import OperatorState, TriggerProgress, read_progress
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import RunFolder, prepare
from arroyo_nb.run.run import Run

TABLE = """CREATE TABLE flights (carrier TEXT, origin TEXT, delay BIGINT,
  at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '1 hour')
  WITH (connector = 'single_file', path = 'f.json', type = 'source',
  format = 'json');
"""
JOINED = """
SELECT a.w, a.n, b.m
FROM (SELECT tumble(INTERVAL '1 hour') AS w, origin, count(*) AS n FROM flights
      WHERE delay > 15
      GROUP BY 1, 2) AS a
JOIN (SELECT tumble(INTERVAL '1 hour') AS w, origin, count(*) AS m FROM flights
      GROUP BY 1, 2) AS b
  ON a.w = b.w AND a.origin = b.origin
"""
OWN, GROUPS, JOIN = (
    "transformWithStateInPySparkExec",
    "stateStoreSave",
    "symmetricHashJoin",
)


@pytest.fixture(autouse=True)
def in_a_folder_with_rows(tmp_path, monkeypatch):
    (tmp_path / "f.json").write_text("")
    monkeypatch.chdir(tmp_path)


def made(script, tmp_path, catalog=None):
    plan = plan_script(script, catalog or Catalog())
    engine = SimpleNamespace(status="starting")
    return Run(prepare("r", plan, RunOptions(keep=True)), engine, RunFolder(tmp_path))


def steps_of(run, *states):
    output = run.outputs[0]
    known = tuple(OperatorState(*state) for state in states)
    output.observation.progress = TriggerProgress(0, 1.0, None, states=known)
    sources = {"flights": (1815, 12.5)}
    return plan_steps(run.plan, output, sources=sources, rows_out=9)


def test_operators_are_told_in_the_words_of_the_dialect(tmp_path):
    steps = steps_of(made(TABLE + JOINED, tmp_path))
    assert [step.kind for step in steps] == [
        *("source", "watermark", "filter", "aggregate", "aggregate", "join", "sink"),
    ]
    texts = [step.text for step in steps]
    assert texts[0] == "FROM flights (single_file)"
    assert texts[1] == "WATERMARK newest event - 1 h"
    assert texts[2] == "WHERE delay > 15"
    assert texts[3].startswith("GROUP BY tumble(3600s) AS w, origin")
    assert texts[5].startswith("INNER JOIN tumble(3600s) ON ")
    assert texts[6] == "result"
    assert (steps[0].rows, steps[0].rows_per_s, steps[-1].rows) == (1815, 12.5, 9)
    # Inputs before those that read them; the watermark is read twice.
    assert [step.inputs for step in steps] == [(), (1,), (2,), (3,), (2,), (4, 5), (6,)]
    assert [step.number for step in steps] == list(range(1, 8))
    lines = (TABLE + JOINED).splitlines()
    assert "WHERE delay > 15" in lines[steps[2].line - 1]
    assert steps[2].sql == lines[steps[2].line - 1].strip()


def test_badges_say_what_differs(tmp_path):
    windowed = steps_of(made(TABLE + JOINED, tmp_path))
    assert windowed[3].badge == "differs"
    assert "Arroyo's follows the oldest row" in windowed[3].note
    assert windowed[1].badge == "micro-batch"
    query = "SELECT carrier, count(*) AS n FROM flights GROUP BY carrier"
    updating = steps_of(made(TABLE + query, tmp_path / "u"))
    assert [step.badge for step in updating] == [
        *("exact", "exact", "micro-batch", "exact"),
    ]


def test_state_is_at_its_operators_where_that_is_certain(tmp_path):
    run = made(TABLE + JOINED, tmp_path)
    steps = steps_of(run, (JOIN, 7, 70), (GROUPS, 1, 10), (GROUPS, 2, 20))
    found = {s.number: (s.state_rows, s.state_bytes) for s in steps if s.state_bytes}
    assert found == {6: (7, 70), 4: (1, 10), 5: (2, 20)}


@pytest.mark.parametrize(
    "states",
    [
        [(GROUPS, 1, 10), (GROUPS, 2, 20)],
        [(GROUPS, 7, 70), (JOIN, 1, 10), (GROUPS, 2, 20)],
        [("dedupe", 7, 70), (GROUPS, 1, 10), (GROUPS, 2, 20)],
    ],
)
def test_else_the_sum_is_at_the_sink(tmp_path, states):
    steps = steps_of(made(TABLE + JOINED, tmp_path), *states)
    rows, size = (sum(state[place] for state in states) for place in (1, 2))
    assert [(s.state_rows, s.state_bytes) for s in steps[:-1]] == [(None, None)] * 6
    assert (steps[-1].state_rows, steps[-1].state_bytes) == (rows, size)


def test_pieces_of_state_are_no_rows(tmp_path):
    query = "SELECT carrier, count(*) AS n FROM flights GROUP BY carrier"
    steps = steps_of(made(TABLE + query, tmp_path), (OWN, 7, 2_000_000))
    assert (steps[2].state_rows, steps[2].state_bytes) == (None, 2_000_000)
    mixed = steps_of(made(TABLE + query, tmp_path / "m"), (OWN, 7, 20), (GROUPS, 5, 1))
    assert (mixed[-1].state_rows, mixed[-1].state_bytes) == (None, 21)


def test_a_view_that_is_read_twice_has_the_state_of_both(tmp_path):
    script = f"""{TABLE}
    CREATE VIEW v AS SELECT carrier, count(*) AS n FROM flights GROUP BY carrier;
    SELECT a.carrier, a.n, b.n AS m FROM v AS a LEFT JOIN v AS b ON a.n = b.n"""
    run = made(script, tmp_path)
    steps = steps_of(run, (OWN, 1, 100), (OWN, 2, 10), (OWN, 3, 5))
    join = next(step for step in steps if step.kind == "join")
    grouped = next(step for step in steps if step.kind == "aggregate")
    assert join.inputs == (grouped.number, grouped.number)
    assert (join.state_bytes, grouped.state_bytes) == (100, 15)


def test_a_clause_of_an_earlier_script_has_no_line(tmp_path):
    view = "CREATE VIEW v AS SELECT carrier, delay FROM flights WHERE delay > 15;"
    before = plan_script(f"\n\n\n{TABLE}{view}", Catalog()).catalog
    run = made("SELECT carrier, count(*) FROM v\nGROUP BY 1", tmp_path, before)
    steps = steps_of(run)
    lines = {step.kind: step.line for step in steps}
    assert lines["filter"] == lines["source"] == 0
    assert lines["sink"] == lines["aggregate"] == 1


def test_secrets_are_not_in_a_line(tmp_path):
    script = f"{TABLE}SELECT carrier FROM flights WHERE 'auth.password' = 'rose'"
    steps = steps_of(made(script, tmp_path))
    assert not any("rose" in step.sql for step in steps)


def test_a_plan_that_nobody_could_read_has_no_steps(tmp_path):
    many = " UNION ALL ".join(["SELECT carrier FROM flights"] * MOST_NODES)
    assert steps_of(made(TABLE + many, tmp_path)) == ()


def test_of_an_earlier_batch_counts_are_not_told(tmp_path):
    steps = tuple(without_counts(steps_of(made(TABLE + JOINED, tmp_path))))
    assert {step.rows for step in steps} == {None}
    assert steps[3].badge == "differs"


def test_each_output_has_a_name(tmp_path):
    script = f"""{TABLE}
    CREATE TABLE late (carrier TEXT) WITH (connector = 'blackhole');
    SELECT carrier FROM flights;
    INSERT INTO late SELECT carrier FROM flights WHERE delay > 60;
    SELECT origin FROM flights;"""
    run = made(script, tmp_path)
    names = run.snapshot().outputs
    assert names == run.snapshot(output=2).outputs == ("result 1", "late", "result 2")
    assert [run.snapshot(output=k).output for k in range(3)] == [0, 1, 2]
    assert run.snapshot(output=2).columns == ("origin",)
    single = made(f"{TABLE}SELECT carrier FROM flights", tmp_path / "s")
    assert single.snapshot().outputs == ("result",)


def test_progress_tells_what_each_operator_keeps():
    told = {"operatorName": GROUPS, "numRowsTotal": 5, "memoryUsedBytes": 77}
    raw = {"batchId": 1, "sources": [], "stateOperators": [told, {}]}
    states = read_progress(raw).states
    assert states == (OperatorState(GROUPS, 5, 77), OperatorState("", 0, 0))
