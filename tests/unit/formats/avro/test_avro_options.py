"""Tables of Avro: which options they take, and what reaches the workers."""

from __future__ import annotations

import pickle
import re

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS, decoding_options
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.rewrites.strict import refused_by_arroyo
from arroyo_nb.schema import arrow_schema

KAFKA = "connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', format = 'avro'"
SECRET = "canary-5"
RAW = "'avro.raw_datums' = true"
REGISTRY = "'avro.confluent_schema_registry' = true"
ENDPOINT = "'schema_registry.endpoint' = 'http://h:1'"
RECORD = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
SCHEMA = f"'avro.schema' = '{RECORD}'"


def source(*options, columns="a INT", start=KAFKA):
    given = ", ".join([start, *options])
    kind = "" if "'tape'" in start else ", type = 'source'"
    return f"CREATE TABLE t ({columns}) WITH ({given}{kind}); SELECT * FROM t"


@pytest.mark.parametrize(
    "options", [[], [REGISTRY, ENDPOINT], [RAW, SCHEMA], [REGISTRY, SCHEMA]]
)
def test_a_source_may_be_declared(options):
    assert spec(source(*options)).options["format"] == "avro"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([RAW], r"required option 'avro\.schema' not set"),
        ([REGISTRY], r"required option 'schema_registry\.endpoint' not set"),
        ([RAW, REGISTRY, ENDPOINT, SCHEMA], "at most one of `avro.confluent_schema_r"),
        ([RAW, SCHEMA, "'avro.schema_file' = 'x'"], "at most one of `avro.schema` and"),
        ([SCHEMA], r"'avro\.schema' is only of use with 'avro\.raw_datums' or"),
        ([RAW, "'avro.schema' = '{'"], "the text is no Avro schema: it is not JSON"),
        (["framing = 'newline'"], "records of Avro are not lines"),
        (
            [RAW, SCHEMA.replace('"int"', '"string"')],
            "does not have the columns: 'a' is INT, the schema has string",
        ),
        (
            ["'avro.into_unstructured_json' = true"],
            "requires a schema with a single field called `value` of type JSON",
        ),
    ],
)
def test_a_source_that_is_refused(options, why):
    with pytest.raises(ArroyoError, match=why):
        plan_script(source(*options), Catalog())


def test_a_source_that_has_no_registry_is_told_what_to_write():
    with pytest.raises(ArroyoError) as told:
        plan_script(source(REGISTRY), Catalog())
    assert "another connector asks no registry: give it 'avro.schema'" in str(
        told.value
    )


EVERY = """{"type": "record", "name": "R", "fields": [
    {"name": "id", "type": "long"},
    {"name": "name", "type": ["null", "string"]},
    {"name": "price",
     "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
    {"name": "more", "type": {"type": "map", "values": "int"}},
    {"name": "any", "type": ["int", "string"]},
    {"name": "inner", "type": {"type": "record", "name": "I", "fields": [
        {"name": "n", "type": ["null", "int"]}, {"name": "again", "type": "I"}]}},
    {"name": "next", "type": ["null", "R"]}]}"""


def without_columns(*options):
    return source(*options).replace("CREATE TABLE t (a INT)", "CREATE TABLE t")


def test_a_declared_schema_gives_columns_to_a_table_without_any():
    made = spec(without_columns(RAW, f"'avro.schema' = '{EVERY}'"))
    assert str(made.physical) == (
        "id BIGINT NOT NULL, name TEXT, price DECIMAL(9, 2) NOT NULL, "
        "at TIMESTAMP(3) NOT NULL, day TIMESTAMP NOT NULL, tags TEXT[] NOT NULL, "
        "more STRUCT<key TEXT, value INT>[] NOT NULL, any JSON NOT NULL, "
        "inner STRUCT<n INT, again JSON> NOT NULL, next JSON"
    )
    made = spec(without_columns("'avro.into_unstructured_json' = true"))
    assert str(made.physical) == "value JSON"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([REGISTRY, ENDPOINT], "a source needs its columns"),
        (
            [RAW, "'avro.schema' = '\"int\"'"],
            "the Avro schema is int, and of no record",
        ),
        ([RAW, "'avro.schema' = '{'"], "the text is no Avro schema"),
        ([RAW, SCHEMA.replace('"a"', '"_timestamp"')], "'_timestamp' is a hidden"),
    ],
)
def test_what_gives_no_columns(options, why):
    with pytest.raises(ArroyoError, match=why):
        plan_script(without_columns(*options), Catalog())


def test_a_sink_reads_nothing():
    sink = f"CREATE TABLE t (a INT) WITH ({KAFKA}, type = 'sink', {SCHEMA})"
    with pytest.raises(ArroyoError, match="unknown options") as told:
        plan_script(sink, Catalog())
    assert "only a source has 'avro.schema'" in str(told.value)
    needs = f"CREATE TABLE t (a INT) WITH ({KAFKA}, type = 'sink', {REGISTRY})"
    with pytest.raises(ArroyoError) as told:
        plan_script(needs, Catalog())
    assert str(told.value).count("'schema_registry.endpoint' not set") == 1


def test_real_time_mode_is_refused_with_the_reason():
    from arroyo_nb.plan.real_time import real_time_note

    into = f"CREATE TABLE o (a INT) WITH ({KAFKA}, type = 'sink'); INSERT INTO o "
    script = source().replace("SELECT", f"{into}SELECT")
    note = real_time_note(plan_script(script, Catalog()).sinks[0])
    assert "the records of 't' are decoded in Python: they are Avro" in note
    assert "the records of 'o' are encoded in Python" in note


