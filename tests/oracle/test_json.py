"""Functions of JSON give the results that datafusion-functions-json documents, which
DataFusion's Python package does not have."""

from __future__ import annotations

import pytest

from arroyo_nb.schema import TEXT
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.user_functions import register_datafusion
from oracle.cases import Case, Column
from oracle.ours import plan

TABLE = (
    "{}",
    '{ "a": 1 }',
    '{ "a": 2 }',
    '{ "a": 1, "b": 2 }',
    '{ "a": 1, "b": 2, "c": 3 }',
)
"""The documents of its example."""

OF_TABLE = {
    "json_contains(j, 'b')": [False, False, False, True, True],
    "j ? 'b'": [False, False, False, True, True],
    "j -> 'a'": [None, "1", "2", "1", "1"],
    "(j -> 'a') IS NULL": [True, False, False, False, False],
    "(j -> 'a')::INT": [None, 1, 2, 1, 1],
    "json_get_int(j, 'a')": [None, 1, 2, 1, 1],
    "json_get(j, 'a')::TEXT = '1'": [None] * 5,
    "j ->> 'a'": [None, "1", "2", "1", "1"],
    "json_length(j)": [0, 1, 1, 2, 3],
    "json_object_keys(j)": [[], ["a"], ["a"], ["a", "b"], ["a", "b", "c"]],
}

DOCUMENT = (
    '{"s": "x", "i": 7, "f": 2.5, "t": true, "n": null, "l": [1, {"d": "deep"}], '
    '"o": {"e": []}}'
)
OF_DOCUMENT = {
    "j -> 'missing'": None,
    "j -> 'missing' -> 'further'": None,
    "j ->> 'missing'": None,
    "j -> 'n'": None,
    "j ->> 'n'": None,
    "j ? 'n'": True,
    "j ? 'missing'": False,
    "json_get_str(j, 's')": "x",
    "json_get_str(j, 'i')": None,
    "json_get_str(j, 'missing')": None,
    "json_get_int(j, 'i')": 7,
    "json_get_int(j, 's')": None,
    "json_get_float(j, 'f')": 2.5,
    "json_get_float(j, 'i')": 7.0,
    "json_get_bool(j, 't')": True,
    "json_get_bool(j, 'i')": None,
    "json_get_json(j, 'o')": '{"e": []}',
    "json_get_json(j, 'missing')": None,
    "json_as_text(j, 'l', 1, 'd')": "deep",
    "json_as_text(j, 'l', 9)": None,
    "json_as_text(j, 'o')": '{"e": []}',
    "json_length(j, 'l')": 2,
    "json_length(j, 'o', 'e')": 0,
    "json_length(j, 's')": None,
    "json_length(j, 'missing')": None,
    "json_object_keys(j, 'o')": ["e"],
    "json_object_keys(j, 'l')": None,
    "(j -> 'l' -> 1 -> 'd')::TEXT": "deep",
    "(j -> 'missing')::TEXT": None,
    "(j -> 'missing')::INT": None,
    "coalesce(j ->> 'missing', 'none')": "none",
}


@pytest.fixture(scope="module")
def values(engine):
    """The value of each expression for each document."""
    calls, documents = [*OF_TABLE, *OF_DOCUMENT], [*TABLE, DOCUMENT, "no JSON"]
    planned = [plan(Case(call, (Column("j", TEXT, None),))) for call in calls]
    texts = [spark_sql(expression, row_time="NULL") for expression in planned]

    def run():
        register_datafusion(engine.session, planned)
        rows = [*enumerate(documents)]
        frame = engine.session.createDataFrame(rows, "n int, j string")
        columns = (f"{text} AS c{n}" for n, text in enumerate(texts))
        return frame.selectExpr("n", *columns).toArrow().sort_by("n")

    found = engine.worker.call(run)
    return {
        (call, document): value
        for n, call in enumerate(calls)
        for document, value in zip(documents, found[f"c{n}"].to_pylist(), strict=True)
    }


@pytest.mark.parametrize("expression", OF_TABLE)
def test_the_example_gives_what_is_documented(values, expression):
    assert [values[expression, j] for j in TABLE] == OF_TABLE[expression]


@pytest.mark.parametrize("expression", OF_DOCUMENT)
def test_a_value_is_found_by_its_type_and_null_where_there_is_none(values, expression):
    assert values[expression, DOCUMENT] == OF_DOCUMENT[expression]


@pytest.mark.parametrize("expression", OF_DOCUMENT)
def test_what_is_no_json_has_no_values(values, expression):
    absent = {"j ? 'n'": False, "j ? 'missing'": False}
    absent["coalesce(j ->> 'missing', 'none')"] = "none"
    assert values[expression, "no JSON"] == absent.get(expression)
