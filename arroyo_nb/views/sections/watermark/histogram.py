"""The lateness of rows, and which delay would have kept them.

A column is a stretch of lateness, as high as the logarithm of its rows: the few rows
that are late are what one looks for. The columns have one width, so the axis is linear
within a column only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from arroyo_nb.run.observe.lateness import MILLISECOND, NONE, Lateness
from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.event_time_axis import MARGIN, WIDTH, svg, text_width
from arroyo_nb.views.formatting import count, duration, duration_at_least, pace
from arroyo_nb.views.label_places import Box, LabelPlaces

TOP, HEIGHT, FOOT = 82, 104, 78
"""Pixels above the columns for marks, of them, and below for the axis and marks."""

MOST_WIDTH = 66.0
"""Pixels of a column at most."""

BESIDE = 260
"""Pixels at the right, for the name of the axis and labels of the last marks."""

AXIS = "lateness →"

EDGE_GAP = 8
"""Pixels between two lengths below the axis, at least: they have blanks in them."""

ROWS_ABOVE, ROWS_BELOW = (14, 30, 46, 62), (40, 55, 70)
"""Base lines of the labels of marks, from the top and from the axis."""


@dataclass(frozen=True)
class Scale:
    """Maps a lateness to pixels."""

    lateness: Lateness

    @cached_property
    def width(self) -> float:
        """Pixels of a column."""
        number = max(len(self.lateness.bins), 1)
        return min((WIDTH - 2 * MARGIN - BESIDE) / number, MOST_WIDTH)

    def at(self, length: timedelta) -> float:
        """Where a lateness lies; one beyond the columns lies at their end."""
        for number, each in enumerate(self.lateness.bins):
            if length < each.high:
                share = max(length - each.low, timedelta()) / (each.high - each.low)
                return round(MARGIN + (number + share) * self.width, 1)
        return round(MARGIN + len(self.lateness.bins) * self.width, 1)


def histogram(snapshot: Snapshot) -> str:
    """The picture as one ``<svg>`` element; empty where no lateness is known."""
    lateness = snapshot.lateness
    if lateness is None or not lateness.rows or not lateness.bins:
        return ""
    scale, bottom = Scale(lateness), TOP + HEIGHT
    places = LabelPlaces(Box(0, 0, WIDTH, bottom + FOOT))
    right = scale.at(lateness.bins[-1].high)
    lines, labels = _marks(scale, places)
    parts = [
        f'<line class="axis" x1="{MARGIN}" x2="{right}" y1="{bottom}" y2="{bottom}"/>',
        *_columns(scale),
        *lines,
        *_edges(scale, places),
        *_counts(scale, places),
        *labels,
    ]
    said = f"lateness of {count(lateness.rows, 'row')}: {in_words(snapshot)}"
    return svg(bottom + FOOT, said, parts)


def _columns(scale: Scale) -> Iterator[str]:
    lateness, bottom = scale.lateness, TOP + HEIGHT
    most = max(each.rows for each in lateness.bins)
    cut = scale.at(lateness.delay)
    for number, each in enumerate(lateness.bins):
        if not each.rows:
            continue
        x, width = MARGIN + number * scale.width + 1, scale.width - 2
        height = _height(each.rows, most)
        y = bottom - height
        title = (
            f"{_length(each.low)} to {_length(each.high)}: {count(each.rows, 'row')}"
        )
        kept = min(max(cut - x, 0.0), width)
        rects = [
            f'<rect class="{kind}" x="{left:.1f}" y="{y:.1f}" width="{wide:.1f}" '
            f'height="{height:.1f}"/>'
            for kind, left, wide in (
                ("closed", x, kept),
                ("over", x + kept, width - kept),
            )
            if wide > 0.05
        ]
        yield f"<g><title>{title}</title>{''.join(rects)}</g>"


def _counts(scale: Scale, places: LabelPlaces) -> Iterator[str]:
    most = max(each.rows for each in scale.lateness.bins)
    for number, each in enumerate(scale.lateness.bins):
        if each.rows:
            x = MARGIN + number * scale.width
            y = TOP + HEIGHT - _height(each.rows, most) - 4
            text = pace(each.rows) if each.rows >= 100_000 else count(each.rows)
            spots = [
                (x + scale.width / 2, y, "middle"),
                (x + 5, y, "start"),
                (x + scale.width - 5, y, "end"),
            ]
            yield places.label(text, spots, "time")


def _height(rows: int, most: int) -> float:
    return max(HEIGHT * math.log1p(rows) / math.log1p(most), 2.0)


def _edges(scale: Scale, places: LabelPlaces) -> Iterator[str]:
    """Lateness below the axis, at the edges of the columns."""
    bins, y = scale.lateness.bins, TOP + HEIGHT + 16
    edges = [each.low for each in bins]
    # The last column may have no end.
    if bins[-1].high <= 4 * max(scale.lateness.longest, bins[-1].low):
        edges.append(bins[-1].high)
    for edge in edges:
        x = scale.at(edge)
        anchor = "start" if x < MARGIN + 4 else "middle"
        yield f'<line class="axis" x1="{x}" x2="{x}" y1="{y - 16}" y2="{y - 12}"/>'
        yield places.label(_length(edge), [(x, y, anchor)], gap=EDGE_GAP)
    yield f'<text x="{WIDTH - 6}" y="{y}" text-anchor="end">{AXIS}</text>'


def _marks(scale: Scale, places: LabelPlaces) -> tuple[list[str], list[str]]:
    """Lines and labels: the delay and shares of the rows above the columns, and what
    other delays would keep below them."""
    lateness, bottom = scale.lateness, TOP + HEIGHT
    above = [
        (lateness.delay, f"delay {_length(lateness.delay)}", "watermark"),
        *(
            (length, f"{names} {_length(length)}", "share")
            for length, names in _named(
                (lateness.p50, "p50"),
                (lateness.p99, "p99"),
                (lateness.longest, "longest"),
            )
        ),
    ]
    lines, labels = [], []
    rows: list[tuple[float, int]] = []
    # A label stands right of its line, and below those whose text reaches that far: so
    # no line, which begins at its label, passes through a text.
    for length, text, kind in sorted(above, key=lambda mark: mark[0]):
        x = scale.at(length)
        row = max((row + 1 for end, row in rows if x < end), default=0)
        base = ROWS_ABOVE[row]
        rows.append((x + 8 + text_width(text, bold=kind == "watermark"), row))
        label = f'<text x="{x + 5:.1f}" y="{base}">{text}</text>'
        y = base - 10
        line = f'<line x1="{x}" x2="{x}" y1="{y:.0f}" y2="{bottom}"/>'
        lines.append(f'<g class="{kind}">{line}</g>')
        labels.append(f'<g class="{kind} over-line">{label}</g>')
        places.take(Box(x - 2, bottom - HEIGHT - 12, x + 2, bottom))
    keeps = _named(*_keeps(lateness))
    below = ((0, "middle"), (8, "start"), (-8, "end"))
    for length, names in keeps:
        x, y = scale.at(length), bottom + 22
        spots = [
            (x + by, bottom + row, side) for row in ROWS_BELOW for by, side in below
        ]
        lines.append(f'<path class="keeps" d="M{x},{y - 1}l4,7h-8Z"/>')
        text = f"{exceeds(length)} keeps {names}"
        labels.append(places.label(text, spots, "keeps"))
    return lines, labels


def _named(*marks: tuple[timedelta, str]) -> list[tuple[timedelta, str]]:
    """Each lateness once, with all its names."""
    names: dict[timedelta, list[str]] = {}
    for length, name in marks:
        names.setdefault(length, []).append(name)
    return [(length, _listed(each)) for length, each in names.items()]


def _listed(names: list[str]) -> str:
    """Names in a sentence.

    >>> _listed(["99 %", "99.9 %", "all"])
    '99 %, 99.9 % and all'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _keeps(lateness: Lateness) -> tuple[tuple[timedelta, str], ...]:
    return (
        (more_than(lateness.keep_99), "99 %"),
        (more_than(lateness.keep_999), "99.9 %"),
        (more_than(lateness.keep_all), "all"),
    )