def test_flinks_name_is_explained():
    with pytest.raises(ArroyoError, match="unknown format 'avro-confluent'") as told:
        plan_script(source().replace("'avro'", "'avro-confluent'"), Catalog())
    assert "'avro.confluent_schema_registry' = 'true'" in str(told.value)


def test_what_a_worker_gets_has_the_registry_only_where_it_is_asked():
    secret = f"'schema_registry.api_secret' = '{SECRET}'"
    login = [ENDPOINT, "'schema_registry.api_key' = 'me'", secret]
    connector = CONNECTORS.get("kafka")
    asked = decoding_options(connector, spec(source(REGISTRY, *login)))
    assert asked["schema_registry.api_secret"] == SECRET
    assert "bootstrap_servers" not in asked
    for options in ([*login], [REGISTRY, SCHEMA, *login]):
        given = decoding_options(connector, spec(source(*options)))
        assert not [name for name in given if name.startswith("schema_registry")]


def spec(script):
    from arroyo_nb.plan.nodes import Source
    from arroyo_nb.plan.tree import walk

    (sink,) = plan_script(script, Catalog()).sinks
    (found,) = [node for node in walk(sink) if isinstance(node, Source)]
    return found.table.spec


def test_a_worker_shows_no_secret():
    from arroyo_nb.records import Records

    secret = f"'schema_registry.api_secret' = '{SECRET}'"
    made = spec(source(REGISTRY, ENDPOINT, secret))
    options = decoding_options(CONNECTORS.get("kafka"), made)
    columns = arrow_schema(made.physical)
    given = (made.record, columns, options, None, (), {}, ("_timestamp",))
    worker = Records("t", "avro", *given, windowed=False)
    assert SECRET not in repr(worker)
    assert pickle.loads(pickle.dumps(worker)).options == options


def test_a_file_with_a_schema_is_read_where_the_run_starts(tmp_path):
    path = tmp_path / "r.avsc"
    path.write_text(RECORD)
    made = spec(source(RAW, f"'avro.schema_file' = '{path}'"))
    connector = CONNECTORS.get("kafka")
    assert decoding_options(connector, made)["avro.schema"] == RECORD
    path.unlink()
    with pytest.raises(RunProblem, match=r"r\.avsc"):
        decoding_options(connector, made)


def test_a_tape_may_ask_a_registry_as_well(tmp_path):
    start = f"connector = 'tape', path = '{tmp_path}', format = 'avro'"
    made = spec(source(REGISTRY, ENDPOINT, start=start))
    options = decoding_options(CONNECTORS.get("tape"), made)
    assert options["schema_registry.endpoint"] == "http://h:1"
    with pytest.raises(ArroyoError, match="not set"):
        plan_script(source(REGISTRY, start=start), Catalog())


@pytest.mark.parametrize(("secret", "kept"), [(SECRET, False), ("{{ WORD }}", True)])
def test_the_table_of_a_recording_asks_the_same_registry(secret, kept):
    from arroyo_nb.kafka.peek.create_table import tape_table_like
    from arroyo_nb.plan.nodes import Source
    from arroyo_nb.plan.tree import walk

    word = f"'schema_registry.api_secret' = '{secret}'"
    (sink,) = plan_script(source(REGISTRY, ENDPOINT, word), Catalog()).sinks
    (found,) = [node.table for node in walk(sink) if isinstance(node, Source)]
    text = tape_table_like(found, "/tapes/t")
    assert ENDPOINT in text
    assert (secret in text) is kept
    plan_script(text, Catalog())


FLIGHTS = "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');"


def into(*options):
    given = ", ".join([*options, "type = 'sink'", "format = 'avro'"])
    return f"""{FLIGHTS} CREATE TABLE o WITH ({given});
        INSERT INTO o SELECT origin FROM flights"""


FOLDER = "connector = 'filesystem', path = '/tmp/o'"
LAKES = (
    "connector = 'delta', path = '/tmp/o'",
    "connector = 'iceberg', table_name = 'o', 'catalog.type' = 'rest', "
    "'catalog.rest.url' = 'http://h'",
)


@pytest.mark.parametrize("lake", LAKES)
def test_tables_of_a_lake_are_no_files_of_avro(lake):
    with pytest.raises(ArroyoError, match="does not take the format 'avro'") as told:
        plan_script(into(lake), Catalog())
    assert "write format = 'parquet'" in str(told.value)


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (RAW, r"unknown options .*'avro\.raw_datums'"),
        ("'json.compression' = 'gzip'", "is for lines, not for Avro files"),
        ("'avro.codec' = 'zstandard'", "write 'avro.compression' = 'zstd' in place"),
        ("'avro.compression' = 'lzma'", "avro.compression"),
    ],
)
def test_options_that_files_do_not_have(option, why):
    with pytest.raises(ArroyoError) as told:
        plan_script(into(FOLDER, option), Catalog())
    assert re.search(why, str(told.value))


def test_a_topic_has_no_codec():
    with pytest.raises(ArroyoError, match=r"unknown options .*'avro\.compression'"):
        plan_script(into(KAFKA, "'avro.compression' = 'snappy'"), Catalog())


def test_arroyo_has_no_files_of_avro():
    (sink,) = plan_script(into(FOLDER), Catalog()).sinks
    (said,) = [message for _, message in refused_by_arroyo(sink)]
    assert said == "the format 'avro' is not supported for this connector"
    (sink,) = plan_script(into(KAFKA), Catalog()).sinks
    assert not list(refused_by_arroyo(sink))
