"""The plan as a picture: a box for each operator, sources at the top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from textwrap import wrap

from arroyo_nb.run.observe.snapshot import PlanStep, Snapshot
from arroyo_nb.views.event_time_axis import CHAR, WIDTH
from arroyo_nb.views.formatting import count, escaped, pace
from arroyo_nb.views.sections.plan.layout import Layout, Place, layout
from arroyo_nb.views.selection import pick

LINE, GAP = 16, 26
"""Pixels of a line of text, and between two layers."""

PADDING = 10
"""Pixels of a box above its text and below."""

MOST_LINES = 3
"""Lines of an operator's text; the rest is told where it is clicked."""

BETWEEN, MARGIN = 14, 14
"""Pixels between two boxes of a layer, and at the edges."""

LEAST_WIDTH, MOST_WIDTH = 150, 520
"""Pixels of a box."""

BOLD_CHAR = 7.4
"""Pixels a bold character takes, on the safe side."""

BADGES = {"exact": "=", "micro-batch": "≈", "differs": "≠"}
"""What marks how an operator compares with Arroyo, beside its word."""

LEGEND = (
    "= exact: as in Arroyo · ≈ micro-batch: the same, batch by batch · "
    "≠ differs from Arroyo"
)
TITLE_CHARS = 600


@dataclass(frozen=True)
class _Drawing:
    """The places of a graph in pixels.

    ``left`` is that of the first column, ``box`` the width of a box; ``tops`` and
    ``heights`` are of the layers, ``texts`` the lines of each step by its number.
    """

    placed: Layout
    left: float
    box: int
    width: int
    tops: tuple[int, ...]
    heights: tuple[int, ...]
    texts: Mapping[int, Sequence[str]]

    def middle(self, place: Place) -> float:
        """The middle of a place, from the left."""
        return self.left + place.column * (self.box + BETWEEN) + self.box / 2

    def top(self, place: Place) -> int:
        """The upper edge of a layer."""
        return self.tops[place.layer]

    def bottom(self, place: Place) -> int:
        """The lower edge of a layer."""
        return self.tops[place.layer] + self.heights[place.layer]


def plan_graph(snapshot: Snapshot, *, live: bool) -> str:
    """The picture as one ``<svg>`` element; empty: there is no plan.

    Parameters
    ----------
    snapshot
        What to draw.
    live
        Whether a box can be chosen.
    """
    steps = snapshot.plan
    if not steps:
        return ""
    drawing = _drawing(steps)
    height = drawing.tops[-1] + drawing.heights[-1] + MARGIN
    parts = [*_lines(drawing), *(_box(s, drawing, snapshot, live) for s in steps)]
    role = "group" if live else "img"
    label = f"the plan: {count(len(steps), 'operator')} from sources to the result"
    # A wide one is scrolled: made smaller, nobody could read it.
    wide = drawing.width > WIDTH and live
    size = f' style="width:{drawing.width}px"' if wide else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width} '
        f'{height}" class="picture graph"{size} role="{role}" '
        f'aria-label="{label}"><defs/>{"".join(parts)}</svg>'
    )


def _drawing(steps: Sequence[PlanStep]) -> _Drawing:
    placed = layout(steps)
    columns = max(p.column for p in placed.places.values()) + 1
    columns = max(columns, placed.columns)
    room = (WIDTH - 2 * MARGIN + BETWEEN) / columns - BETWEEN
    box = round(min(max(room, LEAST_WIDTH), MOST_WIDTH))
    texts = {step.number: _in_lines(step.text, box) for step in steps}
    lines = [1] * placed.layers
    for number, place in placed.places.items():
        lines[place.layer] = max(lines[place.layer], len(texts[number]))
    heights = [2 * PADDING + (most + 1) * LINE - 2 for most in lines]
    tops = accumulate((h + GAP for h in heights[:-1]), initial=MARGIN)
    taken = columns * (box + BETWEEN) - BETWEEN
    width = max(WIDTH, round(2 * MARGIN + taken))
    left = (width - taken) / 2
    return _Drawing(placed, left, box, width, tuple(tops), tuple(heights), texts)


def _in_lines(text: str, box: int) -> list[str]:
    """The text in as many lines as it needs and may have."""
    chars = max(int((box - 24) / BOLD_CHAR), 8)
    return wrap(
        text, chars, max_lines=MOST_LINES, placeholder=" …", break_on_hyphens=False
    ) or [""]


