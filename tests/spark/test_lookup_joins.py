"""Lookup joins: against a real redis-server, and tables that are read whole."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from functools import partial

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from microbatches import reader, run_to_end, write_chunks
from redis_server import running

from arroyo_nb.catalog import Catalog
from arroyo_nb.changelog import WEIGHT
from arroyo_nb.connectors.sample import FOLDER
from arroyo_nb.engine.query_settings import IN_ROCKSDB, query_settings
from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.frames import lookup_table
from arroyo_nb.plan import nodes
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.spark.lookups import static_frame
from arroyo_nb.spark.lower import lower, visible

USERS = """CREATE TEMPORARY TABLE users (
    id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT, age INT
) WITH (connector = 'redis', address = '{address}', format = 'json'{more});"""
TRIPS = """CREATE TABLE trips (
    id INT NOT NULL, rider TEXT, at TIMESTAMP NOT NULL, WATERMARK FOR at
) WITH (connector = 'single_file', path = '{path}', type = 'source', format = 'json');
"""
ROWS = [
    (1, "ann", "2024-01-01T00:10:00Z"),
    (2, "bob", "2024-01-01T00:20:00Z"),
    (3, None, "2024-01-01T00:30:00Z"),
    (4, "eve", "2024-01-01T01:10:00Z"),
    (5, "ann", "2024-01-01T01:20:00Z"),
    (6, "nil", "2024-01-01T01:30:00Z"),
    (7, "cut", "2024-01-01T02:30:00Z"),
]
PEOPLE = {"ann": ("Ann", 30), "bob": ("Bob", None), "cut": ("Cut", 17)}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def users(server):
    """The server with some users, and nothing else."""
    return with_users(server)


def with_users(server):
    server.client.flushall()
    for key, (name, age) in PEOPLE.items():
        record = {"name": name, "age": age}
        server.client.set(f"user.{key}", json.dumps(record, indent=1))
    server.client.set("user.nil", "{}")
    return server


@pytest.fixture
def trips(tmp_path):
    """A stream of trips, as the statement that declares it."""
    return written_trips(tmp_path)


def written_trips(folder):
    path = folder / "trips.json"
    names = ("id", "rider", "at")
    lines = (json.dumps(dict(zip(names, row, strict=True))) for row in ROWS)
    path.write_text("\n".join(lines))
    return TRIPS.format(path=path)


def declared(server, **options):
    more = "".join(f", '{name}' = {value}" for name, value in options.items())
    return USERS.format(address=server.address, more=more)


def rows_of(run, output=0):
    return Counter(tuple(map(plain, r.values())) for r in run.table(output).to_pylist())


def plain(value):
    return tuple(value.values()) if isinstance(value, dict) else value


def answer(query, **tables):
    """DuckDB's."""
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            db.register(name, table)
        return Counter(db.execute(query).fetchall())


def trips_table():
    return pa.table(
        {
            "id": [row[0] for row in ROWS],
            "rider": [row[1] for row in ROWS],
            "at": [datetime.fromisoformat(row[2][:-1]) for row in ROWS],
        }
    )


def users_table():
    return pa.table(
        {
            "id": [f"user.{key}" for key in PEOPLE],
            "name": [name for name, _ in PEOPLE.values()],
            "age": [age for _, age in PEOPLE.values()],
        }
    )


FOUND = "SELECT t.id, u.id AS user, u.name, u.age + 1 AS next FROM trips AS t "
ON = "JOIN users AS u ON concat('user.', t.rider) = u.id "


QUERIES = (
    FOUND + ON,
    FOUND + ON + "AND u.age > 17",
    FOUND + ON + "WHERE u.age > 17 OR t.id = 2",
    FOUND + "LEFT " + ON + "AND u.age > 17 AND u.name <> 'Bob'",
    FOUND + "LEFT " + ON + "WHERE u.age IS NULL AND t.id < 6",
    FOUND + "LEFT " + ON,
)


@pytest.fixture(scope="module")
def found(lasting_session, server, tmp_path_factory):
    """A run with an output for each query."""
    trips = written_trips(tmp_path_factory.mktemp("trips"))
    script = trips + declared(with_users(server)) + ";\n".join(QUERIES)
    return lasting_session.run(script, name="found", wait=True)


@pytest.mark.parametrize("output", range(len(QUERIES) - 1))
def test_rows_find_what_the_server_has(found, output):
    sql = QUERIES[output].replace("concat('user.', t.rider)", "'user.' || t.rider")
    expected = answer(sql, trips=trips_table(), users=users_table())
    assert rows_of(found, output) == expected


def test_a_left_join_keeps_a_key_whose_record_is_empty(found):
    rows = {row[0]: row[1:] for row in rows_of(found, len(QUERIES) - 1)}
    assert rows[6] == ("user.nil", None, None)
    assert rows[4] == rows[3] == (None, None, None)


