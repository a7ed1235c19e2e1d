"""What is written to a topic: each format, keys, times and places, in both modes."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, NamedTuple

import pytest
from topics import Topic

from arroyo_nb.errors import RunProblem

COLUMNS = "id INT, kind TEXT, price DOUBLE, at TIMESTAMP(3)"
ROWS = tuple(
    {
        "id": n,
        "kind": None if n % 17 == 0 else f"k{n % 13}",
        "price": n / 7,
        "at": None if n % 19 == 0 else f"2024-02-03T04:05:{n % 60:02}.{n:03}",
    }
    for n in range(300)
)


MODES = ("at_least_once", "exactly_once")


@pytest.fixture(params=MODES)
def mode(request):
    return request.param


def table(path, columns, *rows):
    """Declares the rows of a file, which is read in a batch or two."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return (
        f"CREATE TABLE t ({columns}) WITH (connector = 'single_file', "
        f"type = 'source', format = 'json', path = '{path}');\n"
    )


@pytest.fixture
def rows_table(tmp_path):
    return table(tmp_path / "rows.json", COLUMNS, *ROWS)


class Sink(NamedTuple):
    """A sink of the rows: how many partitions its topic has, the query that writes it,
    its columns and options."""

    partitions: int
    query: str = "SELECT * FROM t"
    columns: str = ""
    options: Mapping[str, str] = {}


BY_KIND = "SELECT kind, count(*) AS n FROM t GROUP BY kind"
WITH_SCHEMA = {"json__include_schema": "true"}
SINKS = {
    "json": Sink(3),
    "text": Sink(
        1, "SELECT 'é' || kind AS value FROM t", "value TEXT", {"format": "raw_string"}
    ),
    "data": Sink(
        1,
        "SELECT CAST(kind AS BYTEA) AS value FROM t",
        "value BYTEA",
        {"format": "raw_bytes"},
    ),
    "keyed": Sink(4, options={"sink__key_field": "kind"}),
    "no_key": Sink(1, options={"sink__key_field": "id"}),
    "timed": Sink(2, options={"sink__timestamp_field": "at"}),
    "created": Sink(1, options={"format": "debezium_json"}),
    "with_schema": Sink(1, "SELECT id, kind FROM t", options=WITH_SCHEMA),
}


class Written(NamedTuple):
    """The topics of sinks, and when the run began that has written them."""

    topics: Mapping[str, Topic]
    began_ms: float


@pytest.fixture(scope="module", params=MODES)
def written(request, lasting_session, broker, tmp_path_factory):
    """One run writes all of them, each by itself."""
    began_ms = time.time() * 1000
    topics = {name: Topic(broker, sink.partitions) for name, sink in SINKS.items()}
    script = table(tmp_path_factory.mktemp("rows") / "rows.json", COLUMNS, *ROWS)
    for name, sink in SINKS.items():
        given = {"sink__commit_mode": request.param, **sink.options}
        script += topics[name].sink(sink.columns, name, **given)
        script += f"INSERT INTO {name} {sink.query};\n"
    lasting_session.run(script, name=request.param, wait=True)
    return Written(topics, began_ms)


def values(made):
    return [record.value() for record in made.records()]


def documents(made):
    return [json.loads(value) for value in values(made)]


def as_rows(found):
    return Counter(tuple(row.values()) for row in found)


def folded(changes):
    """The rows that changes leave, whatever the order of the changes of two rows."""
    rows = Counter()
    for change in changes:
        for image, weight in (("before", -1), ("after", 1)):
            if change[image]:
                rows[tuple(change[image].values())] += weight
    return {row: n for row, n in rows.items() if n}


def test_rows_are_json(written):
    made = written.topics["json"]
    assert as_rows(documents(made)) == as_rows(ROWS)
    assert {record.key() for record in made.records()} == {None}


def test_a_value_is_what_it_is_and_without_one_empty(written):
    text, data = written.topics["text"], written.topics["data"]
    kinds = Counter((row["kind"] or "").encode() for row in ROWS)
    assert Counter(values(data)) == kinds
    assert Counter(v.removeprefix("é".encode()) for v in values(text)) == kinds
    assert "ék1".encode() in values(text)


def test_keys_are_in_the_partition_of_any_client(written):
    found = written.topics["keyed"].records()
    assert len(found) == len(ROWS)
    for record in found:
        kind = json.loads(record.value())["kind"]
        assert record.key() == (kind.encode() if kind else None)
        if kind:
            assert record.partition() == murmur2(record.key()) % 4


