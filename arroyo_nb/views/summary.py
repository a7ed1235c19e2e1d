"""A run in few words: its sign, its state and its counts."""

from __future__ import annotations

from arroyo_nb.run.observe.snapshot import RunState, Snapshot
from arroyo_nb.views.axis_ticks import END_OF_TIME
from arroyo_nb.views.formatting import clock, count
from arroyo_nb.views.truncation_notes import dropped_rows, late_in_words

GLYPHS = {
    RunState.STARTING: "◌",
    RunState.RUNNING: "●",
    RunState.FINISHED: "✓",
    RunState.STOPPED: "■",
    RunState.FAILED: "✕",
}


def told(snapshot: Snapshot) -> str:
    """The run in one line, for who listens instead of looking."""
    parts = [
        f"{snapshot.name} {state_word(snapshot)}",
        f"{count(snapshot.rows_in, 'row')} in",
        came_out(snapshot),
    ]
    if snapshot.late_rows:
        parts.append(late_in_words(snapshot))
    if dropped := dropped_rows(snapshot):
        parts.append(f"{count(dropped)} dropped")
    if snapshot.watermark is not None and snapshot.watermark < END_OF_TIME:
        parts.append(f"watermark {clock(snapshot.watermark)}")
    return ", ".join(parts)


def came_out(snapshot: Snapshot) -> str:
    """How much has come out of it, in words."""
    if not snapshot.updating:
        return f"{count(snapshot.rows_out, 'row')} out"
    changes = f"{count(snapshot.rows_out, 'change')} out"
    if snapshot.result_rows is None:
        return changes
    return f"{changes}, {count(snapshot.result_rows, 'row')}"


def state_word(snapshot: Snapshot) -> str:
    """The state as a word; a run that waits is paused, an earlier batch is past."""
    if snapshot.moment is not None and not snapshot.moment.is_newest:
        return "past"
    waits = snapshot.paused and not snapshot.state.ended
    return "paused" if waits else snapshot.state.value


def glyph(snapshot: Snapshot) -> str:
    """The sign of the state."""
    signs = {"paused": "‖", "past": "◷"}
    return signs.get(state_word(snapshot)) or GLYPHS[snapshot.state]
