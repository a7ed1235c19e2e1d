"""A variable that is a secret by its name is shown by no answer."""

from __future__ import annotations

import pytest
from editor_cells import context, pointed

from arroyo_nb.editor.diagnostics import diagnose
from arroyo_nb.editor.hover import hover

SECRET = "hunter2"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT :password + 1 FROM clicks|",
        "SELECT CAST(:password AS INT) FROM clicks|",
        "CREATE TABLE t (a INT) WITH (connector = :password)|",
    ],
)
def test_no_problem_quotes_it(query: str) -> None:
    cell, _ = pointed(f"%%arroyo\n{query}")
    found = diagnose(cell, context(password=SECRET))
    assert found
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    "query",
    [
        "CREATE VIEW v AS SELECT :password AS p FROM clicks; SELECT p| FROM v",
        "SELECT x.p| FROM (SELECT :password AS p FROM clicks) AS x",
    ],
)
def test_no_explanation_of_a_column_quotes_it(query: str) -> None:
    cell, at = pointed(f"%%arroyo\n{query}")
    found = hover(cell, at, context(password=SECRET))
    assert found is not None
    assert found.title == "p TEXT NOT NULL"
    assert SECRET not in repr(found)
