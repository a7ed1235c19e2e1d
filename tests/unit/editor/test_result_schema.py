"""The columns of a result before anything runs: in the editor, and as a plan's page."""

from __future__ import annotations

from typing import Any

from arroyo_nb.catalog import Catalog
from arroyo_nb.editor.answers import EditorContext, ResultColumn
from arroyo_nb.editor.cell_text import read_cell
from arroyo_nb.editor.result_schema import result_schema
from arroyo_nb.plan.planner import plan_script

FILE = "connector = 'single_file', path = '/data/x', format = 'json', type = 'source'"
CATALOG = plan_script(
    f"""
CREATE TABLE trips (id BIGINT NOT NULL, at TIMESTAMP NOT NULL, name TEXT,
  WATERMARK FOR at AS at - INTERVAL '5 seconds') WITH ({FILE});
CREATE TABLE clicks (at TIMESTAMP, id BIGINT, WATERMARK FOR at) WITH ({FILE});
CREATE TABLE made (ms BIGINT NOT NULL, seen TIMESTAMP NOT NULL GENERATED ALWAYS AS
  (to_timestamp_millis(ms)), WATERMARK FOR seen) WITH ({FILE})
""",
    Catalog(),
).catalog


def columns(text: str, **variables: Any) -> tuple[ResultColumn, ...]:
    cell = read_cell(text)
    assert cell is not None
    return result_schema(cell, EditorContext(CATALOG, variables=variables))


def event_times(query: str) -> list[str]:
    return [c.name for c in columns(f"%%arroyo\n{query}") if c.event_time]


def test_the_last_query_has_the_columns() -> None:
    text = "%%arroyo\nSELECT name FROM trips; SELECT id, at AS seen, id + :n FROM trips"
    assert columns(text, n=1) == (
        ResultColumn("id", "BIGINT", nullable=False),
        ResultColumn("seen", "TIMESTAMP", nullable=False, event_time=True),
        ResultColumn("id + 1", "BIGINT", nullable=False),
    )


def test_the_event_time_is_followed_through_queries() -> None:
    assert event_times("SELECT at, id FROM trips WHERE id > 3") == ["at"]
    assert event_times("SELECT x FROM (SELECT at AS x FROM trips)") == ["x"]
    assert event_times("SELECT at + INTERVAL '1 hour' AS at FROM trips") == []
    assert event_times("SELECT seen, ms FROM made") == ["seen"]
    both = "SELECT id, at FROM trips UNION ALL SELECT id, at FROM clicks"
    assert event_times(both) == ["at"]
    other = "SELECT at FROM trips UNION ALL SELECT at + INTERVAL '1 hour' FROM clicks"
    assert event_times(other) == []
    assert event_times("SELECT max(at) AS at FROM trips GROUP BY id") == []


def test_what_has_no_result_has_no_columns() -> None:
    for text in (
        "%%arroyo\n",
        "%%arroyo\nSELECT nme FROM trips",
        "%%arroyo\nCREATE VIEW v AS SELECT id FROM trips",
        "%%arroyo --nonsense",
        "%%arroyo_rows x\na | b\n1 | 2",
    ):
        assert columns(text) == ()


def test_a_long_cell_has_the_columns_of_its_last_statement() -> None:
    many = ";\n".join(f"SELECT id AS c{n} FROM trips" for n in range(30))
    assert [c.name for c in columns(f"%%arroyo\n{many}")] == ["c29"]


def test_a_plan_shows_the_columns_of_its_results() -> None:
    plan = plan_script('SELECT id, at, name AS "<b>x</b>" FROM trips', CATALOG)
    shown = plan._repr_mimebundle_()
    assert shown["text/plain"].split("\n") == [
        "preview",
        "column    type       null      role",
        "id        BIGINT     NOT NULL",
        "at        TIMESTAMP  NOT NULL  event time",
        "<b>x</b>  TEXT",
    ]
    assert "<b>" not in shown["text/html"]
    assert "&lt;b&gt;x&lt;/b&gt;" in shown["text/html"]
    assert shown["text/html"].count("<tr>") == 4


def test_a_plan_that_runs_nothing_says_so() -> None:
    shown = plan_script("CREATE VIEW v AS SELECT id FROM trips", CATALOG)
    assert shown._repr_mimebundle_()["text/plain"] == (
        "The script declares tables and runs nothing."
    )
