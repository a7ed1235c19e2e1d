"""Topics of Avro: what a sink writes with a schema registry is what a source reads."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from avro_records import datum, record
from schema_registry import serving

from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.schema_registry.prefix import prefix

AVRO = {"format": "avro", "avro__confluent_schema_registry": "true"}
COLUMNS = "id INT NOT NULL, name TEXT, price DECIMAL(9, 2), at TIMESTAMP, tags TEXT[]"
ROWS = [
    {"id": 1, "name": "é", "price": "1.50", "at": "2024-02-29T01:02:03", "tags": ["a"]},
    {"id": 2, "name": None, "price": None, "at": None, "tags": None},
]


@pytest.fixture
def registry():
    with serving(("me", "hush")) as (url, known):
        options = {
            "schema_registry__endpoint": url,
            "schema_registry__api_key": "me",
            "schema_registry__api_secret": "hush",
        }
        yield options, known


def insert(path, sink):
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return (
        f"CREATE TABLE lines ({COLUMNS}) WITH (connector = 'single_file', "
        f"type = 'source', format = 'json', path = '{path}');\n"
        f"{sink}INSERT INTO out SELECT * FROM lines;"
    )


@pytest.mark.parametrize("mode", ["at_least_once", "exactly_once"])
@pytest.mark.parametrize("options", [AVRO, {"format": "avro"}])
def test_what_is_written_is_read(
    new_topic, session, rows, registry, tmp_path, mode, options
):
    made, (asked_by, known) = new_topic(), registry
    given = {**options, **asked_by}
    sink = made.sink(COLUMNS, sink__commit_mode=mode, **given)
    session.run(insert(tmp_path / "rows.json", sink), wait=True)
    values = {record.value()[:4] for record in made.records()}
    if options is AVRO:
        (schema,) = known.schemas
        assert [*known.subjects] == [f"{made.name}-value"]
        assert json.loads(schema["schema"])["name"] == "ArroyoAvro"
        assert values == {b"\0\0\0\0"}
    else:
        assert values == {b"Obj\1"}
    found = rows(made.declared(COLUMNS, **given) + "SELECT * FROM t", 2)
    first, second = sorted(found, key=lambda row: row[0])
    assert first[:2] == (1, "é")
    assert str(first[2]) == "1.50"
    assert first[3:] == (datetime(2024, 2, 29, 1, 2, 3), ["a"])
    assert second == (2, None, None, None, None)


def test_records_of_several_schemas_and_bad_ones(new_topic, session, rows, registry):
    made, (asked_by, known) = new_topic(), registry
    old, new = record(id="int"), record(id="long", name=["null", "string"])
    ids = [known.add(json.dumps(schema)) for schema in (old, new)]
    made.send(
        prefix(ids[0]) + datum(old, {"id": 1}),
        prefix(ids[1]) + datum(new, {"id": 2, "name": "b"}),
        prefix(77) + b"\x02",
        b"no",
    )
    columns, given = "id INT, name TEXT", {**AVRO, **asked_by}
    dropped = made.declared(columns, bad_data="drop", **given)
    assert rows(dropped + "SELECT * FROM t", 2) == [(1, None), (2, "b")]
    script = made.declared(columns, **given) + "SELECT * FROM t"
    with pytest.raises(DataProblem, match=r"\[0\] offset 2: .* knows no schema 77"):
        rows(script, 5)


def test_a_registry_that_refuses_a_source_ends_the_run(new_topic, rows, registry):
    made, (asked_by, _) = new_topic(), registry
    made.send(prefix(1) + b"\x02")
    given = {**AVRO, **asked_by, "schema_registry__api_secret": "canary-7"}
    script = made.declared("id INT", **given) + "SELECT * FROM t"
    with pytest.raises(RunProblem, match="refuses: wrong credentials") as told:
        rows(script, 1)
    assert "canary" not in str(told.value)


def test_json_of_a_registry_is_checked(new_topic, rows, registry):
    made, (asked_by, known) = new_topic(), registry
    good, other = known.add("{}", "JSON"), known.add('"int"')
    made.send(prefix(good) + b'{"id": 5}', prefix(other) + b'{"id": 6}')
    given = {"json__confluent_schema_registry": "true", "bad_data": "drop", **asked_by}
    assert rows(made.declared("id INT", **given) + "SELECT * FROM t", 1) == [(5,)]


def test_rows_of_python_are_emitted(new_topic, session, rows, registry, monkeypatch):
    monkeypatch.setenv("REGISTRY_WORD", "hush")
    made, (asked_by, _) = new_topic(), registry
    given = {**AVRO, **asked_by, "schema_registry__api_secret": "{{ REGISTRY_WORD }}"}
    script = made.declared("id INT, name TEXT", **given)
    session.run(script)
    session.emit("t", [{"id": 1, "name": "a"}, {"id": 2}])
    assert rows("SELECT * FROM t", 2) == [(1, "a"), (2, None)]


def test_a_recording_gives_the_same_rows(
    new_topic, session, broker, rows, registry, tmp_path, monkeypatch
):
    monkeypatch.setenv("REGISTRY_WORD", "hush")
    session.broker = broker
    made, (asked_by, known) = new_topic(), registry
    number = known.add(json.dumps(record(id="int", name="string")))
    values = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    schema = record(id="int", name="string")
    made.send(*(prefix(number) + datum(schema, value) for value in values))
    path = tmp_path / "a.tape"
    session.record(made.name, path, most=2, begin="earliest", stop_after="60s")
    given = {**asked_by, "schema_registry__api_secret": "{{ REGISTRY_WORD }}"}
    pairs = {"connector": "tape", "path": path, **AVRO, **given}
    listed = ", ".join(f"'{k.replace('__', '.')}' = '{v}'" for k, v in pairs.items())
    script = f"CREATE TABLE t (name TEXT, id INT) WITH ({listed}); SELECT * FROM t"
    assert rows(script, 2) == [("a", 1), ("b", 2)]
