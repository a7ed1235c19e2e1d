"""The sink of the redis connector against a real server."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
import time

import pytest
import redis
from feed_tables import batch, declared, open_writer
from machine import allowed
from redis_server import running
from server_process import free_port

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import ArroyoError, RunProblem, StateProblem, Unreached
from arroyo_nb.feeds.connectors.redis._lookup import RedisAsker
from arroyo_nb.feeds.connectors.redis._sink import Marker

REDIS = CONNECTORS.get("redis")
COLUMNS = "name TEXT NOT NULL, place TEXT NOT NULL, age INT"
BY_NAME = {"target.key_prefix": "user.", "target.key_column": "name"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def empty(server):
    server.client.flushall()
    return server


def users(*rows):
    """Rows as Spark has encoded them; places are those of the fields of a hash."""
    payloads = [
        json.dumps({"name": name, "age": age}).encode() for name, _, age in rows
    ]
    names, places = [row[0] for row in rows], [row[1] for row in rows]
    return batch(payloads, name=names, place=places)


def sink(server, state, **options):
    given = {"address": server.address, "target.key_prefix": "user.", **options}
    return open_writer("redis", state, COLUMNS, **given)


def reach(**options):
    given = {"target": "string", "target.key_prefix": "", **options}
    REDIS.reach(declared("redis", "sink", **given).spec.resolved(), lambda: None)


ANN, BOB, EVE = ("ann", "here", 1), ("bob", "here", 2), ("eve", "there", 3)


def value(user):
    return json.dumps({"name": user[0], "age": user[2]}).encode()


def test_a_string_is_the_newest_row_of_its_key(empty, tmp_path):
    with sink(empty, tmp_path, target="string", **BY_NAME) as writer:
        newer = ("ann", "here", 9)
        assert writer.take(users(ANN, BOB, newer), 0) == 3
    assert empty.client.get("user.ann") == value(newer)
    assert empty.client.get("user.bob") == value(BOB)
    assert empty.client.ttl("user.bob") == -1


def test_a_string_can_be_kept_for_a_time(empty, tmp_path):
    options = {"target": "string", "target.ttl_secs": 100, **BY_NAME}
    with sink(empty, tmp_path, **options) as writer:
        writer.take(users(ANN), 0)
    assert 0 < empty.client.ttl("user.ann") <= 100


def test_without_a_key_column_all_rows_have_one_key(empty, tmp_path):
    with sink(empty, tmp_path, target="list") as writer:
        writer.take(users(ANN, BOB), 0)
    assert empty.client.lrange("user.", 0, -1) == [value(ANN), value(BOB)]


@pytest.mark.parametrize(
    ("operation", "kept"), [("append", [BOB, EVE]), ("prepend", [EVE, BOB])]
)
def test_a_list_keeps_its_newest_values(empty, tmp_path, operation, kept):
    options = {"target.operation": operation, "target.max_length": 2}
    with sink(empty, tmp_path, target="list", **options) as writer:
        writer.take(users(ANN, BOB), 0)
        writer.take(users(EVE), 1)
    assert empty.client.lrange("user.", 0, -1) == [value(one) for one in kept]


def test_a_hash_has_a_field_for_each_row(empty, tmp_path):
    options = {"target": "hash", "target.field_column": "name"}
    by_place = {"target.key_prefix": "at.", "target.key_column": "place"}
    with sink(empty, tmp_path, **options, **by_place) as writer:
        writer.take(users(ANN, BOB, EVE), 0)
    assert empty.client.hgetall("at.here") == {b"ann": value(ANN), b"bob": value(BOB)}
    assert empty.client.hgetall("at.there") == {b"eve": value(EVE)}


def test_a_batch_that_is_written_again_is_in_a_list_once(empty, tmp_path):
    for _ in range(2):
        with sink(empty, tmp_path, target="list") as writer:
            writer.take(users(ANN, BOB), 0)
    with sink(empty, tmp_path, target="list") as writer:
        writer.take(users(EVE), 1)
    assert empty.client.lrange("user.", 0, -1) == [*map(value, (ANN, BOB, EVE))]


def test_an_older_copy_of_a_state_folder_is_refused(empty, tmp_path):
    with sink(empty, tmp_path, target="list") as writer:
        for number in range(4):
            writer.take(users(ANN), number)
    with (
        sink(empty, tmp_path, target="list") as writer,
        pytest.raises(StateProblem, match="is an older copy"),
    ):
        writer.take(users(BOB), 2)


def test_a_batch_that_fails_in_part_is_written_again(empty, tmp_path):
    empty.client.set("user.bob", "no list")
    with sink(empty, tmp_path, target="list", **BY_NAME) as writer:
        with pytest.raises(RunProblem, match=r"refuses the table 't': WRONGTYPE"):
            writer.take(users(ANN, BOB), 0)
        empty.client.delete("user.bob")
        writer.take(users(ANN, BOB), 0)
    assert empty.client.lrange("user.bob", 0, -1) == [value(BOB)]


def test_two_who_write_the_same_batch_write_it_once(empty, tmp_path, monkeypatch):
    """One that was given up may still write while the next one does."""
    add, others = Marker.add, []

    def add_late(marker, pipeline, batch_id):
        if not others:
            others.append(sink(empty, tmp_path, target="list"))
            with others[0] as other:
                other.take(users(ANN), batch_id)
        add(marker, pipeline, batch_id)

    monkeypatch.setattr(Marker, "add", add_late)
    with sink(empty, tmp_path, target="list") as writer:
        writer.take(users(ANN), 0)
    assert empty.client.lrange("user.", 0, -1) == [value(ANN)]


@pytest.mark.parametrize(
    ("settings", "cure"),
    [
        ({"maxmemory": "1"}, ("maxmemory", "0")),
        ({"replicaof": "127.0.0.1 1"}, ("replicaof", "no one")),
        (
            {"replicaof": "127.0.0.1 1", "replica-serve-stale-data": "no"},
            ("replicaof", "no one"),
        ),
    ],
)
@pytest.mark.parametrize("target", ["string", "list"])
def test_a_batch_waits_for_a_server_that_takes_none_now(
    tmp_path, settings, cure, target, monkeypatch
):
    with running(tmp_path) as server:
        change(server, settings)
        options = {"target": target, **BY_NAME}
        with monkeypatch.context() as patched, sink(server, tmp_path, **options) as one:
            patched.setattr("arroyo_nb.feeds.sink.PATIENCE_S", 0.3)
            with pytest.raises(
                Unreached, match="takes no rows of the table 't' now: "
            ) as told:
                one.take(users(ANN), 0)
        assert "ann" not in str(told.value)
        change(server, dict([cure]))
        with sink(server, tmp_path, **options) as writer:
            writer.take(users(ANN), 0)
        found = (
            server.client.lrange("user.ann", 0, -1)
            if target == "list"
            else [server.client.get("user.ann")]
        )
        assert found == [value(ANN)]


def change(server, settings):
    for name, given in settings.items():
        if name == "replicaof":
            server.client.execute_command("REPLICAOF", *given.upper().split())
        else:
            server.client.config_set(name, given)


def test_a_large_batch_comes_whole(empty, tmp_path):
    rows = [("ann", "here", number) for number in range(5_000)]
    with sink(empty, tmp_path, target="list") as writer:
        assert writer.take(users(*rows), 0) == 5_000
    assert empty.client.lrange("user.", 0, -1) == [value(row) for row in rows]


def test_a_batch_waits_for_a_server_that_is_away(tmp_path):
    with running(tmp_path) as first:
        port = first.port
        with sink(first, tmp_path, target="string", **BY_NAME) as writer:
            writer.take(users(ANN), 0)
            first.end()
            writing = threading.Thread(target=writer.take, args=(users(BOB), 1))
            writing.start()
            time.sleep(0.5)
            with running(tmp_path, port=port) as second:
                writing.join(allowed(20))
                assert not writing.is_alive()
                assert second.client.get("user.bob") == value(BOB)


@pytest.mark.parametrize("state", ["away", "silent"])
def test_a_stopped_run_does_not_wait_for_a_server(state, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1] if state == "silent" else free_port()
        options = {"address": f"redis://127.0.0.1:{port}", "target": "string"}
        failures = []

        def take(writer):
            try:
                writer.take(users(ANN), 0)
            except Unreached as problem:
                failures.append(problem)

        given = {"target.key_prefix": "", **options}
        with open_writer("redis", tmp_path, COLUMNS, **given) as writer:
            writing = threading.Thread(target=take, args=(writer,))
            writing.start()
            time.sleep(0.3)
            began_s = time.monotonic()
            writer.give_up()
            writing.join(allowed(10))
            assert time.monotonic() - began_s < allowed(1)
    assert len(failures) == 1


def test_a_wrong_password_is_told_and_not_shown(tmp_path):
    with running(tmp_path, "--requirepass", "right") as server:
        server.client.close()
        with pytest.raises(RunProblem) as refused:
            reach(address=server.address, password="wr0ng-secret")
        reach(address=server.address, password="right")
    assert not isinstance(refused.value, Unreached)
    assert "refuses the table 't'" in refused.value.message
    assert "wr0ng-secret" not in str(refused.value) + repr(refused.value)


LOGIN = "look at the options 'username' and 'password'"
MAY_USE = (
    "look at the option 'username', and at the commands and keys that the login may "
    "use (ACL GETUSER)"
)
ACL = ("--user", "ann", "on", ">right", "~user.*", "+@connection", "+@read")


@pytest.mark.parametrize(
    ("login", "said", "hint"),
    [
        ({}, "[Aa]uthentica", LOGIN),
        ({"password": "wrong"}, "invalid username-password", LOGIN),
        ({"username": "bob", "password": "right"}, "invalid username-password", LOGIN),
        (
            {"username": "ann", "password": "right"},
            "has no permissions to run the 'set' command",
            MAY_USE,
        ),
    ],
    ids=["NOAUTH", "WRONGPASS", "another user", "NOPERM"],
)
def test_what_a_login_may_not_do_has_a_hint(tmp_path, login, said, hint):
    with running(tmp_path, "--requirepass", "main", *ACL) as server:
        options = {"target": "string", "target.key_column": "name", **login}
        with (
            sink(server, tmp_path, **options) as refused,
            pytest.raises(RunProblem) as found,
        ):
            refused.take(users(ANN), 0)
    assert not isinstance(found.value, Unreached)
    assert re.search(said, found.value.message)
    assert found.value.hint == hint


def connections(client):
    """How many connections its server has had."""
    return client.info("stats")["total_connections_received"]


@pytest.mark.parametrize(
    ("password", "keys", "hint"),
    [(None, ["user.ann"], LOGIN), ("right", ["other"], MAY_USE)],
)
def test_what_the_login_of_a_lookup_may_not_do_has_a_hint(
    tmp_path, password, keys, hint
):
    with running(tmp_path, "--requirepass", "main", *ACL) as server:
        user = None if password is None else "ann"
        asker = RedisAsker("t", "here", (server.address,), False, user, password)
        with redis.Redis(port=server.port, password="main") as counting:
            before = connections(counting)
            with pytest.raises(RunProblem) as found:
                asker.ask(keys)
            assert connections(counting) == before + 1, "it was asked again"
    assert not isinstance(found.value, Unreached)
    assert found.value.hint == hint


def test_a_cluster_is_written(tmp_path, eventually):
    with running(tmp_path, "--cluster-enabled", "yes") as server:
        add = ("cluster", "addslotsrange", "0", "16383")
        asked = ("redis-cli", "-p", str(server.port))
        subprocess.run([*asked, *add], check=True, capture_output=True)
        told = lambda: server.client.execute_command("CLUSTER INFO")  # noqa: E731
        eventually(lambda: told()["cluster_state"] == "ok")
        given = {"cluster.addresses": server.address, "target": "list", **BY_NAME}
        with open_writer("redis", tmp_path, COLUMNS, **given) as writer:
            writer.take(users(ANN, BOB, EVE, ANN), 0)
        assert server.client.lrange("user.ann", 0, -1) == [value(ANN)] * 2
        assert server.client.lrange("user.eve", 0, -1) == [value(EVE)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "string"}, "required option 'target.key_prefix' not set"),
        (
            {"target": "string", **BY_NAME, "target.key_column": "age"},
            "invalid value 'age' for target.key_column, must be the name of a "
            "non-nullable TEXT column on the table",
        ),
        (
            {"target": "hash", **BY_NAME, "target.field_column": "nothing"},
            "invalid value 'nothing' for target.field_column, must be the name",
        ),
        ({"target": "hash", **BY_NAME}, "required option 'target.field_column' not"),
        (
            {"target": "list", **BY_NAME, "target.ttl_secs": 3},
            "'target.ttl_secs' is only for target = 'string'",
        ),
        ({"target": "set", **BY_NAME}, "invalid value for 'target'"),
        (
            {"target": "list", **BY_NAME, "target.max_length": 0},
            "'target.max_length' must be above 0",
        ),
    ],
)
def test_options_that_make_no_sense_are_told(options, said):
    with pytest.raises(ArroyoError) as refused:
        declared("redis", "sink", COLUMNS, address="redis://one", **options)
    assert said in str(refused.value)


def test_a_sink_has_no_metadata():
    columns = f"k TEXT METADATA FROM 'key', {COLUMNS}"
    with pytest.raises(ArroyoError, match="'k' is METADATA FROM 'key', which only"):
        declared(
            "redis", "sink", columns, address="redis://one", target="string", **BY_NAME
        )
