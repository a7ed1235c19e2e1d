"""Two runs side by side: windows, results and late rows that differ are named."""

import re
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pyarrow as pa
import pytest

import arroyo_nb
from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import RunProblem
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.observe.progress import TriggerProgress
from arroyo_nb.run.observe.snapshot import RunState, WindowBar, WindowState
from arroyo_nb.run.observe.trace import TracedBatch
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import RunFolder, prepare
from arroyo_nb.run.run import Run
from arroyo_nb.schema import EPOCH
from arroyo_nb.views.compare import COMPARISON_VIEWS, compare
from arroyo_nb.whatif.comparison import (
    Comparison,
    TableWindows,
    paired,
    paired_tables,
)
from arroyo_nb.whatif.differences import difference

HOUR = timedelta(hours=1)
START = datetime(2013, 2, 8)


def bar(hour, rows, late=0):
    start = START + hour * HOUR
    return WindowBar(start, start + HOUR, rows, late, WindowState.CLOSED, 3)


def result(*rows):
    return pa.table(
        {
            "w": [
                {"start": START + h * HOUR, "end": START + (h + 1) * HOUR}
                for h, _ in rows
            ],
            "n": [n for _, n in rows],
        }
    )


def compared(names=("hasty", "patient"), **others):
    first, second = result((8, 3), (9, 4)), result((8, 5), (9, 4), (10, 1))
    found = {
        "names": names,
        "pairs": paired([bar(8, 3, 2), bar(9, 4)], [bar(8, 5), bar(9, 4), bar(10, 1)]),
        "result": difference(first, second),
        "late_counts": (2, 0),
        "late": None,
        "result_rows": (2, 3),
        "notes": (),
        "views": COMPARISON_VIEWS,
    }
    return Comparison(**(found | others))


def test_windows_are_paired_by_their_edges():
    pairs = compared().pairs
    assert [pair.start for pair in pairs] == [START + n * HOUR for n in (8, 9, 10)]
    assert [pair.rows for pair in pairs] == [(3, 5), (4, 4), (0, 1)]
    assert [pair.late_rows for pair in pairs] == [(2, 0), (0, 0), (0, 0)]
    assert [pair.differs for pair in pairs] == [True, False, True]
    assert pairs[2].first is None
    assert compared().windows()["differs"].to_pylist() == [True, False, True]


def test_rows_of_one_window_stand_beside_each_other():
    rows = compared().table().to_pylist()
    assert [
        (row["only_in"], row["times"], row["w.start"].hour, row["n"]) for row in rows
    ] == [
        ("hasty", 1, 8, 3),
        ("patient", 1, 8, 5),
        ("patient", 1, 10, 1),
    ]


def test_the_text_says_what_differs():
    text = repr(compared())
    title = text.splitlines()[0]
    assert "hasty against patient: 2 windows of 3 differ" in title
    assert "late rows: 2 against 0" in title
    assert "result rows only in one: 1 of 2 against 2 of 3" in title
    assert "2013-02-08 08:00" in text
    assert "09:00 – 10:00" not in text


def test_runs_that_are_the_same_are_said_to_be():
    same = compared(
        pairs=paired([bar(8, 3)], [bar(8, 3)]),
        result=difference(result((8, 3)), result((8, 3))),
        late_counts=(0, 0),
    )
    assert same.is_same
    assert repr(same) == "hasty and patient have the same windows, late rows and result"
    assert same.table().num_rows == 0


def test_the_page_draws_both_and_marks_what_differs():
    page = compared(names=("<b>one", "two"))._repr_html_()
    assert "<b>one" not in page
    (data,) = re.findall(r"base64,([^\"]+)\"", page)
    drawn = b64decode(data).decode()
    assert drawn.count('class="bar closed"') == drawn.count('class="bar open"') == 3
    assert drawn.count("<circle") == 2
    assert "differs" in drawn
    assert "&lt;b&gt;one" in drawn
    assert "<script" not in page


def test_hundreds_of_windows_are_not_all_drawn_and_that_is_said():
    many = [bar(n, 2) for n in range(300)]
    found = compared(pairs=paired(many, [bar(n, 1) for n in range(300)]))
    page = found._repr_html_()
    assert "180 older windows not drawn" in page
    assert "290 other windows that differ not listed" in page


