"""The sentence under the picture: what is to be seen, and why.

The first rule that holds for the snapshot speaks. A sentence names the numbers of
the user's own run wherever it can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from arroyo_nb.run.observe.snapshot import RunState, Snapshot, WindowState
from arroyo_nb.views.axis_ticks import END_OF_TIME
from arroyo_nb.views.formatting import STRETCH, clock, count, duration

Rule: TypeAlias = Callable[[Snapshot], str | None]

WATERMARK = (
    "The watermark is the newest event time of the batches before, less the delay you "
    "allowed."
)


def lesson(snapshot: Snapshot, *, beside_table: bool = False) -> str:
    """One or two sentences of plain text; empty where there is nothing to say.

    ``beside_table``: a table without a row says itself what it waits for, or that the
    run failed.
    """
    waits = beside_table and not snapshot.rows_out
    late = _late(snapshot)
    if waits and snapshot.state is RunState.FAILED:
        return late
    rules = [r for r in RULES if not (waits and r is _next_window)]
    said = (rule(snapshot) for rule in rules)
    first = next((text for text in said if text), "")
    return f"{first} {late}".strip()


def _failed(snapshot: Snapshot) -> str | None:
    if snapshot.state is not RunState.FAILED:
        return None
    kept = count(snapshot.rows_out, "row")
    if not snapshot.rows_out:
        return "The run failed before it gave a row."
    return f"The run failed; the {kept} it had given stay."


def _starting(snapshot: Snapshot) -> str | None:
    if snapshot.state is not RunState.STARTING:
        return None
    return "Spark starts once for the notebook; the next cells begin at once."


def _stopped(snapshot: Snapshot) -> str | None:
    if snapshot.state is not RunState.STOPPED:
        return None
    left, noun = _open(snapshot)
    if not left:
        return "Stopped: no more rows are read."
    were = "was" if left == 1 else "were"
    return (
        f"{count(left, noun)} {were} still open when the run stopped: without the "
        f"watermark passing its end, a {noun} has no final row."
    )


def _open(snapshot: Snapshot) -> tuple[int, str]:
    """How many windows may still change, and what they are."""
    if snapshot.density and snapshot.open_sessions is not None:
        return snapshot.open_sessions, "session"
    left = sum(w.state is WindowState.OPEN for w in snapshot.windows)
    return left, STRETCH if snapshot.sessions else "window"


def _finished(snapshot: Snapshot) -> str | None:
    if snapshot.state is not RunState.FINISHED:
        return None
    if snapshot.updating:
        rows = snapshot.result_rows
        if rows is None or rows <= len(snapshot.rows):
            return "The input has ended: these rows are the result."
        every = count(rows, "row")
        return f"The input has ended: all {every} are in {snapshot.handle}.table()."
    if not snapshot.windowed:
        return f"The input has ended: {_how_many(snapshot)}"
    left, noun = _open(snapshot)
    if left:
        return (
            f"The run has read up to the end that the topic had. {count(left, noun)} "
            f"{'is' if left == 1 else 'are'} still open there: newer records may "
            "belong to them, so they have no final row."
        )
    return (
        "The input has ended, so the watermark went to the end of time: every window "
        "that was still open has closed."
    )


def _how_many(snapshot: Snapshot) -> str:
    rows = snapshot.rows_kept + snapshot.rows_cut
    if snapshot.rows_cut or snapshot.cut_text:
        return (
            f"{count(snapshot.rows_kept)} of its {count(rows, 'row')} are kept in "
            f"{snapshot.handle}.table()."
        )
    if len(snapshot.rows) == rows:
        return "every row is here."
    return f"all {count(rows, 'row')} are in {snapshot.handle}.table()."


def _updating(snapshot: Snapshot) -> str | None:
    if not snapshot.updating:
        return None
    return (
        "Without a window a result is never final: a row is retracted and appended "
        "anew whenever its values change."
    )


def _no_watermark(snapshot: Snapshot) -> str | None:
    if snapshot.watermark is not None:
        return None
    return f"{WATERMARK} It starts with the first rows."


def _unwindowed(snapshot: Snapshot) -> str | None:
    if snapshot.windowed:
        return None
    return f"Without a window each row goes out as it comes. {WATERMARK}"


def _sessions(snapshot: Snapshot) -> str | None:
    if not snapshot.sessions:
        return None
    return (
        f"{WATERMARK} A session ends one gap after its last row. When the watermark "
        "passes that, it closes and its row is final; before, a row of its key may "
        "make it longer or join two of them."
    )


def _next_window(snapshot: Snapshot) -> str | None:
    mark = snapshot.watermark
    ends = [w.end for w in snapshot.windows if w.state is WindowState.OPEN]
    if mark is None or mark >= END_OF_TIME or not ends or min(ends) <= mark:
        return None
    end = min(ends)
    return (
        f"{WATERMARK} When it passes a window's end, the window closes and its row is "
        f"final. Next: {clock(end)}, {duration(end - mark)} to go."
    )


def _windowed(_: Snapshot) -> str:
    return (
        f"{WATERMARK} When it passes a window's end, the window closes and its row is "
        "final."
    )


def _late(snapshot: Snapshot) -> str:
    if not snapshot.late_rows or not snapshot.windowed:
        return ""
    were, their = ("was", "its") if snapshot.late_rows == 1 else ("were", "their")
    rows = ("" if snapshot.late_exact else "Up to ") + count(snapshot.late_rows, "row")
    where = f" in {snapshot.late_results} results" * (snapshot.late_results > 1)
    # A row of a hop is one late row, and may have missed several windows.
    missed = sum(bar.late_rows for bar in snapshot.windows)
    why = f"{their} window had already closed"
    if snapshot.gap:
        whose = "its event time" if snapshot.late_rows == 1 else "their event times"
        gap = duration(snapshot.gap)
        why = f"the watermark had reached {whose} plus the gap of {gap}"
    several = snapshot.more_outputs or snapshot.windows_cut or snapshot.sessions
    if missed > snapshot.late_rows and not several:
        why = f"they missed {count(missed)} windows in all, which had already closed"
        why = why if snapshot.late_rows > 1 else why.replace("they", "it")
    return (
        f"{rows} {were} late{where}: {why}. A longer delay keeps "
        "more rows and shows every window later."
    )


RULES: tuple[Rule, ...] = (
    _failed,
    _starting,
    _stopped,
    _finished,
    _updating,
    _no_watermark,
    _unwindowed,
    _sessions,
    _next_window,
    _windowed,
)