def more_than(least: timedelta) -> timedelta:
    """What a delay must exceed: a window closes as soon as the watermark reaches its
    end, so the least delay that keeps a row is a tick longer than what it makes up."""
    return max(least - MILLISECOND, NONE)


def exceeds(length: timedelta) -> str:
    """What a delay must be, in few signs."""
    return f"> {duration_at_least(length)}" if length else "0 s"


def _such_delay(length: timedelta, noun: str) -> str:
    if not length:
        return f"{noun} of 0 s"
    return f"{noun} of more than {duration_at_least(length)}"


def _length(length: timedelta) -> str:
    return duration(length) if length else "0 s"


def in_words(snapshot: Snapshot) -> str:
    """What the histogram says; empty where no lateness is known."""
    lateness = snapshot.lateness
    if lateness is None or not lateness.rows:
        return ""
    piece = _length(lateness.pane)
    if not lateness.longest:
        return (
            f"No row of {count(lateness.rows)} is behind: none came when the newest "
            f"event of earlier micro-batches had passed the end of its {piece} of "
            "event time."
        )
    p50, p99 = _length(lateness.p50), _length(lateness.p99)
    said = [
        f"The lateness of a row is how far the newest event of earlier micro-batches "
        f"had passed the end of the row's {piece} of event time; the row itself is up "
        f"to {piece} further behind. It is at most {p50} for half of "
        f"{count(lateness.rows, 'row')}, {p99} for 99 %, and "
        f"{_length(lateness.longest)} for the last one (heights are logarithmic)."
    ]
    late, delay = lateness.late_rows, _length(lateness.delay)
    if late:
        were = "row was" if late == 1 else "rows were"
        share = f"{100 * late / lateness.rows:.2g} %"
        said.append(f"With the delay of {delay}, {late:,} {were} late ({share}).")
    else:
        said.append(f"With the delay of {delay} no row was late.")
    return " ".join((*said, _delays_that_keep(lateness)))


def _delays_that_keep(lateness: Lateness) -> str:
    """The delays that would have kept parts of the rows, each once."""
    first, *more = _named(*_keeps(lateness))
    said = [f"{_such_delay(first[0], 'A delay')} would have kept {first[1]}"]
    said += [f"{_such_delay(length, 'one')} {names}" for length, names in more]
    return f"{', '.join(said)}."