def test_windows_over_a_lookup_close_by_all_rows_and_at_the_end(session, users, trips):
    query = """SELECT tumble(INTERVAL '1 hour') AS w, u.name, count(*) AS n
        FROM trips AS t JOIN users AS u ON concat('user.', t.rider) = u.id
        GROUP BY w, u.name"""
    run = session.run(trips + declared(users) + query, wait=True)
    hours = [datetime(2024, 1, 1, hour) for hour in range(4)]
    assert rows_of(run) == Counter(
        [
            ((hours[0], hours[1]), "Ann", 1),
            ((hours[0], hours[1]), "Bob", 1),
            ((hours[1], hours[2]), "Ann", 1),
            ((hours[2], hours[3]), "Cut", 1),
        ]
    )
    assert run.late().num_rows == 0


def test_a_windowed_relation_keeps_its_window(session, users, trips):
    query = """CREATE VIEW hourly AS SELECT tumble(INTERVAL '1 hour') AS w,
            concat('user.', rider) AS rider, count(*) AS n FROM trips GROUP BY w, rider;
        SELECT w, u.name, sum(n) AS n FROM hourly AS h LEFT JOIN users AS u
            ON h.rider = u.id GROUP BY w, u.name"""
    run = session.run(trips + declared(users) + query, wait=True)
    counts = {(w[0].hour, name): n for w, name, n in rows_of(run)}
    first = {(0, "Ann"): 1, (0, "Bob"): 1, (0, None): 1}
    assert counts == first | {(1, "Ann"): 1, (1, None): 2, (2, "Cut"): 1}


def test_values_of_any_type_are_found(session, server, trips):
    record = {
        "text": "ä", "whole": 2**64 - 1, "half": 0.5, "yes": True, "price": "1.50",
        "at": "2024-01-01T12:00:00Z", "tags": ["a", None], "doc": {"x": [1]},
        "place": {"city": "Wien", "n": None},
    }  # fmt: skip
    server.client.set("ann", json.dumps(record))
    server.client.rpush("bob", "a list is not a record")
    table = f"""CREATE TEMPORARY TABLE things (k TEXT METADATA FROM 'key' PRIMARY KEY,
        text TEXT, whole BIGINT UNSIGNED, half FLOAT, yes BOOLEAN, price DECIMAL(10, 2),
        at TIMESTAMP, tags TEXT[], doc JSON, place STRUCT<city TEXT, n INT>)
        WITH (connector = 'redis', address = '{server.address}', format = 'json');"""
    query = """SELECT t.id, t.at AS trip, g.text, g.whole, g.half, g.yes, g.price, g.at,
        g.tags, g.doc, g.place FROM trips AS t JOIN things AS g ON t.rider = g.k"""
    run = session.run(trips + table + query, wait=True)
    one, five = sorted(run.table().to_pylist(), key=lambda row: row["id"])
    assert (one["id"], five["id"]) == (1, 5)
    assert one["trip"] == datetime(2024, 1, 1, 0, 10)
    assert one | {"id": 0, "trip": 0} == {
        "id": 0, "trip": 0, "text": "ä", "whole": 2**64 - 1, "half": 0.5, "yes": True,
        "price": Decimal("1.50"), "at": datetime(2024, 1, 1, 12), "tags": ["a", None],
        "doc": '{"x":[1]}', "place": {"city": "Wien", "n": None},
    }  # fmt: skip


BATCHES = 6


@pytest.fixture
def looked_up(engine, tmp_path):
    """Runs batches of the riders ann and eve through a left lookup; gives the names
    that each batch found."""

    def run(users, after):
        table = TRIPS.format(path="/trips").replace(
            "id INT NOT NULL, rider TEXT, at TIMESTAMP NOT NULL, WATERMARK FOR at",
            "rider TEXT",
        )
        catalog = plan_script(table + users, Catalog()).catalog
        query = f"SELECT t.rider, u.name FROM trips AS t LEFT {ON}"
        (plan,) = plan_script(query, catalog).sinks
        batches = [
            [("ann", 1_000_000 * n), ("eve", 1_000_000 * n)] for n in range(BATCHES)
        ]
        write_chunks(tmp_path, pa.schema({"rider": pa.string()}), batches)

        def work():
            rows = visible(lower(plan, reader(engine.session, tmp_path)), plan)
            return run_to_end(rows, tmp_path / "state", after)

        found = [{} for _ in batches]
        for batch, row in engine.worker.call(work).rows:
            found[batch][row["rider"]] = row["name"]
        return [(batch["ann"], batch["eve"]) for batch in found]

    return run


OLD, NEW = ("Ann", None), ("Anna", "Eve")


