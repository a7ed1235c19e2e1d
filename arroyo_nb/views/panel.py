"""The panel of a run: head, pictures, newest rows, sources, and one sentence.

:func:`frame` makes one self-contained, script-free piece of HTML from a snapshot.
The same snapshot gives the same text, so an unchanged frame need not be sent.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from importlib.resources import files

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.caption import lesson
from arroyo_nb.views.doctor import unasked
from arroyo_nb.views.formatting import (
    NAME_CHARS,
    duration,
    escaped,
    lines,
    pace,
)
from arroyo_nb.views.outputs import output_tabs, tab_panel
from arroyo_nb.views.row_filter import search_field
from arroyo_nb.views.rows import first_rows, fitted
from arroyo_nb.views.scrubber import scrubber
from arroyo_nb.views.sections import views, views_of
from arroyo_nb.views.selection import bar_of_selection
from arroyo_nb.views.sources import listed
from arroyo_nb.views.summary import glyph, state_word, told
from arroyo_nb.views.truncation_notes import (
    CUT_CHARS,
    MOST_COLUMNS,
    late_in_words,
    not_written,
    outputs_left_out,
    stale_tables,
    trace_left_out,
)
from arroyo_nb.views.view_tabs import view_tabs

MOST_BYTES = 250_000
"""A frame above this has its rows halved until it fits."""

MOST_CELLS = 2_000
"""Cells of the table: what a frame of every quarter of a second can afford."""

MOST_ROWS = 20
STEPS = {"late": "the next late row", "window": "the next window closes"}
"""What a run with windows can be stepped to."""

NOTE_CHARS, ERROR_CHARS, PLAN_CHARS = 300, 6_000, 40_000


def frame(
    snapshot: Snapshot,
    *,
    view: str | None = None,
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
    sheets = ((static / f"{n}.css").read_text("utf-8") for n in ("picture", "panel"))
    return "".join((*sheets, *(view.style for view in views())))


@cache
def live_style() -> str:
    """The same with what needs a script: filter, sliders, presentation."""
    sheet = files("arroyo_nb.views") / "static" / "live.css"
    return style() + sheet.read_text("utf-8")


def body(
    snapshot: Snapshot,
    *,
    view: str | None = None,
    plan: str = "",
    rows: int = MOST_ROWS,
    keys: bool = False,
) -> str:
    """The panel without its style; at most :data:`MOST_BYTES` long.

    ``keys`` adds the buttons, for a page that listens to them.
    """
    snapshot, shown = fitted(snapshot), views_of(view, snapshot)
    lists_rows = any(view.lists_rows for view in shown)
    rows = min(rows, MOST_CELLS // max(len(snapshot.columns[:MOST_COLUMNS]), 1))
    while True:
        cut = first_rows(snapshot, rows)
        drawn = view_tabs(view, snapshot) if keys else ""
        drawn += "".join(
            search_field(cut) * (keys and each.lists_rows) + each.live(cut, plan)
            for each in shown
        )
        drawn = output_tabs(snapshot) * keys + tab_panel(snapshot, drawn)
        made = _wrapped(cut, drawn, keys=keys, with_table=lists_rows)
        if len(made.encode()) <= MOST_BYTES or rows == 0:
            return made
        rows //= 2


def _wrapped(snapshot: Snapshot, drawn: str, *, keys: bool, with_table: bool) -> str:
    label = escaped(f"Run {snapshot.name}", NAME_CHARS)
    said, stale = lesson(snapshot, beside_table=with_table), stale_tables(snapshot)
    # Tabs show the other outputs.
    others = "" if keys else outputs_left_out(snapshot)
    cuts = (not_written(snapshot), others, trace_left_out(snapshot))
    parts = (
        _head(snapshot, keys=keys),
        f'<p class="note stale">{escaped(stale, CUT_CHARS)}</p>' if stale else "",
        scrubber(snapshot) if keys else "",
        bar_of_selection(snapshot, keys=keys),
        f'<p class="note">{escaped(snapshot.note, NOTE_CHARS)}</p>'
        if snapshot.note
        else "",
        f'<pre class="error">{lines(snapshot.error, ERROR_CHARS)}</pre>'
        if snapshot.error
        else "",
        drawn,
        unasked(snapshot, beside_table=with_table),
        *(f'<p class="soft">{escaped(cut, CUT_CHARS)}</p>' for cut in cuts if cut),
        listed(snapshot.sources, ended=snapshot.state.ended),
        f'<p class="lesson">{escaped(said, 600)}</p>' if said else "",
    )
    return (
        f'<section class="arroyo" aria-label="{label}" '
        f'data-told="{escaped(told(snapshot), 300)}">{"".join(parts)}</section>'
    )


def _head(snapshot: Snapshot, *, keys: bool) -> str:
    numbers = "".join(_numbers(snapshot))
    return (
        f'<header><div class="head"><span class="name">'
        f"{escaped(snapshot.name, NAME_CHARS)}</span>{_state(snapshot)}{numbers}</div>"
        f"{_keys(snapshot) if keys else ''}</header>"
    )


def _state(snapshot: Snapshot) -> str:
    """Glyph, colour and word: the state is never told by colour alone."""
    word = state_word(snapshot)
    return (
        f'<span class="state {word}"><i aria-hidden="true">{glyph(snapshot)}</i>'
        f"{word}</span>"
    )


def _keys(snapshot: Snapshot) -> str:
    is_past = snapshot.moment is not None and not snapshot.moment.is_newest
    if snapshot.state.ended or (is_past and not snapshot.can_pause):
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
    if snapshot.can_pause and snapshot.windowed:
        made += _steps()
    return f'<span class="keys">{made}</span>'


def _steps() -> str:
    options = "".join(
        f'<option value="{u}">{text}</option>' for u, text in STEPS.items()
    )
    return (
        '<select data-do="step" data-once aria-label="Step until">'
        f'<option value="" selected>Step until…</option>{options}</select>'
    )


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
        number, _, rest = late_in_words(snapshot).partition(" late")
        made.append(f'<span class="num bad"><b>× {number}</b> late{rest}</span>')
    if snapshot.batch_id is not None:
        ms = "" if snapshot.batch_ms is None else f" · {snapshot.batch_ms:.0f} ms"
        made.append(f'<span class="num">batch <b>{snapshot.batch_id}</b>{ms}</span>')
    return made


def _came_out(snapshot: Snapshot) -> list[str]:
    if not snapshot.updating:
        return [f"<b>{snapshot.rows_out:,}</b> out"]
    rows = snapshot.result_rows
    there = [] if rows is None else [f"<b>{rows:,}</b> row" + "s" * (rows != 1)]
    return [f"<b>{snapshot.rows_out:,}</b> changes", *there]
