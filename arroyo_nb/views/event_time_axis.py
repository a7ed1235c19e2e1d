"""What pictures over event time have in common: ticks, both lines, the legend.

Event time runs across. The watermark and the newest event are lines, and what lies
between them is not final yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from arroyo_nb.run.observe.snapshot import Snapshot, WindowBar
from arroyo_nb.views.axis_ticks import END_OF_TIME, Axis
from arroyo_nb.views.formatting import clock, count, duration, escaped, interval

WIDTH = 880
MARGIN = 14
TOP = 50
"""Pixels above the first lane: two rows of labels and a gap."""

CHAR = 6.9
"""Pixels a character of the labels takes, on the safe side."""

LABEL_CHARS = 300

_FONT = 12

_WIDTHS = {
    char: hundredths / 100
    for hundredths, chars in (
        (28, "ijl'"),
        (29, "IJ"),
        (33, " ,.·"),
        (34, "/:;\\|f"),
        (40, "-()[]t!"),
        (42, "r"),
        (52, 'sz*_`–"'),
        (56, "cL?"),
        (61, "FkvxyPTYao"),
        (64, "eESbdghnpqu0123456789${}"),
        (70, "KAVBRXZC"),
        (75, "UHNDG&◇"),
        (82, "OQw"),
    )
    for char in chars
}
"""Widths of letters of the widest font that a browser takes for its own, DejaVu Sans,
in its size; what is not listed is as wide as the size."""

BOLD = 1.15
"""A bold text is wider by this at most."""


def text_width(text: str, *, bold: bool = False) -> float:
    """Pixels that a label takes at most.

    >>> round(text_width("10:00:12")), round(text_width("watermark", bold=True))
    (54, 76)
    """
    ems = sum(_WIDTHS.get(char, 1.0) for char in text)
    return ems * _FONT * (BOLD if bold else 1.0)


LEGEND = (
    ("closed", "closed: final"),
    ("open", "open: may change"),
    ("late", "late: came after its window had closed"),
)

SESSION_LEGEND = (*LEGEND[:-1], ("late", "late: the gap after it had passed"))
"""The same of sessions, which no late row belongs to."""


def svg(height: int, label: str, parts: Iterable[str]) -> str:
    """A picture of the panel's width, and what it shows in words."""
    drawn = "".join(parts)
    # A screen reader finds no button, and no words of a part, within an image.
    has_parts = "data-do" in drawn or 'role="img"' in drawn
    role = "group" if has_parts else "img"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'class="picture" role="{role}" aria-label="{escaped(label, LABEL_CHARS)}">'
        f"<defs/>{drawn}</svg>"
    )


def wide_axis(span: tuple[datetime, datetime]) -> Axis:
    """The axis of a picture that shows a span of event time."""
    return Axis(*span, MARGIN, WIDTH - MARGIN)


def ticks(axis: Axis, bottom: int) -> list[str]:
    """Round moments as thin lines, each with its text where the picture has room."""
    return [
        f'<g data-key="t{moment.isoformat()}" style="transform:'
        f'translate({axis.at(moment)}px,0)">'
        f'<line class="tick" y1="{TOP - 6}" y2="{bottom}"/>'
        f"{_tick_text(axis.at(moment), bottom, text)}</g>"
        for moment, text in axis.ticks(apart=90)
        if axis.at(moment) < axis.right - 24
    ]


def _tick_text(x: float, bottom: int, text: str) -> str:
    if x + 2 + text_width(text) > WIDTH:
        return ""
    return f'<text y="{bottom + 13}" x="2">{text}</text>'


def title(bar: WindowBar) -> str:
    """What a bar says when the pointer is on it."""
    late = f", {count(bar.late_rows)} late" if bar.late_rows else ""
    closed = f" in batch {bar.closed_in}" if bar.closed_in is not None else ""
    merged = f", {len(bar.seams) + 1} sessions that merged" if bar.seams else ""
    span = interval(bar.start, bar.end)
    if bar.late_only:
        return f"{span}{late}: in no session"
    rows = count(bar.rows, "row")
    return f"{span}: {rows}{late}, {bar.state.value}{closed}{merged}"