def murmur2(data):
    """As Java's clients have it, made positive."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(data)
    for at in range(0, len(data) & ~3, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    rest = data[len(data) & ~3 :]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF


@pytest.fixture
def both(new_topic):
    """Topics and sinks of both modes, and what writes a query to both."""

    def make(query, partitions, columns="", **options):
        topics = {mode: new_topic(partitions) for mode in MODES}
        script = "".join(
            made.sink(columns, mode, sink__commit_mode=mode, **options)
            + f"INSERT INTO {mode} {query};\n"
            for mode, made in topics.items()
        )
        return topics, script

    return make


def test_rows_of_a_key_stay_in_order(new_topic, session, both, eventually):
    source = new_topic(3)
    for part in range(3):
        rows = ({"k": f"{part}{n % 5}", "n": n} for n in range(2000))
        source.send(*rows, partition=part)
    columns = "k TEXT, n INT"
    topics, sinks = both("SELECT k, n FROM t", 2, columns, sink__key_field="k")
    session.run(source.declared(columns) + sinks)
    for made in topics.values():
        eventually(lambda topic=made: len(topic.records()) == 6000, 60)
        found = {}
        for row in documents(made):
            found.setdefault(row["k"], []).append(row["n"])
        assert len(found) == 15
        assert all(numbers == sorted(numbers) for numbers in found.values())


def test_a_column_that_is_no_text_is_no_key(written):
    found = written.topics["no_key"].records()
    assert [record.key() for record in found] == [None] * len(ROWS)


def test_the_time_of_a_record_is_that_of_its_row(written):
    found = written.topics["timed"].records()
    assert len(found) == len(ROWS)
    for record in found:
        at, (_, time_ms) = json.loads(record.value())["at"], record.timestamp()
        if at is None:
            assert time_ms > written.began_ms - 1000
        else:
            instant = datetime.fromisoformat(f"{at}+00:00")
            assert datetime.fromtimestamp(time_ms / 1000, UTC) == instant


def test_a_time_before_1970_is_told(new_topic, session, mode, rows_table):
    made = new_topic()
    sink = made.sink("", sink__commit_mode=mode, sink__timestamp_field="at")
    query = "SELECT id, TIMESTAMP '1969-12-31 23:59:59' AS at FROM t"
    with pytest.raises(RunProblem, match=r"'out' has a 'sink.timestamp_field' that is"):
        session.run(f"{rows_table}{sink}INSERT INTO out {query};", wait=True)
    assert made.records() == []


@pytest.mark.parametrize(
    "key", [pytest.param(None, marks=pytest.mark.long("topics")), "kind"]
)
def test_changes_are_read_back_as_the_table(new_topic, session, both, key, eventually):
    source = new_topic(2)
    counts = """SELECT coalesce(kind, '-') AS id, id % 2 AS odd, kind, count(*) AS n
        FROM t GROUP BY kind, id % 2"""
    topics, sinks = both(counts, 3, format="debezium_json", sink__key_field=key)
    session.run(source.declared(COLUMNS) + sinks)
    columns = "id TEXT PRIMARY KEY, odd INT PRIMARY KEY, kind TEXT, n BIGINT"
    script = "".join(
        made.declared(columns, f"{mode}_back", format="debezium_json")
        + f"SELECT * FROM {mode}_back;\n"
        for mode, made in topics.items()
    )
    back = session.run(script)
    for known in (ROWS[:100], ROWS):
        source.send(*known[-200:], partition=len(known) % 2)
        groups = Counter((row["kind"], row["id"] % 2) for row in known)
        answer = {(k or "-", odd, k, n): 1 for (k, odd), n in groups.items()}
        for number in range(len(MODES)):
            eventually(
                lambda a=answer, n=number: as_rows(back.table(n).to_pylist()) == a, 60
            )
    for made in topics.values():
        assert folded(documents(made)) == answer
        assert {change["op"] for change in documents(made)} == {"c", "u"}
        for record in made.records():
            value = json.loads(record.value())["after"][key] if key else None
            assert record.key() == (value.encode() if value else None)


def test_rows_that_are_only_appended_are_created(written):
    made = written.topics["created"]
    assert {(c["before"], c["op"]) for c in documents(made)} == {(None, "c")}
    assert as_rows(c["after"] for c in documents(made)).total() == len(ROWS)


LATEST = """SELECT k, v FROM (
    SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY n DESC) AS place FROM t
) AS ranked WHERE place <= 1"""


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        ("k TEXT, v TEXT", "k"),
        pytest.param(
            "k TEXT PRIMARY KEY, v TEXT", None, marks=pytest.mark.long("topics")
        ),
    ],
)
def test_the_end_of_a_row_is_before_the_next_that_has_its_key(
    new_topic, session, both, columns, key, eventually
):
    source = new_topic()
    options = {"format": "debezium_json", "sink__key_field": key}
    topics, sinks = both(LATEST, 4, columns, **options)
    # Rows that have no name but their values: each change is an end and a beginning.
    run = session.run(source.declared("k TEXT, v TEXT, n INT") + sinks)
    eventually(lambda: run.state.value == "running", 60)

    def last(made):
        rows = {}
        for change in documents(made):
            image = change["after"] or change["before"]
            rows[image["k"]] = change["after"] and change["after"]["v"]
        return set(rows.values())

    for n in range(4):
        source.send(*({"k": f"k{k}", "v": f"{k}-{n}", "n": n} for k in range(20)))
        ends = {f"{k}-{n}" for k in range(20)}
        for made in topics.values():
            eventually(lambda topic=made, ends=ends: last(topic) == ends)


def test_a_preview_lies_beside_what_is_written(session, both, rows_table):
    topics, sinks = both(BY_KIND, 1, format="debezium_json")
    run = session.run(rows_table + sinks, wait=True, keep=True)
    for number, made in enumerate(topics.values()):
        assert folded(documents(made)) == as_rows(run.table(number).to_pylist())


def test_nothing_is_written_where_sinks_are_off(session, both, rows_table):
    topics, sinks = both("SELECT * FROM t", 1)
    run = session.run(rows_table + sinks, wait=True, sinks=False)
    assert [run.table(n).num_rows for n in range(len(MODES))] == [len(ROWS)] * 2
    assert [made.records() for made in topics.values()] == [[], []]


def test_a_schema_lies_beside_the_row(written, rows):
    made = written.topics["with_schema"]
    fields = documents(made)[0]["schema"]["fields"]
    assert [(f["field"], f["type"]) for f in fields] == [
        *(("id", "int32"), ("kind", "string"))
    ]
    back = made.declared("id INT, kind TEXT", "back", **WITH_SCHEMA)
    found = rows(f"{back}SELECT * FROM back", len(ROWS))
    assert Counter(found) == Counter((row["id"], row["kind"]) for row in ROWS)


class Registry(BaseHTTPRequestHandler):
    """A schema registry that gives every schema one number."""

    asked: ClassVar[list[tuple[str, str | None, dict[str, str]]]] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, self.headers["Authorization"], body))
        known = "wrong" not in base64.b64decode(self.asked[-1][1].split()[1]).decode()
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(b'{"id": 66051}')

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def registry():
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever).start()
        Registry.asked.clear()
        yield {
            "json__confluent_schema_registry": "true",
            "schema_registry__endpoint": f"http://127.0.0.1:{server.server_port}/",
            "schema_registry__api_key": "me",
        }
        server.shutdown()


def test_a_record_begins_with_the_number_of_its_schema(
    session, both, rows_table, registry
):
    options = {"format": "debezium_json", "schema_registry__api_secret": "hush"}
    topics, sinks = both(BY_KIND, 1, **options, **registry)
    session.run(rows_table + sinks, wait=True)
    for made in topics.values():
        assert {value[:5] for value in values(made)} == {b"\0\0\x01\x02\x03"}
        documents = [json.loads(value[5:]) for value in values(made)]
        assert sum(folded(documents).values()) == len({row["kind"] for row in ROWS})
    asked = {path: (login, body) for path, login, body in Registry.asked}
    assert len(asked) == len(Registry.asked)
    assert set(asked) == {f"/subjects/{t.name}-value/versions" for t in topics.values()}
    for login, body in asked.values():
        assert base64.b64decode(login.split()[1]) == b"me:hush"
        assert body["schemaType"] == "JSON"
        fields = json.loads(body["schema"])["properties"]
        assert list(fields) == ["before", "after", "op"]


def test_a_registry_that_refuses_is_told(new_topic, session, rows_table, registry):
    made = new_topic()
    sink = made.sink("", schema_registry__api_secret="wrong", **registry)
    script = f"{rows_table}{sink}INSERT INTO out SELECT * FROM t;"
    with pytest.raises(RunProblem, match=r"'out' at http.* refuses: wrong credentials"):
        session.run(script, wait=True)
    assert made.records() == []
