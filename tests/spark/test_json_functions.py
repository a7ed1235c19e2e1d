"""The functions of JSON in Spark's expressions, against the exact reference."""

from __future__ import annotations

import json
from random import Random

import pytest
from bound import call, col, lit
from json_reference import FUNCTIONS, called, random_document, selected

from arroyo_nb.plan.expressions.literals import number
from arroyo_nb.schema import TEXT
from arroyo_nb.spark.expressions import spark_sql

PATHS = (
    *([], ["a"], ["b"], ["a b"], ["é"], ['x"y'], ["it's"], [""], ["n.m"]),
    *(["a", "b"], ["a", "a"], ["b", "id"], ["a", "b", "id"], ["id", "é"]),
    *([0], [1], [-1], ["a", 0], ["a", 1, "b"], [0, "a"], [0, 0], ["b", 2]),
)
ALL = (*FUNCTIONS, "json_contains")


def path_literals(path):
    return [lit(s) if isinstance(s, str) else number(str(s)) for s in path]


def computed(engine, documents, columns):
    """What SQL over ``v`` gives for each document, by the name of the column."""

    def run():
        rows = [(n, text) for n, text in enumerate(documents)]
        frame = engine.session.createDataFrame(rows, "n int, v string")
        written = [f"{sql} AS c{n}" for n, sql in enumerate(columns.values())]
        return frame.selectExpr("n", *written).toArrow().sort_by("n")

    found = engine.worker.call(run)
    return {name: found[f"c{n}"].to_pylist() for n, name in enumerate(columns)}


def unlike(engine, documents, paths, functions=ALL):
    cases = {(f, json.dumps(path)): path for path in paths for f in functions}
    columns = {
        (f, path): spark_sql(
            call(f, col("v", TEXT), *path_literals(steps)), row_time="x"
        )
        for (f, path), steps in cases.items()
    }
    found = computed(engine, documents, columns)
    return [
        (f, path, document, value, wanted)
        for (f, path), steps in cases.items()
        for document, value in zip(documents, found[f, path], strict=True)
        if value != (wanted := called(f, document, steps))
    ]


def documents(seed: int, count: int) -> list[str | None]:
    random = Random(seed)
    return [None, *(random_document(random) for _ in range(count))]


SOME = (["a"], ["b", "id"], ["a", 1, "b"], ["a", 0], [], ['x"y'])
BEHIND = ['{"w":7}}', '{"w":7} trailing', '{"w":7}\t', '\n{"w":\n7}\x00']
RAW = ['["a\tb"]', '{"w":7,"x":"a\nb"}', '{"w":7,"x\x01":1}', '{"w\n":7}']
"""Documents with something behind them, and texts with raw control characters."""


def test_random_documents(engine):
    assert not unlike(engine, [*documents(18, 100), *BEHIND, *RAW], SOME)[:5]


@pytest.mark.long("formats")
@pytest.mark.parametrize("function", ALL)
def test_many_random_documents(engine, function):
    assert not unlike(engine, documents(19, 5000), PATHS, [function])[:5]


JSON_PATHS = {
    "$": [],
    "$.a": [["a"]],
    "$['x\"y'].b": [['x"y'], ["b"]],
    "$.a[*]": [["a"], [...]],
    "$.*.*": [[...], [...]],
    "$[0]": [[0]],
    "$[-1]['a', 'b']": [[-1], ["a", "b"]],
    "$.a[1:]": [["a"], [slice(1, None)]],
    "$.b[::-1]": [["b"], [slice(None, None, -1)]],
    "$[*][-2:5:2].id": [[...], [slice(-2, 5, 2)], ["id"]],
}


def test_random_documents_by_json_path(engine):
    texts = documents(20, 100)
    calls = ("extract_json", "get_first_json_object", "extract_json_string")
    columns = {
        (f, path): spark_sql(call(f, col("v", TEXT), path), row_time="x")
        for path in JSON_PATHS
        for f in calls
    }
    found = computed(engine, texts, columns)
    for path, steps in JSON_PATHS.items():
        wanted = [selected(text, steps) for text in texts]
        firsts = [values[0] if values else None for values in wanted]
        strings = [json.loads(v) if v and v[0] == '"' else None for v in firsts]
        for f, results in zip(calls, (wanted, firsts, strings), strict=True):
            pairs = zip(texts, found[f, path], results, strict=True)
            assert not [(f, path, t, v, w) for t, v, w in pairs if v != w][:5]


