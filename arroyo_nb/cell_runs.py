"""The runs of the cells of a notebook: which cell runs what, how a run is shown, and
what an interrupt does to it.

A cell that streams returns at once with a live panel where a person looks at it, and
waits where nobody does (nbconvert, papermill, nbmake).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from arroyo_nb.errors import ArroyoError
from arroyo_nb.magic_options import CellLine
from arroyo_nb.run.interrupts import (
    LOOK_S,
    STOP_S,
    Interrupted,
    Interrupts,
    defer_interrupts,
    imported,
)
from arroyo_nb.run.option_values import duration
from arroyo_nb.session import Session

if TYPE_CHECKING:
    from arroyo_nb.jobs.spec import Origin
    from arroyo_nb.run.options import RunOptions
    from arroyo_nb.run.run import Run
    from arroyo_nb.source import ScriptText
    from arroyo_nb.views.notebook import NotebookStage

FIRST_CELL = ("arroyo_nb.plan.planner", "arroyo_nb.run.run")
"""What the first cell of a notebook imports, some hundred modules each."""

JUPYTER_FILE, VSCODE_FILE = "JPY_SESSION_NAME", "__vsc_ipynb_file__"
"""Where front ends tell a kernel the notebook's path: an environment variable of a
Jupyter server, a variable of VS Code."""


def say(text: str) -> None:
    """Print a line in the cell's output."""
    print(text)  # noqa: T201


class Defaults(Protocol):
    """What holds where a cell's first line does not say it."""

    view: str | None
    rows: int
    headless_for: str


