"""The text of a test in a cell: its sections, its rows and its query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from arroyo_nb.cell_tests import CellTest, Expected
from arroyo_nb.cell_tests.expected_columns import check_expected_columns
from arroyo_nb.cell_tests.parse import parse_test
from arroyo_nb.cell_tests.scratch import Setting, scratch
from arroyo_nb.editor.answers import EditorContext
from arroyo_nb.editor.problems import CellProblem, problems_of, visible
from arroyo_nb.errors import ArroyoError, raise_all
from arroyo_nb.jobs import spec_file
from arroyo_nb.notebook_variables import BoundScript, bound_script
from arroyo_nb.source import ScriptText, Span


def check_test_text(
    text: str, name: str, context: EditorContext
) -> Iterator[CellProblem]:
    """What is wrong with a test; nothing is run, and no file of rows is read."""
    try:
        case = parse_test(ScriptText(text), name)
    except ArroyoError as error:
        yield from problems_of(error, text)
        return
    yield from _Test(case, context).problems()


class _Test:
    """A test that could be read."""

    def __init__(self, case: CellTest, context: EditorContext) -> None:
        self._case = case
        self._context = context
        self._bound: BoundScript | None = None

    def problems(self) -> Iterator[CellProblem]:
        """What is wrong with its rows, or else with its query."""
        case, catalog = self._case, self._context.catalog
        when, runs = case.when, self._context.runs
        if when.job is not None:
            yield from self._job_problems(when.job)
            return
        if when.run is not None and runs is None and when.run not in catalog:
            return
        elsewhere = {g.table.lower() for g in case.given if g.origin is not None}
        here = tuple(g for g in case.given if g.origin is None)
        setting = Setting(
            catalog,
            self._context.strict,
            runs or {},
            variables=self._context.variables,
            bind=self._bind,
        )
        try:
            made = scratch(replace(case, given=here), setting, None)
            # A query with an error may be what is expected.
            is_planned = all(e.kind is not Expected.ERROR for e in case.expected)
            if is_planned and all(name in catalog for name in elsewhere):
                plan = replace(made, given=made.given | elsewhere).plan()
                check_expected_columns(case, plan)
        except ArroyoError as error:
            for problem in error.problems:
                span = visible(self._place(problem), case.source.text)
                yield CellProblem(problem, span)

    def _job_problems(self, job: str) -> Iterator[CellProblem]:
        """That there is no such job. What it does is known to its file."""
        path = Setting(self._context.catalog).path(job)
        if path.exists():
            return
        try:
            spec_file.load(path)
        except ArroyoError as error:
            span = visible(self._case.when.span, self._case.source.text)
            yield from (CellProblem(problem, span) for problem in error.problems)

    def _bind(self, sql: str) -> str:
        self._bound = bound_script(sql, self._context.variables)
        raise_all(self._bound.problems)
        return self._bound.text

    def _place(self, problem: ArroyoError) -> Span | None:
        """The place in the test of an error, which may be one of another text."""
        case, span = self._case, problem.span
        if span is None or problem.source is None:
            return span or case.when.span
        text, bound = problem.source.text, self._bound
        own = (case.source.text, case.when.sql, *self._row_texts())
        if text in own:
            return span
        # Tables that were given are blank in the script that is planned.
        if bound is not None and len(text) == len(bound.text):
            return bound.typed(span)
        return case.when.span

    def _row_texts(self) -> Iterator[str]:
        case = self._case
        rows = [part.rows for part in case.given] + [e.rows for e in case.expected]
        yield from (text.text for text in rows if isinstance(text, ScriptText))
