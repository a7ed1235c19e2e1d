"""Explore data streams in Jupyter: Arroyo's streaming SQL, live on Spark.

In a notebook, ``%load_ext arroyo_nb`` brings the ``%%arroyo`` cell; anywhere else,
:class:`Session` does the same. Importing the package starts and prints nothing and
imports none of the heavy libraries.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import ArroyoError, RunProblem

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from arroyo_nb.run.loaded_trace import LoadedTrace
    from arroyo_nb.run.run import Run
    from arroyo_nb.session import Session as Session
    from arroyo_nb.udfs.decorators import udaf as udaf
    from arroyo_nb.udfs.decorators import udf as udf
    from arroyo_nb.whatif.comparison import Comparison

__version__ = "0.1.0"
__all__ = [
    "ArroyoError",
    "Session",
    "__version__",
    "active_session",
    "compare",
    "load_trace",
    "udaf",
    "udf",
]


def __getattr__(name: str) -> Any:
    if name == "Session":
        from arroyo_nb.session import Session

        return Session
    if name in ("udf", "udaf"):
        from arroyo_nb.udfs import decorators

        return getattr(decorators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def active_session() -> Session:
    """The session of this notebook's cells: all that they do, it does too.

    Raises
    ------
    ArroyoError
        Where ``%load_ext arroyo_nb`` has not been run.
    """
    from arroyo_nb import extension

    return extension.active_session()


def compare(
    first: Run | LoadedTrace | str, second: Run | LoadedTrace | str, *, output: int = 0
) -> Comparison:
    """Compare two runs: windows with other rows or late rows, and result rows that only
    one of them has.

    Parameters
    ----------
    first, second
        The runs, as they are now; they may still be going on. Or what
        :func:`load_trace` gives, or in a notebook the name of a run.
    output
        Which output of both.

    Raises
    ------
    ArroyoError
        When one of them is no run, has failed, or keeps no rows.

    Examples
    --------
    ::

        found = arroyo_nb.compare(hasty, patient)
        found.table().to_pandas()
    """
    from arroyo_nb.views import compare as views

    runs = [_named_run(run) if isinstance(run, str) else run for run in (first, second)]
    return views.compare(*runs, output=output)


def _named_run(name: str) -> Run:
    try:
        session = active_session()
    except ArroyoError:
        raise RunProblem(
            f"'{name}' is a name, and runs are found by their names in a notebook only",
            hint=f"compare takes runs, too: session.get('{name}')",
        ) from None
    return session.get(name)


def load_trace(path: str | Path) -> LoadedTrace:
    """The trace of a run that :meth:`arroyo_nb.run.run.Run.save_trace` has saved: its
    tables, windows, views and pages, without Spark.

    Raises
    ------
    ArroyoError
        When the file cannot be read, or is no trace.
    """
    from arroyo_nb.engine.paths import user_path
    from arroyo_nb.run.loaded_trace import LoadedTrace
    from arroyo_nb.views.results import ResultViews

    return LoadedTrace(user_path(path), ResultViews())


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What ``%load_ext arroyo_nb`` does: magics, completion, a warm-up begun."""
    from arroyo_nb import extension

    extension.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """What ``%unload_ext arroyo_nb`` does: every run and the engine end; they stay in
    ``%reload_ext``."""
    from arroyo_nb import extension

    extension.unload(shell)
