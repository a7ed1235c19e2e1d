"""Checks of where the run is: starting, failed, paused, stopped, slow on purpose."""

from __future__ import annotations

from arroyo_nb.doctor.examination import Examination
from arroyo_nb.doctor.words import coarse, names
from arroyo_nb.run.observe.findings import Finding
from arroyo_nb.run.observe.snapshot import RunState

SLOW_S = 5.0
"""A next row that is due sooner is no reason to wait."""


def starting(exam: Examination) -> Finding | None:
    """The engine starts, or the run waits for it."""
    s = exam.snapshot
    if s.state is not RunState.STARTING:
        return None
    return Finding(
        "starting",
        f"'{s.name}' has not started: {s.note or 'Spark starts'}",
        "wait: Spark starts once for the notebook, the next runs begin at once",
    )


def failed(exam: Examination) -> Finding | None:
    """The run failed."""
    s = exam.snapshot
    if s.state is not RunState.FAILED:
        return None
    lines = (s.error or "no reason is known").splitlines()
    hints = [line.strip() for line in lines if line.strip().startswith("hint: ")]
    hint = hints[0].removeprefix("hint: ") if hints else ""
    return Finding(
        "failed",
        f"'{s.name}' failed: {lines[0]}",
        hint or "correct that, and run the cell again",
    )


def paused(exam: Examination) -> Finding | None:
    """Somebody has paused it, or it goes step by step."""
    s = exam.snapshot
    if not s.paused or s.state.ended:
        return None
    who = (
        "waits for you: it was started with --step (step=True)"
        if s.stepping
        else "is paused: Pause was pressed in its panel, or run.pause() was called"
    )
    return Finding(
        "paused",
        f"'{s.name}' {who}",
        f"press Step for one micro-batch, or Resume to go on ({s.handle}.step(), "
        f"{s.handle}.resume())",
    )


def next_row_is_due(exam: Examination) -> Finding | None:
    """At its speed the next rows are due only later."""
    s = exam.snapshot
    due_s = min((source.due_s for source in exam.streams), default=0.0)
    if s.state is not RunState.RUNNING or s.paused or due_s < SLOW_S:
        return None
    slow = [source.name for source in exam.streams if source.due_s]
    return Finding(
        "slow-speed",
        f"the next rows of {names(slow)} are due in about {coarse(due_s)}, at the "
        "speed that the run is played at",
        f"play it faster: %arroyo speed {s.name} max ({s.handle}.set_speed('max'))",
    )


def stopped(exam: Examination) -> Finding | None:
    """It was stopped before it gave a row."""
    s = exam.snapshot
    if s.state is not RunState.STOPPED or exam.gave_rows:
        return None
    note = s.note or "it was stopped"
    return Finding(
        "stopped",
        f"'{s.name}' ended before it gave a row: {note}",
        f"go on with it: %arroyo resume {s.name}; or run its cell again",
    )


CHECKS = (starting, failed, paused, next_row_is_due)
LATER_CHECKS = (stopped,)
