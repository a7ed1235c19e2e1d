"""Where the schema of a table comes from, and what is told of one that is wrong."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from proto_schemas import FLIGHT, HEAD, compiled

from arroyo_nb.allowed_roots import VARIABLE
from arroyo_nb.connectors import CONNECTORS, TableSpec, decoding_options
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.formats import payload_format
from arroyo_nb.formats.protobuf.source import read_schema
from arroyo_nb.schema import BIGINT, Field, Schema

FILE, INCLUDE = "protobuf.file", "protobuf.include"
SET, TEXT = "protobuf.descriptor_set", "protobuf.schema"
MESSAGE = "protobuf.message"


def schema(**options):
    return read_schema("t", {f"protobuf.{name}": v for name, v in options.items()})


def refused(kind=CatalogProblem, **options):
    with pytest.raises(kind) as told:
        schema(**options)
    return f"{told.value.message} / {told.value.hint}"


@pytest.fixture
def flight(tmp_path):
    path = tmp_path / "flight.proto"
    path.write_text(FLIGHT)
    return path


def fields(found):
    return [field.name for field in found.descriptor.fields]


def test_a_file_a_text_and_a_set_of_descriptors_say_the_same(tmp_path, flight):
    found = schema(file=str(flight), message="Flight")
    made = tmp_path / "descriptors"
    made.write_bytes(found.files)
    for other in (
        schema(schema=FLIGHT, message="t.Flight"),
        schema(descriptor_set=str(made), message="Flight"),
    ):
        assert other.name == found.name == "t.Flight"
        assert fields(other) == fields(found) == ["flight", "id", "leg"]


def test_imports_are_found_beside_the_file_and_in_folders(tmp_path):
    (tmp_path / "lib" / "deep").mkdir(parents=True)
    (tmp_path / "lib" / "deep" / "a.proto").write_text(HEAD + "message A {}")
    (tmp_path / "b.proto").write_text(HEAD + "message B {}")
    path = tmp_path / "m.proto"
    path.write_text(
        HEAD
        + 'import "deep/a.proto"; import "b.proto"; message M { A a = 1; B b = 2; }'
    )
    options = {"file": str(path), "include": f"{tmp_path}/none, {tmp_path}/lib"}
    assert fields(schema(**options)) == ["a", "b"]
    # A file of one of the folders is called by its path in that.
    inside = tmp_path / "lib" / "deep" / "a.proto"
    assert schema(file=str(inside), include=f"{tmp_path}/lib").name == "t.A"
    said = refused(file=str(path))
    assert "deep/a.proto: File not found" in said
    assert "'protobuf.include' = 'folder, other folder'" in said


def test_an_error_has_its_file_line_and_column(tmp_path):
    path = tmp_path / "bad.proto"
    path.write_text('syntax = "proto3";\nmessage M { strin x = 1; }\n')
    said = refused(file=str(path))
    assert "the table 't': " in said
    assert 'bad.proto:2:13: "strin" is not defined.' in said
    assert "schema.proto:1:9" in refused(schema="message = 5;")


def test_a_changed_file_is_read_again(flight):
    before = schema(file=str(flight), message="Flight")
    flight.write_text(FLIGHT.replace("Leg leg = 3;", "Leg leg = 3; bool new = 4;"))
    after = schema(file=str(flight), message="Flight")
    assert fields(after) == [*fields(before), "new"]


@pytest.fixture
def compilations(monkeypatch):
    """The commands of protoc."""
    run, commands = subprocess.run, []

    def counting(command, **options):
        commands.append(command)
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", counting)
    return commands


def test_a_file_is_compiled_once_until_it_or_what_it_imports_changes(
    tmp_path, compilations
):
    first, lib = tmp_path / "first", tmp_path / "lib"
    first.mkdir()
    lib.mkdir()
    (lib / "a.proto").write_text(HEAD + "message A { bool x = 1; }")
    path = tmp_path / "m.proto"
    path.write_text(HEAD + 'import "a.proto"; message M { A a = 1; }')
    options = {"file": str(path), "include": f"{first}, {lib}"}

    def inner():
        found = schema(**options, message="M")
        return fields(found), [
            field.name for field in found.descriptor.fields[0].message_type.fields
        ]

    assert [inner(), inner()] == [(["a"], ["x"])] * 2
    assert len(compilations) == 1
    (lib / "a.proto").write_text(HEAD + "message A { bool y = 1; }")
    assert [inner(), inner()] == [(["a"], ["y"])] * 2
    assert len(compilations) == 2
    # Another file of the name is found before it.
    (first / "a.proto").write_text(HEAD + "message A { bool z = 1; }")
    assert [inner(), inner()] == [(["a"], ["z"])] * 2
    assert len(compilations) == 3
    # As long and as old as the one before.
    other, before = tmp_path / "other", path.stat()
    other.write_text(HEAD + 'import "a.proto"; message M { A b = 1; }')
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    assert inner() == (["b"], ["z"])


def test_a_message_is_named_where_there_are_several():
    said = refused(schema=FLIGHT)
    assert "has 2 messages" in said
    assert "'protobuf.message' = 't.Leg' or 't.Flight'" in said
    assert "did you mean 't.Flight'?" in refused(schema=FLIGHT, message="t.Fligth")
    nested = HEAD + "message A { message C {} } message B { message C {} }"
    assert "'C' is the name of 2 messages" in refused(schema=nested, message="C")
    assert schema(schema=nested, message="B.C").name == "t.B.C"
    assert "has no message" in refused(schema=HEAD)


def test_the_only_message_needs_no_name():
    text = HEAD + 'import "google/protobuf/any.proto"; message M { message In {} }'
    assert schema(schema=text).name == "t.M"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "needs the schema of its records"),
        ({"file": "a", "schema": "b"}, "at most one of 'protobuf.file' and"),
        ({"schema": HEAD, "include": "x"}, "only of use with 'protobuf.file'"),
    ],
)
def test_one_option_says_the_schema(options, said):
    assert said in refused(**options)


def test_a_set_without_its_imports_is_refused(tmp_path):
    (tmp_path / "a.proto").write_text(HEAD + "message A {}")
    path = tmp_path / "m.proto"
    path.write_text(HEAD + 'import "a.proto"; message M { A a = 1; }')
    whole = FileDescriptorSet.FromString(schema(file=str(path)).files)
    made = tmp_path / "descriptors"
    made.write_bytes(FileDescriptorSet(file=[whole.file[-1]]).SerializeToString())
    said = refused(descriptor_set=str(made))
    assert "lacks the file 'a.proto', which 'm.proto' imports" in said
    assert "--include_imports" in said
    # Whatever order they have in it.
    whole.file.sort(key=lambda file: file.name, reverse=True)
    made.write_bytes(whole.SerializeToString())
    assert schema(descriptor_set=str(made)).name == "t.M"


def test_a_set_need_not_have_the_files_of_google(tmp_path):
    text = HEAD + 'import "google/protobuf/any.proto"; '
    text += "message M { google.protobuf.Any a = 1; }"
    whole = FileDescriptorSet.FromString(compiled(text).files)
    made = tmp_path / "descriptors"
    made.write_bytes(FileDescriptorSet(file=[whole.file[-1]]).SerializeToString())
    assert fields(schema(descriptor_set=str(made))) == ["a"]


@pytest.mark.parametrize("content", [b"", b"no descriptors", b"\xff" * 20])
def test_what_is_no_set_of_descriptors_is_refused(tmp_path, content):
    made = tmp_path / "descriptors"
    made.write_bytes(content)
    assert "no set of descriptors" in refused(descriptor_set=str(made))


@pytest.mark.parametrize("option", ["file", "descriptor_set"])
def test_a_missing_file_is_told(option):
    said = refused(RunProblem, **{option: "none.proto"})
    assert said.startswith(f"there is no file at 'protobuf.{option}' of 't'")


@pytest.mark.parametrize("option", ["file", "descriptor_set"])
def test_a_file_outside_the_allowed_folders_is_not_read(
    tmp_path, flight, monkeypatch, option
):
    (tmp_path / "allowed").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "allowed"))
    said = refused(RunProblem, **{option: str(flight)})
    assert f"'protobuf.{option}' of 't' leads out of the folders" in said
    assert str(flight) not in said


def test_an_imported_file_may_not_lead_out_of_the_allowed_folders(
    tmp_path, monkeypatch
):
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (tmp_path / "secret.proto").write_text(HEAD + "message A {}")
    (allowed / "a.proto").symlink_to(tmp_path / "secret.proto")
    path = allowed / "m.proto"
    path.write_text(HEAD + 'import "a.proto"; message M { A a = 1; }')
    assert fields(schema(file=str(path))) == ["a"]
    monkeypatch.setenv(VARIABLE, str(allowed))
    said = refused(RunProblem, file=str(path))
    assert "leads out of the folders that are allowed" in said


@pytest.mark.parametrize("folder", ["x:y", "x=y"])
def test_a_folder_is_one_folder_to_protoc(tmp_path, folder):
    (tmp_path / folder).mkdir()
    path = tmp_path / "m.proto"
    path.write_text(HEAD + "message M {}")
    said = refused(file=str(path), include=str(tmp_path / folder))
    assert "no folder with ':', ';' or '='" in said


@pytest.mark.parametrize("name", ["-I.proto", "@m.proto"])
def test_a_file_is_no_option_of_protoc(tmp_path, name):
    path = tmp_path / name
    path.write_text(HEAD + "message M {}")
    assert "no file whose name begins with '-' or '@'" in refused(file=str(path))


def test_a_path_may_go_up(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "m.proto").write_text(HEAD + "message M { int32 id = 1; }")
    monkeypatch.chdir(tmp_path / "here")
    assert fields(schema(file="../m.proto")) == ["id"]
    assert fields(schema(file="../m.proto", include="..")) == ["id"]


def test_a_missing_package_is_told(flight, monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc_tools", None)
    said = refused(RunProblem, file=str(flight))
    assert "the table 't' needs the package grpcio-tools" in said
    assert "pip install 'arroyo-nb[protobuf]'" in said


def test_a_worker_needs_neither_the_file_nor_protoc(flight, monkeypatch):
    columns = Schema((Field("id", BIGINT),))
    options = {"format": "protobuf", FILE: str(flight), MESSAGE: "Flight"}
    options |= {"topic": "t", "schema_registry.api_secret": "s3cret"}
    spec = TableSpec("t", columns, options)
    sent = pickle.dumps(decoding_options(CONNECTORS.get("kafka"), spec))
    assert b"s3cret" not in sent
    flight.unlink()
    monkeypatch.setitem(sys.modules, "grpc_tools", None)
    given = pickle.loads(sent)
    made = payload_format("protobuf").payload_decoder(columns, given, None)
    found = made.decode(pa.array([b"\x10\x05"], pa.binary()))
    assert found.rows.to_pylist() == [{"id": 5}]
