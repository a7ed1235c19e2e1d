"""Draws event time against processing time.

A dot is a row: across lies the micro-batch that read it, up its event time. The newest
event is a dashed line, the watermark a line of steps below it. Where the steps pass the
end of a window, the window closes: to the right of that its band is shaded, and a row
that comes there is late and crossed out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count as count_from
from itertools import pairwise
from typing import NamedTuple

from arroyo_nb.run.observe.snapshot import LateRows, Snapshot, WindowBar, WindowState
from arroyo_nb.views.axis_ticks import END_OF_TIME, ORIGIN
from arroyo_nb.views.event_time_axis import WIDTH, selects, svg, text_width, title
from arroyo_nb.views.formatting import (
    DAY,
    clock,
    clock_within,
    count,
    duration,
    escaped,
    interval,
    values_in_words,
)
from arroyo_nb.views.label_places import Box, LabelPlaces, spread_apart
from arroyo_nb.views.sections.arrivals.layout import (
    MOST_CROSSES,
    TICKS_APART,
    TOP,
    Dot,
    Layout,
    layout,
)

LEGEND_AT = 43
"""Pixels from the plot to the legend; with the clock another row of labels lies
between."""

FEW = 16
"""So few rows carry their event times."""

FEW_TOLD = 100
"""Of so few rows each says its key, its first values, its event time and its batch to
the pointer."""

TOLD_CHARS = 240
"""What a row says at most."""

MANY_LATE = 5
"""So many late rows of a window and a micro-batch are counted, if not all are drawn."""

RADIUS = 3.5
"""Half of a cross, in pixels."""


class Mark(NamedTuple):
    """Where a late row lies, or several of which none is known: they have no dot."""

    x: float
    y: float
    moment: datetime
    dot: Dot | None = None


@dataclass(frozen=True)
class Picture:
    """The picture as one ``<svg>`` element, and what it leaves out.

    ``dots`` of the ``rows`` of ``batches`` are drawn; of a long run these are some of
    ``all_batches``. ``below`` of the dots lie at the lower edge, as they are earlier.
    ``narrow_windows`` are too narrow, and ``from_batch`` is the first micro-batch that
    is drawn, where it is not that of the run. Without a window ``behind`` of the dots
    are below the watermark. ``gap`` is that of sessions.
    """

    svg: str
    dots: int
    rows: int
    batches: int
    all_batches: int
    below: int
    narrow_windows: int
    from_batch: int
    has_window: bool
    behind: int
    gap: timedelta | None


def picture(snapshot: Snapshot) -> Picture | None:
    """Draw a run; None before its first event time."""
    if (made := layout(snapshot)) is None:
        return None
    places = LabelPlaces(Box(made.left - 6, TOP, made.right, made.bottom + 36))
    legend_y = made.bottom + LEGEND_AT + 15 * made.by_clock
    for dot in _sampled(made.dots):
        places.take(Box(dot.x - 3, dot.y - 3, dot.x + 3, dot.y + 3))
    for box in _curve_boxes(made):
        places.take(box)
    late = list(_late_rows(made))
    crosses = [Mark(dot.x, dot.y, dot.moment, dot) for dot in made.dots if dot.late]
    others = [Mark(x, y, moment) for x, y, moment, _ in late if moment is not None]
    crosses += others[-(MOST_CROSSES - len(crosses)) or len(others) :]
    for x, y, *_ in others:
        places.take(Box(x - 3, y - 3, x + 3, y + 3))
    parts = [
        *_bands(made),
        *_event_ticks(made),
        *_processing_ticks(made, places),
        *_ends(made),
        _diagonal(made, places),
        *_dots(made),
        *_curves(made),
        *(_crosses if made.has_window else _rings)(made, crosses),
        *_arrived(made),
        *_closings(made, places),
        *_late_counts(late, places),
        *_times(made, places),
        *_window_names(made, places),
        *_end_labels(made),
        *_legend(made, legend_y, late=bool(crosses)),
    ]
    return Picture(
        svg(round(legend_y) + 10, _in_words(made, len(crosses)), parts),
        dots=len(made.dots),
        rows=sum(batch.rows for batch in made.batches),
        batches=len(made.batches),
        all_batches=made.all_batches,
        below=sum(dot.moment < made.up.low for dot in made.dots),
        narrow_windows=made.narrow_windows,
        from_batch=made.from_batch,
        has_window=made.has_window,
        behind=0 if made.has_window else len(crosses),
        gap=snapshot.gap,
    )


def _sampled(dots: Sequence[Dot]) -> Sequence[Dot]:
    """Enough of the dots to keep labels away from them; all late ones."""
    every = max(len(dots) // 300, 1)
    return [dot for i, dot in enumerate(dots) if dot.late or i % every == 0]


def _curve_boxes(made: Layout) -> Iterator[Box]:
    """What the watermark, the newest event and the ends of windows cover."""
    newest = _newest_corners(made)
    for before, after in pairwise(newest):
        yield from _line_boxes(before, after)
    if ideal := _ideal_line(made):
        yield from _line_boxes(*ideal)
    if steps := _steps(made):
        x, y = steps[-1]
        yield Box(x, y - 2, made.right, y + 2)
    for before, after in pairwise(_steps(made)):
        (x, y), (next_x, next_y) = before, after
        yield Box(x, y - 2, next_x, y + 2)
        yield Box(next_x - 2, min(y, next_y), next_x + 2, max(y, next_y))


def _line_boxes(start: tuple[float, float], end: tuple[float, float]) -> Iterator[Box]:
    """A slanting line as boxes of a few pixels."""
    (x, y), (to_x, to_y) = start, end
    number = max(int(max(abs(to_x - x), abs(to_y - y)) / 4), 1)
    at = [
        (x + (to_x - x) * i / number, y + (to_y - y) * i / number)
        for i in range(number + 1)
    ]
    for (a, b), (c, d) in pairwise(at):
        yield Box(min(a, c) - 1, min(b, d) - 1, max(a, c) + 1, max(b, d) + 1)


def _bands(made: Layout) -> Iterator[str]:
    """Each window across the picture, shaded from where it closes."""
    for number, bar in enumerate(made.bands):
        top, foot = made.up.at(bar.end), made.up.at(bar.start)
        dim = _dims(made.snapshot, bar)
        odd = " odd" if number % 2 else ""
        inner = (
            f'<title>{title(bar)}</title><rect class="band{odd}" x="{made.left}" '
            f'y="{top}" width="{made.right - made.left:.1f}" '
            f'height="{foot - top:.1f}"/>'
        )
        closes = made.closing_x(bar)
        if bar.state is WindowState.CLOSED:
            x = made.left if closes is None else closes
            inner += (
                f'<rect class="past" x="{x:.1f}" y="{top}" '
                f'width="{made.right - x:.1f}" height="{foot - top:.1f}"/>'
            )
        yield (
            f'<g class="pick{dim}" role="button" tabindex="0" '
            f"{selects(bar.start, bar.end)}>{inner}</g>"
        )


def _dims(snapshot: Snapshot, bar: WindowBar | LateRows) -> str:
    chosen = snapshot.selected
    if chosen is None or chosen.start is None:
        return ""
    return "" if (chosen.start, chosen.end) == (bar.start, bar.end) else " dim"


def _event_ticks(made: Layout) -> list[str]:
    parts = [f'<text x="6" y="{TOP - 12}">event time ↑</text>']
    for moment, text in made.up.ticks(TICKS_APART):
        y = made.up.at(moment)
        # The label of the axis stands above the highest one.
        words = y > TOP + 4 or len(text) < 6
        label = (
            f'<text x="{made.left - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
        )
        parts.append(
            f'<line class="tick" x1="{made.left}" x2="{made.right:.1f}" '
            f'y1="{y}" y2="{y}"/>' + (label if words else "")
        )
    return parts


def _processing_ticks(made: Layout, places: LabelPlaces) -> Iterator[str]:
    bottom = made.bottom
    yield (
        f'<line class="axis" x1="{made.left}" x2="{made.right:.1f}" y1="{bottom}" '
        f'y2="{bottom}"/><line class="axis" x1="{made.left}" x2="{made.left}" '
        f'y1="{TOP}" y2="{bottom}"/>'
    )
    beside = f'<text x="{made.right + 8:.1f}" y="{bottom + 16}">'
    if not made.by_clock:
        yield f"{beside}micro-batch →</text>"
        yield from _batch_numbers(made, places, bottom + 16, ticks=True)
        return
    for moment, _ in made.across.ticks(apart=80):
        x = made.across.at(moment)
        passed = moment - ORIGIN
        text = duration(passed) if passed else "start"
        yield f'<line class="tick" x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom + 4}"/>'
        yield places.label(text, [(x, bottom + 16, "middle"), (x, bottom + 16, "end")])
    yield f"{beside}processing time →</text>"
    drawn = "".join(_batch_numbers(made, places, bottom + 31, ticks=False))
    yield drawn
    if drawn:
        x = made.left - 8
        yield f'<text x="{x}" y="{bottom + 31}" text-anchor="end">micro-batch</text>'


def _batch_numbers(
    made: Layout, places: LabelPlaces, y: float, *, ticks: bool
) -> Iterator[str]:
    """Numbers of micro-batches below the plot, evenly chosen; ``ticks``: with lines."""
    batches = [(b.batch_id, b.elapsed_s) for b in made.batches]
    batches = batches or [(p.batch_id, p.elapsed_s) for p in made.points]
    numbers = batches[-1][0] - batches[0][0] + 1
    wide = text_width(f"{batches[-1][0]:,}") + 14
    fit = max((made.right - made.left) / wide, 1.0)
    step = next(s for s in _round_numbers() if s * fit >= numbers)
    for number, elapsed_s in batches:
        if number % step == 0 or len(batches) == 1:
            x = made.x(number, elapsed_s)
            if ticks:
                yield (
                    f'<line class="tick" x1="{x}" x2="{x}" y1="{TOP}" '
                    f'y2="{made.bottom + 4}"/>'
                )
            yield places.label(f"{number:,}", [(x, y, "middle")])


def _round_numbers() -> Iterator[int]:
    """1, 2, 5, 10, 20 and so on."""
    return (factor * 10**power for power in count_from(0) for factor in (1, 2, 5))


def _ends(made: Layout) -> Iterator[str]:
    """Where windows that overlap end; those side by side are bands."""
    if made.bands:
        return
    for bar in made.ends:
        y = made.up.at(bar.end)
        yield (
            f'<line class="end{_dims(made.snapshot, bar)}" x1="{made.left}" '
            f'x2="{made.right:.1f}" y1="{y}" y2="{y}"/>'
        )


def _ideal_line(
    made: Layout,
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Where all rows would lie if none were delayed: at a known speed, and where
    seconds run across."""
    speed, first = made.snapshot.speed, made.points[0]
    newest = first.max_event_time
    if speed <= 0 or newest is None or not made.by_clock:
        return None
    across, up = made.across, made.up

    def moment(point: datetime) -> datetime:
        passed = point - ORIGIN - timedelta(seconds=first.elapsed_s)
        return newest + passed * speed

    low, high = across.low, across.high
    try:
        ideal = moment(high)
    except OverflowError:
        return None
    if ideal > up.high:  # it leaves the picture through its upper edge
        high = low + (high - low) * ((up.high - moment(low)) / (ideal - moment(low)))
    end = across.at(high), up.at(min(moment(high), up.high))
    return (across.at(low), up.at(moment(low))), end


