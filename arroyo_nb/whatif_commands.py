"""``%arroyo whatif``, ``%arroyo compare`` and ``%%arroyo --compare``: other delays, two
runs side by side, other windows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from arroyo_nb.run.interrupts import Interrupted
from arroyo_nb.views.notebook import ProgressOutput, publish
from arroyo_nb.views.whatif import bundle

if TYPE_CHECKING:
    from arroyo_nb.run.options import RunOptions
    from arroyo_nb.session import Session
    from arroyo_nb.source import ScriptText


def whatif(
    session: Session,
    variables: dict[str, Any],
    name: str,
    *,
    delays: str | None = None,
    every: str | None = None,
    output: int | None = None,
    variable: str | None = None,
) -> None:
    """Try delays on the query of a run, and show what each loses.

    Parameters
    ----------
    session
        Its runs are known by their names.
    variables
        The notebook's.
    name
        A run.
    delays, every, output
        As of :meth:`Session.whatif`.
    variable
        Holds the result; None: it is shown only.

    Raises
    ------
    RunProblem
        As :meth:`Session.whatif`.
    Interrupted
        When it was interrupted.
    """
    with _progress_of(f"the what-if of {name}") as progress:
        found = session.whatif(
            name, delays, every=every, output=output, tell=progress.tell
        )
    if variable is not None:
        variables[variable] = found
    progress.finish(bundle(found))


def compare(session: Session, first: str, second: str) -> None:
    """Show two runs side by side.

    Raises
    ------
    ArroyoError
        When there is no such run, one has failed, or keeps no rows.
    """
    from arroyo_nb.views import compare as views

    publish(views.bundle(views.compare(session.get(first), session.get(second))))


def compare_windows(
    session: Session,
    variables: dict[str, Any],
    sql: ScriptText,
    windows: str,
    options: RunOptions,
    *,
    name: str | None = None,
    variable: str | None = None,
) -> None:
    """Run a cell with windows of several kinds, and show them under each other.

    Parameters
    ----------
    session, variables
        As of :func:`whatif`.
    sql, windows, options
        As of :meth:`Session.compare_windows`.
    name
        What the names of the runs begin with; None: ``windows``.
    variable
        Holds the result; None: it is shown only.

    Raises
    ------
    ArroyoError
        As :meth:`Session.compare_windows`.
    Interrupted
        When it was interrupted.
    """
    from arroyo_nb.views import window_kinds as views

    with _progress_of("the comparison of windows") as progress:
        found = session.compare_windows(
            sql, windows, name=name or "windows", options=options, tell=progress.tell
        )
        made = views.bundle(found)
    if variable is not None:
        variables[variable] = found
    progress.finish(made)
    # All of its runs read the same tables.
    found.runs[0].on_stale(lambda: progress.finish(views.bundle(found)))


@contextmanager
def _progress_of(what: str) -> Iterator[ProgressOutput]:
    """Where it is told how far something is; one that gives no result says so there."""
    progress = ProgressOutput()
    try:
        yield progress
    except BaseException as problem:
        progress.give_up(f"{what} gave no result")
        if isinstance(problem, KeyboardInterrupt):
            raise Interrupted(f"{what} was interrupted") from None
        raise
