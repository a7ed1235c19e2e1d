"""The catalog knows how each table came about, and a plan what it read of before."""

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script

TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10)"
OTHER = "CREATE TABLE other WITH (connector = 'impulse', event_rate = 20)"
VIEW = "CREATE VIEW few AS SELECT counter FROM ticks WHERE counter < 9"


def planned(*cells):
    catalog = Catalog()
    for cell in cells:
        plan = plan_script(cell, catalog)
        catalog = plan.catalog
    return plan


def names(plan):
    return [table.name for table in plan.read_before]


def test_a_table_keeps_its_statement_and_a_view_what_it_read():
    plan = planned(f"  -- clock\n{TICKS};\n{VIEW} ;")
    assert plan.catalog.get("ticks").definition.text == TICKS
    few = plan.catalog.get("few").definition
    assert few.text == VIEW
    assert few.reads == (plan.catalog.get("ticks"),)


def test_a_plan_names_what_it_read_of_earlier_cells_only():
    cells = (TICKS, OTHER, VIEW)
    assert names(planned(*cells, "SELECT counter FROM few")) == ["few"]
    assert names(planned(*cells, f"{TICKS}; SELECT counter FROM ticks")) == []
    hides = "WITH few AS (SELECT counter FROM Other) SELECT counter FROM few"
    assert names(planned(*cells, hides)) == ["other"]


def test_the_target_of_an_insert_was_read_of_before():
    sink = "CREATE TABLE hole WITH (connector = 'blackhole')"
    plan = planned(TICKS, sink, "INSERT INTO hole SELECT counter FROM ticks")
    assert names(plan) == ["ticks", "hole"]


def test_a_view_over_the_view_that_it_replaces_read_the_earlier_one():
    again = "CREATE VIEW few AS SELECT counter + 1 AS counter FROM few"
    assert names(planned(TICKS, VIEW, again)) == ["few"]


def test_definitions_are_no_part_of_what_a_table_is_and_are_not_shown():
    one = planned(TICKS).catalog.get("ticks")
    other = planned(TICKS.replace(" WITH", "\nWITH")).catalog.get("ticks")
    assert one == other
    assert one.definition != other.definition
    assert "impulse'" not in repr(one.definition)
