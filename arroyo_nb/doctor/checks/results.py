"""Checks of what comes out: not kept, not written, taken back, or another output's."""

from __future__ import annotations

from arroyo_nb.doctor.examination import Examination
from arroyo_nb.doctor.words import names, one_of, rows
from arroyo_nb.run.observe.findings import Finding
from arroyo_nb.run.observe.snapshot import RunState


def behind_window(exam: Examination) -> Finding | None:
    """Windows closed, and nobody has counted what became of their rows."""
    s = exam.snapshot
    probed = exam.probed
    if not exam.has_rows or not s.windowed or probed.filters or probed.matches:
        return None
    closed = len(exam.closed) or s.closed_sessions
    if not closed or s.facts.limit == 0 or s.facts.never_true:
        return None
    if not s.facts.drops_rows:
        return None
    what = s.facts.clauses or ("HAVING", "WHERE", "JOIN")
    # The rows of a batch are shown with it: a closed window has given its row.
    advice = f"%arroyo doctor {s.name} counts the rows that each condition keeps"
    if probed.looked_at:
        advice = "take its conditions out one by one"
    return Finding(
        "having",
        f"{rows(closed, 'window')} closed, and {one_of(what)} behind the window kept "
        "none of their rows",
        advice,
    )


def other_outputs(exam: Examination) -> Finding | None:
    """The output that is shown has no row, and others have."""
    first, *others = exam.snapshot.output_counts or (None,)
    full = [output for output in others if output is not None and output.rows_out]
    if first is None or first.rows_out or not full:
        return None
    counts = ", ".join(f"{o.name}: {o.rows_out:,}" for o in full[:3])
    place = exam.snapshot.output_counts.index(full[0])
    return Finding(
        "other-outputs",
        f"the first output '{first.name}' has no row, and other INSERTs of the script "
        f"have ({counts})",
        f"look at those: {exam.snapshot.handle}.table({place})",
    )


def empty_outputs(exam: Examination) -> Finding | None:
    """The first output has rows, and another has none."""
    first, *others = exam.snapshot.output_counts or (None,)
    empty = [output.name for output in others if output and not output.rows_out]
    if first is None or not first.rows_out or not empty:
        return None
    return Finding(
        "empty-output",
        f"no row came out of {names(empty)}, and the first output has "
        f"{rows(first.rows_out)}",
        "run its query alone in a cell, and ask the doctor there",
    )


def retracted(exam: Examination) -> Finding | None:
    """All rows of an updating result were taken back."""
    s = exam.snapshot
    if not s.updating or s.result_rows != 0 or not s.rows_out:
        return None
    return Finding(
        "retracted",
        f"the result is empty now: {rows(s.rows_out, 'change')} came out, and each row "
        "was retracted again",
        f"look at the changes: {s.handle}.changelog()",
    )


def not_kept(exam: Examination) -> Finding | None:
    """Rows went to a table, and none are kept to be shown."""
    s = exam.snapshot
    if not exam.gave_rows or s.rows_kept or s.rows_cut or s.updating:
        return None
    if s.unwritten:
        return None
    table = s.output_counts[0].name if s.output_counts else "its table"
    return Finding(
        "not-kept",
        f"{rows(s.rows_out)} went to '{table}', and none are kept to be shown here",
        "run it with keep=True to see them too, or without --sinks",
    )


def not_written(exam: Examination) -> Finding | None:
    """Rows of an INSERT are only shown."""
    s = exam.snapshot
    if not s.unwritten or s.state is RunState.STARTING:
        return None
    return Finding(
        "not-written",
        f"the rows for {names(s.unwritten)} are only shown, and not written",
        "run the cell with --sinks to write them",
    )


def on_the_way(exam: Examination) -> Finding | None:
    """Rows came in, and nothing in the query would keep them from coming out."""
    s = exam.snapshot
    if not exam.has_rows or s.state is not RunState.RUNNING or s.paused:
        return None
    if s.facts.drops_rows or s.facts.limit == 0 or (s.windowed and not exam.closed):
        return None
    if exam.probed.filters or exam.probed.matches or exam.probed.lists:
        return None
    return Finding(
        "on-the-way",
        f"{rows(s.rows_in)} came in, and their micro-batch is not over",
        "wait: a batch takes longer the more rows it has",
    )


CHECKS = (behind_window, other_outputs, retracted, on_the_way)
ODD_CHECKS = (not_kept, empty_outputs, not_written)
