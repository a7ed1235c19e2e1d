from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.plan.planner import plan_script

TICKS = "CREATE TABLE Ticks WITH (connector = 'impulse', event_rate = 1);"


def test_names_are_found_whatever_their_case() -> None:
    catalog = plan_script(TICKS, Catalog()).catalog
    assert catalog.names == ("Ticks",)
    assert "TICKS" in catalog
    assert catalog.get("ticks").name == "Ticks"


def test_an_unknown_name_is_told_the_nearest() -> None:
    catalog = plan_script(TICKS, Catalog()).catalog
    with pytest.raises(CatalogProblem, match="Table tick not found") as caught:
        catalog.get("tick")
    assert caught.value.hint == "did you mean 'Ticks'?"


def test_a_later_cell_replaces_a_table_and_says_so() -> None:
    before = plan_script(TICKS, Catalog()).catalog
    view = "CREATE VIEW old AS SELECT counter FROM ticks;"
    plan = plan_script(
        view + "CREATE VIEW ticks AS SELECT counter AS n FROM old", before
    )
    assert plan.notes == ("ticks replaces the table of an earlier cell",)
    assert before.get("ticks").schema.names == ("counter", "subtask_index")
    assert plan.catalog.get("ticks").schema.names == ("n",)


def test_a_script_that_fails_leaves_the_catalog_alone() -> None:
    catalog = Catalog()
    with pytest.raises(CatalogProblem):
        plan_script(TICKS + "SELECT nope FROM ticks", catalog)
    assert catalog.names == ()


def test_where_nothing_is_declared_it_is_said_how_to() -> None:
    with pytest.raises(CatalogProblem, match="Table trips not found") as told:
        Catalog().get("trips")
    assert (
        told.value.hint
        == "write CREATE TABLE trips; if the kernel was restarted, run the cell that "
        "declares it again. A script with an error declares none"
    )
