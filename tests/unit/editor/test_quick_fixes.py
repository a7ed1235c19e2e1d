"""Quick fixes: what each makes of a cell is planned again, without that error."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml

from arroyo_nb.catalog import Catalog
from arroyo_nb.editor.answers import Diagnostic, EditorContext, Fix, Severity
from arroyo_nb.editor.cell_text import read_cell
from arroyo_nb.editor.diagnostics import diagnose
from arroyo_nb.plan.planner import plan_script

GOLDEN = Path(__file__).parents[2] / "golden"
ERROR = "\n-- error\n"
DIALECTS = yaml.safe_load((GOLDEN / "other_dialects.yaml").read_text("utf-8"))
FILE = "connector = 'single_file', path = '/x', format = 'json', type = 'source'"


@cache
def context() -> EditorContext:
    script = (GOLDEN / "tables.sql").read_text("utf-8")
    return EditorContext(plan_script(script, Catalog()).catalog)


def told(text: str) -> list[Diagnostic]:
    cell = read_cell(text)
    assert cell is not None
    return list(diagnose(cell, context()))


def fixed(text: str, fix: Fix) -> str:
    last = len(text)
    for edit in sorted(fix.edits, key=lambda edit: edit.start, reverse=True):
        assert 0 <= edit.start <= edit.end <= last, "they do not overlap"
        last = edit.start
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def mended(text: str, title: str) -> str:
    """The cell after the one fix of that title, which leaves no problem."""
    fixes = {f.title: f for d in told(text) for f in d.fixes}
    assert title in fixes, [*fixes]
    made = fixed(text, fixes[title])
    assert [d for d in told(made) if d.severity is Severity.ERROR] == [], made
    return made.removeprefix("%%arroyo\n")


@pytest.mark.parametrize(
    ("body", "title", "after"),
    [
        ("SELECT nme FROM trips", "change to 'name'", "SELECT name FROM trips"),
        ("SELECT usrId FROM trips", "change to 'userId'", 'SELECT "userId" FROM trips'),
        ("SELECT userId FROM trips", 'change to "userId"',
         'SELECT "userId" FROM trips'),
        ("SELECT t.nme FROM trips t", "change to 'name'", "SELECT t.name FROM trips t"),
        ("SELECT id FROM tripps", "change to 'trips'", "SELECT id FROM trips"),
        ("SELECT uper(name) FROM trips", "change to 'upper'",
         "SELECT upper(name) FROM trips"),
        ("SELECT UCASE(name) FROM trips", "change to 'upper'",
         "SELECT upper(name) FROM trips"),
        ("CREATE TABLE o (id UUID) WITH (connector = 'blackhole')", "change to TEXT",
         "CREATE TABLE o (id TEXT) WITH (connector = 'blackhole')"),
        (f"CREATE TABLE o (id INT) WITH ({FILE}, \"bad_dta\" = 'drop')",
         "change to bad_data",
         f"CREATE TABLE o (id INT) WITH ({FILE}, bad_data = 'drop')"),
        (f"CREATE TABLE o (id INT) WITH ({FILE}, bad_data = 'dorp')",
         "change to 'drop'",
         f"CREATE TABLE o (id INT) WITH ({FILE}, bad_data = 'drop')"),
        (f"CREATE TABLE o (id INT) WITH ({FILE}, zzz = 'drop')", "remove 'zzz'",
         f"CREATE TABLE o (id INT) WITH ({FILE})"),
        (f"CREATE TABLE o (id INT) WITH (zzz = 'drop', {FILE})", "remove 'zzz'",
         f"CREATE TABLE o (id INT) WITH ({FILE})"),
        ('SELECT id FROM trips WHERE name = "it\'s"', "change to 'it''s'",
         "SELECT id FROM trips WHERE name = 'it''s'"),
        ("SELECT `id`, `userId` FROM trips", "quote names as here",
         'SELECT id, "userId" FROM trips'),
        ("SELECT id, name, FROM trips", "remove the comma",
         "SELECT id, name FROM trips"),
        ("SELECT id FROM trips WHERE done && id > 1", "write AND",
         "SELECT id FROM trips WHERE done AND id > 1"),
    ],
)  # fmt: skip
def test_a_slip_is_replaced(body: str, title: str, after: str) -> None:
    assert mended(f"%%arroyo\n{body}", title) == after


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("SELECT name, count(*) AS n, seats FROM trips GROUP BY name",
         "SELECT name, count(*) AS n, seats FROM trips GROUP BY seats, name"),
        ("SELECT count(*) AS n, upper(name) FROM trips",
         "SELECT count(*) AS n, upper(name) FROM trips GROUP BY name"),
        ("SELECT t.name, count(*) AS n FROM trips AS t HAVING count(*) > 1",
         "SELECT t.name, count(*) AS n FROM trips AS t GROUP BY t.name "
         "HAVING count(*) > 1"),
        ("SELECT n FROM (SELECT count(*) AS n, name FROM trips) WHERE n > 1",
         "SELECT n FROM (SELECT count(*) AS n, name FROM trips GROUP BY name) "
         "WHERE n > 1"),
        ("SELECT name, n FROM (SELECT id, count(*) AS n, name FROM trips GROUP BY id)",
         "SELECT name, n FROM (SELECT id, count(*) AS n, name FROM trips "
         "GROUP BY name, id)"),
        ("SELECT name /* FROM */, count(*) AS n FROM trips -- the end\n",
         "SELECT name /* FROM */, count(*) AS n FROM trips GROUP BY name -- the end\n"),
        ("SELECT tumble(INTERVAL '1 hour') AS w, count(*) AS n FROM trips",
         "SELECT tumble(INTERVAL '1 hour') AS w, count(*) AS n FROM trips "
         "GROUP BY tumble(INTERVAL '1 hour')"),
    ],
)  # fmt: skip
def test_the_missing_key_is_added(body: str, after: str) -> None:
    text = f"%%arroyo\n{body}"
    (title,) = {f.title for d in told(text) for f in d.fixes}
    assert title.endswith(" to GROUP BY")
    assert mended(text, title) == after


def test_a_column_of_the_watermark_becomes_not_null() -> None:
    head = "CREATE TABLE o (id INT, ts TIMESTAMP(3), p STRUCT<a INT, b TEXT[]>"
    rest = f", WATERMARK FOR ts AS ts - INTERVAL '5 seconds') WITH ({FILE})"
    made = mended(f"%%arroyo\n{head}{rest}", "declare ts NOT NULL")
    assert made == head.replace("(3)", "(3) NOT NULL") + rest
    of_another = (
        "CREATE TABLE o (ms BIGINT, ts TIMESTAMP GENERATED ALWAYS AS "
        f"(to_timestamp_millis(ms)){rest}"
    )
    made = mended(f"%%arroyo\n{of_another}", "declare ms NOT NULL")
    assert made == of_another.replace("BIGINT", "BIGINT NOT NULL")


def test_a_table_of_the_cell_gets_a_watermark() -> None:
    table = f"CREATE TABLE o (n INT, at TIMESTAMP) WITH ({FILE});\n"
    query = "SELECT tumble(INTERVAL '1 hour') AS w, count(*) AS n FROM o GROUP BY w"
    text = f"%%arroyo\n{table}{query}"
    made = mended(text, "give o a WATERMARK for at")
    assert made == (
        "CREATE TABLE o (n INT, at TIMESTAMP NOT NULL,\n  WATERMARK FOR at AS at - "
        f"INTERVAL '1 minute') WITH ({FILE});\n{query}"
    )
    assert told(f"%%arroyo\n{made}") == []


@pytest.mark.parametrize(
    ("body", "after"),
    [
        # Flink: table functions, and those of before
        ("SELECT window_start, window_end, name, count(*) AS n FROM TABLE(TUMBLE(TABLE "
         "trips, DESCRIPTOR(at), INTERVAL '10' MINUTES)) GROUP BY window_start, "
         "window_end, name",
         "SELECT tumble(INTERVAL '10 minutes') AS window, name, count(*) AS n FROM "
         "trips GROUP BY window, name"),
        ("SELECT window_start, count(*) AS n FROM TABLE(HOP(TABLE trips, "
         "DESCRIPTOR(at), INTERVAL '5' MINUTE, INTERVAL '10' MINUTE)) "
         "GROUP BY window_start",
         "SELECT hop(INTERVAL '5 minutes', INTERVAL '10 minutes') AS window, count(*) "
         "AS n FROM trips GROUP BY window"),
        ("SELECT TUMBLE_START(at, INTERVAL '1' HOUR), count(*) AS n FROM trips GROUP "
         "BY TUMBLE(at, INTERVAL '1' HOUR)",
         "SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS n FROM trips GROUP "
         "BY window"),
        ("SELECT window_start, -- from when\n  window_end, /* to */ name, -- whose\n  "
         "count(*) /* all */ AS n FROM TABLE(TUMBLE(TABLE trips, DESCRIPTOR(at), "
         "INTERVAL '1' HOUR)) GROUP BY window_start, window_end, name",
         "SELECT tumble(INTERVAL '1 hour') AS window, -- from when\n/* to */ name, "
         "-- whose\ncount(*) /* all */ AS n FROM trips GROUP BY window, name"),
        ("SELECT window_start, name, count(*) AS n FROM TABLE(TUMBLE(TABLE trips, "
         "DESCRIPTOR(at), INTERVAL '1' HOUR)) GROUP BY window_start, -- when\n"
         "  window_end, /* whose */ name, /* last */ window_start",
         "SELECT tumble(INTERVAL '1 hour') AS window, name, count(*) AS n FROM trips "
         "GROUP BY window, -- when\n/* whose */ name /* last */"),
        # ksqlDB
        ("SELECT name, count(*) AS n FROM trips WINDOW TUMBLING (SIZE 30 SECONDS, "
         "GRACE PERIOD 10 SECONDS) GROUP BY name EMIT CHANGES",
         "SELECT tumble(INTERVAL '30 seconds') AS window, name, count(*) AS n FROM "
         "trips GROUP BY window, name"),
        ("SELECT name, count(*) AS n FROM trips WINDOW HOPPING (SIZE 30 SECONDS, "
         "ADVANCE BY 10 SECONDS) WHERE fare > 1 GROUP BY name",
         "SELECT hop(INTERVAL '10 seconds', INTERVAL '30 seconds') AS window, name, "
         "count(*) AS n FROM trips WHERE fare > 1 GROUP BY window, name"),
        ("SELECT name, count(*) AS n FROM trips WINDOW SESSION (60 SECONDS) GROUP BY "
         "name",
         "SELECT session(INTERVAL '60 seconds') AS window, name, count(*) AS n FROM "
         "trips GROUP BY window, name"),
        # Spark: the width comes first
        ("SELECT window(at, '10 minutes', '5 minutes') AS w, count(*) AS n FROM trips "
         "GROUP BY window(at, '10 minutes', '5 minutes')",
         "SELECT hop(INTERVAL '5 minutes', INTERVAL '10 minutes') AS w, count(*) AS n "
         "FROM trips GROUP BY w"),
        ("SELECT session_window(at, '5 minutes'), count(*) AS n FROM trips GROUP BY "
         "session_window(at, '5 minutes')",
         "SELECT session(INTERVAL '5 minutes') AS window, count(*) AS n FROM trips "
         "GROUP BY window"),
        # the time that the table's WATERMARK says
        ("SELECT tumble(at, INTERVAL '1 hour') AS w, count(*) AS n FROM trips GROUP BY "
         "w",
         "SELECT tumble(INTERVAL '1 hour') AS w, count(*) AS n FROM trips GROUP BY w"),
    ],
)  # fmt: skip
def test_windows_of_other_dialects_are_rewritten(body: str, after: str) -> None:
    text = f"%%arroyo\n{body}"
    assert mended(text, "write the window as in this dialect") == after


def test_a_window_that_groups_nothing_is_left_alone() -> None:
    """Flink's gives each row its window; here a window is a key of GROUP BY."""
    window = "TABLE(TUMBLE(TABLE trips, DESCRIPTOR(at), INTERVAL '1' HOUR))"
    text = f"%%arroyo\nSELECT * FROM {window}"
    assert [f for d in told(text) for f in d.fixes] == []