@pytest.mark.parametrize(
    ("options", "is_kept"),
    [
        ({}, True),
        ({"lookup.cache.ttl": "INTERVAL '1 hour'"}, True),
        ({"lookup.cache.ttl": "INTERVAL '1 millisecond'"}, False),
        ({"lookup.cache.max_bytes": 0}, False),
    ],
)
def test_a_value_that_changes_is_seen_once_the_cache_lets_it(
    looked_up, users, options, is_kept
):
    def after(batch):
        if batch == 0:
            users.client.set("user.ann", '{"name": "Anna"}')
            users.client.set("user.eve", '{"name": "Eve"}')

    first, *others = looked_up(declared(users, **options), after)
    assert first == OLD
    # Each worker process has a cache, and Spark takes them in turn.
    assert set(others) <= {OLD, NEW}
    assert (OLD in others) == is_kept


def test_a_server_that_goes_is_told(session, trips, tmp_path):
    with running(tmp_path) as server:
        gone = declared(server)
    # A job waits for it, and runs on once it is there.
    with pytest.raises(Unreached) as caught:
        session.run(trips + gone + FOUND + ON, wait=True)
    said = f"the lookup table 'users' cannot ask redis at {server.address}: "
    assert caught.value.message.startswith(said)
    assert "Connection refused" in caught.value.message


@contextmanager
def password(server, word):
    """The server asks for a password, for as long as the block lasts."""
    server.client.config_set("requirepass", word)
    try:
        yield
    finally:
        server.client.config_set("requirepass", "")


def test_a_password_comes_from_the_environment(session, users, trips, monkeypatch):
    with password(users, "right-one"):
        named = {"username": "'default'", "password": "'{{ PASSWORD }}'"}
        script = trips + declared(users, **named) + FOUND + ON
        with pytest.raises(RunProblem, match="variable 'PASSWORD' is not set"):
            session.run(script, wait=True)
        monkeypatch.setenv("PASSWORD", "wrong-one")
        with pytest.raises(RunProblem, match="invalid username-password") as caught:
            session.run(script, wait=True)
        assert "wrong-one" not in str(caught.value)
        monkeypatch.setenv("PASSWORD", "right-one")
        run = session.run(script, wait=True)
        assert rows_of(run).total() == 4
        assert "right-one" not in run.explain()


def test_bad_records_end_the_run_or_are_none(session, users, trips):
    users.client.set("user.bob", '{"age": "old"}')
    with pytest.raises(RunProblem) as caught:
        session.run(trips + declared(users) + FOUND + ON, wait=True)
    assert caught.value.message.startswith("users['user.bob']:1: JSON does not match")
    dropping = declared(users, bad_data="'drop'")
    run = session.run(trips + dropping + FOUND + ON, wait=True)
    assert {row[0] for row in rows_of(run)} == {1, 5, 7}
    _, told = run.snapshot().sources
    assert (told.name, told.dropped_rows) == ("users", 1)
    assert [text.split(":")[0] for text in told.bad] == ["users['user.bob']"]
    left = session.run(trips + dropping + FOUND + "LEFT " + ON, wait=True)
    assert {row[0] for row in rows_of(left)} == set(range(1, 8))
    assert left.snapshot().sources[1].dropped_rows == 1


def test_a_cluster_is_asked_server_by_server(session, trips, tmp_path, eventually):
    with running(tmp_path, "--cluster-enabled", "yes") as server:
        server.client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        told = partial(server.client.execute_command, "CLUSTER INFO")
        eventually(lambda: told()["cluster_state"] == "ok")
        for key in ("ann", "bob"):
            server.client.set(key, json.dumps({"name": key.upper()}))
        table = declared(server).replace("address =", "'cluster.addresses' =")
        query = "SELECT t.id, u.name FROM trips AS t JOIN users AS u ON t.rider = u.id"
        run = session.run(trips + table + query, wait=True)
    assert rows_of(run) == Counter([(1, "ANN"), (2, "BOB"), (5, "ANN")])


FLIGHTS = """CREATE TABLE flights (WATERMARK FOR sched_dep AS
    sched_dep - INTERVAL '9 hours') WITH (connector = 'sample', dataset = 'flights');
    CREATE TEMPORARY TABLE airlines WITH (connector = 'sample', dataset = 'airlines');
    """


def dataset(name):
    return duckdb.read_parquet(str(FOLDER / name / "*.parquet")).to_arrow_table()


