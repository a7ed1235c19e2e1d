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


def lines(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return (
        f"CREATE TABLE lines ({COLUMNS}) WITH (connector = 'single_file', "
        f"type = 'source', format = 'json', path = '{path}');\n"
    )


CASES = {
    f"{form}_{mode}": (given, mode)
    for form, given in (("framed", AVRO), ("file", {"format": "avro"}))
    for mode in ("at_least_once", "exactly_once")
}


def test_what_is_written_is_read(new_topic, session, rows, registry, tmp_path):
    asked_by, known = registry
    made, script, selects = {}, lines(tmp_path / "rows.json"), []
    read = ""
    for name, (given, mode) in CASES.items():
        made[name], options = new_topic(), {**given, **asked_by}
        script += made[name].sink(COLUMNS, name, sink__commit_mode=mode, **options)
        script += f"INSERT INTO {name} SELECT * FROM lines;\n"
        read += made[name].declared(COLUMNS, f"of_{name}", **options)
        selects.append(f"SELECT '{name}' AS written, * FROM of_{name}")
    session.run(script, wait=True)
    framed = [made[name] for name, (given, _) in CASES.items() if given is AVRO]
    assert {*known.subjects} == {f"{topic.name}-value" for topic in framed}
    (schema,) = known.schemas
    assert json.loads(schema["schema"])["name"] == "ArroyoAvro"
    for topic in made.values():
        values = {record.value()[:4] for record in topic.records()}
        assert values == ({b"\0\0\0\0"} if topic in framed else {b"Obj\1"})
    found = rows(read + "\nUNION ALL ".join(selects), len(ROWS) * len(CASES))
    for name in CASES:
        mine = [row[1:] for row in found if row[0] == name]
        first, second = sorted(mine, key=lambda row: row[0])
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
