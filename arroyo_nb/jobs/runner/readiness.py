"""Whether a job does its work: readiness, which is not the same as being alive.

A job whose topic is idle is ready: nothing is due. One whose broker is frozen is not,
although its process lives and nothing has failed: the broker is asked for metadata,
within bounded time and beside the run, and a batch that does not end is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from arroyo_nb.jobs.runner.recent_late_rows import RECENT_S
from arroyo_nb.jobs.runner.supervisor import JobState

if TYPE_CHECKING:
    from arroyo_nb.jobs.runner.recent_late_rows import RecentShare
    from arroyo_nb.run.observe.snapshot import SourceProgress
    from arroyo_nb.run.observe.vitals import Vitals

AWAY_S = 10.0
"""For how long a broker may not answer, and a feed may have no connection."""

STALLED_S = 30.0
"""For how long no batch may end while there is work."""

LONG_BATCHES, LONG_TRIGGERS = 3, 2
"""A batch may take so many times the longest one before it, or the trigger."""


LATE_SHARE, LATE_ROWS = 0.5, 100
"""A job does not do its work if so large a share of a source's rows, and so many of
them, are late."""


def stalled_after_s(longest_batch_s: float, trigger_s: float) -> float:
    """For how long no batch may end while there is work.

    >>> stalled_after_s(longest_batch_s=1.0, trigger_s=0.0)
    30.0
    >>> stalled_after_s(longest_batch_s=60.0, trigger_s=0.0)
    180.0
    """
    longest = LONG_BATCHES * longest_batch_s
    return max(STALLED_S, longest, LONG_TRIGGERS * trigger_s)


def unready_reasons(
    state: JobState,
    sources: Sequence[SourceProgress],
    queries: Sequence[Vitals],
    sinks_away_s: Mapping[str, float],
    trigger_s: float = 0.0,
    behind_s: float = inf,
    late: Iterable[RecentShare] = (),
) -> Iterator[str]:
    """Why a job is not ready; nothing: it is.

    Parameters
    ----------
    state
        Where it is.
    sources
        Where each source stands.
    queries
        Whether each query works.
    sinks_away_s
        For how long the server of each sink has not answered, by the sink's name.
    trigger_s
        The time between two triggers.
    behind_s
        For how long there have been records to read. A query that was idle before is
        given its time from then on.
    late
        The late rows of the last minutes.
    """
    if state is not JobState.RUNNING:
        yield f"the job is {state.value}"
        return
    for source in sources:
        if source.away_s >= AWAY_S:
            yield _away(source)
    for name, away_s in sinks_away_s.items():
        if away_s >= AWAY_S:
            yield f"the server of '{name}' has not answered for {away_s:.0f} s"
    lag = sum(source.lag for source in sources)
    for query in queries:
        bound_s = stalled_after_s(query.longest_batch_s, trigger_s)
        waited_s = min(query.since_batch_s, behind_s) if lag else query.busy_s
        if waited_s >= bound_s:
            yield f"no batch of '{query.name}' has ended for {waited_s:.0f} s"
    for share in late:
        if share.late_rows >= LATE_ROWS and share.share >= LATE_SHARE:
            yield _mostly_late(share)


def _mostly_late(share: RecentShare) -> str:
    of = "" if share.partition is None else f", partition {share.partition}"
    return (
        f"{share.late_rows:,} of {share.rows:,} rows of '{share.source}'{of} in the "
        f"last {RECENT_S / 60:.0f} minutes were late: their windows had closed, and no "
        "result has them"
    )


def _away(source: SourceProgress) -> str:
    seconds = f"{source.away_s:.0f} s"
    if not source.is_feed:
        return f"the broker of '{source.name}' has not answered for {seconds}"
    return (
        f"there has been no connection to the server of '{source.name}' for {seconds}"
    )