def _diagonal(made: Layout, places: LabelPlaces) -> str:
    if (line := _ideal_line(made)) is None:
        return ""
    (from_x, from_y), (x, y) = line
    text = f"no delay at speed {made.snapshot.speed:,.4g}"
    spots = [
        *((x - 8, y + down, "end") for down in (16, 32, 48)),
        *((x + 8, y + down, "start") for down in (14, 30)),
    ]
    return (
        f'<line class="ideal" x1="{from_x}" y1="{from_y}" x2="{x}" y2="{y}"/>'
        f"{places.label(text, spots, 'ideal')}"
    )


def _dots(made: Layout) -> Iterator[str]:
    """The rows that were not late, as one path each for those that belong to what is
    selected, and the others."""
    chosen = made.snapshot.selected
    on_time = [dot for dot in made.dots if not dot.late]
    bright: list[Dot] = []
    dim: list[Dot] = []
    for dot in on_time:
        shown = chosen is None or chosen.start is None or chosen.has_time(dot.moment)
        (bright if shown else dim).append(dot)
    size = " few" if len(made.dots) <= 200 else ""
    for kind, dots in (("dim", dim), ("", bright)):
        look = " ".join(filter(None, ("dot" + size, kind)))
        if len(made.dots) <= FEW_TOLD:
            moments = [dot.moment for dot in made.dots]
            yield from (
                _told(made, look, f"M{dot.x:.1f},{dot.y:.1f}h0", dot, moments)
                for dot in dots
            )
        elif dots:
            path = "".join(f"M{dot.x:.1f},{dot.y:.1f}h0" for dot in dots)
            yield f'<path class="{look}" d="{path}"/>'


