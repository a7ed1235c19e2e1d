"""The panel of a run: head, pictures, newest rows, sources, and one sentence.

:func:`frame` makes one self-contained, script-free piece of HTML from a snapshot.
The same snapshot gives the same text, so an unchanged frame need not be sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any

from arroyo_nb.run.observe.snapshot import RunState, Snapshot
from arroyo_nb.views.axis import END_OF_TIME
from arroyo_nb.views.caption import lesson
from arroyo_nb.views.changelog import changelog
from arroyo_nb.views.formatting import (
    NAME_CHARS,
    clock,
    count,
    duration,
    escaped,
    lines,
    pace,
)
from arroyo_nb.views.rows import fitted, table
from arroyo_nb.views.sources import listed
from arroyo_nb.views.timeline import timeline
from arroyo_nb.views.truncation_notes import (
    CUT_CHARS,
    MOST_COLUMNS,
    dropped_rows,
    late_count,
    not_written,
    outputs_left_out,
    trace_left_out,
    windows_left_out,
)
from arroyo_nb.views.watermark import strip

MOST_BYTES = 250_000
"""A frame above this has its rows halved until it fits."""

MOST_CELLS = 2_000
"""Cells of the table: what a frame of every quarter of a second can afford."""

MOST_ROWS = 20
NOTE_CHARS, ERROR_CHARS, PLAN_CHARS = 300, 6_000, 40_000

GLYPHS = {
    RunState.STARTING: "◌",
    RunState.RUNNING: "●",
    RunState.FINISHED: "✓",
    RunState.STOPPED: "■",
    RunState.FAILED: "✕",
}


class PanelView(Enum):
    """What a panel shows between its head and its last sentence."""

    TABLE = "table"
    CHANGELOG = "changelog"
    WINDOWS = "windows"
    WATERMARK = "watermark"
    PLAN = "plan"
    ALL = "all"


def frame(
    snapshot: Snapshot,
    *,
    view: PanelView | None = None,
    plan: str = "",
    rows: int = MOST_ROWS,
) -> str:
    """The panel with its style, ready for any page.

    Parameters
    ----------
    snapshot
        What to draw.
    view
        One view; None: the picture that suits the query, and the newest rows.
    plan
        Text of the plan, for the views that show it.
    rows
        Newest rows to show.
    """
    return f"<style>{style()}</style>{body(snapshot, view=view, plan=plan, rows=rows)}"


@cache
def style() -> str:
    """The panel's style sheet."""
    static = files("arroyo_nb.views") / "static"
    return "".join(
        (static / f"{name}.css").read_text("utf-8") for name in ("picture", "panel")
    )


