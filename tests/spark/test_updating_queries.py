"""Updating queries end to end: the folded changelog is the answer over all rows."""

import json
from collections import Counter

import duckdb
import pyarrow.compute as pc
import pytest

from arroyo_nb.connectors.sample import FOLDER
from arroyo_nb.errors import RunProblem
from arroyo_nb.run.results.changes import ChangesPreview
from arroyo_nb.spark.bucket_numbers import spark_hash
from arroyo_nb.spark.stateful import row_id
from arroyo_nb.tape.format import Tape

FLIGHTS = "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');"
ROWS = [
    {"k": k, "v": v, "s": s}
    for k, v, s in [
        ("a", 1, "x"),
        ("b", None, "y"),
        ("a", 3, None),
        (None, 4, "x"),
        (None, -4, "x"),
        ("b", 7, "z"),
        ("a", 1, "x"),
    ]
]
QUERIES = {
    "keys": "SELECT k, count(*) AS n, sum(v) AS total, min(v) AS least, max(v) AS most "
    "FROM t GROUP BY k",
    "distinct": "SELECT DISTINCT k, s, k AS again FROM t",
    "filtered": "SELECT k, count(DISTINCT s) AS texts, count(*) FILTER (WHERE v > 1) "
    "AS large, median(v) AS middle FROM t GROUP BY k HAVING count(*) > 1",
    "odd names": """SELECT t.v + 1 AS "a.b`c", count(*) AS "d.e`" FROM t
        GROUP BY t.v + 1""",
    "global": "SELECT count(*) AS n, sum(v) AS total FROM t",
    "of updates": "SELECT n, count(*) AS groups FROM "
    "(SELECT k, count(*) AS n FROM t GROUP BY k) AS g GROUP BY n",
    "union": "SELECT k, 1 AS n FROM t UNION ALL SELECT k, count(*) AS n FROM t "
    "GROUP BY k",
}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return f"""CREATE TABLE t (k TEXT, v BIGINT, s TEXT) WITH (
        connector = 'single_file', path = '{path}', type = 'source', format = 'json');
    """


def answer(query):
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t (k TEXT, v BIGINT, s TEXT)")
        values = [(r["k"], r["v"], r["s"]) for r in ROWS]
        db.executemany("INSERT INTO t VALUES (?, ?, ?)", values)
        return Counter(db.execute(query).fetchall())


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_the_folded_changelog_is_the_batch_answer(session, table, query):
    run = session.run(table + query, wait=True)
    found = Counter(tuple(row.values()) for row in run.table().to_pylist())
    assert found == answer(query)


def test_rows_with_nulls_in_other_places_have_other_ids(engine):
    def work():
        rows = "VALUES (NULL, 7), (7, NULL), (NULL, NULL), (7, 7) AS t(a, b)"
        text = f"SELECT {row_id(['a', 'b'])} AS id FROM {rows}"
        return {row["id"] for row in engine.session.sql(text).collect()}

    assert len(engine.worker.call(work)) == 4


def test_buckets_are_dealt_out_by_the_hash_that_spark_deals_keys_out_by(engine):
    numbers = range(1000)

    def hashes():
        text = "SELECT hash(CAST(id AS INT)) AS h FROM range(1000)"
        return engine.session.sql(text).toArrow()["h"].to_pylist()

    found = engine.worker.call(hashes)
    assert [hash_ % 2**32 for hash_ in found] == [spark_hash(n) for n in numbers]


def test_counts_of_a_recorded_week_are_told_as_they_change(session):
    query = "SELECT origin, count(*) AS n FROM flights GROUP BY origin"
    run = session.run(FLIGHTS + query, wait=True)
    flights = Tape.open(FOLDER / "flights").table()
    expected = Counter(flights["origin"].to_pylist())
    assert {r["origin"]: r["n"] for r in run.table().to_pylist()} == expected
    changes = run.changelog()
    assert set(changes["op"].to_pylist()) == {"c", "u"}
    assert pc.sum(pc.equal(changes["op"], "c")).as_py() == 3
    seen = {}
    for change in changes.to_pylist():
        origin = change["after"]["origin"]
        assert change["before"] == seen.get(origin)
        seen[origin] = change["after"]
    assert run.snapshot().rows_out == changes.num_rows


def test_an_update_stays_in_its_branch_of_a_union(session):
    """The branches name their rows alike, by equal keys."""
    branch = "SELECT origin, '{0}' AS side, count(*) AS n FROM flights WHERE dep_delay "
    early, late = branch.format("early") + "<= 0", branch.format("late") + "> 0"
    by = " GROUP BY origin"
    run = session.run(f"{FLIGHTS}{early}{by} UNION ALL {late}{by}", wait=True)
    updates = [c for c in run.changelog().to_pylist() if c["op"] == "u"]
    assert {c["after"]["side"] for c in updates} == {"early", "late"}
    assert all(c["before"]["side"] == c["after"]["side"] for c in updates)


def test_a_result_that_is_too_large_to_hold_says_so(session, table, monkeypatch):
    monkeypatch.setattr("arroyo_nb.run.results.changes.RELATION_ROWS", 1)
    run = session.run(table + QUERIES["keys"], budget=0, wait=True)
    assert isinstance(run.outputs[0].preview, ChangesPreview)
    with pytest.raises(RunProblem, match="more than 1 rows"):
        run.table()
    assert run.changelog().num_rows == 3


def test_changes_in_a_file_are_debezium_documents_that_fold_to_the_answer(
    session, tmp_path
):
    path = tmp_path / "o.json"
    session.run(
        FLIGHTS
        + f"""CREATE TABLE o (origin TEXT, n BIGINT, newest TIMESTAMP) WITH (
            connector = 'single_file', path = '{path}', type = 'sink',
            format = 'debezium_json');
        INSERT INTO o SELECT origin, count(*) AS n, max(sched_dep) AS newest
        FROM flights GROUP BY origin""",
        wait=True,
    )
    seen = {}
    for line in path.read_text().splitlines():
        change = json.loads(line)
        assert list(change) == ["before", "after", "op"]
        origin = change["after"]["origin"]
        assert change["before"] == seen.get(origin)
        assert change["op"] == ("u" if origin in seen else "c")
        seen[origin] = change["after"]
    flights = Tape.open(FOLDER / "flights").table()
    counts = Counter(flights["origin"].to_pylist())
    assert {origin: row["n"] for origin, row in seen.items()} == counts
    newest_ms = pc.max(flights["sched_dep"]).cast("int64").as_py() // 1000
    assert max(row["newest"] for row in seen.values()) == newest_ms


def test_changes_on_the_standard_output_are_documents(session, table, capsys):
    query = "SELECT k, count(*) AS n FROM t WHERE k = 'a' GROUP BY k"
    session.run(table + query, printed=True, wait=True)
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {"before": None, "after": {"k": "a", "n": 3}, "op": "c"}