def _told(
    made: Layout, look: str, path: str, dot: Dot, moments: Iterable[datetime]
) -> str:
    """A path that says to the pointer and to a screen reader which row it is."""
    late = ("late" if made.has_window else "behind the watermark") if dot.late else ""
    said = (
        values_in_words(dot.row.values),
        f"event time {clock(dot.moment, moments)}",
        f"micro-batch {dot.batch_id:,}",
        late,
    )
    words = escaped(", ".join(filter(None, said)), TOLD_CHARS)
    return f'<g role="img"><title>{words}</title><path class="{look}" d="{path}"/></g>'


def _steps(made: Layout) -> list[tuple[float, float]]:
    """The corners of the watermark, each where a batch moved it."""
    return [
        (made.x_of(point), made.up.at(mark))
        for point in made.points
        if (mark := made.mark(point)) is not None
    ]


def _curves(made: Layout) -> Iterator[str]:
    yield f'<path class="newest" d="{_line(_newest_corners(made))}"/>'
    if steps := _steps(made):
        stairs = f"M{steps[0][0]},{steps[0][1]}"
        stairs += "".join(f"H{x}V{y}" for x, y in steps[1:])
        yield f'<path class="watermark" d="{stairs}H{made.right:.1f}"/>'


def _newest_corners(made: Layout) -> list[tuple[float, float]]:
    return [
        (made.x_of(p), made.up.at(p.max_event_time))
        for p in made.points
        if p.max_event_time is not None
    ]


