"""The watermark against the newest event, as they moved.

Time since the start runs across, event time up. The newest event is a dashed line,
the watermark a line of steps below it: it moves between batches, never back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from arroyo_nb.run.observe.snapshot import MarkPoint, Snapshot
from arroyo_nb.views.axis_ticks import END_OF_TIME, Axis
from arroyo_nb.views.event_time_axis import CHAR, WIDTH, svg
from arroyo_nb.views.formatting import clock, duration
from arroyo_nb.views.inert import image
from arroyo_nb.views.sections import PanelViewBase

LEFT = 92
BESIDE = 152
"""Pixels for the labels at the right, at least."""
TOP, BOTTOM, FLAT_BOTTOM = 16, 122, 34
MOST_POINTS = 240
"""A longer history is thinned; the last point always stays."""


class WatermarkView(PanelViewBase):
    """The watermark against the newest event."""

    name = "watermark"
    place = 20

    def suits(self, snapshot: Snapshot) -> bool:
        """A query without windows; a result that is never final waits for none."""
        return not (snapshot.windowed or snapshot.updating)

    def suits_static(self, snapshot: Snapshot) -> bool:
        """The same, and one whose windows are not there yet."""
        return not (snapshot.windows or snapshot.updating)

    def live(self, snapshot: Snapshot, plan: str) -> str:  # noqa: ARG002
        """Both lines, as they moved."""
        return strip(snapshot) or '<p class="soft">No event time seen yet.</p>'

    def static(
        self,
        snapshot: Snapshot,
        plan: str,  # noqa: ARG002
        *,
        asked: bool,  # noqa: ARG002
    ) -> str:
        """The same as an image."""
        drawn = strip(snapshot)
        return image(snapshot, drawn, "watermark") if drawn else ""


def strip(snapshot: Snapshot) -> str:
    """The picture as one ``<svg>`` element; empty before the first event time."""
    points = _thinned([p for p in snapshot.history if p.max_event_time is not None])
    if not points:
        return ""
    seconds = max(points[-1].elapsed_s, 0.001)
    right = _right(points[-1])
    xs = [round(LEFT + p.elapsed_s / seconds * (right - LEFT), 1) for p in points]
    axis = _axis(points)
    bottom = round(axis.left)
    parts = [
        *_grid(axis, right),
        *_curves(points, xs, axis),
        *_ends(points[-1], axis, right),
        f'<text x="{LEFT}" y="{bottom + 16}">start</text>',
        f'<text x="{right}" y="{bottom + 16}" text-anchor="end">'
        f"{duration(timedelta(seconds=seconds))} later →</text>",
    ]
    return svg(bottom + 24, _told(points[-1]), parts)


def _right(last: MarkPoint) -> float:
    """Where the curves end: the labels behind them have the room that they need."""
    moments = [m for m in (last.max_event_time, last.watermark) if m is not None]
    longest = max(len(f"newest event {clock(moment)}") for moment in moments)
    return WIDTH - max(BESIDE, longest * CHAR + 12)


def _thinned(points: Sequence[MarkPoint]) -> list[MarkPoint]:
    every = -(-len(points) // MOST_POINTS) or 1
    return list(reversed(points[::-1][::every]))


def _mark(point: MarkPoint) -> datetime | None:
    """The watermark as far as it can be drawn: not the end of time."""
    mark = point.watermark
    return point.max_event_time if mark is not None and mark >= END_OF_TIME else mark


def _axis(points: Sequence[MarkPoint]) -> Axis:
    """Event time up: high moments have small pixels."""
    moments = [p.max_event_time for p in points if p.max_event_time is not None]
    moments += [mark for p in points if (mark := _mark(p)) is not None]
    low, high = min(moments), max(moments)
    # A flat line takes no room above it.
    return Axis(low, high, BOTTOM if low < high else FLAT_BOTTOM, TOP)


def _grid(axis: Axis, right: float) -> list[str]:
    return [
        f'<line class="tick" x1="{LEFT}" x2="{right}" y1="{axis.at(moment)}" '
        f'y2="{axis.at(moment)}"/><text x="{LEFT - 8}" y="{axis.at(moment) + 4}" '
        f'text-anchor="end">{text}</text>'
        for moment, text in axis.ticks(apart=26)
    ]


def _curves(points: Sequence[MarkPoint], xs: list[float], axis: Axis) -> list[str]:
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
    newest = "M" + "L".join(f"{x},{y}" for x, y in front)
    parts = [f'<path class="newest" d="{newest}"/>']
    if steps:
        stairs = f"M{steps[0][0]},{steps[0][1]}" + "".join(
            f"H{x}V{y}" for x, y in steps[1:]
        )
        back = "L".join(f"{x},{y}" for x, y in reversed(front) if x >= steps[0][0])
        parts.insert(0, f'<path class="delay" d="{stairs}L{back}Z"/>')
        parts.append(f'<path class="watermark" d="{stairs}"/>')
    return parts


def _ends(last: MarkPoint, axis: Axis, right: float) -> list[str]:
    """Labels at the right end of the two lines, kept apart."""
    newest, mark = last.max_event_time, _mark(last)
    assert newest is not None
    y = axis.at(newest)
    parts = [_end("newest", right, y, f"newest event {clock(newest)}")]
    if mark is not None:
        over = last.watermark is not None and last.watermark >= END_OF_TIME
        text = "end of input" if over else f"watermark {clock(mark)}"
        parts.append(_end("watermark", right, max(axis.at(mark), y + 14), text))
        gap = axis.at(mark) - y
        if gap > 40 and len(text) * CHAR < WIDTH - right:
            behind = f"{duration(newest - mark)} behind"
            parts.append(
                f'<text x="{right + 8}" y="{y + gap / 2 + 4:.1f}">{behind}</text>'
            )
    return parts


def _end(kind: str, right: float, y: float, text: str) -> str:
    return f'<g class="{kind}"><text x="{right + 8}" y="{y + 4:.1f}">{text}</text></g>'


def _told(last: MarkPoint) -> str:
    newest, mark = last.max_event_time, last.watermark
    assert newest is not None
    told = f"newest event {clock(newest)}"
    if mark is not None and mark < END_OF_TIME:
        told += f", watermark {clock(mark)}, {duration(newest - mark)} behind"
    return told


VIEW = WatermarkView()
