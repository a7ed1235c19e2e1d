"""SHOW TABLES, DESCRIBE, DROP, EXPLAIN, ORDER BY and LIMIT: what people type."""

import pytest

from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan.nodes import SortKey
from arroyo_nb.run.results.sorting import in_order
from arroyo_nb.session import Session

CLICKS = """
CREATE TABLE clicks (id BIGINT NOT NULL, at TIMESTAMP NOT NULL,
    day TEXT GENERATED ALWAYS AS (to_char(at, '%Y-%m-%d')),
    WATERMARK FOR at AS at - INTERVAL '5 seconds')
WITH (connector = 'single_file', path = 'c.json', type = 'source', format = 'json');
CREATE VIEW few AS SELECT id FROM clicks WHERE id < 9;
"""


@pytest.fixture
def declared():
    session = Session()
    session.run(CLICKS)
    return session


def test_tables_and_their_columns_are_told(declared):
    plan = declared.plan("SHOW TABLES; describe clicks; DESC VIEW few")
    tables, clicks, few = plan.answers
    assert [row[:2] for row in tables.rows] == [
        ("clicks", "single_file source"),
        ("few", "view"),
    ]
    assert clicks.rows == (
        ("id", "BIGINT", "NOT NULL", ""),
        ("at", "TIMESTAMP", "NOT NULL", "event time, watermark delay 5 s"),
        ("day", "TEXT", "NOT NULL", "generated"),
    )
    assert str(few) == "column  type    null      role\nid      BIGINT  NOT NULL"
    assert plan.sinks == ()


def test_answers_are_of_their_place_and_only_of_a_script_that_succeeds(declared):
    assert declared.run("DROP VIEW few; SHOW TABLES") is None
    (answer,) = declared.answers
    assert [row[0] for row in answer.rows] == ["clicks"]
    with pytest.raises(ArroyoError, match="nope"):
        declared.run("DROP TABLE clicks; SHOW TABLES; SELECT nope FROM few")
    assert declared.catalog.names == ("clicks",)
    assert declared.answers == (answer,)


def test_a_dropped_table_is_gone_and_its_name_is_free(declared):
    plan = declared.plan(
        "DROP TABLE IF EXISTS nothing; DROP TABLE clicks; "
        "CREATE TABLE clicks (n INT) WITH (connector = 'blackhole');"
    )
    assert plan.catalog.get("clicks").schema.names == ("n",)
    assert plan.notes == ("clicks is dropped; few still reads it as it was",)
    assert declared.plan("DROP TABLE clicks; SELECT * FROM few").sinks
    with pytest.raises(ArroyoError, match="Table clicks not found"):
        declared.plan("DROP TABLE clicks; SELECT * FROM clicks")
    # A view of a table is a table too: CREATE TABLE AS.
    assert declared.plan("DROP TABLE few").catalog.names == ("clicks",)


def test_a_plan_is_told_and_does_not_run(declared):
    plan = declared.plan("EXPLAIN SELECT count(*) AS n FROM few GROUP BY id")
    assert plan.sinks == ()
    assert "UpdatingAggregate" in plan.answers[0].text
    with pytest.raises(ArroyoError, match="nope"):
        declared.plan("EXPLAIN SELECT nope FROM few")
    both = declared.plan("EXPLAIN SELECT id FROM few; SELECT at FROM clicks")
    assert [sink.schema.names for sink in both.sinks] == [("at",)]


def test_order_and_limit_are_of_the_outer_select(declared):
    (sink,) = declared.plan(
        "WITH a AS (SELECT id, at FROM clicks) SELECT * FROM a "
        "ORDER BY 2 DESC, id NULLS FIRST LIMIT 7"
    ).sinks
    assert sink.order == (SortKey("at", True, True), SortKey("id", False, True))
    assert sink.limit == 7
    union = "SELECT id FROM few UNION ALL SELECT id FROM clicks LIMIT 3"
    assert declared.plan(union).sinks[0].limit == 3
    assert (
        "LIMIT 7" in declared.plan("SELECT id FROM clicks ORDER BY id LIMIT 7").notes[0]
    )
    assert not declared.plan(union).notes


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SHOW TABLES", "Unsupported statement: SHOW"),
        ("DESCRIBE few", "DESCRIBE is not supported"),
        ("DROP TABLE few", "Unsupported statement: DROP"),
        ("EXPLAIN SELECT id FROM few", "EXPLAIN is not supported"),
        ("SELECT id FROM few LIMIT 3", "LIMIT is not currently supported"),
        ("SELECT id FROM few ORDER BY id", "ORDER BY is not currently supported"),
    ],
)
def test_strict_mode_refuses_in_arroyos_words(declared, statement, message):
    with pytest.raises(ArroyoError, match=message) as refused:
        declared.plan(statement, strict=True)
    assert refused.value.span is not None


def test_rows_are_sorted_as_the_query_says():
    import pyarrow as pa

    rows = pa.table({"k": ["b", None, "a", "b"], "v": [1, 2, 3, 4]})

    def order(*keys):
        return in_order(rows, keys)["v"].to_pylist()

    assert order(SortKey("k")) == [3, 1, 4, 2]
    assert order(SortKey("k", descending=True, nulls_first=True)) == [2, 1, 4, 3]
    assert order(SortKey("k", nulls_first=True), SortKey("v", True)) == [2, 3, 4, 1]
    windows = pa.array([{"start": 2, "end": 3}, None, {"start": 1, "end": 9}, None])
    rows = rows.append_column("w", windows)
    assert order(SortKey("w")) == [3, 1, 2, 4]
