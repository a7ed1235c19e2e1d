"""Tables of messages while they are planned: columns, paths, what Arroyo says."""

from __future__ import annotations

import re

import pytest
from proto_schemas import FLIGHT, HEAD, compiled

from arroyo_nb.allowed_roots import Roots
from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan.paths import outside
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.real_time import real_time_note
from arroyo_nb.plan.requirements import python_packages
from arroyo_nb.plan.rewrites.strict import refused_by_arroyo
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import prepare
from arroyo_nb.run.sources.fit_notes import recorded_notes
from arroyo_nb.session import Session
from arroyo_nb.state.identity import plan_identity
from arroyo_nb.tape.records import RecordWriter, TapeRecord


def declared(columns="flight TEXT", type_="source", name="t", **options):
    given = {
        "connector": "kafka",
        "bootstrap_servers": "localhost:9092",
        "topic": "t",
        "type": type_,
        "format": "protobuf",
        "protobuf__message": "Flight",
        **options,
    }
    pairs = ", ".join(f"'{k.replace('__', '.')}' = '{v}'" for k, v in given.items())
    listed = f"({columns}) " if columns else ""
    return f"CREATE TABLE {name} {listed}WITH ({pairs});\n"


def planned(script):
    return plan_script(script, Catalog())


def refused(script):
    with pytest.raises(ArroyoError) as told:
        planned(script)
    return str(told.value)


def test_columns_are_checked_where_the_schema_can_be_read():
    script = declared("flihgt TEXT", protobuf__schema=FLIGHT)
    said = refused(script)
    assert "Failed to create table t caused by the message 't.Flight' has no" in said
    assert "did you mean 'flight'?" in said
    assert "declare it BIGINT" in refused(declared("id TEXT", protobuf__schema=FLIGHT))


def test_a_sink_takes_its_columns_of_a_query_and_they_are_checked_too():
    script = declared(protobuf__schema=FLIGHT)
    script += declared("", "sink", "out", protobuf__schema=FLIGHT)
    planned(script + "INSERT INTO out SELECT flight FROM t")
    said = refused(script + "INSERT INTO out SELECT flight AS f FROM t")
    assert "has no field for the column 'f'" in said


@pytest.mark.parametrize("path", ["none.proto", "{{ FOLDER }}/flight.proto"])
def test_what_only_a_run_can_read_is_not_missed_by_the_planner(path):
    planned(declared("anything TEXT", protobuf__file=path) + "SELECT * FROM t")


def test_a_table_without_a_schema_is_refused():
    assert "needs the schema of its records" in refused(declared())
    both = {"protobuf__schema": FLIGHT, "protobuf__file": "x"}
    assert "at most one of 'protobuf.file'" in refused(declared(**both))


def test_the_newest_schema_of_a_registry_needs_its_address():
    options = {"protobuf__confluent_schema_registry": "true"}
    said = refused(declared(**options))
    assert "required option 'schema_registry.endpoint' not set" in said
    options["schema_registry__endpoint"] = "http://127.0.0.1:8081"
    planned(declared(**options) + "SELECT * FROM t")


def test_arroyo_refuses_such_a_table():
    script = declared(protobuf__schema=FLIGHT)
    script += declared("flight TEXT", "sink", "out", protobuf__schema=FLIGHT)
    plan = planned(script + "INSERT INTO out SELECT flight FROM t")
    said = {message for sink in plan.sinks for _, message in refused_by_arroyo(sink)}
    assert said == {"Protobuf is not yet supported in CREATE TABLE statements"}


def test_arroyo_refuses_lengths_of_any_format():
    options = {"format": "json", "framing": "length"}
    script = declared(**options).replace("'protobuf.message' = 'Flight', ", "")
    (sink,) = planned(script + "SELECT * FROM t").sinks
    said = [message for _, message in refused_by_arroyo(sink)]
    assert said == ["Unknown framing method 'length'"]


def test_a_job_needs_what_compiles_its_schemas():
    plan = planned(declared(protobuf__schema=FLIGHT) + "SELECT * FROM t")
    assert python_packages(plan) == ("confluent-kafka", "grpcio-tools")


def test_real_time_mode_has_no_messages():
    script = declared(protobuf__schema=FLIGHT)
    script += declared("flight TEXT", "sink", "out", protobuf__schema=FLIGHT)
    (sink,) = planned(script + "INSERT INTO out SELECT flight FROM t").sinks
    said = str(real_time_note(sink))
    assert "decoded in Python: they are messages of Protocol Buffers" in said
    assert "the records of 'out' are encoded in Python" in said


