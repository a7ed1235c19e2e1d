"""The plan as a picture: a box for each operator, sources at the top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arroyo_nb.run.observe.snapshot import PlanStep, Snapshot
from arroyo_nb.views.event_time_axis import CHAR, WIDTH
from arroyo_nb.views.formatting import count, escaped, pace
from arroyo_nb.views.sections.plan.layout import Layout, Place, layout
from arroyo_nb.views.selection import pick

HEIGHT, GAP = 42, 24
"""Pixels of a box, and between two layers."""

BETWEEN, MARGIN = 14, 14
"""Pixels between two boxes of a layer, and at the edges."""

LEAST_WIDTH, MOST_WIDTH = 190, 560
"""Pixels of a box."""

BADGES = {"exact": "=", "micro-batch": "≈", "differs": "≠"}
"""What marks how an operator compares with Arroyo, beside its word."""

LEGEND = (
    "= exact: as in Arroyo · ≈ micro-batch: the same, batch by batch · "
    "≠ differs from Arroyo"
)
TITLE_CHARS = 600


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
    placed = layout(steps)
    box = _box_width(placed.columns)
    columns = max((p.column for p in placed.places.values()), default=0) + 1
    columns = max(columns, placed.columns)
    width = max(WIDTH, round(2 * MARGIN + columns * (box + BETWEEN) - BETWEEN))
    left = (width - columns * (box + BETWEEN) + BETWEEN) / 2
    height = 2 * MARGIN + placed.layers * (HEIGHT + GAP) - GAP
    parts = [
        *_lines(placed, left, box),
        *(_box(s, placed.places[s.number], left, box, snapshot, live) for s in steps),
    ]
    role = "group" if live else "img"
    label = f"the plan: {count(len(steps), 'operator')} from sources to the result"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'class="picture graph" role="{role}" aria-label="{label}"><defs/>'
        f"{''.join(parts)}</svg>"
    )


def _box_width(columns: int) -> int:
    room = (WIDTH - 2 * MARGIN + BETWEEN) / columns - BETWEEN
    return round(min(max(room, LEAST_WIDTH), MOST_WIDTH))


def _corner(place: Place, left: float, box: int) -> tuple[float, float]:
    x = left + place.column * (box + BETWEEN)
    return x, MARGIN + place.layer * (HEIGHT + GAP)


def _lines(placed: Layout, left: float, box: int) -> Iterator[str]:
    """From the bottom of a box to the top of one that reads it. Two lines between the
    same boxes, as of a view that is joined with itself, run beside each other."""
    for number, line in enumerate(placed.lines):
        same = [
            other
            for other, each in enumerate(placed.lines)
            if (each.source, each.reader) == (line.source, line.reader)
        ]
        aside = 26 * (same.index(number) - (len(same) - 1) / 2)
        x, y = _corner(placed.places[line.source], left, box)
        path = [f"M{x + box / 2 + aside:.0f} {y + HEIGHT}"]
        for over in line.over:
            x, y = _corner(over, left, box)
            path.append(_bend(x + box / 2, y - GAP, y) + f"V{y + HEIGHT:.0f}")
        x, y = _corner(placed.places[line.reader], left, box)
        path.append(_bend(x + box / 2 + aside, y - GAP, y - 4))
        yield f'<path class="edge" d="{"".join(path)}"/>'
        tip = x + box / 2 + aside
        yield (
            f'<path class="tip" d="M{tip - 4:.0f} {y - 6:.0f}L{tip:.0f} {y:.0f}'
            f'L{tip + 4:.0f} {y - 6:.0f}z"/>'
        )


def _bend(x: float, top: float, bottom: float) -> str:
    """A curve from where the pen is to a point below; both ends are upright."""
    return f"S{x:.0f} {top + GAP / 3:.0f} {x:.0f} {bottom:.0f}"


def _box(
    step: PlanStep,
    place: Place,
    left: float,
    box: int,
    snapshot: Snapshot,
    live: bool,
) -> str:
    x, y = _corner(place, left, box)
    chosen = snapshot.selected
    is_chosen = chosen is not None and chosen.step == step.number
    badge = f"{BADGES.get(step.badge, '')} {step.badge}".strip()
    badge_width = len(badge) * CHAR
    room = int((box - 24 - badge_width - 8) / CHAR)
    numbers = step_numbers(step)
    picked = pick(f"step {step.number}", pressed=is_chosen) if live else ""
    words = [step.text, badge + (f": {step.note}" if step.note else ""), numbers]
    words += [f"line {step.line}: {step.sql}"] if step.line else []
    title = escaped("\n".join(filter(None, words)), TITLE_CHARS)
    look = " chosen" if is_chosen else ""
    spoken = escaped(", ".join(filter(None, words[:3])), TITLE_CHARS)
    label = f' aria-label="{spoken}"' if live else ""
    return (
        f'<g data-key="p{step.number}" class="step {escaped(step.kind)}{look}"'
        f'{picked}{label} transform="translate({x:.1f},{y})"><title>{title}</title>'
        f'<rect width="{box}" height="{HEIGHT}" rx="5"/>'
        f'<text class="what" x="12" y="17">{escaped(step.text, max(room, 4))}</text>'
        f'<text class="badge {escaped(step.badge)}" x="{box - 12}" y="17" '
        f'text-anchor="end">{badge}</text>'
        f'<text x="12" y="34">{escaped(numbers, int((box - 24) / CHAR))}</text></g>'
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
