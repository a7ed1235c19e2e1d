"""What a run hands out: its rows, whole, to whatever reads Arrow data."""

import sys

import duckdb
import pyarrow as pa
import pytest

from arroyo_nb.connectors.sample import FOLDER
from arroyo_nb.errors import RunProblem
from arroyo_nb.session import Session
from arroyo_nb.tape.format import Tape
from arroyo_nb.views import panel, static_html

MANY = """
CREATE TABLE many WITH (connector = 'impulse', event_rate = '100000',
                        message_count = 30000);
SELECT counter FROM many
"""
FLIGHTS = "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');"
ALL_FLIGHTS = Tape.open(FOLDER / "flights").table()


def test_all_rows_of_a_run_are_there_and_go_anywhere(session, monkeypatch):
    run = session.run(MANY, wait=True)
    assert run.table()["counter"].to_pylist() == list(range(30_000))
    assert run.to_pandas()["counter"].sum() == sum(range(30_000))
    assert pa.table(run) == run.table()
    reader = run.batches()
    assert reader.schema == run.table().schema
    assert sum(batch.num_rows for batch in reader) == 30_000
    assert duckdb.sql("SELECT count(*) FROM run").fetchall() == [(30_000,)]
    assert run.to_duckdb().filter("counter >= 29999").fetchall() == [(29_999,)]
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(RunProblem, match=r"polars, which is not installed") as missing:
        run.to_polars()
    assert missing.value.hint == "pip install polars"
    for told in (repr(run), run._repr_html_()):
        assert "29999" in told
        assert "30,000" in told
    assert "all 30,000 rows are in Run.table()" in run._repr_html_()
    assert run.plot(x="counter", y="counter").to_dict()["data"]


def test_rows_are_handed_to_polars(session):
    polars = pytest.importorskip("polars")
    run = session.run(
        FLIGHTS + "SELECT tumble(INTERVAL '1 hour') AS w, origin, count(*) AS n "
        "FROM flights GROUP BY 1, 2;",
        wait=True,
    )
    frame = run.to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame.rows(named=True) == run.table().to_pylist()
    assert polars.DataFrame(run).equals(frame)


def test_above_its_budget_a_run_says_what_is_missing(session):
    run = session.run(MANY, budget="50KB", wait=True)
    with pytest.warns(UserWarning, match="the newest [0-9,]+ of 30,000 rows: the budg"):
        table = run.table()
    assert table["counter"].to_pylist() == [*range(30_000 - len(table), 30_000)]
    assert "every row is here" not in run._repr_html_()
    assert "of its 30,000 rows are kept in Run.table()" in run._repr_html_()
    with pytest.warns(UserWarning, match="10,000 of 30,000 rows: a budget for"):
        assert len(session.run(MANY, budget=0, wait=True).table()) == 10_000
    with pytest.raises(RunProblem, match="'some' is not a size"):
        session.run(MANY, budget="some")


def test_dropped_records_are_a_table(session, tmp_path):
    path = tmp_path / "some.json"
    long = '{"id": "' + "x" * 500
    path.write_text('{"id": 1}\n{no\n' + f"{long}\n" + '{"id": "y"}\n' * 1_200)
    table = (
        "CREATE TABLE some (id INT) WITH (connector = 'single_file', format = 'json', "
        f"path = '{path}', type = 'source', bad_data = 'drop');"
    )
    run = session.run(table + "SELECT id FROM some", wait=True)
    assert run.table().num_rows == 1
    with pytest.warns(UserWarning, match="^1,000 of 1,202 dropped records"):
        bad = run.bad()
    assert bad["line"].to_pylist() == list(range(2, 1_002))
    first, second, third = bad.slice(0, 3).to_pylist()
    assert (first["source"], first["origin"]) == ("some", str(path))
    assert (first["record"], first["reason"][:13]) == ("{no", "invalid JSON:")
    assert second["record"] == long[:199] + "…"
    assert "'id' is INT" in third["reason"]
    assert len(run.snapshot().sources[0].bad) == 20


def test_rows_outlive_their_folder_and_their_session(engine):
    with Session(engine=engine) as session:
        first = session.run(MANY, name="same", wait=True)
        other = session.run(MANY.replace("30000", "20"), name="same", wait=True)
        engine.worker.call(lambda: None)
        assert not first.folder.exists()
        assert first.table().num_rows == 30_000
    assert not other.folder.exists()
    assert (other.table().num_rows, first.table().num_rows) == (20, 30_000)


def test_a_run_that_goes_on_keeps_the_rows_of_before(
    session, engine, tmp_path, eventually
):
    script = FLIGHTS + "SELECT flight FROM flights"
    run = session.run(script, name="f", state_dir=tmp_path, step=True)
    for chunk in (1, 2, 3):
        run.step()
        eventually(lambda chunk=chunk: run.snapshot().batch_id == chunk - 1)
    run.stop().wait(30)
    part = run.table()
    assert 0 < part.num_rows < ALL_FLIGHTS.num_rows
    with Session(engine=engine) as other:
        later = other.run(script, name="f", state_dir=tmp_path, wait=True)
        assert later.resumed
        assert later.table()["flight"].to_pylist() == ALL_FLIGHTS["flight"].to_pylist()
        assert later.snapshot().rows_out == ALL_FLIGHTS.num_rows


