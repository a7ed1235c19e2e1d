"""How fast a run reads, and how far its watermark is behind: less than a snapshot, for
lists that ask often."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from arroyo_nb.run.observe.snapshot import before_end, naive

if TYPE_CHECKING:
    from arroyo_nb.run.run import Run


@dataclass(frozen=True)
class RunPace:
    """A run at one moment.

    Parameters
    ----------
    name
        The run's.
    state
        starting, running, paused, finished, stopped or failed.
    ended
        Whether nothing will change any more.
    rows_per_s
        Input rows a second; None before it runs.
    watermark_lag
        By how much the watermark is behind the newest event time; None where one of
        them is not known, or the run has ended.
    """

    name: str
    state: str
    ended: bool
    rows_per_s: float | None = None
    watermark_lag: timedelta | None = None


def run_pace(run: Run) -> RunPace:
    """The pace of a run; cheap, and never touches Spark."""
    state = run.state
    if state.ended:
        return RunPace(run.name, state.value, ended=True)
    seen = run.outputs[0].observation
    with seen.lock:
        newest = seen.newest_batch
        mark = before_end(naive(newest.watermark)) if newest else None
        newest_event = naive(seen.max_event_time)
    is_known = mark is not None and newest_event is not None
    return RunPace(
        name=run.name,
        state="paused" if run.sources.paused else state.value,
        ended=False,
        rows_per_s=run.rows_per_s if newest else None,
        watermark_lag=newest_event - mark if is_known else None,  # type: ignore[operator]
    )
