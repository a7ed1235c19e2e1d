"""The watermark against the newest event, as they moved; of several sources each.

Time since the start runs across, event time up. The newest event of a source is a
dashed line, the watermark a line of steps below the slowest one: it moves between
batches, never back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from arroyo_nb.run.observe.history import thinned
from arroyo_nb.run.observe.snapshot import MarkPoint, Snapshot
from arroyo_nb.views.axis_ticks import END_OF_TIME, Axis
from arroyo_nb.views.event_time_axis import WIDTH, svg, text_width
from arroyo_nb.views.formatting import clock, clock_within, duration, escaped
from arroyo_nb.views.label_places import LINE, spread_apart

LEFT = 92
"""Pixels for the labels at the left, at least."""
BESIDE = 152
"""The same at the right."""
TOP, BOTTOM, FLAT_BOTTOM, HIGH_BOTTOM = 16, 122, 34, 190
"""Pixels of the upper edge, and of the lower one: of a flat line and of several
sources, too."""
TICKS_APART = 26
MOST_LINES = 6
"""Sources with a line of their own."""
NAME_CHARS = 18
"""A longer name of a source is cut at the end of its line."""
MOST_POINTS = 240
"""A longer history is thinned; the last point always stays."""


def strip(snapshot: Snapshot) -> str:
    """The picture as one ``<svg>`` element; empty before the first event time."""
    known = [p for p in snapshot.history if p.max_event_time is not None]
    points = thinned(known, MOST_POINTS)
    if not points:
        return ""
    seconds = max(points[-1].elapsed_s, 0.001)
    names = _drawn_sources(points[-1])
    axis = _axis(points, names)
    ticks = axis.ticks(TICKS_APART)
    left = max(LEFT, round(max((text_width(t) for _, t in ticks), default=0)) + 14)
    right = _right(points[-1], names, axis.high - axis.low)
    xs = [round(left + p.elapsed_s / seconds * (right - left), 1) for p in points]
    bottom = round(axis.left)
    parts = [
        *_grid(axis, left, right),
        *_curves(points, xs, axis, newest=not names),
        *_source_lines(points, xs, axis, names),
        *_ends(points[-1], axis, right, names),
        f'<text x="{left}" y="{bottom + 16}">start</text>',
        f'<text x="{right}" y="{bottom + 16}" text-anchor="end">'
        f"{duration(timedelta(seconds=seconds))} later →</text>",
    ]
    return svg(bottom + 24, _told(points[-1]), parts)


def _drawn_sources(last: MarkPoint) -> tuple[str, ...]:
    """The sources that have a line, where there are several: those furthest behind."""
    if len(last.sources) < 2:
        return ()
    slowest = sorted(last.sources, key=lambda each: each[1])[:MOST_LINES]
    return tuple(name for name, _ in last.sources if name in dict(slowest))


def _right(last: MarkPoint, names: Sequence[str], span: timedelta) -> float:
    """Where the curves end: the labels behind them have the room that they need."""
    labels = (text for _, _, text in _labels(last, names, span))
    longest = max(text_width(text, bold=True) for text in labels)
    return WIDTH - max(BESIDE, longest + 12)


def _mark(point: MarkPoint) -> datetime | None:
    """The watermark as far as it can be drawn: not the end of time."""
    mark = point.watermark
    return point.max_event_time if mark is not None and mark >= END_OF_TIME else mark


def _axis(points: Sequence[MarkPoint], names: Sequence[str]) -> Axis:
    """Event time up: high moments have small pixels."""
    moments = [p.max_event_time for p in points if p.max_event_time is not None]
    moments += [mark for p in points if (mark := _mark(p)) is not None]
    moments += [m for p in points for name, m in p.sources if name in names]
    low, high = min(moments), max(moments)
    if low < high:
        return Axis(low, high, HIGH_BOTTOM if names else BOTTOM, TOP)
    # A flat line needs no room but for its labels.
    return Axis(low, high, max(FLAT_BOTTOM, TOP + LINE * (len(names) + 1)), TOP)


def _grid(axis: Axis, left: float, right: float) -> list[str]:
    return [
        f'<line class="tick" x1="{left}" x2="{right}" y1="{axis.at(moment)}" '
        f'y2="{axis.at(moment)}"/><text x="{left - 8}" y="{axis.at(moment) + 4}" '
        f'text-anchor="end">{text}</text>'
        for moment, text in axis.ticks(TICKS_APART)
    ]


def _curves(
    points: Sequence[MarkPoint], xs: list[float], axis: Axis, *, newest: bool
) -> list[str]:
    """The watermark, what lies between it and the newest event, and that as a line
    where sources have none."""
    front = [
        (x, axis.at(p.max_event_time))
        for x, p in zip(xs, points, strict=True)
        if p.max_event_time is not None
    ]
    steps = [
        (x, axis.at(mark))
        for x, p in zip(xs, points, strict=True)
        if (mark := _mark(p)) is not None
    ]
    line = "M" + "L".join(f"{x},{y}" for x, y in front)
    parts = [f'<path class="newest" d="{line}"/>'] * newest
    if steps:
        stairs = f"M{steps[0][0]},{steps[0][1]}" + "".join(
            f"H{x}V{y}" for x, y in steps[1:]
        )
        back = "L".join(f"{x},{y}" for x, y in reversed(front) if x >= steps[0][0])
        parts.insert(0, f'<path class="delay" d="{stairs}L{back}Z"/>')
        parts.append(f'<path class="watermark" d="{stairs}"/>')
    return parts


def _source_lines(
    points: Sequence[MarkPoint], xs: list[float], axis: Axis, names: Sequence[str]
) -> Iterator[str]:
    for number, name in enumerate(names):
        corners = [
            f"{x},{axis.at(moment)}"
            for x, point in zip(xs, points, strict=True)
            if (moment := dict(point.sources).get(name)) is not None
        ]
        yield f'<path class="source s{number}" d="M{"L".join(corners)}"/>'


def _labels(
    last: MarkPoint, names: Sequence[str], span: timedelta
) -> list[tuple[str, datetime, str]]:
    """What stands behind the ends of the lines: kind, moment and text."""

    def at(moment: datetime) -> str:
        return clock_within(moment, span)

    newest, mark = last.max_event_time, _mark(last)
    assert newest is not None
    by_name = dict(last.sources)
    labels = [
        (f"source s{number}", by_name[name], f"{_cut(name)} {at(by_name[name])}")
        for number, name in enumerate(names)
    ]
    if not names:
        labels.append(("newest", newest, f"newest event {at(newest)}"))
    if mark is not None:
        over = last.watermark is not None and last.watermark >= END_OF_TIME
        text = "end of input" if over else f"watermark {at(mark)}"
        labels.append(("watermark", mark, text))
    return labels


def _cut(name: str) -> str:
    return name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1] + "…"


def _ends(
    last: MarkPoint, axis: Axis, right: float, names: Sequence[str]
) -> Iterator[str]:
    """The labels, none over another, and the delay where there is room between two."""
    labels = _labels(last, names, axis.high - axis.low)
    ys = spread_apart(
        [axis.at(moment) + 4 for _, moment, _ in labels], TOP + 4, axis.left + 4
    )
    for (kind, _, text), y in zip(labels, ys, strict=True):
        yield (
            f'<g class="{kind}"><text x="{right + 8}" y="{y:.1f}">'
            f"{escaped(text, len(text))}</text></g>"
        )
    newest, mark = last.max_event_time, _mark(last)
    if newest is None or mark is None or names or len(ys) < 2:
        return
    text = f"{duration(newest - mark)} behind"
    if ys[1] - ys[0] > 40 and text_width(text) < WIDTH - right:
        yield f'<text x="{right + 8}" y="{(ys[0] + ys[1]) / 2:.1f}">{text}</text>'


def _told(last: MarkPoint) -> str:
    newest, mark = last.max_event_time, last.watermark
    assert newest is not None
    told = f"newest event {clock(newest)}"
    if mark is not None and mark < END_OF_TIME:
        told += f", watermark {clock(mark)}, {duration(newest - mark)} behind"
    return told