def _line(corners: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x},{y}" for x, y in corners)


def _late_rows(
    made: Layout,
) -> Iterator[tuple[float, float, datetime | None, int]]:
    """Of each batch that had late rows where they lie: the place of their count, their
    time where no dot stands for them, and how many they are."""
    drawn: dict[int, list[Dot]] = {}
    for dot in made.dots:
        if dot.late:
            drawn.setdefault(dot.batch_id, []).append(dot)
    overlap = any(
        a.batch_id == b.batch_id and a.end > b.start and b.end > a.start
        for a, b in pairwise(made.snapshot.late)
    )
    first = made.points[0].batch_id if made.from_batch else 0
    for rows in made.snapshot.late:
        if rows.batch_id < first:
            continue
        inside = [
            dot
            for dot in drawn.get(rows.batch_id, ())
            if rows.start <= dot.moment < rows.end
        ]
        if inside:
            x = max(dot.x for dot in inside)
            y = sum(dot.y for dot in inside) / len(inside)
            # A row of windows that overlap is counted in each of them.
            hidden = rows.rows if not overlap and rows.rows > len(inside) else 0
            yield x, y, None, hidden
        elif not drawn.get(rows.batch_id):
            middle = rows.start + (rows.end - rows.start) / 2
            x = made.x(rows.batch_id, rows.elapsed_s)
            yield x, made.up.at(middle), middle, rows.rows


def _rings(made: Layout, marks: Sequence[Mark]) -> Iterator[str]:
    """Rows behind the watermark that no window misses: they are not crossed out."""
    r = RADIUS
    sign = f"m{-r},0a{r},{r} 0 1 0 {2 * r},0a{r},{r} 0 1 0 {-2 * r},0"
    return _signs(made, "behind", marks, sign)


def _signs(made: Layout, look: str, marks: Sequence[Mark], sign: str) -> Iterator[str]:
    """A sign at each mark; of few marks each says which row it is."""
    moments = [mark.moment for mark in marks]
    unsaid = ""
    for x, y, _, dot in marks:
        path = f"M{x:.1f},{y:.1f}{sign}"
        if dot is None or len(marks) > FEW_TOLD:
            unsaid += path
        else:
            yield _told(made, look, path, dot, moments)
    if unsaid:
        yield f'<path class="{look}" d="{unsaid}"/>'


