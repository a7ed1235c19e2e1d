"""Other delays as a table, a picture and a chart: rows lost against latency added."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from arroyo_nb.views.event_time_axis import WIDTH, svg
from arroyo_nb.views.formatting import (
    HOUR,
    MINUTE,
    SECOND,
    STRETCH,
    count,
    duration,
    escaped,
    plural,
)
from arroyo_nb.views.inert import SOFT, picture
from arroyo_nb.views.listing import listing
from arroyo_nb.whatif.outcomes import DelayOutcome, WhatIf, percentile

if TYPE_CHECKING:
    import altair as alt

COLUMNS = (
    "delay",
    "rows kept",
    "rows lost",
    "share lost",
    "windows",
    "waits (p50)",
    "waits (max)",
    "result",
)
ARRIVAL_COLUMN = "after arrival (p50)"

LANE = 34
"""Pixels from one delay to the next."""

LATE_LEFT, LATE_RIGHT = 150, 400
WAIT_LEFT, WAIT_RIGHT = 500, WIDTH - 90
"""Where the bars of lost rows and of latencies are."""

_CAPTION = (
    "A {window} waits until the newest event is so far past its end. Each delay met "
    "the same {batches}."
)


class WhatIfPage:
    """What a :class:`WhatIf` shows of itself."""

    def text(self, found: WhatIf) -> str:
        """The table as text, and the notes."""
        table = _listing(found)["text/plain"]
        return "\n".join((_title(found), "", table, "", *_captions(found)))

    def html(self, found: WhatIf) -> str:
        """The table, a picture and the notes; neither style sheet nor script."""
        notes = "".join(f'<p style="{SOFT}">{escaped(n, 400)}</p>' for n in
                        _captions(found))  # fmt: skip
        title = f"<p><strong>{escaped(_title(found), 300)}</strong></p>"
        drawn = picture(_svg(found), _in_words(found))
        return f"<div>{title}{_listing(found)['text/html']}{drawn}{notes}</div>"

    def plot(self, found: WhatIf) -> alt.LayerChart:
        """Rows lost against latency added: a point for each delay."""
        return _chart(found)


WHAT_IF_VIEWS = WhatIfPage()


def bundle(found: WhatIf) -> dict[str, str]:
    """The table and the picture as a MIME bundle."""
    return {"text/plain": repr(found), "text/html": WHAT_IF_VIEWS.html(found)}


def _title(found: WhatIf) -> str:
    return f"{found.name} with {count(len(found.outcomes), 'delay')}"


def _captions(found: WhatIf) -> tuple[str, ...]:
    batches = count(found.batches, "micro-batch")
    return (_CAPTION.format(window=_noun(found), batches=batches), *found.notes)


def _noun(found: WhatIf) -> str:
    return STRETCH if found.has_stretches else "window"


def _listing(found: WhatIf) -> dict[str, str]:
    by_arrival = any(each.arrival_latencies for each in found.outcomes)
    columns = (*COLUMNS[:-1], *([ARRIVAL_COLUMN] if by_arrival else []), COLUMNS[-1])
    columns = tuple(plural(_noun(found)) if c == "windows" else c for c in columns)
    rows = [_row(each, by_arrival=by_arrival) for each in found.outcomes]
    return listing(columns, rows, nothing="no delay")


def _row(outcome: DelayOutcome, *, by_arrival: bool) -> tuple[str, ...]:
    waits = outcome.event_latencies
    about = "" if outcome.is_exact else "≤ "
    at_end = f" ({outcome.closed_at_end} at the end)" if outcome.closed_at_end else ""
    after = _length(percentile(outcome.arrival_latencies, 50))
    return (
        duration(outcome.delay) + (" (as run)" if outcome.as_run else ""),
        count(outcome.kept_rows),
        about + count(outcome.late_rows),
        _share(outcome.late_share),
        f"{count(len(outcome.windows))}{at_end}",
        _length(percentile(waits, 50)),
        _length(percentile(waits, 100)),
        *([after] if by_arrival else []),
        _result(outcome),
    )


def _result(outcome: DelayOutcome) -> str:
    rows = count(outcome.result_rows, "row")
    if not outcome.differing_rows:
        return f"{rows}, as with the largest"
    return f"{rows}, {count(outcome.differing_rows)} differ"


def _length(length: timedelta | None) -> str:
    return "" if length is None else duration(length)


def _share(share: float) -> str:
    """A share in percent, never zero where there is one.

    >>> _share(0.0), _share(0.25), _share(0.00004)
    ('0 %', '25 %', '0.004 %')
    """
    return f"{share * 100:.2g} %" if share < 0.1 else f"{share * 100:.3g} %"


def _svg(found: WhatIf) -> str:
    most = max((each.late_share for each in found.outcomes), default=0.0)
    longest = max((_wait(each, 100) for each in found.outcomes), default=timedelta())
    top = 40
    parts = [
        f'<text x="{LATE_LEFT}" y="20">rows lost</text>',
        f'<text x="{WAIT_LEFT}" y="20">a {_noun(found)} waits (half of them, all)'
        "</text>",
    ]
    for number, outcome in enumerate(found.outcomes):
        parts += _lane(outcome, top + number * LANE, most, longest)
    return svg(top + LANE * len(found.outcomes) + 6, _in_words(found), parts)


def _lane(outcome: DelayOutcome, y: int, most: float, longest: timedelta) -> list[str]:
    lost = _pixels(outcome.late_share, most, LATE_RIGHT - LATE_LEFT)
    half, all_ = (
        _pixels(_wait(outcome, p) / SECOND, longest / SECOND, WAIT_RIGHT - WAIT_LEFT)
        for p in (50, 100)
    )
    weight = ' style="font-weight:700"' if outcome.as_run else ""
    words = duration(outcome.delay)
    return [
        f'<text x="{LATE_LEFT - 12}" y="{y + 15}" text-anchor="end"{weight}>'
        f"{escaped(words)}</text>",
        f'<rect x="{LATE_LEFT}" y="{y + 3}" width="{lost}" height="16" rx="2" '
        'style="fill:var(--late)"/>',
        f'<text x="{LATE_LEFT + lost + 6:.1f}" y="{y + 15}">'
        f"{_share(outcome.late_share)}</text>",
        f'<rect class="open" x="{WAIT_LEFT}" y="{y + 3}" width="{all_}" height="16" '
        'rx="2"/>',
        f'<rect class="closed" x="{WAIT_LEFT}" y="{y + 3}" width="{half}" height="16" '
        'rx="2"/>',
        f'<text x="{WAIT_LEFT + all_ + 6:.1f}" y="{y + 15}">'
        f"{escaped(_waits(outcome))}</text>",
    ]


def _pixels(value: float, most: float, width: int) -> float:
    return round(width * value / most, 1) if most else 0.0


def _wait(outcome: DelayOutcome, percent: int) -> timedelta:
    return percentile(outcome.event_latencies, percent) or timedelta()


def _waits(outcome: DelayOutcome) -> str:
    if not outcome.event_latencies:
        return "until the end"
    return duration(_wait(outcome, 100))


def _in_words(found: WhatIf) -> str:
    noun = _noun(found)
    each = (
        f"delay {duration(o.delay)}: {count(o.late_rows)} of {count(o.rows)} rows lost,"
        f" a {noun} waits {_length(percentile(o.event_latencies, 50)) or 'to the end'}"
        for o in found.outcomes
    )
    return "; ".join(each)


def _chart(found: WhatIf) -> alt.LayerChart:
    import altair as alt
    import pandas as pd

    from arroyo_nb.views.chart import draw_offline

    unit, name = _unit([_wait(each, 50) for each in found.outcomes])
    rows = pd.DataFrame(
        {
            "delay": [duration(o.delay) for o in found.outcomes],
            "wait": [_wait(o, 50) / unit for o in found.outcomes],
            "lost": [o.late_share for o in found.outcomes],
            "rows lost": [o.late_rows for o in found.outcomes],
            "windows": [len(o.windows) for o in found.outcomes],
        }
    )
    base = alt.Chart(rows).encode(
        x=alt.X("wait:Q", title=f"half of the windows wait at most ({name})"),
        y=alt.Y("lost:Q", title="rows lost", axis=alt.Axis(format="%")),
        order=alt.Order("wait:Q"),
        tooltip=["delay", "rows lost", "windows"],
    )
    draw_offline()
    words = base.mark_text(dx=8, dy=-8, align="left").encode(text="delay:N")
    layers = base.mark_line(opacity=0.4) + base.mark_point(filled=True, size=60) + words
    sized: alt.LayerChart = layers.properties(width=640, height=260)
    return sized


def _unit(lengths: Sequence[timedelta]) -> tuple[timedelta, str]:
    longest: Any = max(lengths, default=timedelta())
    for unit, name in ((HOUR, "hours"), (MINUTE, "minutes")):
        if longest >= 2 * unit:
            return unit, name
    return SECOND, "seconds"
