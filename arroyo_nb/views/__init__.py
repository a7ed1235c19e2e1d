"""Pictures of a run: each view draws a
:class:`~arroyo_nb.run.observe.snapshot.Snapshot`.

Views never touch Spark and never hold a run's lock. Whatever comes from the user's
data, names or errors passes through :func:`arroyo_nb.views.formatting.escaped`.
"""

from __future__ import annotations

from typing import Any

CHARTS = ("draw_offline", "plot")
"""What notebooks import from here, of :mod:`arroyo_nb.views.chart`: imported when it is
asked for, as no panel needs it."""


def __getattr__(name: str) -> Any:
    if name in CHARTS:
        from arroyo_nb.views import chart

        return getattr(chart, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