def test_a_group_by_that_is_being_typed_gets_its_first_key() -> None:
    select = "SELECT window(at, '1 hour') AS w, count(*) AS n FROM trips GROUP BY"
    title = "write the window as in this dialect"
    fixes = {f.title: f for d in told(f"%%arroyo\n{select} ") for f in d.fixes}
    after = fixed(f"%%arroyo\n{select} ", fixes[title])
    assert after.endswith(
        "SELECT tumble(INTERVAL '1 hour') AS w, count(*) AS n FROM trips GROUP BY w "
    )


def test_every_fix_of_a_golden_error_mends_it() -> None:
    scripts = [
        path.read_text("utf-8").split(ERROR)[0].rstrip("\n")
        for path in sorted((GOLDEN / "errors").glob("*.sql"))
    ]
    scripts += [row["write"] for row in DIALECTS]
    offered = 0
    for script in scripts:
        flag = " --strict" if script.startswith("-- strict") else ""
        text = f"%%arroyo{flag}\n{script}"
        found = told(text)
        for diagnostic in found:
            for fix in diagnostic.fixes:
                offered += 1
                after = [d.message for d in told(fixed(text, fix))]
                before = [d.message for d in found]
                same = diagnostic.message
                assert after.count(same) < before.count(same), (script, fix)
    assert offered >= 100


