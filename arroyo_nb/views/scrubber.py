"""The bar below a panel's head that moves all its views over the micro-batches."""

from __future__ import annotations

from datetime import timedelta

from arroyo_nb.run.observe.snapshot import Arrival, Moment, Snapshot
from arroyo_nb.views.axis_ticks import END_OF_TIME
from arroyo_nb.views.formatting import clock, duration, escaped, values_in_words
from arroyo_nb.views.player import ROW_BACK, ROW_ON, SPEEDS

ARRIVAL_CHARS = 300


def scrubber(snapshot: Snapshot) -> str:
    """The bar as HTML; empty where there are neither two batches nor rows to choose
    from."""
    moment = snapshot.moment
    if moment is None or (moment.first >= moment.last and not snapshot.arrivals):
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
        _rows() if snapshot.arrivals else "",
        "" if moment.arrival is None else _arrival(moment.batch_id, moment.arrival),
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


def _rows() -> str:
    """The buttons that go from row to row."""
    back = _button(ROW_BACK, "‹", "One row back (Alt+←)")
    on = _button(ROW_ON, "›", "One row on (Alt+→)")
    return f'<span class="by-row">row {back}{on}</span>'


def _arrival(batch_id: int, row: Arrival) -> str:
    said = escaped(in_words(batch_id, row), ARRIVAL_CHARS)
    sign = "" if not row.late else '<b aria-hidden="true">×</b> '
    return f'<p class="arrival">{sign}{said}</p>'


def in_words(batch_id: int, row: Arrival) -> str:
    """What a row is that has just come.

    >>> from datetime import datetime
    >>> noon, later = datetime(2013, 1, 1, 12), datetime(2013, 1, 1, 12, 5)
    >>> in_words(3, Arrival(12, 40, 40, noon, later, late=True))
    'Row 12 of 40 of batch 3: event time 12:00, late: the watermark was at 12:05.'
    >>> in_words(3, Arrival(2, 64, 1240, later, noon, "flights"))
    'Row 2 of 64 drawn of 1,240 of batch 3: flights, event time 12:05, in time.'
    """
    few = "" if row.drawn == row.rows else f" drawn of {row.rows:,}"
    table = "".join(
        f"{each}, " for each in (row.source, values_in_words(row.values)) if each
    )
    mark = row.watermark
    moments = [row.time] if mark is None or mark >= END_OF_TIME else [row.time, mark]
    at = clock(row.time, moments)
    said = f"Row {row.number:,} of {row.drawn:,}{few} of batch {batch_id:,}: {table}"
    said += f"event time {at}, "
    if mark is None or not (row.late or row.time < mark):
        return f"{said}in time."
    over = "the end of input" if mark >= END_OF_TIME else clock(mark, moments)
    what = "late" if row.late else "behind the watermark, but in time for its window"
    if row.source:  # of a query without a window
        what = "behind the watermark"
    return f"{said}{what}: the watermark was at {over}."


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
