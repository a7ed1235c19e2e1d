"""A run as a value of a notebook: its text, its HTML and its chart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.run.results.hand_out import BARE, HandOut
from arroyo_nb.views import static_html

if TYPE_CHECKING:
    import altair as alt

    from arroyo_nb.engine import Engine
    from arroyo_nb.run.observe.findings import Report
    from arroyo_nb.run.run import Run
    from arroyo_nb.views.chart import Plottable


class ResultViews:
    """What a run shows of itself; see
    :class:`~arroyo_nb.run.results.run_results.RunViews`."""

    def text(self, snapshot: Snapshot) -> str:
        """The newest rows and the counts, as text."""
        return str(static_html.bundle(snapshot)["text/plain"])

    def html(self, snapshot: Snapshot) -> str:
        """The last picture of its panel, with the newest rows."""
        return str(static_html.bundle(snapshot)["text/html"])

    def plot(self, run: Plottable, **options: Any) -> alt.Chart:
        """See :func:`arroyo_nb.views.chart.plot`."""
        # Charts and pages are asked for seldom, and a session imports this module.
        from arroyo_nb.views import chart

        drawn: alt.Chart = chart.plot(run, **options)
        return drawn

    def save_html(
        self,
        run: Any,
        path: str | Path,
        tell: Callable[[str], object] | None = None,
        hand_out: HandOut = BARE,
    ) -> Path:
        """See :func:`arroyo_nb.views.replay_page.save`."""
        from arroyo_nb.views import replay_page

        return replay_page.save(run, path, tell, hand_out)

    def doctor(self, run: Run, engine: Engine) -> Report:
        """See :func:`arroyo_nb.doctor.examine.examine`."""
        from arroyo_nb.doctor.examine import examine

        return examine(run, engine)