def selects(start: datetime, end: datetime) -> str:
    """The attribute of a mark that selects a window where it is pressed."""
    return f'data-do="select window {start.isoformat()} {end.isoformat()}"'


def pickable(bar: WindowBar, *, dimmed: bool = False) -> str:
    """The attributes of a window's mark in a picture: a button that selects it.
    ``dimmed``: another one is selected."""
    look = "pick dim" if dimmed else "pick"
    return f'class="{look}" role="button" tabindex="0" {selects(bar.start, bar.end)}'


def both_lines(axis: Axis, snapshot: Snapshot, bottom: int) -> list[str]:
    """The newest event and the watermark."""
    mark, newest = snapshot.watermark, snapshot.max_event_time
    parts, taken = [], (0.0, 0.0)
    if mark is not None:
        over = mark >= END_OF_TIME
        text = "end of input: all closed" if over else f"watermark {clock(mark)}"
        line, taken = _line(axis, mark, "watermark", text, 30, 20, bottom, before=True)
        parts.append(line)
    if newest is not None:
        text = f"newest event {clock(newest)}"
        # The line begins below the other's label where it would pass through it.
        top = 36 if taken[0] < axis.at(newest) < taken[1] else 4
        line, _ = _line(axis, newest, "newest", text, 14, top, bottom, before=False)
        parts.insert(0, line)
    return parts


def _label_room(text: str) -> float:
    """Pixels beside a line for its label, with an arrow."""
    return text_width(f"← {text}", bold=True) + 10


def _line(
    axis: Axis,
    moment: datetime,
    kind: str,
    text: str,
    y: int,
    top: int,
    bottom: int,
    *,
    before: bool,
) -> tuple[str, tuple[float, float]]:
    """A line across the lanes, its label on the side that has the room, and from where
    to where that goes."""
    x, wide = axis.at(moment), _label_room(text)
    if moment < axis.low:
        text = f"← {text}"
    elif moment > axis.high:
        text = f"{text} →"
    left = before if WIDTH - wide > x > wide else x > WIDTH / 2
    anchor, shift = ("end", -5) if left else ("start", 5)
    drawn = (
        f'<g data-key="{kind}" class="{kind}" style="transform:translate({x}px,0)">'
        f'<line y1="{top}" y2="{bottom}"/>'
        f'<text x="{shift}" y="{y}" text-anchor="{anchor}">{text}</text></g>'
    )
    return drawn, ((x - wide, x) if left else (x, x + wide))


def delay_band(axis: Axis, snapshot: Snapshot, bottom: int) -> str:
    """What lies between the watermark and the newest event: not final yet."""
    mark, newest = snapshot.watermark, snapshot.max_event_time
    if mark is None or newest is None or newest <= mark:
        return ""
    x, width = axis.at(mark), axis.at(newest) - axis.at(mark)
    text = f"{duration(newest - mark)} behind"
    # The label of the watermark stands at its left, where that has the room.
    is_free = x > min(_label_room(f"watermark {clock(mark)}"), WIDTH / 2)
    label = (
        f'<text x="{width / 2:.1f}" y="30" text-anchor="middle">{text}</text>'
        if text_width(text) + 12 <= width and is_free
        else ""
    )
    return (
        f'<g data-key="delay" style="transform:translate({x}px,0)">'
        f'<rect class="delay" y="18" width="{width:.1f}" height="{bottom - 18}"/>'
        f"{label}</g>"
    )


def legend(
    y: int, *, late: bool, entries: Sequence[tuple[str, str]] = LEGEND
) -> list[str]:
    """What the colours and marks say; the last entry only where rows were late."""
    parts, x = [], float(MARGIN)
    for kind, text in entries if late else entries[:-1]:
        mark = (
            f'<text class="late" x="{x}" y="{y}">×</text>'
            if kind == "late"
            else f'<rect class="bar {kind}" x="{x}" y="{y - 9}" width="14" height="10"'
            ' rx="2"/>'
        )
        shift = 12 if kind == "late" else 19
        parts.append(f'{mark}<text x="{x + shift:.1f}" y="{y}">{text}</text>')
        x += shift + text_width(text) + 18
    return parts
