"""``%%arroyo_test`` in the cells of a shell, as far as no Spark is needed."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.utils.capture import capture_output

from arroyo_nb.errors import SyntaxProblem
from arroyo_nb.test_commands import parse_test_line


def run(shell: Any, cell: str) -> str:
    with capture_output() as captured:
        result = shell.run_cell(cell)
    error = result.error_in_exec or result.error_before_exec
    return captured.stdout if error is None else str(error)


def test_help(shell):
    for cell in ("%%arroyo_test --help", "%%arroyo_test --help\n"):
        assert "EXPECT TABLE" in run(shell, cell)
    assert "--timeout TIME" in run(shell, "%%arroyo_test -h\n")
    assert "%%arroyo_test" in run(shell, "%%arroyo --help\n")


def test_a_query_that_is_expected_to_be_wrong(shell):
    cell = "%%arroyo_test t\nWHEN SELECT a FROM :name_of\nEXPECT ERROR "
    shell.user_ns["name_of"] = 3
    told = run(shell, "%%arroyo_test t\nWHEN SELECT a FROM nowhere\nEXPECT ERROR")
    assert told.startswith("✓ t: passed, 1 expectation")
    told = run(shell, "%%arroyo_test t\nWHEN SELECT a FROM nowhere\nEXPECT ERROR 'x'")
    assert "the error is another: Table nowhere not found (line 1 of the query)" in told
    assert "FROM 3" not in run(shell, cell)


def test_errors_have_their_place(shell):
    assert "the test has no name" in run(shell, "%%arroyo_test\nWHEN x")
    assert "<cell>:2:1: a test begins with" in run(shell, "%%arroyo_test t\nSELECT 1")
    told = run(shell, "%%arroyo_test t\nGIVEN a\nn INT\nx\nWHEN SELECT n FROM a\n"
                      "EXPECT TABLE EMPTY")  # fmt: skip
    assert "<cell>:4:1: 'x' is not a value of 'n', which is INT" in told


def test_options_are_completed(shell):
    with provisionalcompleter():
        line = "%%arroyo_test x --t"
        found = [c.text for c in shell.Completer.completions(line, len(line))]
    assert found == ["--timeout"]


def test_the_first_line():
    assert parse_test_line("a --timeout 2m") == ("a", {"timeout": "2m"})
    with pytest.raises(SyntaxProblem, match="'b' is not an option: %%arroyo_test NAME"):
        parse_test_line("a b")
    with pytest.raises(SyntaxProblem, match="did you mean '--timeout'"):
        parse_test_line("a --timout 2m")