def body(
    snapshot: Snapshot,
    *,
    view: PanelView | None = None,
    plan: str = "",
    rows: int = MOST_ROWS,
    keys: bool = False,
) -> str:
    """The panel without its style; at most :data:`MOST_BYTES` long.

    ``keys`` adds the buttons, for a page that listens to them.
    """
    snapshot, views = fitted(snapshot), _views(view, snapshot)
    rows = min(rows, MOST_CELLS // max(len(snapshot.columns[:MOST_COLUMNS]), 1))
    while True:
        cut = replace(
            snapshot, rows=snapshot.rows[:rows], changes=snapshot.changes[:rows]
        )
        drawn = _tabs(views, snapshot) if keys else ""
        drawn += "".join(SECTIONS[v](cut, plan) for v in views)
        made = _wrapped(cut, drawn, keys=keys, with_table=PanelView.TABLE in views)
        if len(made.encode()) <= MOST_BYTES or rows == 0:
            return made
        rows //= 2


def _views(view: PanelView | None, snapshot: Snapshot) -> tuple[PanelView, ...]:
    if view is PanelView.ALL:
        return (
            PanelView.WINDOWS,
            PanelView.WATERMARK,
            PanelView.TABLE,
            PanelView.CHANGELOG,
            PanelView.PLAN,
        )
    if view is not None:
        return (view,)
    if snapshot.updating:
        return (PanelView.TABLE,)
    return (
        PanelView.WINDOWS if snapshot.windowed else PanelView.WATERMARK,
        PanelView.TABLE,
    )


def _tabs(views: tuple[PanelView, ...], snapshot: Snapshot) -> str:
    """The two sides of an updating result; the page says which one it wants."""
    if not snapshot.updating or len(views) != 1 or views[0] not in TABS:
        return ""
    made = "".join(
        f'<button type="button" data-do="{view.value}" '
        f'aria-pressed="{str(view is views[0]).lower()}">{view.value.title()}</button>'
        for view in TABS
    )
    return f'<nav class="tabs">{made}</nav>'


def _wrapped(snapshot: Snapshot, drawn: str, *, keys: bool, with_table: bool) -> str:
    label = escaped(f"Run {snapshot.name}", NAME_CHARS)
    said = lesson(snapshot, beside_table=with_table)
    cuts = (tell(snapshot) for tell in (not_written, outputs_left_out, trace_left_out))
    parts = (
        _head(snapshot, keys=keys),
        f'<p class="note">{escaped(snapshot.note, NOTE_CHARS)}</p>'
        if snapshot.note
        else "",
        f'<pre class="error">{lines(snapshot.error, ERROR_CHARS)}</pre>'
        if snapshot.error
        else "",
        drawn,
        *(f'<p class="soft">{escaped(cut, CUT_CHARS)}</p>' for cut in cuts if cut),
        listed(snapshot.sources, ended=snapshot.state.ended),
        f'<p class="lesson">{escaped(said, 600)}</p>' if said else "",
    )
    return (
        f'<section class="arroyo" aria-label="{label}" '
        f'data-told="{escaped(told(snapshot), 300)}">{"".join(parts)}</section>'
    )


def told(snapshot: Snapshot) -> str:
    """The run in one line, for who listens instead of looking."""
    parts = [
        f"{snapshot.name} {_word(snapshot)}",
        f"{count(snapshot.rows_in, 'row')} in",
        came_out(snapshot),
    ]
    if snapshot.late_rows:
        parts.append(f"{late_count(snapshot)} late")
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


def _head(snapshot: Snapshot, *, keys: bool) -> str:
    numbers = "".join(_numbers(snapshot))
    return (
        f'<header><div class="head"><span class="name">'
        f"{escaped(snapshot.name, NAME_CHARS)}</span>{_state(snapshot)}{numbers}</div>"
        f"{_keys(snapshot) if keys else ''}</header>"
    )


def _state(snapshot: Snapshot) -> str:
    """Glyph, colour and word: the state is never told by colour alone."""
    word = _word(snapshot)
    return (
        f'<span class="state {word}"><i aria-hidden="true">{glyph(snapshot)}</i>'
        f"{word}</span>"
    )


def _word(snapshot: Snapshot) -> str:
    waits = snapshot.paused and not snapshot.state.ended
    return "paused" if waits else snapshot.state.value


def glyph(snapshot: Snapshot) -> str:
    """The sign of the state."""
    return "‖" if _word(snapshot) == "paused" else GLYPHS[snapshot.state]


def _keys(snapshot: Snapshot) -> str:
    if snapshot.state.ended:
        return ""
    keys = [("stop", "Stop", "Stop this run")]
    if snapshot.can_pause:
        pause = ("resume", "Resume") if snapshot.paused else ("pause", "Pause")
        keys.insert(0, ("step", "Step", "Read a little more, then pause"))
        keys.insert(0, (*pause, "Key: P"))
    made = "".join(
        f'<button type="button" data-do="{do}" title="{title}">{text}</button>'
        for do, text, title in keys
    )
    return f'<span class="keys">{made}</span>'


def _numbers(snapshot: Snapshot) -> list[str]:
    took = duration(timedelta(seconds=snapshot.elapsed_s))
    numbers = [f"<b>{snapshot.rows_in:,}</b> rows in", *_came_out(snapshot)]
    speed = (
        f"took <b>{took}</b>"
        if snapshot.state.ended
        else f"<b>{pace(snapshot.rows_per_s)}</b> rows/s"
    )
    made = [f'<span class="num pace">{speed}</span>']
    made += [f'<span class="num">{number}</span>' for number in numbers]
    if snapshot.late_rows:
        made.append(
            f'<span class="num bad"><b>× {late_count(snapshot)}</b> late</span>'
        )
    if snapshot.batch_id is not None:
        ms = "" if snapshot.batch_ms is None else f" · {snapshot.batch_ms:.0f} ms"
        made.append(f'<span class="num">batch <b>{snapshot.batch_id}</b>{ms}</span>')
    return made


def _came_out(snapshot: Snapshot) -> list[str]:
    if not snapshot.updating:
        return [f"<b>{snapshot.rows_out:,}</b> out"]
    rows = snapshot.result_rows
    there = [] if rows is None else [f"<b>{rows:,}</b> rows"]
    return [f"<b>{snapshot.rows_out:,}</b> changes", *there]


def _windows(snapshot: Snapshot, _: str) -> str:
    if not snapshot.windowed:
        return '<p class="soft">This query has no window.</p>'
    if (drawn := timeline(snapshot)) is None:
        return '<p class="soft">No window yet: the first row opens one.</p>'
    hidden, late = drawn.hidden_windows, drawn.hidden_late
    caption = windows_left_out(snapshot, hidden, late=late, columns=drawn.columns)
    above = f'<p class="soft">{escaped(caption, 200)}</p>' if caption else ""
    return above + drawn.svg


def _watermark(snapshot: Snapshot, _: str) -> str:
    return strip(snapshot) or '<p class="soft">No event time seen yet.</p>'


def _plan(_: Snapshot, plan: str) -> str:
    return f'<pre class="plan">{lines(plan, PLAN_CHARS)}</pre>' if plan else ""


TABS = (PanelView.TABLE, PanelView.CHANGELOG)

SECTIONS: dict[PanelView, Callable[[Snapshot, str], Any]] = {
    PanelView.TABLE: table,
    PanelView.CHANGELOG: changelog,
    PanelView.WINDOWS: _windows,
    PanelView.WATERMARK: _watermark,
    PanelView.PLAN: _plan,
}
