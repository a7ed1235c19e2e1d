"""Run a test: its query on the given rows, and each expectation against what came."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.cell_tests import (
    CellTest,
    Check,
    Expectation,
    Expected,
    TestResult,
)
from arroyo_nb.cell_tests.compare import Difference, DiffLine, Mark, difference
from arroyo_nb.cell_tests.expected import BATCH, MissingColumn, expected_rows
from arroyo_nb.cell_tests.render import value_text
from arroyo_nb.cell_tests.scratch import Setting, scratch
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.plan.user_functions import user_functions
from arroyo_nb.run.interrupts import LOOK_S, STOP_S, Interrupts, defer_interrupts
from arroyo_nb.run.observe.snapshot import before_end, naive
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import RunFolder, prepare
from arroyo_nb.run.run import Run
from arroyo_nb.udfs.languages import compiled_functions

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.engine import Engine
    from arroyo_nb.plan import Plan
    from arroyo_nb.run.observe.query_observation import QueryObservation

CLEAN_S = 10.0
"""How long who has run a test waits for its run to end, before its rows are removed."""

WATERMARK = "watermark"

UNLIKE_COLUMNS = "the result has other columns, or columns of other types"


def run_test(
    case: CellTest,
    setting: Setting,
    engine: Engine,
    folder: Callable[[str], Path],
    timeout: timedelta,
) -> TestResult:
    """Run a test.

    Parameters
    ----------
    case, setting
        What is tested, and where.
    engine
        Runs the query.
    folder
        Makes a new folder for what is called so.
    timeout
        How long the query may run, the engine's start left out.

    Raises
    ------
    ArroyoError
        When the test itself is wrong, or its query is and no error is expected. What
        differs from the expectations is in the result.
    """
    work = folder("test-rows")
    try:
        # A wrong row is never the error that is expected of the query.
        made = scratch(case, setting, work)
        wanted = next((e for e in case.expected if e.kind is Expected.ERROR), None)
        begun = time.monotonic()
        try:
            plan = made.plan()
            with _running(plan, engine, folder) as run:
                with defer_interrupts() as interrupts:
                    _wait(run, case, timeout, interrupts)
                if wanted is None:
                    checks = tuple(_check(case, e, run) for e in case.expected)
                    return TestResult(case.name, checks, run.running_s)
        except ArroyoError as error:
            if wanted is None or isinstance(error, _Overdue):
                raise
            check = _checked_error(case, wanted, error)
        else:
            missing = Difference("the query ran, and had no error")
            check = _of(case, wanted, missing)
        return TestResult(case.name, (check,), time.monotonic() - begun)
    finally:
        shutil.rmtree(work, ignore_errors=True)


class _Overdue(RunProblem):
    """A query that has not come to its end in time."""


@contextmanager
def _running(
    plan: Plan, engine: Engine, folder: Callable[[str], Path]
) -> Iterator[Run]:
    """The run of a test, which no list has; it leaves nothing."""
    prepared = prepare("test", plan, RunOptions.parse({"sinks": False, "keep": True}))
    compiled_functions(user_functions(plan.sinks))
    run = Run(prepared, engine, RunFolder(folder("test"), temporary=True))
    try:
        yield run.start()
    finally:
        run.discard()
        run.wait_quietly(CLEAN_S)


def _wait(run: Run, case: CellTest, timeout: timedelta, interrupts: Interrupts) -> None:
    try:
        while not run.wait(LOOK_S):
            interrupts.check()
            if run.running_s >= timeout.total_seconds():
                raise _Overdue(
                    f"the query of the test has not ended within "
                    f"{timeout.total_seconds():g} s",
                    span=case.when.span,
                    hint="a longer one: --timeout 5m",
                ).at(case.query_source)
    except KeyboardInterrupt:
        run.stop("stopped by interrupt").wait_quietly(STOP_S)
        raise


def title(expected: Expectation) -> str:
    """An expectation as its first line has it."""
    words = ["EXPECT", expected.kind.value]
    if expected.kind in (Expected.TABLE, Expected.CHANGELOG, Expected.LATE):
        words += ["ORDERED"] * expected.ordered
        words += ["EMPTY"] * (expected.rows is None)
    if isinstance(expected.value, datetime):
        words.append(value_text(expected.value))
    elif expected.value is not None:
        words.append(f"'{expected.value}'")
    words += [f"OF {expected.output}"] if expected.output else []
    words += [f"LINE {expected.line}"] if expected.line else []
    return " ".join(words)


def _of(case: CellTest, expected: Expectation, found: Difference | None) -> Check:
    line = None
    if expected.span is not None and case.source.text:
        line, _ = case.source.place(expected.span.start)
    return Check(title(expected), line, found)


def _unlike_columns(error: ArroyoError) -> str:
    """What is wrong with the columns of an answer, without the excerpt of the error:
    that is a line of the expectations."""
    lacking = [p for p in error.problems if isinstance(p, MissingColumn)]
    if not lacking:
        return UNLIKE_COLUMNS
    return f"{lacking[0].message}; {lacking[0].hint}"


def _check(case: CellTest, expected: Expectation, run: Run) -> Check:
    """Look at what a query gave."""
    try:
        output = _output(expected, run)
        found = _LOOKS[expected.kind](expected, run, output)
    except ArroyoError as error:
        if case.is_hidden:
            unlike = Difference(_unlike_columns(error), is_of_columns=True)
            return _of(case, expected, unlike)
        if error.source is None and expected.span is not None:
            error.span = expected.span
            error.at(case.source)
        raise
    return _of(case, expected, found)


def _output(expected: Expectation, run: Run) -> int:
    """The output that an expectation is of."""
    names = [output.sink.name for output in run.outputs]
    if expected.output is None:
        if len(names) > 1:
            raise RunProblem(
                f"the query has {len(names)} outputs: {', '.join(names)}",
                hint=f"name one: EXPECT {expected.kind.value} OF {names[0]}",
            )
        return 0
    lower = [name.lower() for name in names]
    if expected.output.lower() not in lower:
        raise RunProblem(
            f"the query has no output '{expected.output}'",
            hint=f"it has: {', '.join(names)}",
        )
    return lower.index(expected.output.lower())


def _rows(
    expected: Expectation, found: pa.Table, *, is_changelog: bool = False
) -> Difference | None:
    wanted = expected_rows(expected.rows, found.schema, is_changelog=is_changelog)
    names = [column.name for column in wanted.columns]
    return difference(
        names,
        wanted.rows,
        wanted.of(found),
        ordered=expected.ordered,
        tolerance=expected.tolerance,
    )


def _look_at_table(expected: Expectation, run: Run, output: int) -> Difference | None:
    return _rows(expected, run.table(output))


def _look_at_changelog(
    expected: Expectation, run: Run, output: int
) -> Difference | None:
    return _rows(expected, run.changelog(output), is_changelog=True)


def _look_at_late(expected: Expectation, run: Run, output: int) -> Difference | None:
    return _rows(expected, run.late(output))


def _look_at_watermark(
    expected: Expectation, run: Run, output: int
) -> Difference | None:
    """The end of a bounded stream moves the watermark behind everything: what counts
    is what the rows have brought it to."""
    found = {
        batch: mark
        for batch, mark in _watermarks(run.outputs[output].observation)
        if mark is None or before_end(mark) is not None
    }
    if expected.rows is not None:
        return _moves(expected, found)
    last = next((mark for mark in reversed(found.values()) if mark is not None), None)
    if last == expected.value:
        return None
    line = DiffLine(Mark.CHANGED, (expected.value,), (last,), frozenset({0}))
    return Difference("the watermark is another", (WATERMARK,), (line,))


def _watermarks(seen: QueryObservation) -> list[tuple[int, datetime | None]]:
    """The watermark of each batch.

    Raises
    ------
    RunProblem
        When there were more batches than are kept.
    """
    points = [(point.batch_id, point.watermark) for point in seen.history.points]
    if [batch for batch, _ in points] == [*range(len(points))]:
        return points
    # Thinned, for pictures. Traces have each batch.
    batches = seen.traces[0].batches if seen.traces else ()
    if not batches or batches[-1].batch_id < points[-1][0]:
        raise RunProblem(
            f"the query had {points[-1][0] + 1:,} micro-batches, and the watermarks of "
            "so many are not kept",
            hint="let more rows come together, between blank lines or with --burst",
        )
    return [(batch.batch_id, naive(batch.watermark)) for batch in batches]


def _moves(
    expected: Expectation, found: dict[int, datetime | None]
) -> Difference | None:
    """The watermarks of batches; without their numbers, how the watermark moved."""
    import pyarrow as pa

    columns: dict[str, Any] = {BATCH: pa.array([*found], pa.int64())}
    columns[WATERMARK] = pa.array([*found.values()], pa.timestamp("us"))
    rows = pa.table(columns)
    wanted = expected_rows(expected.rows, rows.schema)
    names = [column.name for column in wanted.columns]
    came = wanted.of(rows)
    if BATCH in names:
        # Those that are not named are of no interest.
        place = names.index(BATCH)
        named = {row[place] for row in wanted.rows}
        came = [row for row in came if row[place] in named]
        return difference(names, wanted.rows, came)
    moves = [row for row in dict.fromkeys(came) if row[0] is not None]
    return difference(names, wanted.rows, moves, ordered=True)


_LOOKS: dict[Expected, Callable[[Expectation, Run, int], Difference | None]] = {
    Expected.TABLE: _look_at_table,
    Expected.CHANGELOG: _look_at_changelog,
    Expected.LATE: _look_at_late,
    Expected.WATERMARK: _look_at_watermark,
}


def _checked_error(case: CellTest, expected: Expectation, error: ArroyoError) -> Check:
    wanted = str(expected.value or "").lower()
    said = [f"{p.message} {p.hint or ''}" for p in error.problems]
    fitting = [
        problem
        for problem, text in zip(error.problems, said, strict=True)
        if wanted in text.lower()
    ]
    if any(expected.line in (None, _line(case, problem)) for problem in fitting):
        return _of(case, expected, None)
    problem = (fitting or error.problems)[0]
    differs = "the error is at another place" if fitting else "the error is another"
    at = _line(case, problem)
    place = "it has no line in the query" if at is None else f"line {at} of the query"
    return _of(case, expected, Difference(f"{differs}: {problem.message} ({place})"))


def _line(case: CellTest, problem: ArroyoError) -> int | None:
    """The line of the query that an error is at, from 1 on."""
    if problem.source is None or problem.span is None:
        return None
    line, _ = problem.source.line_and_column(problem.span.start)
    sql = case.when.sql
    blank = len(sql) - len(sql.lstrip())
    return line - sql.count("\n", 0, blank) if sql.strip() else line