def test_a_changelog_is_whole_and_so_is_its_result(session, tmp_path, monkeypatch):
    monkeypatch.setattr("arroyo_nb.run.results.changes.RELATION_ROWS", 10)
    script = FLIGHTS + "SELECT flight, count(*) AS n FROM flights GROUP BY flight"
    run = session.run(script, name="f", state_dir=tmp_path, wait=True)
    expected = duckdb.sql("SELECT flight, count(*) AS n FROM ALL_FLIGHTS GROUP BY 1")
    found = run.to_duckdb()
    assert found.except_(expected).fetchall() == []
    assert len(found) == len(expected) > 10
    log = run.changelog()
    assert log.num_rows == run.snapshot().rows_out
    left = duckdb.sql(
        """SELECT unnest(r) FROM (
               SELECT after AS r, 1 AS w FROM log WHERE op <> 'd'
               UNION ALL SELECT before, -1 FROM log WHERE op <> 'c')
           GROUP BY r HAVING sum(w) > 0"""
    )
    assert left.except_(expected).fetchall() == []
    assert pa.table(run) == run.table()
    told = run._repr_html_()
    assert f"the result has {len(expected):,} rows, too many to be shown" in told


def test_limit_ends_a_run_after_so_many_rows(session, tmp_path):
    endless = "CREATE TABLE e WITH (connector = 'impulse', event_rate = '500');"
    run = session.run(endless + "SELECT counter FROM e LIMIT 700", wait=True)
    assert run.state.value == "finished"
    assert run.note == "LIMIT 700: all its rows are there"
    assert run.table()["counter"].to_pylist() == list(range(700))
    assert run.snapshot().rows_out == 700
    assert session.run("SELECT counter FROM e LIMIT 0", wait=True).table().num_rows == 0
    first = FLIGHTS + "SELECT flight FROM flights LIMIT 123"
    for _ in range(2):  # the second one goes on from where the limit was reached
        found = session.run(first, name="f", state_dir=tmp_path, wait=True).table()
        expected = ALL_FLIGHTS["flight"].slice(0, 123)
        assert found["flight"].to_pylist() == expected.to_pylist()


def test_order_by_sorts_what_is_kept(session):
    sorted_ = "SELECT flight, dep_delay FROM flights ORDER BY dep_delay DESC, flight"
    run = session.run(FLIGHTS + sorted_ + " LIMIT 50", wait=True)
    expected = duckdb.sql(
        """SELECT flight, dep_delay FROM ALL_FLIGHTS
           ORDER BY dep_delay DESC NULLS FIRST, flight LIMIT 50"""
    ).fetchall()
    rows = list(zip(*run.table().to_pydict().values(), strict=True))
    assert rows == expected
    assert list(run.snapshot(10).rows) == expected[:10]
    assert "by dep_delay DESC, flight" in run._repr_html_()
    assert pa.table(run) == run.table()
    counts = """SELECT origin, count(*) AS n FROM flights GROUP BY origin
                ORDER BY n DESC LIMIT 2"""
    top = session.run(counts, wait=True)
    expected = duckdb.sql(
        "SELECT origin, count(*) AS n FROM ALL_FLIGHTS GROUP BY 1 ORDER BY n DESC "
        "LIMIT 2"
    ).fetchall()
    assert list(zip(*top.table().to_pydict().values(), strict=True)) == expected
    assert list(top.snapshot(10).rows) == expected


def test_a_run_goes_on_with_a_table_that_is_dropped(session, eventually):
    endless = "CREATE TABLE e WITH (connector = 'impulse', event_rate = '500');"
    run = session.run(endless + "SELECT counter FROM e", name="on")
    eventually(lambda: run.rows_in > 0)
    table = session.catalog.get("e")
    session.run("DROP TABLE e")
    assert session.users(table) == ["on"]
    rows = run.rows_in
    eventually(lambda: run.rows_in > rows)
    assert session.clear() == []
    run.stop().wait(30)
    assert session.clear() == ["on"]
    assert run.table().num_rows > 0


@pytest.mark.parametrize("grouped", [True, False])
def test_no_header_shows_a_name_that_the_author_did_not_type(session, grouped):
    items = ("count(*)", "max(arr_delay) + 3") if grouped else ("arr_delay + 3", "'x'")
    script = f"""CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');
        SELECT carrier, {", ".join(items)} FROM flights {"GROUP BY 1" * grouped}"""
    run = session.run(script, wait=True)
    snapshot = run.snapshot(5)
    assert snapshot.columns == ("carrier", *items)
    pictures = (
        panel.body(snapshot, view="all"),
        *static_html.bundle(snapshot).values(),
    )
    for picture in filter(None, pictures):
        assert "Int64(" not in picture
        assert "Utf8(" not in picture
    names = run.table().column_names
    last = "max(flights.arr_delay) + Int64(3)" if grouped else 'Utf8("x")'
    assert names[-1] == last
