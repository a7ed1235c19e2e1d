"""Tests whose expectations stay out of sight: for a class that answers them.

Who sets the task writes a test as any other; who answers it sees which expectation is
not met, points, and one more hint with each try, never a row or a value of the
expectations. In a file such a test is packed, so that nobody reads it by accident;
that is no encryption.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from arroyo_nb.cell_tests import (
    CellTest,
    Check,
    Expectation,
    Expected,
    TestResult,
    When,
)
from arroyo_nb.cell_tests.compare import Difference, Mark
from arroyo_nb.cell_tests.parse import parse_test
from arroyo_nb.errors import RunProblem
from arroyo_nb.source import ScriptText

SUFFIX = ".hidden"
"""How the file of a hidden test ends, behind the test's name."""

_HEAD = "arroyo_nb hidden test, version 1"
_WIDTH = 76


def packed(test: str) -> str:
    """The text of a file that has a test.

    >>> unpacked(packed("EXPECT TABLE"), "a.hidden")
    'EXPECT TABLE'
    """
    text = base64.b64encode(zlib.compress(test.encode(), 9)).decode()
    lines = (text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH))
    return "\n".join((_HEAD, *lines, ""))


def unpacked(text: str, name: str) -> str:
    """The test of a file.

    Raises
    ------
    RunProblem
        When it is not the file of a hidden test, or is damaged.
    """
    head, _, rest = text.partition("\n")
    try:
        if head.strip() != _HEAD:
            raise ValueError
        data = base64.b64decode("".join(rest.split()), validate=True)
        return zlib.decompress(data).decode()
    except (ValueError, zlib.error, binascii.Error):
        raise RunProblem(
            f"'{name}' is not the file of a hidden test, or is damaged",
            hint="%%arroyo_test --hidden NAME -o NAME.hidden writes one",
        ) from None


def hidden_test(source: ScriptText, name: str) -> CellTest:
    """A test as who sets it wrote it.

    Raises
    ------
    ArroyoError
        When it is wrong, with its place.
    """
    return replace(parse_test(source, name), is_hidden=True)


def answered(case: CellTest, when: When) -> CellTest:
    """A test with the query of who answers it."""
    return replace(case, when=when)


def without_answer(result: TestResult, case: CellTest, tries: int) -> TestResult:
    """What may be shown of the result of a hidden test.

    Parameters
    ----------
    tries
        How often it has failed, this time among them: so many hints are given.
    """
    checks = (
        _shown(check, expected, tries)
        for check, expected in zip(result.checks, case.expected, strict=True)
    )
    return replace(result, checks=tuple(checks))


def _shown(check: Check, expected: Expectation, tries: int) -> Check:
    # The title of a check has a watermark or the message of an error.
    title = f"EXPECT {expected.kind.value}"
    if check.difference is None:
        return Check(title, None, None, expected.points)
    said = Difference(_said(check.difference, expected, tries))
    return Check(title, None, said, expected.points)


def _said(difference: Difference, expected: Expectation, tries: int) -> str:
    if difference.is_of_columns:
        # The hints are for who has the columns, and not yet their values.
        return difference.summary
    hints = expected.hints or tuple(_own_hints(difference, expected.kind))
    given = hints[:tries]
    said = ["not as expected"]
    said += [f"Hint {n} of {len(hints)}: {hint}" for n, hint in enumerate(given, 1)]
    if len(given) < len(hints):
        said.append("The next try gives another hint")
    ended = (text if text.endswith((".", "?", "!")) else f"{text}." for text in said)
    return " ".join(ended)


def _own_hints(difference: Difference, kind: Expected) -> Sequence[str]:
    """Of an expectation for which nobody wrote a hint: how much differs, then where."""
    if kind is Expected.ERROR:
        return ("the query runs, or fails for another reason than it should",)
    if not difference.lines:
        return (_UNSAID,)
    marks = Counter(line.mark for line in difference.lines)
    rows = (
        (marks[Mark.MISSING], "missing"),
        (marks[Mark.UNEXPECTED], "too many"),
        (marks[Mark.CHANGED], "with another value"),
    )
    parts = [f"{n} {'row' if n == 1 else 'rows'} {what}" for n, what in rows if n]
    changed = sorted({at for line in difference.lines for at in line.changed})
    columns = [difference.columns[at] for at in changed]
    found = [", ".join(parts)] if parts else [_UNSAID]
    if columns:
        found.append(f"look at {' and '.join(columns)}")
    return found


_UNSAID = "check the columns, their names and their types"
