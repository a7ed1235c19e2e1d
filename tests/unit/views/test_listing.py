"""Lists: rows of a table, as ``%arroyo head`` shows them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
from scenes import TUMBLE

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.views import listing


def test_rows_of_few_columns_are_lines() -> None:
    made = listing.rows(pa.table({"id": [1, 2], "name": ["a", None]}))
    assert made["text/plain"].splitlines() == ["id  name", "1   a", "2   NULL"]


def test_rows_of_many_columns_stand_beside_each_other() -> None:
    names = [f"a_rather_long_column_{n}" for n in range(20)]
    made = listing.rows(pa.table({name: [n, -n] for n, name in enumerate(names)}))
    lines = made["text/plain"].splitlines()
    assert lines[0].split() == ["row", "1", "row", "2"]
    assert [line.split() for line in lines[1:]] == [
        [name, str(n), str(-n)] for n, name in enumerate(names)
    ]
    assert len(re.findall("<tr>", made["text/html"])) == 21


def test_no_row_is_said() -> None:
    wide = pa.table(
        {f"a_rather_long_column_{n}": pa.array([], "int64") for n in range(20)}
    )
    for empty in (wide, wide.select([0])):
        assert listing.rows(empty) == {"text/plain": "no row"}


def test_a_view_that_was_written_as_a_table_is_said_to_be_one() -> None:
    table = "CREATE TABLE t WITH (connector = 'impulse', event_rate = 1);"
    before = plan_script(table, Catalog()).catalog
    for create in ("CREATE TABLE", "create or replace\n table"):
        after = plan_script(f"{create} a AS SELECT counter FROM t", before).catalog
        assert listing.changes(before, after).startswith(
            "defined a (view, 1 column): as in Arroyo, CREATE TABLE AS makes a view"
        )
    after = plan_script("CREATE VIEW a AS SELECT counter FROM t", before).catalog
    assert listing.changes(before, after) == "defined a (view, 1 column)"


def test_an_arrow_table_is_a_page_of_its_first_rows() -> None:
    late = timedelta(minutes=3)
    found = pa.table({"<b>": ["<i>"] * 30, "late_by": [late] * 30})
    page = listing.arrow_page(found)
    assert page.count("&lt;i&gt;") == page.count("3 min") == 20
    assert "&lt;b&gt;" in page
    assert "<p>first 20 of 30 rows</p>" in page
    assert "<p>30 rows</p>" not in page
    assert listing.arrow_page(found.slice(0, 1)).endswith("<p>1 row</p>")
    nothing = listing.arrow_page(found.slice(0, 0))
    assert nothing == "<p>0 rows; columns: &lt;b&gt;, late_by</p>"
    wide = pa.table({f"a_long_name_{n}": [n] for n in range(50)})
    assert "10 more columns not shown" in listing.arrow_page(wide)


def test_runs_say_where_they_are_and_how_to_stop_them() -> None:
    ended = replace(TUMBLE, name="over", state=RunState.STOPPED)
    spaced = replace(TUMBLE, name="a run; rm -rf", paused=True)
    made = listing.runs(
        [ended, TUMBLE, spaced], [("broker", "running")], {"departures_by_hour": 7}
    )
    head, first, second, third, last = made["text/plain"].splitlines()
    assert head.split()[:4] == ["run", "cell", "state", "age"]
    assert first.startswith("departures_by_hour  [7]   ● running")
    assert first.endswith("1 h 9 min  %arroyo stop departures_by_hour")
    assert "‖ paused" in second
    assert second.endswith("%arroyo stop 'a run; rm -rf'")
    assert third.startswith("over")
    assert "%arroyo stop" not in third
    assert last.split() == ["broker", "running"]
