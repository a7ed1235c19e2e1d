"""A run as a value of a notebook: its text, its HTML and its chart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views import chart, replay_page, static_html

if TYPE_CHECKING:
    import altair as alt

    from arroyo_nb.engine import Engine
    from arroyo_nb.run.observe.findings import Report
    from arroyo_nb.run.run import Run


class ResultViews:
    """What a run shows of itself (:class:`arroyo_nb.run.run.RunViews`)."""

    def text(self, snapshot: Snapshot) -> str:
        """The newest rows and the counts, as text."""
        return str(static_html.bundle(snapshot)["text/plain"])

    def html(self, snapshot: Snapshot) -> str:
        """The last picture of its panel, with the newest rows."""
        return str(static_html.bundle(snapshot)["text/html"])

    def plot(self, run: chart.Plottable, **options: Any) -> alt.Chart:
        """See :func:`arroyo_nb.views.chart.plot`."""
        drawn: alt.Chart = chart.plot(run, **options)
        return drawn

    def save_html(self, run: Any, path: str | Path) -> Path:
        """See :func:`arroyo_nb.views.replay_page.save`."""
        return replay_page.save(run, path)

    def doctor(self, run: Run, engine: Engine) -> Report:
        """See :func:`arroyo_nb.doctor.examine.examine`."""
        from arroyo_nb.doctor.examine import examine

        return examine(run, engine)
