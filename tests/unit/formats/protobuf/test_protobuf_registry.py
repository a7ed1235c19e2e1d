"""Schemas of a schema registry: read when a run starts, and registered by a sink."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from proto_schemas import FLIGHT, HEAD, compiled, read, rows
from schema_registry import serving

from arroyo_nb.allowed_roots import VARIABLE
from arroyo_nb.errors import CatalogProblem, RunProblem, Unreached
from arroyo_nb.formats import payload_format
from arroyo_nb.formats.protobuf.confluent import head, place_bytes, read_place
from arroyo_nb.formats.protobuf.source import read_import, read_schema
from arroyo_nb.schema import BIGINT, Field, Schema
from arroyo_nb.schema_registry import (
    ENDPOINT,
    Reference,
    RegisteredSchema,
    RegistryClient,
)
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
    assert made.asked == [("mine", "PROTOBUF", FLIGHT, [])]


def test_a_sink_without_a_schema_of_its_own_takes_the_newest(registry):
    made = registry(**{"flights-value": RegisteredSchema(9, "PROTOBUF", FLIGHT)})
    options = OPTIONS | FORMAT.schema_options("t", OPTIONS)
    assert envelope(options) == (b"\0\0\0\0\x09\x02\x02", b"")
    assert made.asked == []


def test_the_files_that_a_schema_imports_are_registered_before_it(tmp_path):
    (tmp_path / "lib").mkdir()
    unit = HEAD + "message Unit { string name = 1; }"
    leg = HEAD + 'import "unit.proto"; import "google/protobuf/any.proto"; '
    leg += "message Leg { Unit unit = 1; google.protobuf.Any more = 2; }"
    stop = HEAD + 'import "unit.proto"; message Stop { Unit unit = 1; }'
    flight = HEAD + 'import "lib/leg.proto"; import "stop.proto"; '
    flight += "message Flight { Leg leg = 1; int64 id = 2; Stop stop = 3; }"
    files = {"lib/unit.proto": unit, "lib/leg.proto": leg, "stop.proto": stop}
    for name, text in {**files, "flight.proto": flight}.items():
        (tmp_path / name).write_text(text)
    options = {
        **OPTIONS,
        "protobuf.file": str(tmp_path / "flight.proto"),
        "protobuf.include": f"{tmp_path}, {tmp_path / 'lib'}",
    }
    with serving() as (url, known):
        known.add(HEAD, "PROTOBUF", "stop.proto")  # an older version
        options |= {ENDPOINT: url}
        options |= FORMAT.schema_options("t", options)
        written = [envelope(options)[0] for _ in range(2)]  # nothing is new then
        assert written[0] == written[1] == head(5, read_schema("", options))
        unit_is = Reference("unit.proto", "unit.proto", 1)
        leg_is = Reference("lib/leg.proto", "lib/leg.proto", 1)
        stop_is = Reference("stop.proto", "stop.proto", 2)
        found = {
            subject: (made.text, made.references)
            for subject in known.subjects
            if (made := RegistryClient(url).latest(subject))
        }
        assert found == {
            "unit.proto": (unit, ()),
            "lib/leg.proto": (leg, (unit_is,)),
            "stop.proto": (stop, (unit_is,)),
            "flights-value": (flight, (leg_is, stop_is)),
        }
        assert len(known.schemas) == 5
        # Who reads the topic finds them again.
        options = {**OPTIONS, ENDPOINT: url}
        options |= FORMAT.schema_options("t", options)
        made = FORMAT.payload_decoder(COLUMNS, options, None)
        assert rows(read(made, written[0] + b"\x10\x05")) == [(5,)]


def test_a_message_of_an_imported_file_is_registered_with_that_file(tmp_path):
    leg = HEAD + "message Other {} message Leg { string id = 1; }"
    (tmp_path / "leg.proto").write_text(leg)
    path = tmp_path / "flight.proto"
    path.write_text(HEAD + 'import "leg.proto"; message Flight { Leg leg = 1; }')
    with serving() as (url, known):
        options = {**OPTIONS, "protobuf.file": str(path), "protobuf.message": "Leg"}
        options |= {ENDPOINT: url}
        options |= FORMAT.schema_options("t", options)
        assert envelope(options)[0] == b"\0\0\0\0\x01\x02\x02"
    assert [schema["schema"] for schema in known.schemas] == [leg]


def test_an_import_that_the_registry_refuses_is_told(tmp_path):
    path = tmp_path / "flight.proto"
    (tmp_path / "leg.proto").write_text(HEAD + "message Leg {}")
    path.write_text(HEAD + 'import "leg.proto"; message Flight { Leg leg = 1; }')
    with serving() as (url, known):
        options = {**OPTIONS, "protobuf.file": str(path), ENDPOINT: url}
        options |= FORMAT.schema_options("t", options)
        known.failing = 1
        with pytest.raises(Unreached, match="Error in the backend data store"):
            envelope(options)
        assert known.subjects == {}
        # It was compiled already, and is read once more to be registered.
        (tmp_path / "leg.proto").unlink()
        said = "'leg.proto', which 'protobuf.file' imports, is gone"
        with pytest.raises(RunProblem, match=said):
            envelope(options)


def test_an_import_outside_the_allowed_folders_is_not_registered(tmp_path, monkeypatch):
    path = tmp_path / "flight.proto"
    (tmp_path / "leg.proto").write_text(HEAD + "message Leg {}")
    path.write_text(HEAD + 'import "leg.proto"; message Flight { Leg leg = 1; }')
    options = {"protobuf.file": str(path)}
    assert read_import("leg.proto", options).startswith(HEAD.encode())
    (tmp_path / "other").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "other"))
    with pytest.raises(RunProblem, match="leads out of the folders"):
        read_import("leg.proto", options)


def test_without_a_registry_nothing_stands_before_a_message():
    assert envelope({"protobuf.schema": FLIGHT}) == (b"", b"")
