"""The tabs of a live panel: a click shows one view, and the first tab the usual ones.

A tab sends ``view NAME``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.views.formatting import escaped
from arroyo_nb.views.sections import ALL, VIEWS, views, views_of

if TYPE_CHECKING:
    from arroyo_nb.run.observe.snapshot import Snapshot

OVERVIEW = "overview"
"""The tab of the views that suit the run, where these are several."""

MESSAGE = "view "
"""What the message of a tab begins with."""


def view_tabs(view: str | None, snapshot: Snapshot) -> str:
    """The tabs that a run has, as HTML; empty where there is nothing to choose.

    Parameters
    ----------
    view
        The view that is shown, by name; None: those that suit the run.
    snapshot
        What they draw.
    """
    usual = views_of(None, snapshot)
    tabs = [
        (OVERVIEW, "the views that suit this query") * (len(usual) > 1),
        *((v.name, v.title or v.name) for v in views() if v.has_tab(snapshot)),
    ]
    if view is None:
        view = usual[0].name if len(usual) == 1 else OVERVIEW
    pressed = [each.name for each in views()] if view == ALL else [view]
    made = "".join(
        f'<button type="button" data-do="{MESSAGE}{name}" title="{escaped(title)}" '
        f'aria-pressed="{str(name in pressed).lower()}">{name}</button>'
        for name, title in filter(None, tabs)
    )
    return f'<nav class="tabs" aria-label="views">{made}</nav>'


def chosen_view(message: str) -> str | None:
    """The view that a message of a tab asks for; None: those that suit the run.

    Raises
    ------
    LookupError
        When it is no message of a tab, or there is no such view.
    """
    name = message.removeprefix(MESSAGE)
    if name == message or name not in (*VIEWS.names, OVERVIEW):
        raise LookupError(message)
    return None if name == OVERVIEW else name