def test_windowed_counts_by_the_names_of_airlines(session):
    query = """SELECT tumble(INTERVAL '1 day') AS day, a.name, count(*) AS n
        FROM flights AS f JOIN airlines AS a ON f.carrier = a.carrier
        WHERE a.name < 'E' GROUP BY day, a.name"""
    run = session.run(FLIGHTS + query, wait=True)
    expected = answer(
        """SELECT (day, day + INTERVAL 1 DAY), name, count(*) FROM (SELECT carrier,
            date_trunc('day', sched_dep AT TIME ZONE 'UTC') AS day FROM flights)
            JOIN airlines USING (carrier) WHERE name < 'E' GROUP BY day, name""",
        flights=dataset("flights"),
        airlines=dataset("airlines"),
    )
    assert rows_of(run) == expected
    assert len(expected) > 20


PEOPLE_TABLE = pa.table({"id": ["a", "b", None, "d"], "name": ["A", "B", "C", None]})
CHANGING = [["a", "b", "a", None], ["a", "c", "d", "d"], ["b", None, "c"]]


@pytest.mark.parametrize("how", ["LEFT", "INNER"])
def test_updating_rows_find_the_same_when_they_are_taken_back(engine, tmp_path, how):
    query = f"""SELECT q.rider, p.name, q.n FROM (SELECT rider, count(*) AS n
        FROM trips GROUP BY rider) AS q {how} JOIN people AS p ON q.rider = p.id"""
    table = """CREATE TABLE trips (rider TEXT) WITH (connector = 'single_file',
        path = '/trips', type = 'source', format = 'json')"""
    people = lookup_table("people", PEOPLE_TABLE, ["id"])
    catalog = plan_script(table, Catalog()).catalog.define(people)
    (plan,) = plan_script(query, catalog).sinks
    write_chunks(
        tmp_path,
        pa.schema({"rider": pa.string()}),
        [[(rider, 1_000_000) for rider in batch] for batch in CHANGING],
    )

    def work():
        spark = engine.session
        stream = reader(spark, tmp_path)

        def read(node):
            if isinstance(node, nodes.LookupJoin):
                return static_frame(spark, people.rows, people.schema)
            return stream(node)

        with query_settings(spark, IN_ROCKSDB):
            return run_to_end(visible(lower(plan, read), plan), tmp_path / "state")

    changes = engine.worker.call(work).rows
    folded: Counter = Counter()
    for number in range(len(CHANGING)):
        for batch, row in changes:
            if batch == number:
                folded[row["rider"], row["name"], row["n"]] += row[WEIGHT]
        so_far = [rider for batch in CHANGING[: number + 1] for rider in batch]
        trips = pa.table({"rider": so_far})
        assert +folded == answer(query, trips=trips, people=PEOPLE_TABLE)
        assert min(folded.values()) >= 0


def test_a_dataframe_is_a_lookup_table(session, trips):
    frame = pd.DataFrame(
        {
            "rider": ["ann", "ann", "bob", None, "x"],
            "hour": [0, 1, 0, 0, 2],
            "a.b": pd.to_datetime(["2024-01-01", None, "2024-01-03", None, None]),
        }
    )
    session.lookup("fares", frame, key=["rider", "hour"])
    query = """SELECT t.id, f."a.b" AS since FROM trips AS t {} JOIN fares AS f
        ON t.rider = f.rider AND f.hour = date_part('hour', t.at)::INT"""
    for how in ("LEFT", "INNER"):
        run = session.run(trips + query.format(how), wait=True)
        sql = query.format(how).replace("::INT", "")
        assert rows_of(run) == answer(sql, trips=trips_table(), fares=frame)


PRICES = """CREATE TEMPORARY TABLE prices (id BIGINT PRIMARY KEY, price DOUBLE)
    WITH (connector = 'single_file', path = '{path}', format = 'json');"""


def test_a_file_is_read_once_for_a_run_that_goes_on(session, trips, tmp_path):
    path = tmp_path / "prices.json"
    path.write_text('{"id": 1, "price": 1.5}\n{"id": 2}')
    query = "SELECT t.id, p.price FROM trips AS t JOIN prices AS p ON t.id = p.id"
    script = trips + PRICES.format(path=path) + query
    first = session.run(script, name="first", state_dir=tmp_path / "s", wait=True)
    assert rows_of(first) == Counter([(1, 1.5), (2, None)])
    path.unlink()
    again = session.resume("first")
    assert again.wait(60)
    assert rows_of(again) == Counter([(1, 1.5), (2, None)])


def test_a_key_that_is_there_twice_is_told(session, trips, tmp_path):
    path = tmp_path / "prices.json"
    script = trips + PRICES.format(path=path)
    script += "SELECT t.id, p.price FROM trips AS t JOIN prices AS p ON t.id = p.id"
    with pytest.raises(RunProblem, match="there is no file"):
        session.run(script, wait=True)
    path.write_text('{"id": 1, "price": 1.5}\n{"id": 2}\n{"id": 1}\n{}\n{}')
    with pytest.raises(RunProblem, match="'prices' has 2 rows of one key: id = 1"):
        session.run(script, wait=True)
