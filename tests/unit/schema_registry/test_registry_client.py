"""A schema registry that is asked, one that refuses, and what answers in its place."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pyarrow as pa
import pytest
from redis_server import free_port
from schema_registry import serving

from arroyo_nb.connectors import TableSpec
from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.kafka.sink import register_schema
from arroyo_nb.schema import Schema
from arroyo_nb.schema_registry import (
    AVRO,
    Reference,
    RegisteredSchema,
    RegistryClient,
    UnknownSchema,
    registered_under,
    registry_client,
)
from arroyo_nb.schema_registry.prefix import (
    UNKNOWN_AT_ONCE,
    UNKNOWN_S,
    SchemaCache,
    UnknownIds,
    by_schema_id,
    prefix,
    unknown_ids,
)

RECORD = '{"type": "record", "name": "R", "fields": [%s]}'
ID = '{"name": "id", "type": "int"}'
MORE = '{"name": "more", "type": "int"}'


@pytest.fixture
def registry():
    with serving() as (url, known):
        yield url, known


def register(port):
    endpoint = f"http://127.0.0.1:{port}"
    options = {"topic": "clicks", "schema_registry.endpoint": endpoint}
    return register_schema(TableSpec("out", Schema(()), options), AVRO, "{}")


@contextmanager
def answering(text, status=200, heard=None, **headers):
    """The port of a server that answers everything so."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def do_GET(self):
            if heard is not None:
                heard.append(dict(self.headers))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_one_that_is_away_is_waited_for_and_named():
    port = free_port()
    said = f"of 'out' at http://127.0.0.1:{port} does not answer"
    with pytest.raises(Unreached, match=said):
        register(port)


@pytest.mark.parametrize(
    "text",
    [
        *(b"<html>", b"[]", b'{"id": null}', b"[" * 100_000, b"\xff", b'"id"'),
        *(b'{"id": -1}', b'{"id": %d}' % 2**32, b'{"id": %s}' % (b"1" * 5_000)),
    ],
)
def test_what_is_no_registry_is_told_at_once(text):
    with (
        answering(text) as port,
        pytest.raises(RunProblem, match="answers what no schema registry does") as told,
    ):
        register(port)
    assert not isinstance(told.value, Unreached)


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b'{"schema": 5}',
        b'{"schema": "x", "references": [{}]}',
        b'{"schema": "x", "references": 5}',
        b'{"schema": "x", "id": "y"}',
        b'{"schema": "x", "id": -1}',
        b'{"schema": "x", "id": 4294967296}',
    ],
)
def test_a_schema_that_is_not_told_as_a_registry_does(text):
    with answering(text) as port:
        client = RegistryClient(f"http://127.0.0.1:{port}")
        with pytest.raises(RunProblem, match="answers what no schema registry does"):
            client.latest("s")


def test_a_refusal_that_is_nested_without_end_is_told():
    with answering(b"[" * 100_000, 500) as port:
        client = RegistryClient(f"http://127.0.0.1:{port}")
        with pytest.raises(
            RunProblem, match="cannot answer now: 500 Internal Server Error"
        ):
            client.latest("s")


@pytest.mark.parametrize("address", ["canary-5", "canary-5:x/", "http://[canary-5"])
def test_an_address_that_is_none_is_told_and_not_shown(address):
    with pytest.raises(RunProblem) as told:
        RegistryClient(address, called="it").latest("s")
    assert "canary" not in str(told.value)


