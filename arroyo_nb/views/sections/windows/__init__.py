"""The windows of a query on event time, each with its rows."""

from __future__ import annotations

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.formatting import escaped
from arroyo_nb.views.inert import SOFT, image
from arroyo_nb.views.sections import PanelViewBase
from arroyo_nb.views.sections.windows.timeline import Timeline, timeline
from arroyo_nb.views.truncation_notes import windows_left_out


class WindowsView(PanelViewBase):
    """The windows, and the watermark between them."""

    name = "windows"
    title = "the windows on event time"
    place = 10

    def suits(self, snapshot: Snapshot) -> bool:
        """A query with windows, unless its result is never final."""
        return snapshot.windowed and not snapshot.updating

    def suits_static(self, snapshot: Snapshot) -> bool:  # noqa: ARG002
        """Whatever has windows."""
        return True

    def has_tab(self, snapshot: Snapshot) -> bool:
        """A query with windows."""
        return snapshot.windowed

    def live(self, snapshot: Snapshot, plan: str) -> str:  # noqa: ARG002
        """The picture, and which windows are not in it."""
        if not snapshot.windowed:
            return '<p class="soft">This query has no window.</p>'
        if (drawn := timeline(snapshot)) is None:
            return '<p class="soft">No window yet: the first row opens one.</p>'
        caption = _caption(snapshot, drawn)
        above = f'<p class="soft">{escaped(caption, 200)}</p>' if caption else ""
        return above + drawn.svg

    def static(
        self,
        snapshot: Snapshot,
        plan: str,  # noqa: ARG002
        *,
        asked: bool,  # noqa: ARG002
    ) -> str:
        """The same as an image."""
        if (drawn := timeline(snapshot)) is None:
            return ""
        caption = _caption(snapshot, drawn)
        above = f'<p style="{SOFT}">{escaped(caption, 200)}</p>' if caption else ""
        return above + image(snapshot, drawn.svg, "windows on event time")


def _caption(snapshot: Snapshot, drawn: Timeline) -> str:
    hidden, late = drawn.hidden_windows, drawn.hidden_late
    return windows_left_out(snapshot, hidden, late=late, columns=drawn.columns)


VIEW = WindowsView()
