"""Sources of changes end to end: what is told of a database's table is that table."""

import json
from collections import Counter

import duckdb
import pytest

QUERIES = {
    "rows": "SELECT * FROM t",
    "filtered": "SELECT id, v * 2 AS twice FROM t WHERE v > 1",
    "groups": "SELECT k, count(*) AS n, sum(v) AS total, min(v) AS least FROM t "
    "GROUP BY k",
    "global": "SELECT count(*) AS n, max(v) AS most FROM t",
    "of groups": "SELECT n, count(*) AS groups FROM "
    "(SELECT k, count(*) AS n FROM t GROUP BY k) AS g GROUP BY n",
    "twice": "SELECT id, k FROM t UNION ALL SELECT id, k FROM t WHERE v IS NULL",
}


def row(id_, k="a", v=1):
    return {"id": id_, "k": k, "v": v}


def change(op, before=None, after=None):
    return json.dumps({"before": before, "after": after, "op": op})


LINES = [
    change("r", None, row(1)),
    change("r", None, row(2, "b", 2)),
    change("c", None, row(3, None, 3)),
    change("u", row(1), row(1, "b", 5)),
    change("u", None, row(2, "b", None)),  # nothing is told of the row before
    change("u", {"id": 3}, row(4, None, 3)),  # the key changes
    change("c", None, row(5, "c", -7)),
    change("d", {"id": 5}),
    "null",
    change("u", row(1, "wrong", 99), row(1, "a", 6)),  # is not what was sent
    change("c", None, row(6, "a", 6)),
    change("c", None, row(6, "a", 6)),  # came twice
    change("d", {"id": 77}),  # was never there
    change("u", row(6, "a", 6), row(6, "d", 8)),
]


def source(path, columns="id BIGINT PRIMARY KEY, k TEXT, v BIGINT", **options):
    given = "".join(f", '{name}' = '{value}'" for name, value in options.items())
    return f"""CREATE TABLE t ({columns}) WITH (connector = 'single_file',
        path = '{path}', type = 'source', format = 'debezium_json'{given});
    """


def written(path, lines):
    path.write_text("".join(line + "\n" for line in lines))
    return path


def table_after(lines):
    """The database's table, by its key."""
    rows = {}
    for line in map(json.loads, lines):
        for image in ("before", "after") if line else ():
            # A row before is what goes away, and no more than its key counts.
            if line[image] is not None and image == "before":
                rows.pop(line[image]["id"], None)
            if line[image] is not None and image == "after":
                rows[line[image]["id"]] = line[image]
    return [tuple(r.values()) for r in rows.values()]


def answer(query, lines):
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t (id BIGINT, k TEXT, v BIGINT)")
        if rows := table_after(lines):
            db.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        return Counter(db.execute(query).fetchall())


def folded(changes):
    """What changes leave; each row before must be one that is there."""
    rows = Counter()
    for found in changes:
        if found["before"] is not None:
            before = tuple(found["before"].values())
            assert rows[before] > 0
            rows[before] -= 1
        if found["after"] is not None:
            rows[tuple(found["after"].values())] += 1
        assert found["before"] != found["after"]
    return +rows


@pytest.fixture
def lines_a_batch(monkeypatch):
    """Makes each line a chunk, so that each is a micro-batch."""
    monkeypatch.setattr("arroyo_nb.connectors.single_file._FIRST_BLOCK_BYTES", 1)
    monkeypatch.setattr("arroyo_nb.connectors.single_file._LARGEST_BLOCK_BYTES", 1)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_the_folded_changelog_is_the_answer_over_the_table(session, tmp_path, query):
    run = session.run(source(written(tmp_path / "t.json", LINES)) + query, wait=True)
    found = Counter(tuple(row.values()) for row in run.table().to_pylist())
    assert found == answer(query, LINES)
    assert folded(run.changelog().to_pylist()) == found


@pytest.mark.usefixtures("lines_a_batch")
def test_it_is_the_answer_after_every_batch(session, tmp_path):
    query = QUERIES["groups"]
    run = session.run(source(written(tmp_path / "t.json", LINES)) + query, wait=True)
    changes = run.changelog().to_pylist()
    told = [n for n, line in enumerate(LINES) if line != "null"]
    assert max(found["batch"] for found in changes) == len(told) - 1
    for batch, line in enumerate(told):
        so_far = [found for found in changes if found["batch"] <= batch]
        assert folded(so_far) == answer(query, LINES[: line + 1]), LINES[line]
