"""``%arroyo doctor`` in the cells of a shell, without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.utils.capture import capture_output

from arroyo_nb.run.observe.findings import Finding, Report
from arroyo_nb.session import Session

FOUND = Report("q", 3, 0, (Finding("filtered", "n > 9 kept <none>", "take it out"),))


def run(shell: Any, cell: str) -> Any:
    with capture_output() as captured:
        result = shell.run_cell(cell)
    error = result.error_in_exec or result.error_before_exec
    return str(error) if error is not None else captured.outputs[-1].data


def test_there_is_no_run_to_examine(shell: Any) -> None:
    said = run(shell, "%arroyo doctor")
    assert said == "there is no run yet\n  hint: run a query in a cell first"
    assert run(shell, "%arroyo doctor q").startswith("there is no run 'q'")


def test_what_was_found_is_text_and_escaped_html(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []
    monkeypatch.setattr(
        Session, "doctor", lambda self, name: [asked.append(name), FOUND][1]
    )
    shown = run(shell, "%arroyo doctor q")
    assert shown["text/plain"] == (
        "q: 3 rows in, 0 rows out\n1. n > 9 kept <none>\n   hint: take it out"
    )
    assert (
        "<li>n &gt; 9 kept &lt;none&gt;<br><b>take it out</b></li>"
        in (shown["text/html"])
    )
    run(shell, "%arroyo doctor")
    assert asked == ["q", None]
