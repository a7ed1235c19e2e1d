"""Views of a run: plug-ins, a file or a folder each, that bind ``VIEW``.

A view is a section of the panel, by the name that ``--view`` has for it. It says
itself where it stands among the others and which runs it suits, and it draws itself
twice: for the live panel, which has a style sheet, and for the snapshot that stays in
the notebook, which has none.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol

from arroyo_nb.registry import Registry

if TYPE_CHECKING:
    from arroyo_nb.run.observe.snapshot import Snapshot

ALL = "all"
"""What ``--view`` calls all of them, one below the other."""


class PanelView(Protocol):
    """A section of the panel."""

    name: str
    place: int
    """Where it stands: a smaller number is higher up. No two have the same."""
    title: str
    """What it shows, in a few words; its tab says them. Empty: its name does."""
    lists_rows: bool
    """Whether it lists the newest rows, or says why there is none."""
    shows_plan: bool
    """Whether it is given the text of the plan."""
    style: str
    """A style sheet of its own for the live panel, below ``.arroyo``."""

    def suits(self, snapshot: Snapshot) -> bool:
        """Whether a run is shown so where no view was asked for."""

    def suits_static(self, snapshot: Snapshot) -> bool:
        """The same of the snapshot that stays in the notebook."""

    def has_tab(self, snapshot: Snapshot) -> bool:
        """Whether the live panel of a run has a tab for it."""

    def live(self, snapshot: Snapshot, plan: str) -> str:
        """It as HTML for the live panel, whose style sheet it uses.

        Parameters
        ----------
        snapshot
            What to draw.
        plan
            Text of the plan; empty unless :attr:`shows_plan`.
        """

    def static(self, snapshot: Snapshot, plan: str, *, asked: bool) -> str:
        """It as HTML that needs neither style sheet nor script; empty: there is
        nothing to show.

        Parameters
        ----------
        snapshot, plan
            As of :meth:`live`.
        asked
            Whether this view was asked for.
        """


class PanelViewBase:
    """A view that is shown where it is asked for."""

    title = ""
    lists_rows = False
    shows_plan = False
    style = ""

    def suits(self, snapshot: Snapshot) -> bool:  # noqa: ARG002
        """False: such a section is shown only where it is asked for."""
        return False

    def suits_static(self, snapshot: Snapshot) -> bool:
        """As in the live panel."""
        return self.suits(snapshot)

    def has_tab(self, snapshot: Snapshot) -> bool:  # noqa: ARG002
        """True: a click shows it."""
        return True


VIEWS: Registry[PanelView] = Registry("view", (__name__,), "VIEW")


@cache
def views() -> tuple[PanelView, ...]:
    """All views, from top to bottom."""
    return tuple(sorted(map(VIEWS.get, VIEWS.names), key=lambda view: view.place))


def view_names() -> tuple[str, ...]:
    """What ``--view`` may name; no view is imported for it, as an extension that is
    loaded asks for the names."""
    return (*VIEWS.names, ALL)


def views_of(
    name: str | None, snapshot: Snapshot, *, static: bool = False
) -> tuple[PanelView, ...]:
    """The views that a name stands for; None: those that suit the run."""
    if name == ALL:
        return views()
    if name is not None:
        return (VIEWS.get(name),)
    return tuple(
        view
        for view in views()
        if (view.suits_static(snapshot) if static else view.suits(snapshot))
    )


def needs_plan(name: str | None) -> bool:
    """Whether the views that a name stands for show the plan."""
    return name == ALL or (name is not None and VIEWS.get(name).shows_plan)