def test_an_option_of_the_first_line_is_mended() -> None:
    text = "%%arroyo --stict\nSELECT id FROM trips"
    ((fix,),) = [d.fixes for d in told(text)]
    assert fixed(text, fix) == "%%arroyo --strict\nSELECT id FROM trips"


def test_places_behind_a_parameter_are_those_of_what_was_typed() -> None:
    text = "%%arroyo\nSELECT :a AS a, nme FROM trips WHERE id = :a"
    cell = read_cell(text)
    assert cell is not None
    found = EditorContext(context().catalog, variables={"a": 1234567})
    (diagnostic,) = diagnose(cell, found)
    made = fixed(text, diagnostic.fixes[0])
    assert made == text.replace("nme", "name")


def test_the_query_of_a_test_is_mended_in_its_place() -> None:
    text = (
        "%%arroyo_test t\nGIVEN trips\nid | name | at\n1 | it's | 10:00:00\n\nWHEN\n"
        "SELECT name, count(*) AS n FROM trips\n\nEXPECT TABLE\nname | n\nann | 1\n"
    )
    ((fix,),) = [d.fixes for d in told(text)]
    assert "FROM trips GROUP BY name\n\nEXPECT" in fixed(text, fix)


def test_a_column_made_of_a_field_of_a_window_is_not_lost() -> None:
    text = (
        "%%arroyo\nSELECT window_start + INTERVAL '1' HOUR AS due, count(*) AS n FROM "
        "TABLE(TUMBLE(TABLE trips, DESCRIPTOR(at), INTERVAL '10' MINUTES)) "
        "GROUP BY window_start"
    )
    fixes = [fix for d in told(text) for fix in d.fixes]
    assert all("due" in fixed(text, fix) for fix in fixes)


def test_a_fix_that_changes_nothing_is_not_offered() -> None:
    text = "%%arroyo\nCREATE TABLE made (id INT\ufeff) WITH (connector = 'blackhole')"
    (diagnostic,) = told(text)
    assert [f for f in diagnostic.fixes if fixed(text, f) == text] == []
