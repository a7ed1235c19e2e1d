"""How a problem is mended: changes of the cell that its author may choose."""

from __future__ import annotations

from arroyo_nb.editor.answers import Fix
from arroyo_nb.editor.problems import CellProblem


def fixes_of(problem: CellProblem, text: str) -> tuple[Fix, ...]:
    """The changes that mend a problem, the likeliest first.

    Parameters
    ----------
    text
        The whole cell, in which the problem has its place.
    """
    del problem, text
    return ()