def _lines(drawing: _Drawing) -> Iterator[str]:
    """From the bottom of a box to the top of one that reads it. Two lines between the
    same boxes, as of a view that is joined with itself, run beside each other."""
    placed = drawing.placed
    for number, line in enumerate(placed.lines):
        same = [
            other
            for other, each in enumerate(placed.lines)
            if (each.source, each.reader) == (line.source, line.reader)
        ]
        aside = 26 * (same.index(number) - (len(same) - 1) / 2)
        source, reader = placed.places[line.source], placed.places[line.reader]
        pen = drawing.middle(source) + aside, drawing.bottom(source)
        path = [f"M{pen[0]:.0f} {pen[1]}"]
        for over in line.over:
            to = drawing.middle(over), drawing.top(over)
            path.append(_bend(pen, to) + f"V{drawing.bottom(over)}")
            pen = to[0], drawing.bottom(over)
        tip = drawing.middle(reader) + aside, drawing.top(reader)
        path.append(_bend(pen, (tip[0], tip[1] - 5)))
        yield f'<path class="edge" d="{"".join(path)}"/>'
        yield (
            f'<path class="tip" d="M{tip[0] - 4:.0f} {tip[1] - 6}L{tip[0]:.0f} '
            f'{tip[1]}L{tip[0] + 4:.0f} {tip[1] - 6}z"/>'
        )


def _bend(pen: tuple[float, int], to: tuple[float, int]) -> str:
    """A curve that is upright at both ends."""
    half = (pen[1] + to[1]) / 2
    return f"C{pen[0]:.0f} {half:.0f} {to[0]:.0f} {half:.0f} {to[0]:.0f} {to[1]}"


def _box(step: PlanStep, drawing: _Drawing, snapshot: Snapshot, live: bool) -> str:
    place, box = drawing.placed.places[step.number], drawing.box
    x, height = drawing.middle(place) - box / 2, drawing.heights[place.layer]
    chosen = snapshot.selected
    is_chosen = chosen is not None and chosen.step == step.number
    badge = f"{BADGES.get(step.badge, '')} {step.badge}".strip()
    room = int((box - 24 - len(badge) * CHAR - CHAR) / CHAR)
    numbers = step_numbers(step)
    picked = pick(f"step {step.number}", pressed=is_chosen) if live else ""
    words = [step.text, badge + (f": {step.note}" if step.note else ""), numbers]
    spoken = escaped(", ".join(filter(None, words)), TITLE_CHARS)
    label = f' aria-label="{spoken}"' if live else ""
    where = f" · line {step.line}" if step.line else ""
    text = "".join(
        f'<text class="what" x="12" y="{PADDING + 10 + LINE * line}">'
        f"{escaped(part, 200)}</text>"
        for line, part in enumerate(drawing.texts[step.number])
    )
    last = height - PADDING - 1
    return (
        f'<g data-key="p{step.number}" class="step of-{escaped(step.kind)}'
        f'{" chosen" * is_chosen}"{picked}{label} '
        f'transform="translate({x:.1f},{drawing.top(place)})">'
        f"<title>{spoken}{where}</title>"
        f'<rect width="{box}" height="{height}" rx="5"/>{text}'
        f'<text x="12" y="{last}">{escaped(numbers, max(room, 1)) if numbers else ""}'
        f'</text><text class="badge {escaped(step.badge)}" x="{box - 12}" y="{last}" '
        f'text-anchor="end">{escaped(badge)}</text></g>'
    )


def step_numbers(step: PlanStep) -> str:
    """What is known of a step in numbers.

    >>> step_numbers(PlanStep(1, "FROM t", "source", rows=1815, rows_per_s=12_430.0))
    '1,815 rows read · 12.4k rows/s'
    """
    parts = []
    if step.rows is not None:
        word = {"source": "read", "sink": "out"}.get(step.kind, "")
        parts.append(f"{count(step.rows, 'row')} {word}".strip())
    if step.rows_per_s is not None:
        parts.append(f"{pace(step.rows_per_s)} rows/s")
    if step.state_rows is not None or step.state_bytes is not None:
        rows = [] if step.state_rows is None else [count(step.state_rows, "row")]
        size = [] if step.state_bytes is None else [_size(step.state_bytes)]
        parts.append(f"state {', '.join((*rows, *size))}")
    return " · ".join(parts)


def _size(size_bytes: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if size_bytes >= size:
            return f"{size_bytes / size:.3g} {unit}"
    return f"{size_bytes} bytes"


def notes(steps: Sequence[PlanStep]) -> list[str]:
    """In which way operators differ from Arroyo or depend on batches, each once."""
    said = (
        f"{BADGES.get(step.badge, '')} {step.badge}: {step.note}"
        for step in steps
        if step.note
    )
    return list(dict.fromkeys(said))
