"""``%arroyo show`` and ``%arroyo save``: look at a run again, batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import RunProblem
from arroyo_nb.run.interrupts import Interrupted
from arroyo_nb.run.loaded_trace import LoadedTrace
from arroyo_nb.views import live, static_html
from arroyo_nb.views.notebook import ProgressOutput, publish
from arroyo_nb.views.results import ResultViews
from arroyo_nb.views.sections import needs_plan

if TYPE_CHECKING:
    from arroyo_nb.run.run import Run
    from arroyo_nb.session import Session
    from arroyo_nb.views.notebook import NotebookStage

TRACE, PAGE = ".parquet", ".html"

PANELS: dict[str, live.Panel] = {}
"""The panel of each run that was asked for again: the newest of a name."""


def show(
    session: Session,
    name: str,
    stage: NotebookStage | None,
    view: str | None = None,
    rows: int = 20,
) -> None:
    """Show a run, or a trace that was saved, as a panel that stays.

    Parameters
    ----------
    session
        Its runs are known by their names.
    name
        A run, or the file of a trace.
    stage
        Where panels live; None: nobody looks, and a picture is enough.
    view, rows
        As of ``%%arroyo``.
    """
    shown = _found(session, name)
    wish = live.PanelOptions(view, rows, shown.explain() if needs_plan(view) else "")
    if stage is None:
        bundle = static_html.bundle(shown.snapshot(rows), view=view, plan=wish.plan)
        publish(bundle)
        return
    if (before := PANELS.pop(name, None)) is not None:
        before.close()
    PANELS[name] = live.show(shown, stage, wish, stays=True)


def save(
    session: Session,
    name: str,
    path: str,
    say: Callable[[str], None],
    *,
    title: str = "",
    text: str = "",
) -> None:
    """Save a run as a trace or as a page, as the file's name ends; ``title`` and
    ``text`` stand on the page.

    Raises
    ------
    RunProblem
        When it ends otherwise.
    Interrupted
        When it was interrupted; nothing is written then.
    """
    shown = _found(session, name)
    ending = Path(path).suffix.lower()
    if (title or text) and ending != PAGE:
        raise RunProblem(
            "only a page has a title and a text", hint=f"save it as a {PAGE} file"
        )
    if ending == PAGE:
        try:
            tell = ProgressOutput().tell
            file = shown.save_html(path, title=title, text=text, tell=tell)
        except KeyboardInterrupt:
            raise Interrupted(f"'{path}' was not saved: interrupted") from None
        say(f"saved '{file}': it moves over the micro-batches in any browser")
    elif ending == TRACE:
        file = session.get(name).save_trace(path)
        say(f"saved '{file}': arroyo_nb.load_trace({str(file)!r}) reads it")
    else:
        raise RunProblem(
            f"'{path}' ends with neither {TRACE} nor {PAGE}",
            hint=f"a trace for arroyo_nb.load_trace is a {TRACE} file, a page for a "
            f"browser a {PAGE} file",
        )


def _found(session: Session, name: str) -> Run | LoadedTrace:
    if name.endswith(TRACE):
        return LoadedTrace(user_path(name), ResultViews())
    return session.get(name)
