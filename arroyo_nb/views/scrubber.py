"""The bar below a panel's head that moves all its views over the micro-batches."""

from __future__ import annotations

from datetime import timedelta

from arroyo_nb.run.observe.snapshot import Moment, Snapshot
from arroyo_nb.views.axis_ticks import END_OF_TIME
from arroyo_nb.views.formatting import clock, duration, escaped
from arroyo_nb.views.player import SPEEDS


def scrubber(snapshot: Snapshot) -> str:
    """The bar as HTML; empty where there are not two batches to choose from."""
    moment = snapshot.moment
    if moment is None or moment.first >= moment.last:
        return ""
    told = _told(snapshot, moment)
    parts = (
        _button("back", "◀", "One micro-batch back (←)"),
        _play(moment),
        _button("forward", "▶", "One micro-batch on (→)"),
        f'<input type="range" data-do="at" min="{moment.first}" max="{moment.last}" '
        f'value="{moment.batch_id}" aria-label="Micro-batch" '
        f'aria-valuetext="{escaped(told)}"/>',
        f'<span class="told">{escaped(told)}</span>',
        _speeds(moment),
        "" if moment.is_newest else _button("newest", "Newest", "Follow the run (End)"),
    )
    return (
        '<div class="scrubber" data-key="scrubber" role="group" '
        f'aria-label="Go back in time">{"".join(parts)}</div>'
    )


def _told(snapshot: Snapshot, moment: Moment) -> str:
    at = f"batch {moment.batch_id} of {moment.last}"
    if moment.is_newest:
        return at
    at += f" · at {duration(timedelta(seconds=snapshot.elapsed_s))}"
    mark = snapshot.watermark
    if mark is None:
        return f"{at} · no watermark yet"
    return f"{at} · watermark {clock(mark)}" if mark < END_OF_TIME else at


def _play(moment: Moment) -> str:
    if moment.speed:
        return _button("hold", "‖", "Hold (Space)")
    return _button("play", "▷", "Play from here (Space)")


def _speeds(moment: Moment) -> str:
    speed = moment.speed or 1.0
    options = "".join(
        f'<option value="{s:g}"{" selected" if s == speed else ""}>{s:g}×</option>'
        for s in SPEEDS
    )
    return f'<select data-do="play" aria-label="Speed of playing">{options}</select>'


def _button(command: str, sign: str, title: str) -> str:
    return (
        f'<button type="button" data-do="{command}" title="{title}" '
        f'aria-label="{title}">{sign}</button>'
    )
