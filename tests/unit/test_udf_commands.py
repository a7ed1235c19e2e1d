"""Functions in the cells of a shell: defined, listed, defined again, completed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.utils.capture import capture_output
from shells import new_shell

from arroyo_nb.extension import load, unload
from arroyo_nb.session import Session
from arroyo_nb.udfs import registry

TWICE = """from arroyo_udf import udf
@udf
def twice_(x: int) -> int:
    \"\"\"Two times x.\"\"\"
    return {factor} * x
"""


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A shell with a session that never starts Spark."""
    monkeypatch.setattr(Session, "warm_up", lambda self: None)
    before = set(registry.udfs())
    with new_shell() as shell:
        load(shell, Session())
        yield shell
        unload(shell)
    for name in set(registry.udfs()) - before:
        registry.forget(name)


def run(shell: Any, cell: str) -> str:
    with capture_output() as captured:
        result = shell.run_cell(cell)
    error = result.error_in_exec or result.error_before_exec
    if error is not None:
        return str(error)
    shown = [output.data["text/plain"] for output in captured.outputs]
    return "".join((captured.stdout, captured.stderr, *shown))


def test_a_cell_defines_and_python_calls_it_too(shell):
    told = run(shell, "%%arroyo_udf\n" + TWICE.format(factor=2))
    assert told == "twice_(x BIGINT) -> BIGINT\n"
    assert shell.user_ns["twice_"](4) == 8
    assert "twice_(x BIGINT) -> BIGINT" in run(shell, "%arroyo functions")
    assert "Two times x." in run(shell, "%arroyo functions")
    assert "return 2 * x" in run(shell, "%arroyo functions twice_")


def test_a_function_of_a_plain_cell(shell):
    text = "from arroyo_nb import udf\nSCALE = 3\n@udf\ndef scaled_(x: int) -> int:\n"
    assert run(shell, f"{text}    return SCALE * x\n") == ""
    source = run(shell, "%arroyo functions scaled_")
    assert "SCALE = 3" in source
    plan = run(shell, "%%arroyo --no-run\nSELECT scaled_(1) FROM t")
    assert "Table t not found" in plan


def test_a_cell_need_not_import_its_decorator(shell):
    run(shell, "%%arroyo_udf\n@udf\ndef plus_(x: int) -> int:\n    return x + 1\n")
    assert shell.user_ns["plus_"](1) == 2


def test_it_says_what_it_replaces(shell):
    run(shell, "%%arroyo_udf python\n" + TWICE.format(factor=2))
    assert "replaces" not in run(shell, "%%arroyo_udf\n" + TWICE.format(factor=2))
    told = run(shell, "%%arroyo_udf\n" + TWICE.format(factor=3))
    assert told.splitlines()[0] == "twice_ replaces the function of an earlier cell"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%arroyo_udf\nx = 1\n", "does not contain a UDF"),
        ("%%arroyo_udf cobol\nx = 1\n", "'cobol' is no language of functions"),
        (
            "%%arroyo_udf\nfrom arroyo_udf import udf\n@udf\ndef f_(a) -> int: ...\n",
            "<cell>:4:8: Could not get name of type for argument a",
        ),
        (
            "%%arroyo_udf\nfrom arroyo_udf import udf\n1 / 0\n@udf\n"
            "def f_(a: int) -> int:\n  return a\n",
            "Could not register Python UDF: ZeroDivisionError: division by zero, at "
            "line 2",
        ),
        ("%arroyo functions nobody_", "there is no function 'nobody_' of a user's"),
        ("from arroyo_nb import udf\n@udf\ndef f_(a: set) -> int: ...", "type: set"),
    ],
)
def test_what_is_wrong_is_told(shell, cell, said):
    assert said in run(shell, cell)
    assert "f_" not in registry.udfs()


def test_a_list_of_none(shell):
    known_before = registry.udfs()
    for name in known_before:
        registry.forget(name)
    try:
        assert "no function yet" in run(shell, "%arroyo functions")
    finally:
        for udf in known_before.values():
            registry.define(udf)


def test_completion_knows_it(shell):
    run(shell, "%%arroyo_udf\n" + TWICE.format(factor=2))
    with provisionalcompleter():
        cell = "%%arroyo\nSELECT twi"
        found = {c.text: c.type for c in shell.Completer.completions(cell, len(cell))}
    assert found["twice_"] == "function (x BIGINT) -> BIGINT"
    # The cell of a function has no SQL in it.
    with provisionalcompleter():
        cell = "%%arroyo_udf\nSEL"
        found = [c.text for c in shell.Completer.completions(cell, len(cell))]
    assert "SELECT" not in found
