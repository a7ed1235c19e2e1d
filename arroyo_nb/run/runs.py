"""The runs of a session: the newest of each name, and the folders that nobody named."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.engine.folders import make_work_folder
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.run.interrupts import LOOK_S, STOP_S, defer_interrupts
from arroyo_nb.run.names import safe_name

if TYPE_CHECKING:
    from arroyo_nb.catalog import Relation
    from arroyo_nb.functions.user_defined import UserDefined
    from arroyo_nb.run.background import BackgroundTask
    from arroyo_nb.run.run import Run

KEPT_RUNS = 50
"""Runs that have ended and stay in the list, the newest. The rows of an older one go
when nobody holds it any more."""

CLOSE_S = 10.0
"""How long closing waits for runs and emissions to stop."""


class Runs:
    """The newest run of each name, oldest first.

    Attributes
    ----------
    work
        The folder of the temporary state folders; None before the first.
    """

    def __init__(self) -> None:
        self.work: Path | None = None
        self._runs: dict[str, Run] = {}

    @property
    def by_name(self) -> Mapping[str, Run]:
        """All of them, to be read."""
        return MappingProxyType(self._runs)

    @property
    def live(self) -> list[Run]:
        """Those that have not ended."""
        return [run for run in self._runs.values() if not run.state.ended]

    def get(self, name: str) -> Run:
        """The newest run of that name.

        Raises
        ------
        RunProblem
            When there is none; the hint names the nearest.
        """
        if name not in self._runs:
            near = did_you_mean(name, self._runs)
            kept = f"of runs that have ended the newest {KEPT_RUNS} are kept"
            # Whoever knows a run of before asks for it in a new kernel.
            new = (
                f"nothing has run since the kernel started: run the cell of '{name}' "
                f"again, %%arroyo {name} <<"
            )
            hint = near or (kept if len(self._runs) >= KEPT_RUNS else None)
            raise RunProblem(
                f"there is no run '{name}'", hint=hint if self._runs else new
            )
        return self._runs[name]

    @property
    def newest(self) -> Run:
        """The run that was started last.

        Raises
        ------
        RunProblem
            When there is none.
        """
        if not self._runs:
            raise RunProblem("there is no run yet", hint="run a query in a cell first")
        return next(reversed(self._runs.values()))

    def users(self, table: Relation) -> list[str]:
        """The names of the live runs that read or write a table."""
        from arroyo_nb.plan.paths import uses

        return [run.name for run in self.live if uses(run.plan, table)]

    def mark_stale(self, table: Relation) -> None:
        """Have the runs that used a table or a view say that it is another one now,
        also those that have ended."""
        from arroyo_nb.plan.paths import uses

        for run in self._runs.values():
            if uses(run.plan, table) or table in run.plan.read_before:
                run.mark_stale(table.name)

    def mark_function(self, udf: UserDefined) -> None:
        """The same of those that call another definition of a UDF."""
        from arroyo_nb.plan.user_functions import user_functions

        for run in self._runs.values():
            called = (f for f in user_functions(run.plan.sinks) if f.name == udf.name)
            if any(function.version != udf.version for function in called):
                run.mark_stale(f"{udf.name}()")

    def readers(self, is_wanted: Callable[[Relation], bool]) -> list[str]:
        """The names of the live runs that read a table of a certain kind, also one that
        the catalog has no more."""
        from arroyo_nb.plan.paths import reads

        return [run.name for run in self.live if reads(run.plan, is_wanted)]

    def callers(self, function: str) -> list[str]:
        """The names of the live runs that call a UDF."""
        from arroyo_nb.plan.user_functions import user_functions

        named = ((run.name, user_functions(run.plan.sinks)) for run in self.live)
        return [name for name, udfs in named if function in (u.name for u in udfs)]

    def add(self, run: Run) -> None:
        """List a run, in place of one of its name."""
        self._runs[run.name] = run

    def start(self, run: Run) -> Run:
        """Start a run, in place of one of its name; returns at once."""
        # The worker ends the old one before it starts the new one.
        if (old := self._runs.pop(run.name, None)) is not None:
            old.discard()
        self.add(run.start())
        self._forget_old()
        return run

    def run_to_end(self, run: Run) -> Run:
        """Start a run and wait for its end; an interrupt stops it first.

        Raises
        ------
        ArroyoError
            When the run fails.
        """
        with defer_interrupts() as interrupts:
            self.start(run)
            try:
                while not run.wait_quietly(LOOK_S):
                    interrupts.check()
            except KeyboardInterrupt as interrupt:
                # One that is a signal of another kind says which.
                reason = str(interrupt) or "stopped by interrupt"
                run.stop(reason).wait_quietly(STOP_S)
                raise
        run.wait()
        return run

    def clear(self, *, everything: bool) -> list[str]:
        """Forget the runs that have ended, or stop and forget all; returns their
        names."""
        chosen = [r for r in self._runs.values() if everything or r.state.ended]
        for run in chosen:
            del self._runs[run.name]
            run.discard("cleared")
        return [run.name for run in chosen]

    def temporary_folder(self, name: str) -> Path:
        """A new state folder for a run of this name; it goes with the session."""
        return Path(
            tempfile.mkdtemp(prefix=f"{safe_name(name)}-", dir=self.work_folder())
        )

    def work_folder(self) -> Path:
        """The folder of what goes with the session."""
        # Not in the engine's folder: a run can go on after its engine has died.
        if self.work is None:
            self.work = make_work_folder()
        return self.work

    def close(self, beside: Iterable[BackgroundTask] = (), *, reason: str) -> None:
        """Stop and forget all for a reason, wait for their ends together with those of
        other tasks that were stopped, and remove the temporary folders."""
        runs, self._runs = self._runs, {}
        try:
            for run in runs.values():
                with suppress(ArroyoError):  # a shared engine, closed before
                    run.discard(reason)
            deadline = time.monotonic() + CLOSE_S
            for task in (*beside, *runs.values()):
                task.wait_quietly(max(0.0, deadline - time.monotonic()))
        finally:
            for run in runs.values():
                run.detach()
            if self.work is not None:
                shutil.rmtree(self.work, ignore_errors=True)
                self.work = None

    def _forget_old(self) -> None:
        ended = [run for run in self._runs.values() if run.state.ended]
        for run in ended[:-KEPT_RUNS]:
            del self._runs[run.name]
            run.forget()