def test_an_address_of_a_file_is_not_read(tmp_path):
    path = tmp_path / "canary-8"
    path.write_text('{"id": 7, "schema": "x"}')
    with pytest.raises(Unreached) as told:
        RegistryClient(f"file://{path}#").latest("s")
    assert "canary" not in str(told.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_credentials_go_to_no_other_address(status):
    heard = []
    with answering(b'{"id": 7, "schema": "x"}', heard=heard) as other:
        leads = f"http://127.0.0.1:{other}/canary-6"
        with answering(b"", status, Location=leads) as port:
            client = RegistryClient(f"http://127.0.0.1:{port}", "me", "canary-7")
            calls = [
                lambda: client.latest("s"),
                lambda: client.schema(7),
                lambda: client.register("s", AVRO, '"int"'),
            ]
            for call in calls:
                with pytest.raises(RunProblem, match="that it has moved") as told:
                    call()
                assert "canary" not in str(told.value)
    assert heard == []


def test_the_number_of_a_schema():
    with answering(b'{"id": 7}') as port:
        assert register(port) == 7


def test_a_schema_is_registered_once_and_read_by_its_id(registry):
    url, known = registry
    client = RegistryClient(url)
    text = RECORD % ID
    number = client.register("a/b", AVRO, text)
    assert client.register("a/b", AVRO, text) == number
    expected = RegisteredSchema(number, AVRO, text, ())
    assert client.schema(number) == expected
    assert client.latest("a/b") == expected
    assert ("POST", "/subjects/a%2Fb/versions") in known.asked


def test_a_schema_is_asked_for_once_in_a_process(registry):
    url, known = registry
    number = known.add('"string"', "JSON")
    for _ in range(3):
        assert RegistryClient(url).schema(number).schema_type == "JSON"
    assert len(known.asked) == 1


def test_what_a_schema_uses_is_read_by_its_version(registry):
    url, _ = registry
    client = RegistryClient(url)
    client.register("r", AVRO, RECORD % ID)
    uses = Reference("R", "r", 1)
    outer = '{"type": "record", "name": "O", "fields": [{"name": "r", "type": "R"}]}'
    number = client.register("o", AVRO, outer, [uses])
    found = client.schema(number)
    assert found.references == (uses,)
    assert client.referenced(uses).text == RECORD % ID


def test_an_unknown_id_and_an_unknown_subject_are_told(registry):
    client = RegistryClient(registry[0])
    with pytest.raises(UnknownSchema, match=r"127\.0\.0\.1:\d+ knows no schema 9"):
        client.schema(9)
    with pytest.raises(UnknownSchema, match="has no subject 'x' with a version latest"):
        client.latest("x")
    with pytest.raises(UnknownSchema, match="has no subject 'x' with a version 3"):
        client.referenced(Reference("n", "x", 3))


def test_a_schema_that_does_not_go_with_the_last_is_told_with_the_reason(registry):
    client = RegistryClient(registry[0])
    client.register("s", AVRO, RECORD % ID)
    with pytest.raises(RunProblem) as told:
        client.register("s", AVRO, RECORD % f"{ID}, {MORE}")
    assert "does not go with the one before, of the subject 's'" in str(told.value)
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in str(told.value)
    assert "additionalInfo:'more'" in str(told.value)


def test_a_schema_that_is_none_is_told_with_the_reason(registry):
    client = RegistryClient(registry[0])
    with pytest.raises(RunProblem, match="refuses the schema: Invalid schema"):
        client.register("s", AVRO, '{"type": "nothing"}')


def test_wrong_credentials_are_told_and_never_shown():
    with serving(("me", "canary-1")) as (url, known):
        known.add('"int"')
        assert RegistryClient(url, "me", "canary-1").schema(1).text == '"int"'
        wrong = RegistryClient(url, "me", "canary-2")
        calls = [
            lambda: wrong.schema(1),
            lambda: wrong.latest("s"),
            lambda: wrong.register("s", AVRO, '"int"'),
        ]
        for call in calls:
            with pytest.raises(RunProblem, match="refuses: wrong credentials") as told:
                call()
            assert "canary" not in repr(told.value) + str(told.value)
    assert "canary" not in repr(wrong)


def test_a_schema_is_asked_for_again_where_the_registry_cannot_answer(
    registry, monkeypatch
):
    monkeypatch.setattr("arroyo_nb.schema_registry.RETRY_S", (0, 0))
    url, known = registry
    known.add('"int"')
    client = RegistryClient(url)
    known.failing = 3
    with pytest.raises(Unreached, match=r"cannot answer now: 500 Error in the back"):
        client.schema(1)
    known.failing = 2
    assert client.schema(1).text == '"int"'
    known.failing = 1
    with pytest.raises(Unreached, match="cannot answer now"):
        client.latest("s")


def test_an_address_with_a_password_is_not_shown():
    client = RegistryClient(f"http://me:canary-3@127.0.0.1:{free_port()}/canary-4")
    with pytest.raises(Unreached) as told:
        client.schema(1)
    assert "canary" not in repr(client) + str(told.value)
    assert "http://127.0.0.1:" in str(told.value)


def test_the_options_of_a_table_make_a_client():
    assert registry_client({"topic": "t"}) is None
    options = {
        "schema_registry.endpoint": "http://h",
        "schema_registry.api_key": "k",
        "schema_registry.api_secret": "s",
    }
    assert registry_client(options) == RegistryClient("http://h", "k", "s")
    assert registered_under({"topic": "t", "value.subject": "v"}) == "v"


def test_payloads_by_the_ids_that_they_begin_with():
    payloads = [
        prefix(7) + b"a",
        b"\1\0\0\0\7",
        b"\0\0\0\0",
        prefix(2**32 - 1),
        prefix(7),
    ]
    found = {
        schema_id: which.tolist()
        for schema_id, which in by_schema_id(pa.array([b"", *payloads]).slice(1))
    }
    assert found == {7: [0, 4], None: [1, 2], 2**32 - 1: [3]}
    assert [*by_schema_id(pa.array([], pa.binary()))] == []


def test_unknown_ids_are_asked_for_again_after_a_minute_and_not_all_at_once():
    asked, now = [], [0.0]
    unknown = UnknownIds(lambda: now[0])

    def make(schema_id):
        asked.append(schema_id)
        raise UnknownSchema(f"no {schema_id}")

    def new_cache():
        return SchemaCache(make, unknown)

    cache = new_cache()
    found = [cache.get(number) for number in range(1_000)]
    assert len(asked) == UNKNOWN_AT_ONCE
    assert found[0] == "no 0"
    assert "was not asked for its schema 999" in found[-1]
    # A decoder lives for a batch: the next one knows them too.
    assert new_cache().get(0) == "no 0"
    assert "was not asked" in new_cache().get(5_000)
    assert len(asked) == UNKNOWN_AT_ONCE
    now[0] = UNKNOWN_S
    assert new_cache().get(5_000) == "no 5000"
    assert new_cache().get(0) == "no 0"
    assert asked[UNKNOWN_AT_ONCE:] == [5_000, 0]


def test_each_registry_has_unknown_ids_of_its_own():
    one, same, other = (RegistryClient(f"http://{host}") for host in "aab")
    assert unknown_ids(one) is unknown_ids(same)
    assert unknown_ids(one) is not unknown_ids(other)