class CellRuns:
    """What the cells of a shell run.

    Parameters
    ----------
    shell
        IPython's shell.
    session
        It has the runs.
    defaults
        How a run is shown, and how long it is waited for where nobody looks.
    """

    def __init__(self, shell: Any, session: Session, defaults: Defaults) -> None:
        self._shell = shell
        self._session = session
        self._defaults = defaults
        self._names: dict[str, str] = {}
        self._last: dict[str, str] = {}
        self._lines: dict[str, CellLine] = {}
        self._stage: NotebookStage | None = None
        self.counts: dict[str, int] = {}
        """By a run's name the execution count of its cell."""

    def close(self) -> None:
        """Take the panels' stage down; the runs are the session's."""
        if self._stage is not None:
            self._stage.close()

    def stage(self) -> NotebookStage | None:
        """Where panels live; None: nobody looks at this notebook."""
        from arroyo_nb.views.notebook import NotebookStage, is_interactive

        if not is_interactive(self._shell):
            return None
        self._stage = self._stage or NotebookStage(self._shell)
        return self._stage

    def run_cell(self, line: CellLine, sql: ScriptText, options: RunOptions) -> bool:
        """Run a cell's script and show it; what the cell ran before ends.

        Returns
        -------
        bool
            Whether there is a run: False when the cell only declares.

        Raises
        ------
        ArroyoError
            As :meth:`Session.run_with`.
        Interrupted
            When it was interrupted; the run has stopped then, or will.
        """
        name = line.get("name") or self._name(sql.text)

        def start() -> Run | None:
            run = self._start(sql, name, options)
            self._leave(name, run)
            return run

        return self._showing(line, name, start)

    def show_again(self, name: str, start: Callable[[], Run | None]) -> None:
        """Start what goes on with a run, and show that as its cell did.

        Raises
        ------
        ArroyoError
            As ``start``.
        Interrupted
            As :meth:`run_cell`.
        """
        self._showing(self._lines.get(name, CellLine()), name, start)

    def origin(self, name: str, folder: Path) -> Origin | None:
        """The notebook's file as a folder sees it, where the front end tells it, and
        the cell of a run."""
        from arroyo_nb.jobs.spec import Origin

        told = self._shell.user_ns.get(VSCODE_FILE) or os.environ.get(JUPYTER_FILE, "")
        if not told.endswith(".ipynb") or not Path(told).exists():
            return None
        cell = next((c for c, run in self._last.items() if run == name), name)
        return Origin(Path(os.path.relpath(told, folder)).as_posix(), cell)

    def _showing(
        self, line: CellLine, name: str, start: Callable[[], Run | None]
    ) -> bool:
        """Start a run and show it; an interrupt stops it. False: there is none."""
        try:
            with defer_interrupts() as interrupts:
                # An interrupt in the middle of an import would leave a module half
                # loaded for the rest of the kernel's life.
                imported(*FIRST_CELL, interrupts=interrupts)
                run = start()
                interrupts.check()
                if run is not None:
                    self._started(line, run, interrupts)
                return run is not None
        except Interrupted:
            raise
        except KeyboardInterrupt:
            raise self._interrupted(name) from None

    def _started(self, line: CellLine, run: Run, interrupts: Interrupts) -> None:
        # Kept for %arroyo resume and attach, which show the run as its cell did.
        self._lines[run.name] = line
        run.handle = f"arroyo_nb.active_session().get({run.name!r})"
        if (variable := line.get("variable")) is not None:
            self._shell.user_ns[variable] = run
            run.handle = variable
        if line.get("explain"):
            say(run.explain())
        else:
            for hint in run.plan.hints:
                say(hint)
        self._show(line, run, interrupts)

    def _start(self, sql: ScriptText, name: str, options: RunOptions) -> Run | None:
        old = self._session.runs.get(name)
        # Asked before: run_with() replaces the run of that name, and stops it.
        going = old is not None and not old.state.ended
        run = self._session.run_with(sql, options, name=name)
        if run is not None and going:
            say(f"replaced {name}, which was still running: its cell was run again")
        return run

    def _leave(self, name: str, run: Run | None) -> None:
        """Stop what this cell ran before and runs no more: its panel is gone."""
        last = name
        if run is not None:
            self.counts[name] = getattr(self._shell, "execution_count", 0)
        # By the cell and not by the name: the user may have changed the name in the
        # cell, and what it ran before would go on unseen.
        if cell := self._cell_id():
            last, self._last[cell] = self._last.get(cell, name), name
        before = self._session.runs.get(last)
        if before is None or before is run or before.state.ended:
            return
        now = f"now runs {name}" if run is not None else "only declares now"
        before.stop(f"replaced: its cell {now}")
        say(f"stopped {before.name}: this cell {now}")

    def _name(self, sql: str) -> str:
        """The name of the cell's own run: the same when the cell is run again."""
        # Where the front end sends no id (a script, a test), the same text is taken for
        # the same cell.
        key = self._cell_id() or hashlib.sha256(sql.encode()).hexdigest()
        return self._names.setdefault(key, f"query_{len(self._names) + 1}")

    def _cell_id(self) -> str:
        """The front end's id of the cell; empty where it has none."""
        request: Any = getattr(self._shell, "get_parent", dict)()
        return str(request.get("metadata", {}).get("cellId") or "")

    def _show(self, line: CellLine, run: Run, interrupts: Interrupts) -> None:
        from arroyo_nb.views import live
        from arroyo_nb.views.notebook import publish
        from arroyo_nb.views.sections import needs_plan

        view = line.get("view", self._defaults.view)
        plan = run.explain() if needs_plan(view) else ""
        wish = live.PanelOptions(view, line.get("rows", self._defaults.rows), plan)
        stage, panel = self.stage(), None
        if stage is not None:
            panel = live.show(run, stage, wish)
        is_raised = False
        try:
            if line.get("wait", stage is None):
                # A notebook that nobody looks at (nbconvert, papermill) must come to an
                # end.
                headless = stage is None
                limit = duration(self._defaults.headless_for) if headless else None
                self._wait(run, limit, interrupts)
        except ArroyoError:
            is_raised = True
            raise
        finally:
            # Also after an interrupt or an error: what came so far stays in the
            # notebook.
            if panel is None:
                publish(live.static_bundle(run, wish, with_error=not is_raised))
            elif line.get("wait", False):
                panel.refresh()

    def _wait(self, run: Run, limit: timedelta | None, interrupts: Interrupts) -> None:
        try:
            while not run.wait(LOOK_S):
                interrupts.check()
                if limit is not None and _is_over(run, limit):
                    run.stop(
                        f"stopped after {limit.total_seconds():g} s, the limit of "
                        "headless runs; %config ArroyoMagics.headless_for = '10m' "
                        "raises it"
                    )
        except KeyboardInterrupt:
            raise self._interrupted(run.name) from None

    def _interrupted(self, name: str) -> Interrupted:
        """Stop a run in good order; a second interrupt gives that up."""
        run = self._session.runs.get(name)
        if run is None:
            return Interrupted("interrupted before anything was started")
        run.stop("stopped by interrupt")
        run.wait_quietly(STOP_S)
        rows = f"{run.snapshot(0).rows_kept:,} rows kept"
        if run.state.ended:
            return Interrupted(f"stopped by interrupt; {rows}")
        return Interrupted(f"stopping after an interrupt; {rows} so far")


def _is_over(run: Run, limit: timedelta) -> bool:
    """Whether a run that may never end has taken its time, the engine's start left out.
    What only computes, as fast as it can, is waited for."""
    picture = run.snapshot(0)
    bounded = all(source.bounded for source in picture.sources)
    computes = bounded and run.options.speed == "max" and not picture.paused
    return not computes and run.running_s >= limit.total_seconds()
