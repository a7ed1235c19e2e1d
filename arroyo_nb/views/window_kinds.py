"""Windows of several kinds of the same rows, under each other on one time axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from arroyo_nb.views.formatting import count, escaped
from arroyo_nb.views.inert import SOFT, image
from arroyo_nb.views.sections.table import static_table
from arroyo_nb.views.sections.windows.timeline import timeline
from arroyo_nb.views.static_html import stale_mark
from arroyo_nb.views.truncation_notes import stale_tables, windows_left_out
from arroyo_nb.whatif.window_kinds import WindowComparison, span_of

if TYPE_CHECKING:
    from arroyo_nb.run.observe.snapshot import Snapshot

_BEHIND = {
    "tumble": "Windows of one width, side by side: each row is in one window.",
    "hop": "Windows that overlap: a row is in each window that covers it, so the "
    "counts of the windows add up to more than the rows.",
    "session": "A window lasts as long as rows keep coming: it ends when no row has "
    "come for the gap.",
}
"""What a reader sees of each function."""


class WindowComparisonPage:
    """What a :class:`WindowComparison` shows of itself."""

    def text(self, found: WindowComparison) -> str:
        """A line for each kind."""
        shown = found.snapshots()
        stale = stale_tables(shown[0])
        return "\n".join([*map(_heading, shown), *filter(None, [stale])])

    def html(self, found: WindowComparison) -> str:
        """A picture and the rows of each kind; without a script."""
        shown = found.snapshots()
        return f"<div>{stale_mark(shown[0])}{''.join(_pictures(found, shown))}</div>"


WINDOW_COMPARISON_VIEWS = WindowComparisonPage()


def bundle(found: WindowComparison) -> dict[str, str]:
    """The comparison as a MIME bundle."""
    return {
        "text/plain": repr(found),
        "text/html": WINDOW_COMPARISON_VIEWS.html(found),
    }


def _heading(snapshot: Snapshot) -> str:
    late = f", {count(snapshot.late_rows, 'late row')}" * bool(snapshot.late_rows)
    windows = count(_number_of_windows(snapshot), "window")
    return f"{snapshot.window_text}: {windows}{late} ({snapshot.name})"


def _number_of_windows(snapshot: Snapshot) -> int:
    """Of sessions by key each counts; what is drawn lies over each other. A window that
    has none but late rows is drawn, and never was one of the result."""
    if snapshot.open_sessions is not None:
        return snapshot.open_sessions + snapshot.closed_sessions
    return sum(bar.rows > 0 for bar in snapshot.windows) + snapshot.windows_cut


def _pictures(found: WindowComparison, shown: tuple[Snapshot, ...]) -> Iterator[str]:
    span = span_of(shown)
    for kind, snapshot in zip(found.kinds, shown, strict=True):
        yield f"<p><strong>{escaped(_heading(snapshot), 300)}</strong></p>"
        said = _BEHIND[kind.call.partition("(")[0]]
        yield f'<p style="{SOFT}">{escaped(said, 300)}</p>'
        drawn = timeline(snapshot, span)
        if drawn is None:
            yield f'<p style="{SOFT}">There is no window: no row came.</p>'
            continue
        hidden = windows_left_out(
            snapshot, drawn.hidden_windows, late=drawn.hidden_late,
            columns=drawn.columns,
        )  # fmt: skip
        if drawn.hidden_windows or drawn.columns:
            yield f'<p style="{SOFT}">{escaped(hidden, 300)}</p>'
        yield image(snapshot, drawn.svg, f"windows of {snapshot.window_text}")
        yield (
            f'<details><summary style="{SOFT}">its rows</summary>'
            f"{static_table(snapshot)}</details>"
        )