def _arrived(made: Layout) -> Iterator[str]:
    """A ring around the row that has just come."""
    moment = made.snapshot.moment
    if moment is None or moment.arrival is None:
        return
    time = moment.arrival.time
    places = [
        (dot.x, dot.y)
        for dot in made.dots
        if dot.batch_id == moment.batch_id and dot.moment == time
    ]
    same = [b for b in made.batches if b.batch_id == moment.batch_id]
    places += [(made.x_of(batch), made.up.at(time)) for batch in same]
    for x, y in places[:1]:
        yield f'<circle class="arrived" cx="{x:.1f}" cy="{y:.1f}" r="8"/>'


def _crosses(made: Layout, marks: Sequence[Mark]) -> Iterator[str]:
    chosen, r = made.snapshot.selected, RADIUS
    sign = f"m{-r},{-r}l{2 * r},{2 * r}m0,{-2 * r}l{-2 * r},{2 * r}"
    for kind in ("dim", ""):
        shown = [
            mark
            for mark in marks
            if (kind == "dim")
            == bool(chosen and chosen.start and not chosen.has_time(mark.moment))
        ]
        yield from _signs(made, ("crosses " + kind).strip(), shown, sign)


def _late_counts(
    late: Sequence[tuple[float, float, datetime | None, int]], places: LabelPlaces
) -> Iterator[str]:
    for x, y, _, rows in sorted(late, key=lambda each: -each[3]):
        if rows >= MANY_LATE:
            spots = [
                (x + 8, y + 4, "start"),
                (x - 8, y + 4, "end"),
                (x, y + 17, "middle"),
                (x, y - 9, "middle"),
                (x + 6, y + 17, "start"),
                (x - 6, y + 17, "end"),
                (x, y + 31, "middle"),
                (x + 6, y + 31, "start"),
            ]
            yield places.label(f"{rows:,} late", spots, "late")


def _closings(made: Layout, places: LabelPlaces) -> Iterator[str]:
    """A mark where the watermark passed the end of a window, and in which batch."""
    closed = [
        (x, made.up.at(bar.end), bar)
        for bar in made.bands or made.ends
        if (x := made.closing_x(bar)) is not None
    ]
    for x, y, bar in closed:
        yield (
            f'<path class="closing" d="M{x},{y - 5}l5,5l-5,5l-5,-5Z">'
            f"<title>{title(bar)}</title></path>"
        )
        places.take(Box(x - 6, y - 6, x + 6, y + 6))


def _times(made: Layout, places: LabelPlaces) -> Iterator[str]:
    """The event times of a few rows."""
    if len(made.dots) > FEW:
        return
    moments = [dot.moment for dot in made.dots]
    for dot in made.dots:
        x, y = dot.x, dot.y
        # Beside, above or below; then a little further, as curves pass by.
        spots = [
            (x + 7, y + 4, "start"),
            (x - 7, y + 4, "end"),
            (x, y - 8, "middle"),
            (x, y + 17, "middle"),
            *(
                (x + side, y + down, anchor)
                for down in (12, -6, 18, -12, 24, -18, 32, -26)
                for side, anchor in ((5, "start"), (-5, "end"))
            ),
        ]
        kind = "late" if dot.late else "time"
        yield places.label(clock(dot.moment, moments), spots, kind)


def _window_names(made: Layout, places: LabelPlaces) -> Iterator[str]:
    """In each window what it is: at the right where it has closed, else at the left."""
    for bar in made.bands:
        top, foot = made.up.at(bar.end), made.up.at(bar.start)
        if foot - top < 16:
            continue
        y = (top + foot) / 2 + 4
        long, short = _name(bar, made), _span(bar)
        left, right = (made.left + 6, y, "start"), (made.right - 6, y, "end")
        sides = [right, left] if bar.state is WindowState.CLOSED else [left]
        high = [(x, top + 13, anchor) for x, _, anchor in sides]
        low = [(x, foot - 5, anchor) for x, _, anchor in sides]
        spots = [*sides, *high, *low] if foot - top >= 30 else sides
        yield places.label(long, spots) or places.label(short, spots)


