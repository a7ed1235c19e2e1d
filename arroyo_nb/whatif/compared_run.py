"""What a comparison needs of a run, whether it is here or was saved as a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.loaded_trace import LoadedTrace
from arroyo_nb.run.observe.late_table import table_names
from arroyo_nb.run.observe.snapshot import RunState, WindowBar
from arroyo_nb.run.run import Run
from arroyo_nb.whatif.stretches import has_stretches

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN_CHARS = 40
"""A longer value is named by its type in a message."""


@dataclass(frozen=True)
class TableWindows:
    """The windows that rows of one table are put into.

    Parameters
    ----------
    table
        Its name; empty: it is unknown.
    bars
        The windows.
    are_stretches
        Whether they are stretches of time with the sessions of all keys.
    """

    table: str
    bars: Sequence[WindowBar]
    are_stretches: bool = False


@dataclass(frozen=True)
class ComparedRun:
    """One output of a run, as it is now.

    Parameters
    ----------
    name
        The run's.
    state
        The run's.
    result
        The rows of the result.
    windows
        Those of each table whose rows are put into windows.
    late_count
        How many rows were late.
    late
        Gives the late rows; None: it was saved without the rows that came, and with the
        windows of its first table only.
    """

    name: str
    state: RunState
    result: pa.Table
    windows: tuple[TableWindows, ...]
    late_count: int
    late: Callable[[], pa.Table] | None

    @property
    def is_saved(self) -> bool:
        """Whether it was loaded from a file."""
        return self.late is None


def compared_run(run: Run | LoadedTrace, output: int) -> ComparedRun:
    """What is compared of an output.

    Raises
    ------
    RunProblem
        When it is no run, has failed, or keeps no rows.
    """
    if isinstance(run, LoadedTrace):
        return _of_trace(run, output)
    if isinstance(run, Run):
        return _of_run(run, output)
    raise RunProblem(
        f"compare takes two runs, and {_short(run)} is none",
        hint="compare(first, second) with the variables of two runs, or their "
        "names; of a saved trace what load_trace gives",
    )


def _of_trace(trace: LoadedTrace, output: int) -> ComparedRun:
    end = trace.snapshot(0, output)
    _require_result(trace.name, end.state)
    windows = (TableWindows("", end.windows, bool(end.density)),)
    result = trace.table(output)
    return ComparedRun(trace.name, end.state, result, windows, end.late_rows, None)


def _of_run(run: Run, output: int) -> ComparedRun:
    _require_result(run.name, run.state)
    result, seen = run.table(output), run.outputs[output].observation
    windows = tuple(
        TableWindows(table, trace.windows(), has_stretches(aggregate))
        for table, aggregate, trace in zip(
            table_names(seen.aggregates), seen.aggregates, seen.traces, strict=True
        )
    )
    late = partial(run.late, output)
    return ComparedRun(run.name, run.state, result, windows, seen.late_rows, late)


def _require_result(name: str, state: RunState) -> None:
    if state is RunState.FAILED:
        raise RunProblem(
            f"the run '{name}' has failed: it has no result to compare",
            hint="mend its error, and run it again",
        )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else f"a {type(value).__name__}"
