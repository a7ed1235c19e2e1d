"""Why a result has no row (yet), and what brings one.

The first rule that holds for the snapshot speaks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from arroyo_nb.run.observe.snapshot import RunState, Snapshot, WindowState
from arroyo_nb.views.axis_ticks import END_OF_TIME
from arroyo_nb.views.formatting import clock, count, duration, plain

HINT_CHARS = 400

Rule: TypeAlias = Callable[[Snapshot], str | None]


def why_no_row(snapshot: Snapshot) -> str:
    """One or two sentences of plain text."""
    start = "No row came out" if snapshot.state.ended else "No row yet"
    reasons = (rule(snapshot) for rule in RULES)
    return f"{start}: {next(filter(None, reasons))}"


def _starting(snapshot: Snapshot) -> str | None:
    return "Spark starts." if snapshot.state is RunState.STARTING else None


def _failed(snapshot: Snapshot) -> str | None:
    return "the run failed." if snapshot.state is RunState.FAILED else None


def _unreadable(snapshot: Snapshot) -> str | None:
    dropped = sum(source.dropped_rows for source in snapshot.sources)
    if snapshot.rows_in or not dropped:
        return None
    return (
        f"{count(dropped, 'record')} could not be read and none could. Compare the "
        "columns of CREATE TABLE with the records shown below."
    )


def _no_input(snapshot: Snapshot) -> str | None:
    if snapshot.rows_in:
        return None
    names = ", ".join(f"'{plain(s.name)}'" for s in snapshot.sources[:3])
    if snapshot.paused and not snapshot.state.ended:
        return "the run is paused. Step reads a little, Resume goes on."
    none = f"no record has come from {names or 'the source'}."
    older = next((s.older_records for s in snapshot.sources if s.older_records), "")
    if older:
        none += f" A topic is read from its newest record on unless {plain(older)}."
    return none


def _first_batch(snapshot: Snapshot) -> str | None:
    waits = any(source.waiting for source in snapshot.sources)
    if snapshot.rows_in or snapshot.state.ended or snapshot.paused or not waits:
        return None
    records = sum(source.lag for source in snapshot.sources)
    wait = "waits" if records == 1 else "wait"
    there = f" {count(records, 'record')} {wait} to be read." if records else ""
    return (
        "Spark prepares the first micro-batch, which takes longer than those that "
        f"follow.{there}"
    )


def _filtered(snapshot: Snapshot) -> str | None:
    if snapshot.windowed and snapshot.windows:
        return None
    what = "before the window " if snapshot.windowed else ""
    advice = "Take its conditions out one by one"
    if snapshot.hints:
        advice = f"Probably overlooked: {plain('; '.join(snapshot.hints), HINT_CHARS)}"
    return (
        f"{count(snapshot.rows_in, 'row')} came in, and a WHERE or JOIN {what}kept "
        f"none of them. {advice}."
    )


def _all_late(snapshot: Snapshot) -> str | None:
    if any(bar.rows for bar in snapshot.windows):
        return None
    return (
        f"all {count(snapshot.late_rows, 'row')} came after their windows had closed. "
        "A longer delay in WATERMARK FOR keeps them."
    )


def _no_watermark(snapshot: Snapshot) -> str | None:
    if snapshot.watermark is not None or snapshot.state.ended:
        return None
    return (
        "there is no watermark yet: it comes with the batch after the first rows. A "
        "window gives its rows when the watermark passes its end."
    )


def _first_end(snapshot: Snapshot) -> str | None:
    if any(bar.state is WindowState.CLOSED and bar.rows for bar in snapshot.windows):
        return None
    mark = snapshot.watermark
    end = min(bar.end for bar in snapshot.windows if bar.rows)
    what = "session" if snapshot.sessions else "window"
    if snapshot.density:
        return "a session gives its row one gap after its last row, by the watermark."
    if mark is None or mark >= END_OF_TIME:
        return (
            f"the first {what} ends at {clock(end)}; the watermark did not come there."
        )
    return (
        f"the first {what} ends at {clock(end)}, and the watermark {clock(mark)} has "
        f"{duration(end - mark)} to go. It moves when newer events come."
    )


def _dropped_behind(snapshot: Snapshot) -> str:
    closed = sum(bar.state is WindowState.CLOSED for bar in snapshot.windows)
    return (
        f"{count(closed, 'window')} closed, and a HAVING, WHERE or JOIN behind the "
        "window kept none of their rows. Take its conditions out one by one."
    )


RULES: tuple[Rule, ...] = (
    _starting,
    _failed,
    _unreadable,
    _first_batch,
    _no_input,
    _filtered,
    _all_late,
    _no_watermark,
    _first_end,
    _dropped_behind,
)