def test_late_rows_that_cannot_be_listed_are_refused_with_words():
    with pytest.raises(RunProblem, match="cannot be listed"):
        compared().late_table()


TABLES = """CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1000);
CREATE TABLE tocks WITH (connector = 'impulse', event_rate = 1000);
"""
SIDE = "(SELECT tumble(INTERVAL '1 hour') AS w, count(*) AS n FROM {} GROUP BY w)"


class RunWithoutEngine(Run):
    """Its late rows cannot be listed: Spark would."""

    def late(self, output=0):
        raise RunProblem(f"no engine lists the late rows of output {output}")


def made_run(folder, query, *panes, name="run"):
    """A run that is not started, with rows in the panes of each of its windows."""
    plan = plan_script(TABLES + query, Catalog())
    engine = SimpleNamespace(status="starting")
    prepared = prepare(name, plan, RunOptions(keep=True))
    run = RunWithoutEngine(prepared, engine, RunFolder(folder))
    # Only what has a batch of its own is saved as a trace.
    seen = run.outputs[0].observation
    seen.write(0, None)
    seen._take(TriggerProgress(0, 1.0, None))
    traces = seen.traces
    for trace, rows in zip(traces, panes, strict=True):
        pane_rows = {
            (START + hour * HOUR).replace(tzinfo=UTC): n for hour, n in rows.items()
        }
        trace.add(TracedBatch(0, 0.0, None, EPOCH, {}, None, pane_rows))
    return run


def joined_run(folder, left, right, *panes, name="run"):
    sides = (SIDE.format(left), SIDE.format(right))
    query = (
        f"SELECT a.w, a.n, b.n AS m FROM {sides[0]} a JOIN {sides[1]} b ON a.w = b.w"
    )
    return made_run(folder, query, *panes, name=name)


def test_both_sides_of_a_join_are_compared(tmp_path):
    first = joined_run(tmp_path, "ticks", "tocks", {8: 3}, {8: 2}, name="a")
    second = joined_run(tmp_path, "ticks", "tocks", {8: 2}, {8: 2}, name="b")
    found = compare(first, second)
    assert not found.is_same
    assert [
        (row["table"], row["first_rows"], row["second_rows"], row["differs"])
        for row in found.windows().to_pylist()
    ] == [("ticks", 3, 2, True), ("tocks", 2, 2, False)]
    text = repr(found)
    assert "1 window of 1 differ" in text
    assert "ticks" in text.splitlines()[3]
    (data,) = re.findall(r"base64,([^\"]+)\"", found._repr_html_())
    drawn = b64decode(data).decode()
    # The bars of both tables stand beside each other.
    assert len(set(re.findall(r'class="bar closed" x="([^"]+)"', drawn))) == 2
    assert "09:00 ticks: 3 against 2 rows" in drawn


def test_the_windows_of_a_run_name_their_table_where_it_has_several(tmp_path):
    run = joined_run(tmp_path, "ticks", "tocks", {8: 3}, {8: 2, 9: 1})
    assert run.windows()["table"].to_pylist() == ["ticks", "tocks", "tocks"]
    some = "ticks WHERE counter > 5"
    itself = joined_run(tmp_path, "ticks", some, {8: 3}, {8: 2, 9: 1})
    numbered = ["ticks (1)", "ticks (2)", "ticks (2)"]
    assert itself.windows()["table"].to_pylist() == numbered
    one = made_run(tmp_path, SIDE.format("ticks")[1:-1], {8: 1})
    assert one.windows().column_names[0] == "start"
    assert compare(one, one).windows().column_names[0] == "start"


