"""Sources of changes end to end: what is told of a database's table is that table."""

import json
from collections import Counter
from datetime import datetime
from decimal import Decimal

import duckdb
import pytest
from microbatches import sampled

from arroyo_nb.connectors import _files
from arroyo_nb.connectors._line_files import ReadLines
from arroyo_nb.errors import RunProblem
from arroyo_nb.tape import speed

QUERIES = {
    "rows": "SELECT * FROM t",
    "union": "SELECT id, v * 2 AS n FROM t WHERE v > 1 UNION ALL SELECT id, v FROM t",
    "groups": "SELECT k, count(*) AS n, sum(v) AS total, min(v) AS least FROM t "
    "GROUP BY k",
    "of groups": "SELECT n, count(*) AS groups FROM "
    "(SELECT k, count(*) AS n FROM t GROUP BY k) AS g GROUP BY n",
}
LINES_A_BATCH = 3


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
def small_batches(monkeypatch):
    """Makes some lines a chunk, and so a micro-batch."""

    def block(reading, _):
        return b"".join(reading._file.readline() for _ in range(LINES_A_BATCH))

    monkeypatch.setattr(_files, "LARGEST_CHUNK_BYTES", 1)
    monkeypatch.setattr(speed, "MERGED_BYTES", 1)  # each chunk is large enough
    monkeypatch.setattr(ReadLines, "_block", block)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("query", sampled(QUERIES, ("union",), "queries"))
def test_after_every_batch_the_changes_fold_to_the_answer(session, tmp_path, query):
    run = session.run(source(written(tmp_path / "t.json", LINES)) + query, wait=True)
    changes = run.changelog().to_pylist()
    batches = range(LINES_A_BATCH, len(LINES) + LINES_A_BATCH, LINES_A_BATCH)
    for batch, end in enumerate(batches):
        so_far = [found for found in changes if found["batch"] <= batch]
        assert folded(so_far) == answer(query, LINES[:end]), batch
    found = Counter(tuple(row.values()) for row in run.table().to_pylist())
    assert found == answer(query, LINES)


@pytest.mark.usefixtures("small_batches")
def test_a_resumed_run_knows_the_rows_that_it_was_told(session, tmp_path, eventually):
    sink = tmp_path / "o.json"
    script = (
        source(written(tmp_path / "t.json", LINES))
        + f"""CREATE TABLE o WITH (connector = 'single_file', path = '{sink}',
            type = 'sink', format = 'debezium_json');
        INSERT INTO o {QUERIES["groups"]}"""
    )
    run = session.run(script, name="job", state_dir=tmp_path / "state", step=True)
    run.step()
    eventually(lambda: sink.exists() and sink.read_text(), within_s=120)
    run.stop().wait(60)
    first = [json.loads(line) for line in sink.read_text().splitlines()]
    assert folded(first) == answer(QUERIES["groups"], LINES[:LINES_A_BATCH])
    session.run(script, name="job", state_dir=tmp_path / "state", wait=True)
    changes = [json.loads(line) for line in sink.read_text().splitlines()]
    assert changes[: len(first)] == first
    assert {found["op"] for found in changes} == {"c", "u", "d"}
    assert folded(changes) == answer(QUERIES["groups"], LINES)


def test_bad_documents_have_a_place_or_are_counted(session, tmp_path):
    path = written(tmp_path / "t.json", [LINES[0], change("x"), "null", LINES[1]])
    run = session.run(source(path) + QUERIES["rows"])
    with pytest.raises(RunProblem, match=r"t\.json:2: unexpected op value 'x'"):
        run.wait(300)
    run = session.run(source(path, bad_data="drop") + QUERIES["rows"], wait=True)
    assert sorted(found["id"] for found in run.table().to_pylist()) == [1, 2]
    (progress,) = run.snapshot().sources
    assert progress.dropped_rows == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"json.decimal_encoding": "string", "json.timestamp_format": "RFC3339"},
        {"json.decimal_encoding": "number"},
    ],
)
def test_what_a_sink_writes_a_source_reads(session, tmp_path, options):
    rows = [
        {"id": 1, "fee": "-12.34", "at": "2024-02-29T12:00:00.005"},
        {"id": 2, "fee": "98765432101234567890.12", "at": "1969-12-31T23:59:59.999"},
        {"id": 3, "fee": None, "at": None},
        {"id": 1, "fee": "-0.01", "at": "2024-02-29T12:00:00"},
    ]
    columns = "id BIGINT{key}, fee DECIMAL(38, 2), at TIMESTAMP(3)"
    given = "".join(f", '{name}' = '{value}'" for name, value in options.items())
    path = written(tmp_path / "rows.json", map(json.dumps, rows))
    middle = tmp_path / "t.json"
    session.run(
        f"""CREATE TABLE r ({columns.format(key="")}) WITH (connector = 'single_file',
            path = '{path}', type = 'source', format = 'json');
        CREATE TABLE w WITH (connector = 'single_file', path = '{middle}',
            type = 'sink', format = 'debezium_json'{given});
        INSERT INTO w SELECT id, max(fee) AS fee, max(at) AS at FROM r GROUP BY id""",
        wait=True,
    )
    key = columns.format(key=" PRIMARY KEY")
    run = session.run(
        source(middle, key, **options) + "SELECT id, fee, at FROM t",
        wait=True,
    )
    found = {r["id"]: (r["fee"], r["at"]) for r in run.table().to_pylist()}
    assert found == {
        1: (Decimal("-0.01"), datetime(2024, 2, 29, 12, 0, 0, 5000)),
        2: (
            Decimal("98765432101234567890.12"),
            datetime(1969, 12, 31, 23, 59, 59, 999000),
        ),
        3: (None, None),
    }
