"""The first rows of a table, of any source, without a run and without Spark."""

from __future__ import annotations

import pandas as pd
import pytest

from arroyo_nb.errors import ArroyoError, RunProblem
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
