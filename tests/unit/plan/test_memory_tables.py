"""Memory tables: named edges of a script, and what a notebook makes of them."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog, MemoryTable
from arroyo_nb.errors import ArroyoError
from arroyo_nb.jobs.promotion import promoted
from arroyo_nb.jobs.spec_file import read
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.session import Session
from arroyo_nb.source import ScriptText

TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10);"
EVEN = "CREATE TABLE even (n INT, half BIGINT, note TEXT);"
INSERT = "INSERT INTO even (half, n) SELECT counter, counter * 2 FROM ticks;"


def plan(script: str, catalog: Catalog | None = None):
    return plan_script(script, catalog or Catalog())


def test_it_means_its_insert_with_the_declared_columns() -> None:
    made = plan(TICKS + EVEN + INSERT + "SELECT * FROM even")
    (sink,) = made.sinks
    assert [(f.name, str(f.type)) for f in sink.schema] == [
        ("n", "INT"),
        ("half", "BIGINT"),
        ("note", "TEXT"),
    ]
    view = plan(
        TICKS + "SELECT CAST(counter * 2 AS INT) AS n, counter AS half, "
        "CAST(NULL AS TEXT) AS note FROM ticks"
    )
    assert str(sink.schema) == str(view.sinks[0].schema)


def test_cells_declare_insert_and_read_one_after_another() -> None:
    session = Session()
    assert session.run(TICKS + EVEN) is None
    with pytest.raises(ArroyoError, match="Can't query from memory table even"):
        session.plan("SELECT n FROM even")
    assert session.run(INSERT) is None
    assert len(session.plan("SELECT n FROM even; SELECT half FROM even").sinks) == 2
    with pytest.raises(ArroyoError, match="Can only insert into a memory table once"):
        session.run(INSERT)
    assert session.run(EVEN + INSERT) is None


def test_a_failed_insert_leaves_it_empty_and_is_the_only_error() -> None:
    with pytest.raises(ArroyoError) as caught:
        plan(
            f"{TICKS}{EVEN} INSERT INTO even SELECT nope FROM ticks; SELECT n FROM even"
        )
    (problem,) = caught.value.problems
    assert "nope" in problem.message


def test_explain_of_its_insert_shows_the_query_and_inserts_nothing() -> None:
    made = plan(TICKS + EVEN + "EXPLAIN " + INSERT + INSERT + "SHOW TABLES")
    explained, listed = made.answers
    assert "Sink even: n INT" in explained.text
    assert ("even", "memory table") in [row[:2] for row in listed.rows]
    assert made.sinks == ()
    table = made.catalog.get("even")
    assert isinstance(table, MemoryTable)
    assert table.plan is not None


def test_constraints_without_effect_are_told() -> None:
    made = plan("CREATE TABLE m (at TIMESTAMP, n INT, WATERMARK FOR at, UNIQUE (n))")
    assert made.notes == (
        "m is a memory table: WATERMARK FOR has no effect on it",
        "m is a memory table: UNIQUE (n) has no effect on it",
    )


def test_a_job_of_a_later_cell_has_both_statements() -> None:
    catalog = plan(TICKS + EVEN + INSERT).catalog
    again = plan(
        "CREATE TABLE out WITH (connector = 'blackhole');"
        "INSERT INTO out SELECT n FROM even WHERE n > 4",
        catalog,
    )
    spec = promoted(again, "job").spec
    assert [table.name for table in spec.tables] == ["ticks", "even"]
    assert spec.tables[1].sql == f"{EVEN.strip(';')};\n{INSERT.strip(';')}"
    file = read(ScriptText(spec.text, "job.yaml"))
    assert file.plan().sinks == again.sinks


def test_columns_of_two_tables_with_one_name_are_told_apart_where_nobody_asks() -> None:
    tables = TICKS + "CREATE VIEW b AS SELECT counter FROM ticks;"
    query = "SELECT a.counter, b.counter FROM ticks a JOIN b ON a.counter = b.counter"
    assert plan(tables + query).sinks[0].schema.names == ("counter", "b.counter")
    out = "CREATE TABLE o (x BIGINT UNSIGNED, y TEXT) WITH (connector = 'stdout', "
    out += "format = 'json');"
    (sink,) = plan(tables + out + "INSERT INTO o " + query).sinks
    assert sink.input.schema.names == ("x", "y")
    with pytest.raises(ArroyoError, match="unique expression names"):
        plan(tables + f"SELECT * FROM ({query})")