def test_tables_of_other_names_are_compared_by_their_order():
    pairs = paired_tables(
        [TableWindows("a", [bar(8, 1)]), TableWindows("both", [bar(8, 2)])],
        [TableWindows("both", [bar(8, 2)]), TableWindows("b", [bar(8, 5)])],
    )
    assert [(p.table, *p.rows) for p in pairs] == [("a / b", 1, 5), ("both", 2, 2)]
    pairs = paired_tables(
        [TableWindows("a", [bar(8, 1)])],
        [TableWindows("b", [bar(8, 1)]), TableWindows("c", [bar(8, 3)])],
    )
    assert [(p.table, *p.rows) for p in pairs] == [("a / b", 1, 1), ("c", 0, 3)]
    pairs = paired_tables(
        [TableWindows("a", [bar(8, 1)])], [TableWindows("b", [bar(8, 1)])]
    )
    assert [pair.table for pair in pairs] == [""]


def test_what_is_no_run_is_refused_in_words(tmp_path):
    run = made_run(tmp_path, SIDE.format("ticks")[1:-1], {8: 1}, name="counts")
    for other, shown in ((None, "None"), ([1] * 100, "a list"), (7, "7")):
        with pytest.raises(RunProblem, match=f"two runs, and {shown} is none") as told:
            arroyo_nb.compare(run, other)
        assert "compare(first, second)" in told.value.hint


def test_a_run_is_named_where_a_notebook_knows_it(tmp_path, monkeypatch):
    run = made_run(tmp_path, SIDE.format("ticks")[1:-1], {8: 1}, name="counts")
    with pytest.raises(RunProblem, match="'counts' is a name") as told:
        arroyo_nb.compare(run, "counts")
    assert told.value.hint == "compare takes runs, too: session.get('counts')"
    session = SimpleNamespace(get={"counts": run}.__getitem__)
    monkeypatch.setattr(arroyo_nb, "active_session", lambda: session)
    assert arroyo_nb.compare(run, "counts").is_same


def test_a_run_that_failed_is_refused_each_time(tmp_path):
    run = made_run(tmp_path, SIDE.format("ticks")[1:-1], {8: 1}, name="counts")
    run._life.error = RunProblem("a broken value")
    run._life.end(RunState.FAILED, "failed")
    for _ in range(2):
        with pytest.raises(RunProblem, match="'counts' has failed") as told:
            compare(run, run)
        assert told.value.hint == "mend its error, and run it again"


def test_a_saved_trace_is_compared_with_a_run(tmp_path):
    query = SIDE.format("ticks")[1:-1]
    run = made_run(tmp_path, query, {8: 1}, name="counts")
    trace = arroyo_nb.load_trace(run.save_trace(tmp_path / "a.trace"))
    assert compare(run, trace).is_same
    other = made_run(tmp_path, query, {8: 4}, name="other")
    found = compare(trace, other)
    assert found.names == ("counts", "other")
    assert [pair.rows for pair in found.differing] == [(1, 4)]


def test_sessions_of_keys_are_not_said_to_be_windows(tmp_path):
    query = "SELECT session(INTERVAL '1 hour') AS w, {}, count(*) FROM ticks GROUP BY w"
    keyed = query.format("counter") + ", counter"
    first = made_run(tmp_path, keyed, {8: 3, 12: 1}, name="all")
    second = made_run(tmp_path, keyed, {8: 1}, name="some")
    text = repr(compare(first, second))
    assert "2 stretches of sessions of 2 differ" in text.splitlines()[0]
    assert "window" not in text
    assert "the sessions themselves are in the result" in text
    assert "the same stretches of sessions" in repr(compare(first, first))
    trace = arroyo_nb.load_trace(first.save_trace(tmp_path / "a.trace"))
    assert compare(trace, second).has_stretches
    # Without a key each session is counted by itself.
    whole = query.format("max(counter)")
    own = made_run(tmp_path, whole, {8: 3}, name="all")
    found = compare(own, made_run(tmp_path, whole, {8: 1}, name="some"))
    assert "1 window of 1 differ" in repr(found)
    assert not found.notes[-1].startswith("a stretch")


def test_of_a_join_a_saved_trace_has_the_first_table_alone(tmp_path):
    run = joined_run(tmp_path, "ticks", "tocks", {8: 3}, {8: 2})
    trace = arroyo_nb.load_trace(run.save_trace(tmp_path / "a.trace"))
    found = compare(trace, run)
    assert found.is_same
    assert "those of 'ticks' are compared" in found.notes[-1]
