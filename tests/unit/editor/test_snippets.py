"""CREATE TABLE with each connector plans as it is offered, and what else completes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from editor_cells import known_tables
from IPython.core.completer import CompletionContext

from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS, Direction
from arroyo_nb.editor.completion import complete
from arroyo_nb.editor.snippets import Snippet, table_snippets
from arroyo_nb.plan.planner import plan_script

SESSION: Any = SimpleNamespace(catalog=known_tables(), runs={}, function_rows=dict)
CREATE = "%%arroyo\nCREATE TABLE t (a TEXT) WITH (connector = "


def offered(text: str) -> dict[str, str]:
    """Completions at the ``|`` of a cell, with their types."""
    before, _, after = text.partition("|")
    lines = before.split("\n")
    place = len(lines[-1]), len(lines) - 1
    context = CompletionContext("", before + after, *place, None)
    items = complete(SESSION, context)["completions"]
    return {item.text: item.type or "" for item in items}


@pytest.mark.parametrize("snippet", table_snippets(), ids=lambda s: s.label)
def test_each_plans(snippet: Snippet) -> None:
    plan = plan_script(snippet.text, Catalog())
    assert f"{snippet.connector}_{snippet.direction.value}" in plan.catalog
    assert "''" not in snippet.text, "each option has a value"


def test_each_connector_has_one() -> None:
    assert {s.connector for s in table_snippets()} == set(CONNECTORS.names)
    of_kafka = {s.direction for s in table_snippets() if s.connector == "kafka"}
    assert of_kafka == {Direction.SOURCE, Direction.SINK}


@pytest.mark.parametrize(
    "typed",
    ["CRE", "SELECT 1 FROM t; create", "CREATE ", "CREATE TAB", "create  table "],
)
def test_the_rest_of_a_statement_is_offered(typed: str) -> None:
    found = [
        text
        for text, kind in offered(f"%%arroyo\n{typed}|").items()
        if kind.startswith("snippet ")
    ]
    assert len(found) == len(table_snippets())
    statement = typed.rpartition(";")[2].strip(" ")
    word = "" if typed.endswith(" ") else statement.split()[-1]
    before = typed.rpartition(";")[2]
    for rest in found:
        plan_script(before[: len(before) - len(word)] + rest, Catalog())


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("CREATE TABLE kaf", ["kafka_source", "kafka_sink"]),
        ("SELECT 1 FROM t; create table Kafka_so", ["kafka_source"]),
        ("CREATE TABLE mine", []),
    ],
)
def test_those_of_a_connector_are_offered_by_name(typed: str, names: list[str]) -> None:
    found = offered(f"%%arroyo\n{typed}|")
    assert [text.split(" ")[0] for text in found] == names
    for rest in found:
        plan_script(f"CREATE TABLE {rest}", Catalog())


def test_none_is_offered_elsewhere() -> None:
    for text in ("SELECT cre|", "CREATE VIEW |", "CREATE TABLE t |", "SELECT * FROM |"):
        assert not any(
            kind.startswith("snippet ")
            for kind in offered(f"%%arroyo\n{text}").values()
        )


@pytest.mark.parametrize(
    ("text", "item", "kind"),
    [
        ("%%arroyo\nSELECT far| FROM trips", "fare", "column DOUBLE"),
        ("%%arroyo\nSELECT upp|", "upper", "function (TEXT) -> TEXT"),
        ("%%arroyo\nSELECT tum|", "tumble", "function (width INTERVAL)"),
        ("%%arroyo\nSELECT * FROM tri|", "trips", "table single_file source"),
        (f"{CREATE}'kafka', top|", "topic", "option, required"),
        ("%%arroyo_test t\nGIV|", "GIVEN", "keyword"),
        ("%%arroyo_test t\nGIVEN tr|", "trips", "table single_file source"),
        ("%%arroyo_test t\nGIVEN trips --wat|", "--watermark", "option"),
        ("%%arroyo_test t\nGIVEN trips\nfa|", "fare", "column DOUBLE"),
        ("%%arroyo_test t\nWHEN\nSELECT fa|re FROM trips", "fare", "column DOUBLE"),
        ("%%arroyo_test t\nWHEN\nSELECT 1\nEXPECT LA|", "LATE", "keyword"),
        ("%%arroyo_test t --ti|", "--timeout", "option"),
        ("%%arroyo_rows t --ga|", "--gap", "option"),
    ],
)
def test_each_item_says_what_it_is(text: str, item: str, kind: str) -> None:
    assert offered(text)[item] == kind


@pytest.mark.parametrize(
    ("options", "is_offered"),
    [
        ("'sample', |", True),
        ("'single_file', 'disorder.|", True),
        ("'single_file', type = 'sink', |", False),
        ("'kafka', |", False),
        ("'blackhole', |", False),
    ],
)
def test_disorder_is_offered_where_it_is_allowed(
    options: str, is_offered: bool
) -> None:
    assert ("disorder.shuffle" in offered(CREATE + options)) == is_offered


def test_nothing_is_offered_in_rows_and_in_python() -> None:
    assert not offered("%%arroyo_rows t\na|")
    assert not offered("%%arroyo_udf\nde|")
    assert not offered("%%arroyo_test t\nGIVEN trips\nat\n10|")
