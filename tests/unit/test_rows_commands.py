"""``%%arroyo_rows`` in the cells of a shell: defined, defined again, from variables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.utils.capture import capture_output

from arroyo_nb.extension import unload
from arroyo_nb.session import Session

CLICKS = """at       | user
10:00:00 | ann
10:00:20 | bob
09:59:30 | ann
"""


def run(shell: Any, cell: str) -> str:
    with capture_output() as captured:
        result = shell.run_cell(cell)
    error = result.error_in_exec or result.error_before_exec
    if error is not None:
        return str(error)
    shown = [output.data["text/plain"] for output in captured.outputs]
    return "".join((captured.stdout, captured.stderr, *shown))


def test_a_cell_defines_a_table(shell):
    told = run(shell, '%%arroyo_rows clicks --watermark "10 seconds"\n' + CLICKS)
    assert told.splitlines() == [
        "defined clicks (tape source, 2 columns)",
        "clicks: 3 rows in 3 micro-batches, event time 2026-01-01 09:59:30 to 10:00:20",
    ]
    plan = run(shell, "%%arroyo --no-run --explain\nSELECT user FROM clicks")
    assert "Watermark _timestamp = at, delay 10s" in plan
    assert "bob" in run(shell, "%arroyo head clicks")


def test_a_cell_that_is_run_again_says_what_is_different(shell):
    cell = "%%arroyo_rows clicks\n" + CLICKS
    run(shell, cell)
    assert run(shell, cell).splitlines()[0] == "nothing has changed"
    told = run(shell, cell + "10:00:40 | bob\n").splitlines()
    assert told[0] == "redefined clicks (1 row added)"
    assert told[1].startswith("clicks: 4 rows")
    told = run(shell, "%%arroyo_rows clicks\n" + CLICKS.replace("user", "person"))
    assert told.startswith("redefined clicks (+person TEXT, -user)")


def test_who_reads_the_rows_of_before_is_told(shell, monkeypatch):
    monkeypatch.setattr(Session, "users", lambda self, table: ["query_1"])
    cell = "%%arroyo_rows clicks\n" + CLICKS
    assert "query_1" not in run(shell, cell)
    assert "query_1" not in run(shell, cell)
    assert "query_1 still reads the rows as they were" in run(shell, cell + "10:01|a")


def test_a_wrong_cell_has_its_place_and_changes_nothing(shell):
    run(shell, "%%arroyo_rows clicks\n" + CLICKS)
    said = run(shell, "%%arroyo_rows clicks\na|b\n1|2|3\n")
    assert said.startswith("<cell>:3:5: the line has 3 cells, the header has 2")
    assert "user" in run(shell, "%arroyo head clicks")


def test_rows_of_variables_and_files(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell.user_ns["frame"] = pd.DataFrame({"n": [1, 2]})
    shell.user_ns["rows"] = [{"n": 1}]
    (tmp_path / "a.csv").write_text("n\n1\n2\n3\n")
    (tmp_path / "plain").write_text("n\n1\n")
    for source, rows in {"frame": 2, "rows": 1, "a.csv": 3, "plain": 1}.items():
        told = run(shell, f"%%arroyo_rows t --from {source}\n")
        assert f"t: {rows} row" in told
        assert run(shell, f"%%arroyo_rows t --from {source}") != ""
    assert "did you mean 'frame'?" in run(shell, "%%arroyo_rows t --from fram\n")
    assert "there is no file 'b.csv'" in run(shell, "%%arroyo_rows t --from b.csv\n")
    said = run(shell, "%%arroyo_rows t --from frame\nn\n1\n")
    assert said.startswith("the rows are those of 'frame', and the cell has rows too")


def test_options(shell, tmp_path):
    cell = "created|came|at\n08:00|10:00|09:00\n08:00|10:00|09:30\n"
    line = f"%%arroyo_rows t --event-time at --arrives came -o {tmp_path}/t.tape\n"
    assert "t: 2 rows in 1 micro-batch, event time 2026-01-01 09:00:00" in run(
        shell, line + cell
    )
    assert (tmp_path / "t.tape").is_dir()


def test_types_and_notes_of_rows(shell, tmp_path):
    path = tmp_path / "towns.csv"
    path.write_text("zip;town;since;n\n10115;Berlin;n/a;1\n07307;Jena;1900;2\n")
    said = run(shell, f"%%arroyo_rows towns --from {path}\n")
    assert "towns: a ';' separates its columns" in said
    assert (
        "towns: zip is TEXT, as '07307' in line 3 may be a code; for numbers write "
        "zip=BIGINT behind the name of the table"
    ) in said
    assert (
        "since is TEXT, as 'n/a' in line 2 is no number; an empty cell is NULL" in said
    )
    line = (
        f"%%arroyo_rows towns zip=BIGINT 'n=DECIMAL(8, 2)' --from {path} since=TEXT\n"
    )
    said = run(shell, line)
    assert "is TEXT" not in said
    assert "7307   Jena" in (shown := run(shell, "%arroyo head towns"))
    assert "2.00" in shown
    # A cell that names a type runs as one whose header does.
    run(shell, "%%arroyo_rows t user=JSON\nat | user\n10:00:00 | 1")
    assert "JSON" in run(shell, "%arroyo tables")


def test_files_are_peeked_at_by_their_path(shell, tmp_path):
    frame = pd.DataFrame({"n": [1, 2], "town": ["Bonn", "Jena"]})
    frame.to_parquet(tmp_path / "towns.parquet")
    said = run(shell, f"%arroyo head {tmp_path}/towns.parquet -n 1")
    assert "Bonn" in said
    assert "Jena" not in said
    assert "in the next cell" not in said
    said = run(shell, f"%arroyo peek {tmp_path}/towns.parquet")
    assert "as a table, in the next cell:\nCREATE TABLE towns (" in said
    # A second look offers no second cell.
    assert "in the next cell" not in run(
        shell, f"%arroyo peek {tmp_path}/towns.parquet"
    )
    said = run(shell, f"%arroyo peek {tmp_path}/towns.parquet broker:9092")
    assert "takes a path alone" in said


def test_options_of_disorder(shell):
    line = (
        "%%arroyo_rows t --delay user=ann:30s --duplicate 100% --burst 30s --seed 2\n"
    )
    assert "t: 6 rows in 2 micro-batches" in run(shell, line + CLICKS)
    assert "the gap 'x' is no length of time" in run(
        shell, "%%arroyo_rows t --gap x\n" + CLICKS
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "the table has no name"),
        ("t --watermrk 5", "did you mean '--watermark'?"),
        ("t --watermark", "option '--watermark' needs its TIME"),
        ("t u", "'u' is not an option: %%arroyo_rows NAME [COLUMN=TYPE ...]"),
        ("user=TEXT", "the table has no name"),
        ("t user=TEXT user=JSON", "'user=' stands there twice"),
        ("t user=TXT", "the type in 'user=TXT': "),
        ("t usr=TEXT", "did you mean 'user'?"),
    ],
)
def test_a_wrong_line(shell, line, said):
    assert said in run(shell, f"%%arroyo_rows {line}\n{CLICKS}")
    assert "no table yet" in run(shell, "%arroyo tables")


def test_help(shell):
    for line in ("%%arroyo_rows --help", "%%arroyo_rows t -h\n" + CLICKS):
        assert "--event-time COLUMN" in run(shell, line)
    assert "%%arroyo_rows NAME [COLUMN=TYPE ...] [OPTIONS]" in run(
        shell, "%%arroyo --help"
    )
    assert "no table yet" in run(shell, "%arroyo tables")


def test_completion_of_options(shell):
    line = "%%arroyo_rows clicks --wa"
    with provisionalcompleter():
        found = [c.text for c in shell.Completer.completions(line, len(line))]
    assert found == ["--watermark"]


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "your-own-rows.md"


def test_the_cells_of_the_page(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.csv").write_text("ordered_at,n\n10:00,1\n")
    frame = pd.DataFrame(
        {"ordered_at": [pd.Timestamp(0)], "shipped": [pd.Timestamp(0)]}
    )
    shell.user_ns["frame"] = frame
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(%%arroyo_rows .*?)^```", page, re.M | re.S)
    cells = [
        cell for block in blocks for cell in re.split(r"^(?=%%)", block, flags=re.M)
    ]
    told = [run(shell, cell) for cell in filter(None, cells)]
    assert [text.split("\n")[1].split(",")[0] for text in told] == [
        "clicks: 5 rows in 5 micro-batches",
        "together: 4 rows in 2 micro-batches",
        "slow: 5 rows in 5 micro-batches",
        "orders: 1 row in 1 micro-batch",
        "orders: 1 row in 1 micro-batch",
    ]
    assert told[0].split("\n")[1] in " ".join(page.split())


def test_unload_takes_it_away(shell):
    unload(shell)
    assert "arroyo_rows" not in shell.magics_manager.magics["cell"]
