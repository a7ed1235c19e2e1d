"""A slider over watermark delays: how many rows would have been late with each.

Nothing is run again: which delay a row needs follows from the micro-batches that there
were. The slider needs no kernel, so it works in a saved page too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from arroyo_nb.run.observe.build_snapshot import duration_text
from arroyo_nb.run.observe.lateness import MILLISECOND, Lateness
from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.event_time_axis import MARGIN, WIDTH, svg
from arroyo_nb.views.formatting import SECOND, count, escaped, late_for_sessions
from arroyo_nb.views.inert import CELL, SOFT
from arroyo_nb.views.sections import PanelViewBase

TOP, HEIGHT = 34, 120
"""Pixels above the columns, and of the highest one."""

COUNTED_WIDTH = 40.0
"""Pixels of a column that has its number above it."""

JUST_OVER = "just over "
LISTED = 8
"""Delays of the table that stays in the notebook."""

NOTHING = "No row came into a window yet."
NONE_LATE = "No row would have been late, not even without a delay."


@dataclass(frozen=True)
class Choice:
    """A delay, and how many rows are late with it."""

    delay: timedelta
    late: int


class DelaysView(PanelViewBase):
    """A slider over delays, and a column for each: the rows that would be late."""

    name = "delays"
    place = 28
    title = "how many rows would be late with another watermark delay"

    def has_tab(self, snapshot: Snapshot) -> bool:
        """A query with windows and one length of a delay."""
        return snapshot.lateness is not None

    def live(self, snapshot: Snapshot, plan: str) -> str:  # noqa: ARG002
        """The slider and the columns."""
        lateness, nothing = snapshot.lateness, _nothing(snapshot)
        if lateness is None or nothing:
            return f'<p class="soft">{escaped(nothing, 300)}</p>'
        drawn = _slider(lateness, choices_of(lateness), exact=snapshot.late_exact)
        said = _who_is_late(snapshot)
        return drawn + f'<p class="soft">{escaped(said, 300)}</p>' * bool(said)

    def static(
        self,
        snapshot: Snapshot,
        plan: str,  # noqa: ARG002
        *,
        asked: bool,
    ) -> str:
        """A table, as nothing slides without a script."""
        lateness, nothing = snapshot.lateness, _nothing(snapshot)
        if not asked:
            return ""
        if lateness is None or nothing:
            return f'<p style="{SOFT}">{escaped(nothing, 300)}</p>'
        choices = choices_of(lateness)
        step = max(1, len(choices) // LISTED)
        shown = {*choices[::step], choices[-1]}
        shown |= {c for c in choices if c.delay == lateness.delay}
        rows = "".join(
            f'<tr><td style="{CELL}left">{escaped(_length(c.delay))}'
            f"{' (as run)' * (c.delay == lateness.delay)}</td>"
            f'<td style="{CELL}right">{c.late:,}</td></tr>'
            for c in sorted(shown, key=lambda c: c.delay)
        )
        heads = "".join(f'<th style="{CELL}left">{h}</th>' for h in ("delay", "late"))
        said = _who_is_late(snapshot)
        return (
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
            + f'<p style="{SOFT}">{escaped(said, 300)}</p>' * bool(said)
        )


def _nothing(snapshot: Snapshot) -> str:
    """Why there is nothing to slide over; empty: there is."""
    if snapshot.lateness is None or not snapshot.lateness.rows:
        return NOTHING
    return "" if snapshot.lateness.needed else NONE_LATE


def _who_is_late(snapshot: Snapshot) -> str:
    """The rule of sessions; empty for other windows."""
    if snapshot.gap is None:
        return ""
    said = [late_for_sessions(snapshot.gap)]
    if not snapshot.late_exact:
        said.append(
            "In micro-batches of more than 64 rows the rows are counted by pieces of "
            "the gap: at most so many would be late."
        )
    return " ".join(said)


def choices_of(lateness: Lateness) -> tuple[Choice, ...]:
    """The delays worth choosing: none, that of the run, and each with which fewer rows
    are late."""
    delays = {timedelta(0), lateness.delay, *(least for least, _ in lateness.needed)}
    # That of the run may lie among delays that are counted together.
    late = {delay: lateness.late_with(delay) for delay in sorted(delays)}
    late[lateness.delay] = lateness.late_rows
    return tuple(Choice(delay, rows) for delay, rows in late.items())


def _slider(lateness: Lateness, choices: Sequence[Choice], *, exact: bool) -> str:
    places = _places(choices)
    texts = [_said(lateness, choice, exact=exact) for choice in choices]
    steps = json.dumps([*zip(places, texts, strict=True)])
    own = next(n for n, c in enumerate(choices) if c.delay == lateness.delay)
    parts = _columns(choices, own, texts)
    drawn = svg(TOP + HEIGHT + 34, texts[own], parts)
    return (
        '<div class="delays" data-local data-key="delays">'
        f'<p><label>delay <input type="range" min="0" max="{len(choices) - 1}" '
        f'value="{own}" data-steps="{escaped(steps, len(steps))}" '
        'aria-label="Watermark delay"/></label> '
        f"<output>{escaped(texts[own], 300)}</output></p>{drawn}</div>"
    )


def _places(choices: Sequence[Choice]) -> list[float]:
    """Where the column of each delay has its middle: all are as far apart."""
    wide = _width(choices)
    return [round(MARGIN + (n + 0.5) * wide, 1) for n in range(len(choices))]


def _width(choices: Sequence[Choice]) -> float:
    return min((WIDTH - 2 * MARGIN) / len(choices), 80.0)


def _columns(choices: Sequence[Choice], own: int, texts: Sequence[str]) -> list[str]:
    wide, bottom = _width(choices), TOP + HEIGHT
    most = max(choice.late for choice in choices) or 1
    parts, free = [], 0.0
    for n, (choice, x) in enumerate(zip(choices, _places(choices), strict=True)):
        height = round(HEIGHT * choice.late / most, 1)
        parts.append(
            f"<g><title>{escaped(texts[n], 200)}</title>"
            f'<rect class="over" x="{x - wide / 2 + 1:.1f}" y="{bottom - height:.1f}" '
            f'width="{max(wide - 2, 1):.1f}" height="{height}"/></g>'
        )
        if wide >= COUNTED_WIDTH:
            parts.append(
                f'<text x="{x:.1f}" y="{bottom - height - 4:.1f}" text-anchor="middle">'
                f"{choice.late:,}</text>"
            )
        label = _length(choice.delay).replace(JUST_OVER, "> ")
        half = 3.6 * len(label)
        if x - half > free or n == own:
            weight = ' style="font-weight:700"' if n == own else ""
            parts.append(
                f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle"{weight}>'
                f"{escaped(label)}</text>"
            )
            free = x + half + 8
    line = f'<line y1="{TOP - 12}" y2="{bottom}"/>'
    at = _places(choices)[own]
    parts += [
        f'<line class="axis" x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{bottom}" '
        f'y2="{bottom}"/>',
        f'<g class="watermark chosen-line" transform="translate({at},0)">{line}</g>',
        f'<text x="{MARGIN}" y="14">rows that would be late</text>',
        f'<text x="{WIDTH - MARGIN}" y="{bottom + 30}" text-anchor="end">'
        "watermark delay →</text>",
    ]
    return parts


def _said(lateness: Lateness, choice: Choice, *, exact: bool) -> str:
    share = 100 * choice.late / lateness.rows
    said = (
        f"With a delay of {_length(choice.delay)}, "
        f"{'' if exact else 'at most '}{choice.late:,} of "
        f"{count(lateness.rows, 'row')} would be late ({share:.2g} %)"
    )
    if choice.delay == lateness.delay:
        return f"{said}: the delay of this run."
    longer = choice.delay - lateness.delay
    more = "later" if longer > timedelta(0) else "earlier"
    return f"{said}; results would come {_length(abs(longer))} {more}."


def _length(length: timedelta) -> str:
    """A delay to the millisecond: a rounded one would keep a row less. A window closes
    as soon as the watermark is at its end, so many are a millisecond longer than that.

    >>> _length(timedelta(hours=1, seconds=3)), _length(timedelta(milliseconds=2500))
    ('1 h 3 s', '2 s 500 ms')
    >>> _length(timedelta(minutes=5, milliseconds=1))
    'just over 5 min'
    """
    rest = length % SECOND
    whole = duration_text(length - rest)
    if not rest:
        return whole
    if rest == MILLISECOND:
        return f"{JUST_OVER}{whole}"
    return f"{whole} " * (length > SECOND) + f"{rest / timedelta(milliseconds=1):g} ms"


VIEW = DelaysView()
