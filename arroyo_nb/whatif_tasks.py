"""What a session asks of the same rows: other delays, and windows of other kinds."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.interrupts import LOOK_S, Interrupts, defer_interrupts
from arroyo_nb.run.names import safe_name
from arroyo_nb.run.option_values import duration
from arroyo_nb.views.formatting import count

if TYPE_CHECKING:
    from arroyo_nb.engine.jars import Tell
    from arroyo_nb.plan import Plan
    from arroyo_nb.run.options import RunOptions
    from arroyo_nb.run.prepare import PreparedRun, RunFolder
    from arroyo_nb.run.run import Run
    from arroyo_nb.run.runs import Runs
    from arroyo_nb.source import ScriptText
    from arroyo_nb.whatif.outcomes import WhatIf
    from arroyo_nb.whatif.window_kinds import WindowComparison

TOLD_EVERY_S = 2.0


class WhatIfTasks:
    """The part of a session that tries delays and windows."""

    _runs: Runs
    _ready: Callable[[PreparedRun, RunFolder], Run]

    if TYPE_CHECKING:

        def plan(self, sql: str | ScriptText, *, strict: bool | None = ...) -> Plan: ...

        def run_with(
            self, sql: str | ScriptText, options: RunOptions, *, name: str | None = ...
        ) -> Run | None: ...

    def whatif(
        self,
        name: str | Run,
        delays: str | Iterable[str | timedelta] | None = None,
        *,
        every: str | timedelta | None = None,
        output: int | None = None,
        tell: Tell | None = None,
    ) -> WhatIf:
        """Run the query of a run again with other watermark delays, and tell what each
        would lose and how long windows would wait.

        Each delay meets the same micro-batches, those of the run, so only the delay is
        different. The run itself, and what it wrote, stay as they are.

        Parameters
        ----------
        name
            The run, or its name. Its sources have an end; or it has been stopped, and
            what it has read is asked about.
        delays
            Such as ``["1s", "30m", "2h"]`` or ``"1s,30m,2h"``; None: that of the run,
            none at all, and those that would keep 99 % and more of its rows.
        every
            How much event time a micro-batch has, such as ``"1m"``; None: the batches
            are those of the run, which without a speed are large.
        output
            Which output; None: the first one with windows.
        tell
            Is told how far it is.

        Raises
        ------
        RunProblem
            When there is no such run, a delay is none, the query has no window or no
            watermark with a delay, or a source has no end.

        Examples
        --------
        ::

            found = session.whatif("by_hour", ["1s", "30m", "2h"])
            found.table().to_pandas()
        """
        from arroyo_nb.run.prepare import RunFolder
        from arroyo_nb.views.whatif import WHAT_IF_VIEWS
        from arroyo_nb.whatif.what_if import WhatIfTools, what_if

        run = self._runs.get(name) if isinstance(name, str) else name
        work = self._runs.temporary_folder(f"{safe_name(run.name)}-whatif")

        def make_run(prepared: PreparedRun) -> Run:
            folder = self._runs.temporary_folder(prepared.name)
            return self._ready(prepared, RunFolder(folder, temporary=True))

        try:
            with defer_interrupts() as interrupts:
                tools = WhatIfTools(
                    make_run, work, tell or (lambda _: None), interrupts.check,
                    WHAT_IF_VIEWS,
                )  # fmt: skip
                return what_if(run, delays, tools, every=duration(every), output=output)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def compare_windows(
        self,
        sql: str | ScriptText,
        windows: str = "windows",
        *,
        name: str = "windows",
        options: RunOptions | None = None,
        tell: Tell | None = None,
    ) -> WindowComparison:
        """Run one query with windows of several kinds on the same rows, and draw them
        under each other.

        Each is a run of its own, called ``NAME_tumble``, ``NAME_hop`` and so on, which
        stays: ``session.get("windows_hop").table()``.

        Parameters
        ----------
        sql
            A script with one query that groups by one window; its tables have an end.
        windows
            ``"windows"``: tumble, hop and session of the query's own length; or each
            with its lengths, as ``"tumble 10s, hop 5s 10s, session 5s"``.
        name
            What the names of the runs begin with.
        options
            How they run; None: as fast as they can.
        tell
            Is told which one runs.

        Raises
        ------
        ArroyoError
            When the script is wrong, has no window or several, or reads a table that
            does not end.

        Examples
        --------
        ::

            session.compare_windows(
                "SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n "
                "FROM clicks GROUP BY w"
            )
        """
        from arroyo_nb.run.options import RunOptions
        from arroyo_nb.source import ScriptText
        from arroyo_nb.views.window_kinds import WINDOW_COMPARISON_VIEWS
        from arroyo_nb.whatif.window_kinds import (
            WindowComparison,
            window_kinds,
            with_window,
        )

        chosen = options or RunOptions.parse({"sinks": False, "keep": True})
        if chosen.step:
            raise RunProblem(
                "windows are compared once all rows were read: --step would wait",
                hint="leave --step out",
            )
        source = ScriptText.of(sql, "<cell>")
        kinds = window_kinds(windows, self.plan(source, strict=chosen.strict))
        runs = []
        with defer_interrupts() as interrupts:
            for number, kind in enumerate(kinds, 1):
                script = with_window(source, kind)
                run = self.run_with(script, chosen, name=f"{name}_{kind.name}")
                assert run is not None, "the script has a query"
                runs.append(run)
                try:
                    _require_end(run)
                    which = f"{kind.call}, {number} of {len(kinds)}"
                    _wait(run, which, tell, interrupts)
                except BaseException as problem:
                    run.stop(str(problem) or "stopped by interrupt")
                    raise
        return WindowComparison(kinds, tuple(runs), WINDOW_COMPARISON_VIEWS)


def _wait(
    run: Run, which: str, tell: Callable[[str], None] | None, interrupts: Interrupts
) -> None:
    """Wait until a run has ended, and tell its steps now and then."""
    told_s = -inf
    while not run.wait(LOOK_S):
        interrupts.check()
        # Outside of a page each text is a line of its own.
        if tell is not None and time.monotonic() - told_s >= TOLD_EVERY_S:
            told_s = time.monotonic()
            step = run.activity or f"{count(run.rows_in, 'row')} read"
            tell(f"{which}: {step}")


def _require_end(run: Run) -> None:
    """Refuse what never ends: its runs would not read the same rows."""
    endless = [r.table.name for r in run.sources.readers if not r.bounded]
    if endless:
        raise RunProblem(
            f"'{endless[0]}' never ends, so three runs would not read the same rows",
            hint="record it first: %arroyo record TOPIC -o TAPE; or use %%arroyo_rows",
        )