def _name(bar: WindowBar, made: Layout) -> str:
    span = _span(bar)
    if bar.state is not WindowState.CLOSED:
        return f"{span} open"
    batch = f" in batch {bar.closed_in:,}" if bar.closed_in is not None else ""
    mark = made.snapshot.watermark
    over = mark is not None and mark >= END_OF_TIME and not batch
    return f"{span} closed{' at the end' if over else batch}"


def _span(bar: WindowBar) -> str:
    """The window as short as the axis allows it, which has the date."""
    if bar.end - bar.start < DAY:
        return f"{clock(bar.start, [bar.end])} – {clock(bar.end, [bar.start])}"
    if bar.end - bar.start == DAY and bar.start == bar.start.replace(hour=0, minute=0):
        return f"{bar.start:%b} {bar.start.day}"
    return interval(bar.start, bar.end)


def _end_labels(made: Layout) -> Iterator[str]:
    """What the two curves are, behind their ends."""
    last = made.points[-1]
    newest, mark = last.max_event_time, made.mark(last)
    assert newest is not None
    at = clock_within(newest, made.span)
    labels = [("newest", newest, f"newest event {at}")]
    if mark is not None:
        over = last.watermark is not None and last.watermark >= END_OF_TIME
        below = " ↓" if mark < made.up.low else ""
        at = clock_within(mark, made.span)
        text = "end of input" if over else f"watermark {at}{below}"
        labels.append(("watermark", mark, text))
        if not over and newest > mark:
            behind = f"{duration(newest - mark)} behind"
            middle = mark + (newest - mark) / 2
            if text_width(behind) < WIDTH - made.right - 10:
                labels.insert(1, ("", middle, behind))
    ys = spread_apart(
        [made.up.at(moment) + 4 for _, moment, _ in labels], TOP + 4, made.bottom
    )
    # Moments that are equal keep the order in which they are written.
    for (kind, _, text), y in zip(labels, ys, strict=True):
        inner = f'<text x="{made.right + 8:.1f}" y="{y:.1f}">{text}</text>'
        yield f'<g class="{kind}">{inner}</g>' if kind else inner


def _legend(made: Layout, y: float, *, late: bool) -> Iterator[str]:
    x = 14.0
    entries: list[tuple[str, str]] = []
    if made.dots:
        entries.append((f'<path class="dot few" d="M{{x}},{y - 4}h0"/>', "row"))
    line = f"M{{x}},{y - 4}h14"
    entries.append((f'<path class="newest" d="{line}"/>', "newest event"))
    if _steps(made):
        entries.append((f'<path class="watermark" d="{line}"/>', "watermark"))
    if any(made.closing_x(bar) is not None for bar in made.bands or made.ends):
        mark = f'<path class="closing" d="M{{x}},{y - 9}l5,5l-5,5l-5,-5Z"/>'
        entries.append((mark, "it passes a window's end"))
        past = f'<rect class="past" x="{{x}}" y="{y - 9}" width="14" height="10"/>'
        if made.bands:
            entries.append((past, "closed: a row here is late"))
    if made.ends and not made.bands:
        entries.append((f'<path class="end" d="{line}"/>', "a window's end"))
    if late:
        sign, text = ("×", "late") if made.has_window else ("○", "behind the watermark")
        mark = f'<text class="late" x="{{x}}" y="{y}">{sign}</text>'
        entries.append((mark, text))
    for mark, text in entries:
        wide = "14" in mark
        start = x if wide or "late" in mark else x + 4
        shift = 20 if wide else 14
        yield mark.format(x=f"{start:.1f}")
        yield f'<text x="{x + shift:.1f}" y="{y}">{text}</text>'
        x += shift + text_width(text) + 16


def _in_words(made: Layout, crosses: int) -> str:
    last = made.points[-1]
    assert last.max_event_time is not None
    parts = [
        "event time against processing time",
        f"{count(len(made.dots), 'row')} drawn",
        f"newest event {clock(last.max_event_time)}",
    ]
    if last.watermark is not None:
        over = last.watermark >= END_OF_TIME
        mark = "end of input" if over else f"watermark {clock(last.watermark)}"
        parts.append(mark)
    if crosses:
        parts.append(
            f"{count(crosses, 'late row')} crossed out"
            if made.has_window
            else f"{count(crosses, 'row')} behind the watermark"
        )
    return ", ".join(parts)
