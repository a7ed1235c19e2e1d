"""A side panel's Stop button."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arroyo_nb.session import Session


def stop_run(session: Session, name: str) -> str:
    """Stop a run, in a word what became of it; returns before it has ended.

    Raises
    ------
    RunProblem
        When there is no such run.
    """
    run = session.get(name)
    if run.state.ended:
        return f"{name} has ended already: {run.state.value}"
    run.stop("stopped in the side panel")
    return f"stopping {name}"
