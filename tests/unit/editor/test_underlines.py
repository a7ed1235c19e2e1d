"""Every error of the golden files and every mistake of those who come from other
systems is underlined at the right characters, whatever stands before it.

The golden files have the line, the column and the carets of each error: they say where
an underline begins. ``underlined_dialects.yaml`` has the text that is underlined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml

from arroyo_nb.catalog import Catalog
from arroyo_nb.editor.answers import Diagnostic, EditorContext, Severity
from arroyo_nb.editor.cell_text import read_cell
from arroyo_nb.editor.diagnostics import diagnose
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.source import ScriptText

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "golden"
ERROR = "\n-- error\n"
ERRORS = sorted((GOLDEN / "errors").glob("*.sql"))
MISTAKES = yaml.safe_load((HERE / "underlined_dialects.yaml").read_text("utf-8"))
DIALECTS = yaml.safe_load((GOLDEN / "other_dialects.yaml").read_text("utf-8"))
AT = re.compile(r"-- <cell>:(?P<line>\d+):(?P<column>\d+): (?P<message>.*)")
CARETS = re.compile(r"--   [ \t]*(?P<carets>\^+)\Z")

WAYS = [
    pytest.param("", "\n", id="plain"),
    pytest.param("\t\t", "\n", id="tabs"),
    pytest.param("/* 😀🚀 */ -- größer 日本語\n", "\n", id="emoji"),
    pytest.param("/* e\u0301 👩‍👩‍👧 */\n\t", "\r\n", id="crlf"),
]
"""What stands before a script, and how its lines end."""


@cache
def context() -> EditorContext:
    script = (GOLDEN / "tables.sql").read_text("utf-8")
    return EditorContext(plan_script(script, Catalog()).catalog)


@dataclass(frozen=True)
class Place:
    line: int
    column: int
    message: str
    width: int


def places(told: str) -> list[Place]:
    """Where a golden file says that its errors are; the width is that of the carets."""
    found: list[Place] = []
    for line in told.splitlines():
        if at := AT.fullmatch(line):
            found.append(Place(int(at["line"]), int(at["column"]), at["message"], 0))
        elif (carets := CARETS.fullmatch(line)) and found and not found[-1].width:
            width = len(carets["carets"])
            found[-1] = Place(
                found[-1].line, found[-1].column, found[-1].message, width
            )
    return found


def errors(text: str) -> list[Diagnostic]:
    cell = read_cell(text)
    assert cell is not None
    return [d for d in diagnose(cell, context()) if d.severity is Severity.ERROR]


@pytest.mark.parametrize(("before", "newline"), WAYS)
def test_golden_errors_are_underlined_where_they_are(before: str, newline: str) -> None:
    underlined = 0
    for path in ERRORS:
        script, told = path.read_text("utf-8").split(ERROR)
        expected = places(told)
        flag = " --strict" if script.startswith("-- strict") else ""
        # What comes before begins a line of its own, and the script is as it was.
        lead = f"{before}\n" if before else ""
        head = f"%%arroyo{flag}\n{lead}"
        text = head + script.rstrip("\n")
        head, text = head.replace("\n", newline), text.replace("\n", newline)
        found = errors(text)
        source = ScriptText(text)
        first = head.count("\n")
        wanted = [(p.line + first, p.column) for p in expected]
        here = {source.line_and_column(d.start): d for d in found}
        for place, (line, column) in zip(expected, wanted, strict=True):
            at = source.offset(line, column)
            covering = [d for d in found if d.start <= at < d.end]
            assert covering, (path.stem, place)
            message = [d for d in covering if d.message == place.message]
            # A long message is cut where it is printed; one that is met twice at one
            # place is underlined once.
            assert message or "…" in place.message or len(covering) == 1, path.stem
            own = here.get((line, column))
            if own is not None:
                assert own.end - own.start >= min(place.width, 1), path.stem
                shown = text[own.start : own.end].splitlines()[0]
                assert len(shown) >= place.width, (path.stem, shown, place)
                underlined += 1
        assert len(found) <= len(expected) or not expected, path.stem
    assert underlined >= 500


def test_an_underline_that_begins_before_the_carets_is_a_whole_part() -> None:
    """A tree has no place for SELECT and for brackets: the underline has them."""
    wider = 0
    for path in ERRORS:
        script, told = path.read_text("utf-8").split(ERROR)
        flag = " --strict" if script.startswith("-- strict") else ""
        text = f"%%arroyo{flag}\n{script.rstrip()}"
        source = ScriptText(text)
        begins = {(p.line + 1, p.column) for p in places(told)}
        for diagnostic in errors(text):
            shown = text[diagnostic.start : diagnostic.end]
            assert shown.strip() == shown or "\n" in shown, path.stem
            assert shown, path.stem
            if source.line_and_column(diagnostic.start) not in begins and begins:
                assert shown.startswith(("SELECT", "(")), (path.stem, shown)
                wider += 1
    assert 0 < wider < 40


def test_each_mistake_has_its_underline() -> None:
    assert [row["write"] for row in MISTAKES] == list(
        dict.fromkeys(row["write"] for row in DIALECTS)
    )
    assert all(row["underlined"] for row in MISTAKES)


@pytest.mark.parametrize(("before", "newline"), WAYS)
def test_mistakes_are_underlined_at_their_characters(before: str, newline: str) -> None:
    for row in MISTAKES:
        text = f"%%arroyo\n{before}{row['write']}".replace("\n", newline)
        found = [text[d.start : d.end] for d in errors(text)]
        assert found == row["underlined"], row["write"]


def test_places_count_characters_and_no_bytes_or_code_units() -> None:
    text = "%%arroyo\nSELECT '😀😀', nme, '日本', nam FROM trips"
    assert [(d.start, d.end) for d in errors(text)] == [
        (text.index("nme"), text.index("nme") + 3),
        (text.index("nam "), text.index("nam ") + 3),
    ]
