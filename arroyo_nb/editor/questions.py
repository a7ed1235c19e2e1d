"""What a page can ask of a kernel, and the JSON of each answer.

All places of a message are UTF-16 code units of the whole cell. What answers is
imported at the first question of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from arroyo_nb.editor.utf16 import Utf16Places

if TYPE_CHECKING:
    from arroyo_nb.editor.answers import Diagnostic, EditorContext, Fix, Hover
    from arroyo_nb.editor.cell_text import CellText
    from arroyo_nb.session import Session

Json: TypeAlias = "dict[str, Any] | None"


@dataclass(frozen=True)
class Question:
    """A question about a cell, or about the session.

    Parameters
    ----------
    session
        Whose tables, functions and runs are meant.
    text
        The whole cell.
    units
        The place in it, in UTF-16 code units, where the question is of one.
    strict
        Whether what differs from Arroyo is refused.
    variables
        The notebook's variables.
    """

    session: Session
    text: str = ""
    units: int | None = None
    strict: bool = False
    variables: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def places(self) -> Utf16Places:
        """Converts places of the cell."""
        return Utf16Places(self.text)

    @property
    def at(self) -> int:
        """The place in characters; the cell's beginning where none was sent."""
        return self.places.to_characters(min(max(self.units or 0, 0), self._end))

    @property
    def _end(self) -> int:
        return self.places.to_units(len(self.text))

    @cached_property
    def cell(self) -> CellText | None:
        """The cell; None where it is not one of ours, or too long."""
        from arroyo_nb.editor.cell_text import read_short_cell

        return read_short_cell(self.text)

    @cached_property
    def context(self) -> EditorContext:
        """What the cell would be planned against."""
        from arroyo_nb.editor.answers import EditorContext

        catalog = self.session.catalog.with_functions(self.session.function_rows())
        runs = {name: run.plan for name, run in self.session.runs.items()}
        return EditorContext(catalog, self.strict, self.variables, runs)


def _check(question: Question) -> Json:
    from arroyo_nb.editor.background_reads import READS
    from arroyo_nb.editor.diagnostics import diagnose
    from arroyo_nb.editor.result_schema import result_schema

    if question.cell is None:
        return {"marks": [], "result": []}
    marks = diagnose(question.cell, question.context)
    if READS.wait():
        marks = diagnose(question.cell, question.context)
    return {
        "marks": [_mark(found, question.places) for found in marks],
        "result": [
            asdict(column) for column in result_schema(question.cell, question.context)
        ],
    }


def _hover(question: Question) -> Json:
    from arroyo_nb.editor.hover import hover

    if question.cell is None:
        return None
    found = hover(question.cell, question.at, question.context)
    return _explanation(found, question.places)


def _signature(question: Question) -> Json:
    from arroyo_nb.editor.signature import signature

    if question.cell is None:
        return None
    found = signature(question.cell, question.at, question.context)
    return _explanation(found, question.places)


def _format(question: Question) -> Json:
    from arroyo_nb.editor.format_sql import format_cell

    if question.cell is None:
        return None
    return {"text": format_cell(question.cell)}


def _overview(question: Question) -> Json:
    from arroyo_nb.editor.overview import overview

    return overview(question.session).as_json()


def _stop(question: Question) -> Json:
    from arroyo_nb.editor.stop_run import stop_run

    return {"note": stop_run(question.session, question.text)}


QUESTIONS: Mapping[str, Callable[[Question], Json]] = {
    "check": _check,
    "hover": _hover,
    "signature": _signature,
    "format": _format,
    "overview": _overview,
    "stop": _stop,
}
"""By what a message asks. All but ``stop``, whose text is the name of a run, change
nothing."""


def _mark(found: Diagnostic, places: Utf16Places) -> Json:
    return {
        "from": places.to_units(found.start),
        "to": places.to_units(found.end),
        "severity": found.severity.value,
        "message": found.message,
        "hint": found.hint,
        "fixes": [_fix(fix, places) for fix in found.fixes],
    }


def _fix(fix: Fix, places: Utf16Places) -> Json:
    edits = [
        {
            "from": places.to_units(edit.start),
            "to": places.to_units(edit.end),
            "insert": edit.text,
        }
        for edit in fix.edits
    ]
    return {"title": fix.title, "edits": edits}


def _explanation(found: Hover | None, places: Utf16Places) -> Json:
    if found is None:
        return None
    return {
        "from": places.to_units(found.start),
        "to": places.to_units(found.end),
        "title": found.title,
        "lines": list(found.lines),
        "example": found.example,
        "badge": found.badge,
    }
