"""Why a run failed, in the words of what its user can do about it.

Spark's own error often names a symptom: a connection that broke, a file that could not
be written. The cause is looked for in the engine, on the disks and in the state folder.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.engine.config import heap_mib
from arroyo_nb.engine.launch import OUT_OF_MEMORY
from arroyo_nb.errors import ArroyoError, RunProblem, StateProblem
from arroyo_nb.file_errors import free_bytes, full_disk
from arroyo_nb.spark.failures import FULL, GONE, UNREADABLE, SparkProblem, run_problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from arroyo_nb.engine import Engine

DEATH_S = 1.0
"""How long a JVM that does not answer may take to be dead."""


@dataclass(frozen=True)
class Diagnosis:
    """What is known of a run that may be the cause of its failure.

    Parameters
    ----------
    name
        The run's.
    folder
        Its state folder.
    engine
        What it runs on.
    engine_lives
        Says whether that is still the engine that it was started on.
    """

    name: str
    folder: Path
    engine: Engine
    engine_lives: Callable[[], bool]

    def problem(self, error: BaseException, *, is_begun: bool) -> ArroyoError:
        """The error to report.

        Parameters
        ----------
        error
            What was raised.
        is_begun
            Whether queries were being started: before, no death of the engine can be
            the cause.
        """
        try:
            return (
                (self.death(error) if is_begun else None)
                or self.disk(error)
                or self.checkpoint(error)
                or run_problem(error)
            )
        except Exception:  # what is looked at for the reason may be out of reach too
            return run_problem(error)

    def death(self, error: BaseException) -> RunProblem | None:
        """The death of the engine, whichever call met it first."""
        problem = run_problem(error)
        wait_s = DEATH_S if problem.message == GONE else 0
        how = self.engine.died(wait_s) or "its Java process has ended"
        if self.engine_lives():
            return None
        hint = (
            "run it again to start afresh, or go on from its checkpoint: "
            f"%arroyo resume {shlex.quote(self.name)} "
            f"(session.resume({self.name!r}))"
        )
        if OUT_OF_MEMORY in how:
            heap = heap_mib()
            twice = f"ARROYO_NB_HEAP={2 * heap}m"
            hint = f"Spark had {heap:,} MiB: set {twice} to double it; then {hint}"
        death = RunProblem(f"the engine died: {how}", hint=hint)
        death.__cause__ = error
        return death

    def checkpoint(self, error: BaseException) -> StateProblem | None:
        """The file of the checkpoint that Spark cannot read, as far as it says."""
        problem = run_problem(error)
        if not isinstance(problem, SparkProblem) or problem.message != UNREADABLE:
            return None
        named = re.escape(str(self.folder)) + r"/[\w./-]+"
        files = [Path(name) for name in re.findall(named, problem.detail)]
        file = next(filter(Path.is_file, files), self.folder / "outputs")
        unreadable = StateProblem(
            file, "cannot be read by Spark", "it is of the checkpoint of this run"
        )
        unreadable.__cause__ = error
        return unreadable

    def disk(self, error: BaseException) -> RunProblem | None:
        """The disk that is full, where Spark says that one is: the fullest that it
        writes to, besides a sink, which its writer names."""
        if run_problem(error).message != FULL:
            return None
        places = {"state folder": self.folder}
        if self.engine.work is not None:
            places["temporary folder"] = self.engine.work
        what = min(places, key=lambda name: free_bytes(places[name]))
        problem = full_disk(what, places[what])
        if what != "state folder":
            problem.hint = (
                "make space there, or name another by TMPDIR; then run it again"
            )
        problem.__cause__ = error
        return problem
