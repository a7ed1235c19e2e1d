"""``%arroyo doctor``: why a run gives no rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.views.doctor import report
from arroyo_nb.views.notebook import publish

if TYPE_CHECKING:
    from arroyo_nb.session import Session


def examine(session: Session, name: str | None = None) -> None:
    """Examine a run, and show what was found.

    Parameters
    ----------
    session
        It has the run.
    name
        The run's; None: the one that was started last.

    Raises
    ------
    RunProblem
        When there is none.
    """
    publish(report(session.doctor(name)))
