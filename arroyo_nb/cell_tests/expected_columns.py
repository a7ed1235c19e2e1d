"""The columns of expected rows against those of the query, before anything runs."""

from __future__ import annotations

from arroyo_nb.cell_tests import CellTest, Expected
from arroyo_nb.cell_tests.expected import AFTER, BATCH, BEFORE, OP, expected_rows
from arroyo_nb.errors import ArroyoError, raise_all
from arroyo_nb.plan import Plan
from arroyo_nb.plan.nodes import Sink
from arroyo_nb.schema import arrow_schema
from arroyo_nb.source import ScriptText


def check_expected_columns(case: CellTest, plan: Plan) -> None:
    """Look for what the rows below EXPECT TABLE and EXPECT CHANGELOG cannot be, in the
    words of a run.

    Parameters
    ----------
    case
        The test; rows that are no text are left alone.
    plan
        That of its query. Which output is meant is left to the run where it is unclear.

    Raises
    ------
    ArroyoError
        For each column that the query has not, and each cell that is no value.
    """
    problems: list[ArroyoError] = []
    for expected in case.expected:
        named = (expected.output or "").lower()
        sinks = [s for s in plan.sinks if not named or s.name.lower() == named]
        is_changelog = expected.kind is Expected.CHANGELOG
        if len(sinks) != 1 or not isinstance(expected.rows, ScriptText):
            continue
        if is_changelog or expected.kind is Expected.TABLE:
            try:
                _check(expected.rows, sinks[0], is_changelog=is_changelog)
            except ArroyoError as error:
                problems += error.problems
    raise_all(problems)


def _check(rows: ScriptText, sink: Sink, *, is_changelog: bool) -> None:
    import pyarrow as pa

    found = arrow_schema(sink.schema)
    if sink.headers:
        fields = (f.with_name(n) for f, n in zip(found, sink.headers, strict=True))
        found = pa.schema([*fields])
    if is_changelog:
        row = pa.struct([*found])
        found = pa.schema(
            {OP: pa.string(), BATCH: pa.int64(), BEFORE: row, AFTER: row}.items()
        )
    expected_rows(rows, found, is_changelog=is_changelog)
