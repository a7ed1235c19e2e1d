"""Inspection and completion of a kernel, in cells of ours and elsewhere."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from editor_cells import known_tables

from arroyo_nb.editor.answers import Hover
from arroyo_nb.editor.kernel_requests import (
    answer_for_cells,
    inspection,
    mime_bundle,
    with_labels,
)
from arroyo_nb.editor.snippets import table_snippets

SESSION: Any = SimpleNamespace(
    catalog=known_tables(), strict=False, runs={}, function_rows=dict
)
PYTHONS = {"status": "ok", "found": True, "data": {"text/plain": "of Python"}}
MATCHES = {"status": "ok", "matches": ["a"], "metadata": {}}


class Kernel:
    """What of a kernel is asked."""

    def do_inspect(self, code: str, cursor_pos: int, detail_level: int = 0) -> Any:
        return PYTHONS

    def do_complete(self, code: str, cursor_pos: int) -> Any:
        return MATCHES


def asked(text: str) -> dict[str, Any] | None:
    before, _, after = text.partition("|")
    return inspection(SESSION, {"n": 3}, before + after, len(before))


def test_a_kernel_answers_for_our_cells_until_it_is_taken_away() -> None:
    kernel = Kernel()
    shell = SimpleNamespace(kernel=kernel, user_ns={})
    forget = answer_for_cells(shell, SESSION)
    cell = "%%arroyo\nSELECT fare FROM trips"
    ours = kernel.do_inspect(cell, len("%%arroyo\nSELECT fa"), 0)
    assert ours["data"]["text/plain"].startswith("fare DOUBLE")
    assert kernel.do_inspect("fare", 2) is PYTHONS
    assert kernel.do_complete("fare", 2) is MATCHES
    forget()
    assert not vars(kernel)
    assert kernel.do_inspect(cell, 12) is PYTHONS


def test_another_extension_may_wrap_the_kernel_after_us() -> None:
    kernel = Kernel()
    forget = answer_for_cells(SimpleNamespace(kernel=kernel, user_ns={}), SESSION)
    ours = kernel.do_inspect
    kernel.do_inspect = lambda *args: ours(*args)  # type: ignore[method-assign]
    forget()
    assert kernel.do_inspect("%%arroyo\nSELECT fare FROM trips", 18) is PYTHONS


def test_a_shell_without_a_kernel_stays_as_it_is() -> None:
    shell = SimpleNamespace()
    answer_for_cells(shell, SESSION)()
    assert not vars(shell)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("%%arroyo\nSELECT up|per(name) FROM trips", "upper(TEXT) -> TEXT"),
        # Within brackets, where nothing is known of the word itself.
        ("%%arroyo\nSELECT upper('a|bc') FROM trips", "upper(TEXT) -> TEXT"),
        ("%%arroyo\nSELECT :n| FROM trips", ":n (int)"),
        ("%%arroyo --wa|it\nSELECT 1", "--wait"),
        ("%%arroyo_test x\nGIVEN tri|ps\n", "trips: single_file source"),
        ("%%arroyo\nSELECT count|", "count(a value or *)"),
        (
            "%%arroyo_test x\nGIVEN hits\nat,user\n10:00:00,ann\n\nWHEN\n"
            "SELECT us|er FROM hits",
            "user TEXT",
        ),
    ],
)
def test_what_is_inspected(text: str, begins: str) -> None:
    found = asked(text)
    assert found is not None
    assert found["found"]
    assert found["data"]["text/plain"].startswith(begins)
    assert "text/html" in found["data"]


def test_a_completion_is_documented_where_the_cursor_is_behind_the_text() -> None:
    code = "%%arroyo\nSELECT fare"
    found = inspection(SESSION, {}, code, len(code) + 4)
    assert found is not None
    assert "A column of" not in str(found), "there is no FROM yet"
    snippet = next(s for s in table_snippets() if s.connector == "kafka")
    found = asked(f"%%arroyo\n{snippet.text}|")
    assert found is not None
    assert found["data"]["text/plain"].startswith(snippet.label)
    assert "bootstrap_servers" in found["data"]["text/plain"]


@pytest.mark.parametrize(
    "text",
    [
        "x = 1|",
        "%%time\nSELECT| 1",
        "%%arroyo_udf\ndef f|():\n  1",
        "%%arr|oyo\nSELECT 1",
    ],
)
def test_elsewhere_it_is_ipython_s(text: str) -> None:
    assert asked(text) is None


def test_nothing_of_python_is_said_of_sql() -> None:
    found = asked("%%arroyo\nSELECT nob|ody FROM trips")
    assert found == {"status": "ok", "found": False, "data": {}, "metadata": {}}


def test_hostile_texts_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    made = mime_bundle(Hover(0, 1, evil, (evil,), evil, "exact"))
    assert "<script" not in made["text/html"]
    assert made["text/html"].count("&lt;script&gt;") == 3
    assert made["text/plain"] == f"{evil}  (exact)\n{evil}\nExample: {evil}"


def test_what_has_several_lines_is_listed_by_a_label() -> None:
    items = [
        {"text": "CREATE TABLE a\n(", "type": "snippet CREATE TABLE … a source"},
        {"text": "CREATE", "type": "keyword"},
        {"text": "fare", "type": "column DOUBLE"},
    ]
    reply = {
        "matches": [item["text"] for item in items],
        "metadata": {"_jupyter_types_experimental": items},
    }
    made = with_labels(reply)
    assert made["matches"] == ["CREATE TABLE … a source", "CREATE", "fare"]
    assert [item["text"] for item in items] == ["CREATE TABLE a\n(", "CREATE", "fare"]
    kinds = [item["type"] for item in items]
    assert kinds == ["snippet", "keyword", "column\u00a0DOUBLE"]
