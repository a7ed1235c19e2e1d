"""A run as a value of a notebook: its text, its HTML and its chart."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

    @contextmanager
    def telling(self) -> Iterator[Callable[[str], None] | None]:
        """In a kernel: one output that says how far it is and for how long, once it has
        taken a second."""
        # A kernel has IPython loaded; nothing else is to load it for a line of text.
        ipython = sys.modules.get("IPython")
        shell = ipython and ipython.get_ipython()
        if getattr(shell, "kernel", None) is None:
            yield None
            return
        from arroyo_nb.views.notebook import ProgressOutput

        shown, begun_s, said = ProgressOutput(), time.monotonic(), ""

        def tell(text: str) -> None:
            nonlocal said
            passed_s = int(time.monotonic() - begun_s)
            if passed_s >= 1 and (line := f"{text}, {passed_s} s") != said:
                said = line
                shown.tell(line)

        try:
            yield tell
        except KeyboardInterrupt:
            shown.give_up(f"{said}: interrupted")
            raise
        shown.give_up(f"took {time.monotonic() - begun_s:.1f} s")
