"""Golden files: what a script plans to, and what a wrong one is told.

``plans/*.txt`` is a script, a rule, and the text of ``explain``. ``errors/*.sql`` is a
script and, as comments, the errors. Both run against ``tables.sql``. A script that
begins with ``-- strict`` is planned with the strict option. After a change, run
``pytest tests/golden --update-golden`` and read the difference.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.planner import plan_script

HERE = Path(__file__).parent
RULE = "\n" + "-" * 40 + "\n"
ERROR = "\n-- error\n"
PLANS = sorted((HERE / "plans").glob("*.txt"))
ERRORS = sorted((HERE / "errors").glob("*.sql"))


@cache
def tables() -> Catalog:
    script = (HERE / "tables.sql").read_text(encoding="utf-8")
    return plan_script(script, Catalog()).catalog


def explained(script: str) -> str:
    plan = plan_script(script, tables(), strict=script.startswith("-- strict"))
    return plan.explain()


def refused(script: str) -> str:
    with pytest.raises(ArroyoError) as caught:
        explained(script)
    return "".join(
        f"-- {line}".rstrip() + "\n" for line in str(caught.value).split("\n")
    )


def compare(path: Path, script: str, rule: str, made: str, update: bool) -> None:
    text = script + rule + made
    if update:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_plan(path: Path, update_golden: bool) -> None:
    script = path.read_text(encoding="utf-8").split(RULE)[0].rstrip("\n")
    compare(path, script, RULE, explained(script), update_golden)


@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_error(path: Path, update_golden: bool) -> None:
    script = path.read_text(encoding="utf-8").split(ERROR)[0].rstrip("\n")
    compare(path, script, ERROR, refused(script), update_golden)


def test_there_are_enough() -> None:
    assert len(PLANS) >= 40
    assert len(ERRORS) >= 60