def test_files_outside_the_allowed_folders_are_told_with_their_options(tmp_path):
    inside = tmp_path / "flight.proto"
    inside.write_text(FLIGHT)
    script = declared(protobuf__file=str(inside), protobuf__include="/usr, /var")
    plan = planned(script + "SELECT * FROM t")
    found = outside(plan, Roots((tmp_path.resolve(),)))
    assert [p.message for p in found] == [
        "the option 'protobuf.include' of 't' leads out of the folders that are allowed"
    ]
    assert outside(plan, Roots()) == []


def test_another_text_of_the_schema_is_the_same_table():
    one = planned(declared(protobuf__schema=FLIGHT) + "SELECT * FROM t")
    more = FLIGHT.replace("Leg leg = 3;", "Leg leg = 3; bool new = 4;")
    two = planned(declared(protobuf__schema=more) + "SELECT * FROM t")
    assert plan_identity(one) == plan_identity(two)


def test_a_recording_of_a_newer_producer_is_noted_with_its_records(tmp_path):
    newer = FLIGHT.replace("Leg leg = 3;", "Leg leg = 3; bool new = 4;")
    cls = compiled(newer, "Flight").message_class
    with RecordWriter(tmp_path / "tape", "flights") as writer:
        for n in range(20):
            payload = cls(id=n, flight="a", new=n < 12).SerializeToString()
            writer.append(TapeRecord(0, n, n, None, payload), n)
        writer.finish()
    options = {"connector": "tape", "path": str(tmp_path / "tape")}
    script = declared("id BIGINT", protobuf__schema=FLIGHT, **options)
    for name in ("bootstrap_servers", "topic", "type"):
        script = re.sub(rf"'{name}' = '[^']*', ", "", script)
    session = Session()
    session.run(script)
    assert recorded_notes(session.catalog.get("t")) == (
        "12 records have fields that the schema of the table lacks, or has as another "
        "type: written by another version of it",
    )


def refused_run(script, *, sinks=True):
    with pytest.raises(ArroyoError) as told:
        prepare("r", planned(script), RunOptions(sinks=sinks))
    return str(told.value)


@pytest.mark.parametrize("option", ["protobuf.file", "protobuf.descriptor_set"])
def test_a_missing_file_is_told_at_its_option_before_anything_runs(
    option, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    script = declared("id BIGINT", **{option.replace(".", "__"): "protos/gone.proto"})
    said = refused_run(script + "SELECT * FROM t")
    place = script.index(f"'{option}'") + 1
    assert said.splitlines()[0] == (
        f"<cell>:1:{place}: there is no file at '{option}' of 't': 'protos/gone.proto'"
    )
    assert f"looked for at '{tmp_path}/protos/gone.proto'" in said
    assert f"paths are relative to '{tmp_path}'" in said


def test_the_value_of_a_variable_is_in_no_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PROTOS", f"{tmp_path}/secret")
    script = declared("id BIGINT", protobuf__file="{{ PROTOS }}/gone.proto")
    said = refused_run(script + "SELECT * FROM t")
    assert "of 't': '{{ PROTOS }}/gone.proto'" in said
    assert "secret" not in said


def test_every_missing_file_is_told_of_sinks_only_where_they_are_written(tmp_path):
    script = declared("id BIGINT", protobuf__file="a.proto")
    script += declared("id BIGINT", "sink", "out", protobuf__file="b.proto")
    script += "INSERT INTO out SELECT id FROM t"
    said = refused_run(script)
    assert "of 't': 'a.proto'" in said
    assert "of 'out': 'b.proto'" in said
    assert "of 'out'" not in refused_run(script, sinks=False)


def test_a_missing_import_is_told_with_the_folders_at_the_option(tmp_path):
    path = tmp_path / "m.proto"
    path.write_text(HEAD + 'import "deep/a.proto"; message Flight { int64 id = 1; }')
    folders = f"{tmp_path}/one, {tmp_path}/two"
    script = declared("id BIGINT", protobuf__file=str(path), protobuf__include=folders)
    said = refused(script)
    assert said.startswith(f"<cell>:1:{script.index(chr(39) + 'protobuf.file') + 1}: ")
    assert "deep/a.proto: File not found" in said
    assert f"looked for in '{tmp_path}/one', '{tmp_path}/two', '{tmp_path}'" in said
