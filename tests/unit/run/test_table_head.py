"""The first rows of a table, of any source, without a run and without Spark."""

from __future__ import annotations

import pandas as pd
import pytest
from IPython.utils.capture import capture_output

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.run.sources.fit_notes import FitNotes, fit_of, fitted
from arroyo_nb.run.table_head import head, head_notes
from arroyo_nb.session import Session

FILE = """CREATE TABLE t (n INT, at TIMESTAMP) WITH (connector = 'single_file',
type = 'source', path = '{path}', format = 'json')"""


@pytest.fixture
def session():
    with Session() as session:
        yield session
        assert not session.runs


def test_of_a_file(session, tmp_path):
    path = tmp_path / "rows"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(30)))
    session.run(FILE.format(path=path))
    found = session.head("t")
    assert found.to_pylist() == [{"n": n, "at": None} for n in range(10)]
    assert session.head("t", 1000).num_rows == 30
    path.write_text("")
    assert session.head("t").column_names == ["n", "at"]


def test_of_a_sample_and_of_what_never_ends(session):
    session.run(
        "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');"
        "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '5')"
    )
    assert session.head("flights", 3).num_rows == 3
    assert session.head("ticks", 3)["counter"].to_pylist() == [0, 1, 2]


def test_of_a_live_source_it_is_what_comes_for_a_while(session, monkeypatch):
    monkeypatch.setattr("arroyo_nb.run.table_head.LIVE_S", 0.0)
    session.run("CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '0.1')")
    assert session.head("ticks", 3)["counter"].to_pylist() == [0]


def test_of_a_tape(session, tmp_path):
    session.emit(tmp_path / "tape", [{"n": n} for n in range(30)], wait=True)
    session.run(
        "CREATE TABLE t (n INT, o BIGINT METADATA FROM 'offset_id') WITH ("
        f"connector = 'tape', path = '{tmp_path / 'tape'}', format = 'json')"
    )
    assert session.head("t", 2).to_pylist() == [{"n": 0, "o": 0}, {"n": 1, "o": 1}]


def test_of_a_dataframe(session):
    session.lookup("f", pd.DataFrame({"k": [1, 2], "v": ["a", "b"]}), key="k")
    assert session.head("f", 1).to_pylist() == [{"k": 1, "v": "a"}]


def test_what_has_no_rows_of_its_own_is_told(session, tmp_path):
    session.run(
        FILE.format(path=tmp_path / "t")
        + ";CREATE VIEW v AS SELECT n FROM t;"
        + FILE.format(path=tmp_path / "o")
        .replace("TABLE t", "TABLE o")
        .replace("'source'", "'sink'")
    )
    with pytest.raises(RunProblem, match="'v' is a view: head shows"):
        session.head("v")
    with pytest.raises(RunProblem, match="'o' is a sink: head shows"):
        session.head("o")
    with pytest.raises(ArroyoError, match="nope"):
        session.head("nope")


def test_columns_that_do_not_fit_are_told_also_of_few_rows(shell, tmp_path):
    path = tmp_path / "rows"
    path.write_text('{"ID": 1, "sweet": "candy", "at": 1700000000}\n')
    declared = FILE.format(path=path).replace("n INT", "id INT, sweets TEXT")
    shell.run_cell_magic("arroyo", "", declared)
    with capture_output() as shown:
        shell.run_line_magic("arroyo", "head t")
    assert "t: no record of 1 had 'id'; did you mean 'ID'?" in shown.stdout
    assert "t: no record of 1 had 'sweets'; did you mean 'sweet'?" in shown.stdout
    assert "all times of 'at' lie in January 1970: seconds?" in shown.stdout


def test_few_rows_of_a_longer_table_say_nothing_of_the_next_one(session, tmp_path):
    path = tmp_path / "rows"
    path.write_text("{}\n" * 12 + '{"n": 1, "at": "2024-01-01"}\n')
    session.run(FILE.format(path=path))
    table = session.catalog.get("t")
    assert not list(head_notes(table, head(session.engine, table, 1)))
    assert not list(head_notes(table, head(session.engine, table, 20)))


def test_records_that_are_left_out_are_told(session, tmp_path):
    path = tmp_path / "rows"
    path.write_text('{"n": 1, "at": "2024-01-01"}\n{"n": "x"}\n{no\n')
    session.run(FILE.format(path=path)[:-1] + ", bad_data = 'drop')")
    table = session.catalog.get("t")
    found = head(session.engine, table, 5)
    assert found.rows.num_rows == 1
    (note,) = head_notes(table, found)
    assert note.startswith(
        "2 records that do not fit the columns left out; the first: "
    )
    assert f"{path}:2" in note


def test_a_run_of_few_rows_tells_what_does_not_fit(session, tmp_path):
    path = tmp_path / "rows"
    path.write_text('{"N": 1, "at": "2024-01-01"}\n')
    session.run(FILE.format(path=path))
    recorder = fitted(
        CONNECTORS.get("single_file").recorder(session.catalog.get("t").spec),
        session.catalog.get("t"),
    )
    for _ in recorder.chunks(None):
        pass
    notes = FitNotes(session.catalog.get("t")).notes(fit_of(recorder), 5.0)
    assert notes == ("no record of 1 had 'n'; did you mean 'N'?",)