BROKEN = (
    *(
        '{"w":7,"x":tru',
        '{"w":7,"x":',
        '{"w":7,',
        '{"w":7',
        '{"w":',
        '{"w"',
        '{"w',
        "{",
    ),
    *('{"a":{"b":1,"c":nul}}', '{"a":{"b":1', '{"a":[1,{"b":2},x', '{"a":[1,', "[1,2"),
    *(
        '[{"b":{"id":4}},',
        '{"x":tru,"w":7}',
        '{"w":07,"x":1}',
        '{"w":"abc',
        '{"w":"a\\q"}',
    ),
    *(
        '{"w":7]',
        "[7}",
        '{"w" 7}',
        '{"w"::7}',
        '{,"w":7}',
        '{"w":7,}',
        "[1,,2]",
        "[,1]",
    ),
    *(
        '{"w":1,"w":tru',
        '{"x":"a\tb","w":7}',
        "{'w':7}",
        '{"w":7 "x":1}',
        "nul",
        '"abc',
    ),
)


def test_a_broken_document_has_the_values_before_the_place(engine):
    paths = (["w"], ["x"], ["a"], ["a", "b"], ["a", 0], ["a", 1, "b"], [0], [1], [])
    assert called("json_get_int", BROKEN[0], ["w"]) == 7
    assert called("json_contains", BROKEN[0], ["x"])
    assert called("json_get", BROKEN[8], ["a"]) is None
    assert not unlike(engine, BROKEN, paths)


def test_what_stands_behind_a_document_is_not_read_and_a_raw_tab_is_no_json(engine):
    columns = {
        "w": spark_sql(call("json_get_int", col("v", TEXT), lit("w")), row_time="x"),
        "0": spark_sql(call("json_get_str", col("v", TEXT), number("0")), row_time="x"),
    }
    found = computed(engine, [*BEHIND, *RAW], columns)
    assert found["w"] == [7] * len(BEHIND) + [None, 7, 7, None]
    assert found["0"] == [None] * len(found["0"])


def test_json_within_a_struct_is_json(session, tmp_path):
    path, written = tmp_path / "in.json", tmp_path / "out.json"
    path.write_text('{"s": {"j": {"a": [1.50]}, "n": 1}}\n{"s": {"j": "x"}}\n')
    columns = "(s STRUCT<j JSON, n BIGINT>)"
    session.run(
        f"CREATE TABLE made {columns} {table(path)}"
        f"CREATE TABLE written {table(written, 'sink')}"
        "INSERT INTO written SELECT s.j ->> 'a' AS a, s.j AS j, s FROM made",
        wait=True,
    )
    assert [json.loads(line) for line in written.read_text().splitlines()] == [
        {"a": "[1.50]", "j": {"a": [1.5]}, "s": {"j": {"a": [1.5]}, "n": 1}},
        {"a": None, "j": "x", "s": {"j": "x", "n": None}},
    ]


DOCUMENTS = """\
{"a": 1.50, "b": {"c": [1, "x"]}, "at": "2024-03-01T10:00:00Z"}

{"a": "155", "b": null, "at": "2024-03-01T10:00:01Z"}
not JSON
"""


UNSTRUCTURED = ", 'json.unstructured' = true"


def table(path, kind="source", more=""):
    return (
        f"WITH (connector = 'single_file', path = '{path}', type = '{kind}', "
        f"format = 'json'{more});\n"
    )


def test_a_table_without_a_schema(session, tmp_path):
    path = tmp_path / "events.json"
    path.write_text(DOCUMENTS)
    made = f"CREATE TABLE events (value JSON) {table(path, more=UNSTRUCTURED)}"
    run = session.run(
        f"{made} SELECT value ->> 'a' AS a, (value -> 'a')::DOUBLE AS n, "
        "(value -> 'b' -> 'c' -> 0)::INT AS c, value -> 'b' AS b, value ? 'b' AS has "
        "FROM events",
        wait=True,
    )
    assert [tuple(row.values()) for row in run.table().to_pylist()] == [
        ("1.50", 1.5, 1, '{"c": [1, "x"]}', True),
        ("155", None, None, None, True),
        (None, None, None, None, False),
    ]


def test_values_of_json_are_written_as_texts_and_documents_as_they_are(
    session, tmp_path
):
    path, written = tmp_path / "events.json", tmp_path / "written.json"
    path.write_text('{"a": "x", "n": 155}\n')
    session.run(
        f"CREATE TABLE events (value JSON) {table(path, more=UNSTRUCTURED)}"
        f"CREATE TABLE written {table(written, 'sink')}"
        "INSERT INTO written SELECT value, value -> 'a' AS a, value -> 'n' AS n, "
        "value -> 'x' AS x FROM events",
        wait=True,
    )
    row = '{"value":{"a": "x", "n": 155},"a":"\\"x\\"","n":"155","x":"null"}\n'
    assert written.read_text() == row
