"""Schemas of a schema registry: read when a run starts, and registered by a sink."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from proto_schemas import FLIGHT, HEAD, compiled, read, rows
from schema_registry import serving

from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.formats import payload_format
from arroyo_nb.formats.protobuf.confluent import head, place_bytes, read_place
from arroyo_nb.schema import BIGINT, Field, Schema
from arroyo_nb.schema_registry import ENDPOINT, Reference, RegisteredSchema
from arroyo_nb.schema_registry.prefix import NO_PREFIX

REGISTRY = "protobuf.confluent_schema_registry"
OPTIONS = {REGISTRY: True, "topic": "flights", "protobuf.message": "Flight"}
COLUMNS = Schema((Field("id", BIGINT),))
FORMAT = payload_format("protobuf")


@dataclass
class FakeRegistry:
    """A registry with some subjects; keeps what is registered."""

    subjects: dict[str, RegisteredSchema]
    asked: list[tuple] = field(default_factory=list)

    def latest(self, subject):
        return self.subjects[subject]

    def referenced(self, reference):
        return self.subjects[reference.subject]

    def register(self, subject, schema_type, text, references=()):
        self.asked.append((subject, schema_type, text, references))
        return 41


@pytest.fixture
def registry(monkeypatch):
    """Puts a registry in the place of the client."""

    def put(**subjects):
        made = FakeRegistry(subjects)
        client = "arroyo_nb.formats.protobuf.registry.registry_client"
        monkeypatch.setattr(client, lambda options: made if subjects else None)
        return made

    return put


def payload(place=b"\0", schema_id=9, message=b"\x10\x05"):
    return b"\0" + schema_id.to_bytes(4, "big") + place + message


def test_the_newest_schema_is_read_with_its_imports(registry):
    leg = HEAD + 'import "b/deep.proto"; message Leg { Deep deep = 1; }'
    text = HEAD + 'import "leg.proto"; import "google/protobuf/any.proto"; '
    text += "message Flight { int64 id = 2; Leg leg = 3; google.protobuf.Any a = 4; }"
    deep = Reference("b/deep.proto", "deep", 1)
    references = (Reference("leg.proto", "leg", 2), deep)
    registry(
        **{"flights-value": RegisteredSchema(9, "PROTOBUF", text, references)},
        leg=RegisteredSchema(8, "PROTOBUF", leg, (deep,)),
        deep=RegisteredSchema(7, "PROTOBUF", HEAD + "message Deep {}"),
    )
    options = OPTIONS | FORMAT.schema_options("t", OPTIONS)
    made = FORMAT.payload_decoder(COLUMNS, options, None)
    assert rows(read(made, payload(), payload(schema_id=77))) == [(5,), (5,)]


def test_a_message_behind_another_has_its_place():
    options = {"protobuf.schema": FLIGHT, **OPTIONS}
    made = FORMAT.payload_decoder(COLUMNS, options, None)
    found = read(made, payload(b"\x02\x02"), payload(b"\0"))
    assert rows(found) == [(5,)]
    assert found.bad == ((1, "its message is 't.Leg', and not 't.Flight'"),)


BEHIND = HEAD + "message Other { int64 id = 2; } message Flight { int64 id = 2; }"


def test_which_message_a_record_has_is_said_by_its_own_schema():
    other = HEAD + "message Bird { message Flight { int64 id = 2; } int64 id = 2; }"
    with serving() as (url, known):
        ids = {
            "own": known.add(FLIGHT, "PROTOBUF"),
            "other": known.add(other, "PROTOBUF"),
            "behind": known.add(BEHIND, "PROTOBUF"),
            "avro": known.add('"long"'),
            "broken": known.add("message {", "PROTOBUF"),
        }
        written = [
            payload(b"\x02\x02", ids["own"]),
            payload(b"\0", ids["own"]),
            payload(b"\0", ids["other"]),
            payload(b"\x04\0\0", ids["other"]),
            payload(b"\0", ids["behind"]),
            payload(b"\x02\x02", ids["behind"]),
            payload(b"\0", ids["avro"]),
            payload(b"\0", ids["broken"]),
            payload(b"\0", 77),
            payload(b"\0", 0),
            b"\1" + payload(),
            payload(b"\x02\x06", ids["behind"]),
        ]
        given = {"protobuf.schema": FLIGHT, ENDPOINT: url, **OPTIONS}
        assert FORMAT.asks_registry(given)
        for _ in range(2):
            found = read(FORMAT.payload_decoder(COLUMNS, given, None), *written)
            assert rows(found) == [(5,), (5,)]
            assert found.numbers.to_pylist() == [0, 5]
            told = dict(found.bad)
            assert sorted(told) == [1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
        # Each is asked for once in a process, whichever decoder asks.
        assert len(known.asked) == len(ids) + 1
    assert told[1] == "its message is 't.Leg', and not 't.Flight'"
    assert told[2] == "its message is 't.Bird', and not 't.Flight'"
    assert told[3] == "its message is 't.Bird.Flight', and not 't.Flight'"
    assert told[4] == "its message is 't.Other', and not 't.Flight'"
    assert told[6].endswith("in the schema registry is AVRO, and not PROTOBUF")
    assert "in the schema registry cannot be used: the schema of" in told[7]
    assert told[8].endswith("knows no schema 77")
    assert told[9] == "it begins with 0, which is the id of no schema"
    assert told[10] == NO_PREFIX
    assert told[11] == "its message is none of its schema: [3], and not 't.Flight'"


@pytest.mark.parametrize("place", [(0,), (1,), (1, 0), (3, 0, 200)])
def test_a_place_is_written_as_it_is_read(place):
    written = payload(place_bytes(place), message=b"rest")
    indexes, at = read_place(written)
    assert (indexes, written[at:]) == (place, b"rest")


def test_the_first_message_may_be_written_in_full():
    text = HEAD + "message M { int64 id = 2; }"
    options = {"protobuf.schema": text, REGISTRY: True}
    made = FORMAT.payload_decoder(COLUMNS, options, None)
    assert rows(read(made, payload(b"\x02\0"), payload(b"\0"))) == [(5,), (5,)]


def test_a_schema_of_another_kind_is_refused(registry):
    registry(**{"flights-value": RegisteredSchema(9, "AVRO", "{}")})
    with pytest.raises(RunProblem, match="is of the kind AVRO, and not PROTOBUF"):
        FORMAT.schema_options("t", OPTIONS)


def test_a_schema_that_does_not_compile_is_refused(registry):
    registry(**{"flights-value": RegisteredSchema(9, "PROTOBUF", "message {")})
    with pytest.raises(CatalogProblem, match=r"the table 't': .*schema\.proto:1:9"):
        FORMAT.schema_options("t", OPTIONS)


@pytest.mark.parametrize("name", ["../up.proto", "/tmp/up.proto"])
def test_an_import_leads_out_of_no_folder(registry, name):
    references = (Reference(name, "up", 1),)
    registry(
        **{"flights-value": RegisteredSchema(9, "PROTOBUF", HEAD, references)},
        up=RegisteredSchema(8, "PROTOBUF", HEAD),
    )
    with pytest.raises(CatalogProblem, match="is no name of an imported schema"):
        FORMAT.schema_options("t", OPTIONS)


def test_a_registry_must_be_named(registry):
    registry()
    with pytest.raises(RunProblem, match=r"'schema_registry\.endpoint' not set of"):
        FORMAT.schema_options("t", OPTIONS)
    ((option, problem),) = FORMAT.payload_option_problems(OPTIONS)
    assert option == REGISTRY
    assert "required option 'schema_registry.endpoint' not set" in problem.message
    assert "another connector needs 'protobuf.file'" in problem.hint
    own = {**OPTIONS, "protobuf.schema": FLIGHT}
    assert list(FORMAT.payload_option_problems(own)) == []


def test_a_table_without_a_topic_needs_a_schema_of_its_own():
    of_a_tape = {REGISTRY: True, ENDPOINT: "http://h:1", "path": "/tape"}
    ((option, problem),) = FORMAT.payload_option_problems(of_a_tape)
    assert option == REGISTRY
    assert "has no topic" in problem.message
    for more in ({"topic": "t"}, {"protobuf.schema": FLIGHT}):
        assert list(FORMAT.payload_option_problems(of_a_tape | more)) == []


def envelope(options):
    return FORMAT.envelope(COLUMNS, options, None)


def test_a_sink_registers_its_own_schema(registry):
    made = registry(other=RegisteredSchema(1, "PROTOBUF", HEAD))
    options = {**OPTIONS, "protobuf.schema": FLIGHT, "value.subject": "mine"}
    message = compiled(FLIGHT, "Flight")
    assert envelope(options) == (head(41, message), b"")
    assert head(41, message) == b"\0\0\0\0\x29\x02\x02"
    assert made.asked == [("mine", "PROTOBUF", FLIGHT, ())]


def test_a_sink_without_a_schema_of_its_own_takes_the_newest(registry):
    made = registry(**{"flights-value": RegisteredSchema(9, "PROTOBUF", FLIGHT)})
    options = OPTIONS | FORMAT.schema_options("t", OPTIONS)
    assert envelope(options) == (b"\0\0\0\0\x09\x02\x02", b"")
    assert made.asked == []


def test_a_schema_with_imports_of_its_own_is_not_registered(registry, tmp_path):
    registry(other=RegisteredSchema(1, "PROTOBUF", HEAD))
    (tmp_path / "leg.proto").write_text(HEAD + "message Leg {}")
    path = tmp_path / "flight.proto"
    path.write_text(HEAD + 'import "leg.proto"; message Flight { Leg leg = 1; }')
    with pytest.raises(RunProblem, match="imports other files"):
        envelope({**OPTIONS, "protobuf.file": str(path)})


def test_without_a_registry_nothing_stands_before_a_message():
    assert envelope({"protobuf.schema": FLIGHT}) == (b"", b"")
