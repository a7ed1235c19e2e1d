"""Two runs on one event-time axis: one upwards, the other downwards, what differs
marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from arroyo_nb.views.axis_ticks import Axis
from arroyo_nb.views.event_time_axis import MARGIN, TOP, WIDTH, svg, ticks
from arroyo_nb.views.formatting import (
    NAME_CHARS,
    STRETCH,
    count,
    escaped,
    interval,
    plain,
    plural,
)
from arroyo_nb.views.inert import SOFT, picture
from arroyo_nb.views.listing import listing, rows
from arroyo_nb.whatif.comparison import Comparison, WindowPair, compare_runs

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.run.loaded_trace import LoadedTrace
    from arroyo_nb.run.run import Run

MOST_PAIRS = 120
"""Windows that are drawn; the newest."""

LISTED = 10
"""Windows and rows that are listed."""

HALF = 70
"""Pixels of the highest bar, up and down."""

MIDDLE = TOP + HALF + 6
BOTTOM = MIDDLE + HALF + 6


class ComparisonPage:
    """What a :class:`Comparison` shows of itself."""

    def text(self, found: Comparison) -> str:
        """What differs, as text."""
        parts = [_title(found)]
        if found.differing:
            parts += ["", _windows(found)["text/plain"]]
        if not found.result.is_empty:
            parts += ["", _rows(found.table())["text/plain"]]
        return "\n".join((*parts, *_captions(found)))

    def html(self, found: Comparison) -> str:
        """Both runs on one axis, and what differs; without a script."""
        parts = [f"<p><strong>{escaped(_title(found), 400)}</strong></p>"]
        if found.pairs:
            parts.append(picture(_svg(found), _in_words(found)))
        if found.differing:
            parts.append(_windows(found).get("text/html", ""))
        if not found.result.is_empty:
            parts.append(_rows(found.table())["text/html"])
        captions = _captions(found)
        parts += [f'<p style="{SOFT}">{escaped(c, 400)}</p>' for c in captions]
        return f"<div>{''.join(parts)}</div>"


COMPARISON_VIEWS = ComparisonPage()


def compare(
    first: Run | LoadedTrace, second: Run | LoadedTrace, *, output: int = 0
) -> Comparison:
    """Compare two runs; see :func:`arroyo_nb.compare`."""
    return compare_runs(first, second, COMPARISON_VIEWS, output=output)


def bundle(found: Comparison) -> dict[str, str]:
    """The comparison as a MIME bundle."""
    return {"text/plain": repr(found), "text/html": COMPARISON_VIEWS.html(found)}


def _title(found: Comparison) -> str:
    first, second = (plain(name, NAME_CHARS) for name in found.names)
    if found.is_same:
        windows = plural(_noun(found))
        return f"{first} and {second} have the same {windows}, late rows and result"
    said = []
    if found.differing:
        windows = count(_distinct(found.differing), _noun(found))
        said.append(f"{windows} of {count(_distinct(found.pairs))} differ")
    late = found.late_counts
    if late[0] != late[1]:
        said.append(f"late rows: {count(late[0])} against {count(late[1])}")
    apart = found.result
    if not apart.is_empty:
        said.append(
            f"result rows only in one: {count(apart.only_first)} of "
            f"{count(found.result_rows[0])} against {count(apart.only_second)} of "
            f"{count(found.result_rows[1])}"
        )
    return f"{first} against {second}: " + "; ".join(said)


def _noun(found: Comparison) -> str:
    """What a pair is of: windows, or what is compared in their place."""
    return STRETCH if found.has_stretches else "window"


def _distinct(pairs: Sequence[WindowPair]) -> int:
    """How many windows these are: that of two tables is one window."""
    return len({(pair.start, pair.end) for pair in pairs})


def _captions(found: Comparison) -> Iterator[str]:
    if len(found.pairs) > MOST_PAIRS:
        hidden = count(len(found.pairs) - MOST_PAIRS, f"older {_noun(found)}")
        yield f"{hidden} not drawn; windows() has all"
    if len(found.differing) > LISTED:
        more = count(len(found.differing) - LISTED, f"other {_noun(found)}")
        yield f"{more} that differ not listed; windows() has all"
    apart = found.result.rows.num_rows
    if apart > LISTED:
        yield f"{count(apart - LISTED, 'other row')} not listed; table() has all"
    yield from found.notes


def _windows(found: Comparison) -> dict[str, str]:
    names = [plain(name, NAME_CHARS) for name in found.names]
    columns = (
        _noun(found),
        *(f"{what} {n}" for what in ("rows", "late") for n in names),
    )
    lines = [
        (interval(p.start, p.end), *map(count, (*p.rows, *p.late_rows)))
        for p in found.differing[:LISTED]
    ]
    if found.has_tables:
        columns = ("table", *columns)
        tables = (plain(p.table, NAME_CHARS) for p in found.differing)
        lines = [(table, *line) for table, line in zip(tables, lines, strict=False)]
    return listing(columns, lines, nothing="no window differs")


def _rows(table: pa.Table) -> dict[str, str]:
    return rows(table.slice(0, LISTED))


def _svg(found: Comparison) -> str:
    pairs = found.pairs[-MOST_PAIRS:]
    axis = _axis(pairs)
    most = max((max(pair.rows) for pair in pairs), default=0) or 1
    wide = _width(axis, pairs)
    parts = [
        f'<text x="{MARGIN}" y="18">↑ {escaped(found.names[0])}</text>',
        f'<text x="{MARGIN}" y="36">↓ {escaped(found.names[1])}</text>',
        f'<text class="late" x="{WIDTH - MARGIN}" y="18" text-anchor="end">'
        "● differs</text>",
        *ticks(axis, BOTTOM),
        f'<line class="tick" x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{MIDDLE}" '
        f'y2="{MIDDLE}"/>',
    ]
    # The bars of one window stand beside each other, one for each table.
    tables = [*dict.fromkeys(pair.table for pair in pairs)]
    for pair in pairs:
        place = len(tables) - 1 - tables.index(pair.table)
        parts += _pair(axis, pair, most, wide / len(tables), place)
    return svg(BOTTOM + 22, _in_words(found), parts)


def _axis(pairs: Sequence[WindowPair]) -> Axis:
    low = min(pair.start for pair in pairs)
    high = max(pair.end for pair in pairs)
    return Axis(low, max(high, low + timedelta(seconds=1)), MARGIN, WIDTH - MARGIN)


def _width(axis: Axis, pairs: Sequence[WindowPair]) -> float:
    """How wide a column may be: it stands where its window ends."""
    ends = sorted({axis.at(pair.end) for pair in pairs})
    apart = min((b - a for a, b in pairwise(ends)), default=24.0)
    return max(2.0, min(apart - 1.5, 24.0))


def _pair(
    axis: Axis, pair: WindowPair, most: int, wide: float, place: int
) -> list[str]:
    x = axis.at(pair.end) - wide * (place + 1)
    up, down = (round(HALF * rows / most, 1) for rows in pair.rows)
    table = f" {plain(pair.table, NAME_CHARS)}" if pair.table else ""
    told = (
        f"{interval(pair.start, pair.end)}{table}: {count(pair.rows[0])} against "
        f"{count(pair.rows[1], 'row')}, late {count(pair.late_rows[0])} against "
        f"{count(pair.late_rows[1])}"
    )
    parts = [
        f"<g><title>{escaped(told, 200)}</title>",
        f'<rect class="bar closed" x="{x:.1f}" y="{MIDDLE - up}" width="{wide:.1f}" '
        f'height="{up}"/>',
        f'<rect class="bar open" x="{x:.1f}" y="{MIDDLE}" width="{wide:.1f}" '
        f'height="{down}"/>',
    ]
    if pair.differs:
        parts.append(
            f'<circle cx="{x + wide / 2:.1f}" cy="{MIDDLE - up - 6:.1f}" r="3" '
            'style="fill:var(--late)"/>'
        )
    return [*parts, "</g>"]


def _in_words(found: Comparison) -> str:
    return f"{plural(_noun(found))} of both runs on event time: {_title(found)}"
