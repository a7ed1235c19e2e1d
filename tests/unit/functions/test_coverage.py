"""Every function that Arroyo has is run, or is refused in words that a user sees."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import Unsupported
from arroyo_nb.plan.expressions.functions import UNSUPPORTED_FUNCTIONS
from arroyo_nb.plan.planner import plan_script

DOCS = Path(__file__).parents[3] / "docs"
spec = importlib.util.spec_from_file_location("pages", DOCS / "reference_pages.py")
assert spec is not None
assert spec.loader is not None
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)

NAMES = [name for names in pages.arroyo_functions().values() for name in names]
TABLE = (
    "CREATE TABLE t (a BIGINT) WITH (connector = 'single_file', path = '/x', "
    "format = 'json', type = 'source');"
)


def test_the_list_names_each_once():
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_run_or_refused(name):
    here, _ = pages.covered(name)
    assert here


def test_what_is_neither_fails_the_build():
    with pytest.raises(LookupError, match="no_such"):
        pages.covered("no_such")


def test_the_page_has_them_all():
    page = pages.PAGES["function-coverage.md"]()
    assert [name for name in NAMES if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("name", sorted(UNSUPPORTED_FUNCTIONS.keys() & set(NAMES)))
def test_a_user_sees_why_one_is_refused(name):
    with pytest.raises(Unsupported, match=r"not supported|only|OVER") as caught:
        plan_script(f"{TABLE} SELECT {name}(a) FROM t", Catalog())
    assert caught.value.span is not None
