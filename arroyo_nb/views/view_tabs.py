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

PRESENT = (
    '<button type="button" class="present" data-page="present" title="One big figure, '
    'for a projector. Key: F; Esc leaves it">present</button>'
)
"""The button of the presentation, which the page does by itself."""

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
    pressed: list[str | None] = [view]
    if view is None:
        pressed = [*(_only_usual(snapshot) or [OVERVIEW])]
    elif view == ALL:
        pressed = [each.name for each in views()]
    titles = {each.name: each.title or each.name for each in views()}
    titles[OVERVIEW] = "the views that suit this query"
    made = "".join(
        f'<button type="button" data-do="{MESSAGE}{name}" '
        f'title="{escaped(titles[name])}" '
        f'aria-pressed="{str(name in pressed).lower()}">{name}</button>'
        for name in tab_names(snapshot)
    )
    return f'<nav class="tabs" aria-label="views">{made}{PRESENT}</nav>'


def tab_names(snapshot: Snapshot) -> list[str]:
    """The names of the tabs that a run has, in their order."""
    overview = [] if _only_usual(snapshot) else [OVERVIEW]
    return overview + [view.name for view in views() if view.has_tab(snapshot)]


def _only_usual(snapshot: Snapshot) -> list[str]:
    """The one view that suits a run, where it is one: its tab is the overview."""
    usual = [view.name for view in views_of(None, snapshot)]
    return usual if len(usual) == 1 else []


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
