"""What the brokers still know of a sink's transactions, asked when it resumes: whether
its manifest is the newest, and whether it ever wrote anything.

The groups of its tasks say which batch is next (see
:mod:`arroyo_nb.kafka.sink_task`); they are forgotten after days. The topic
itself forgets too, but says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from arroyo_nb.errors import RunProblem

if TYPE_CHECKING:
    from arroyo_nb.connectors import Offsets
    from arroyo_nb.kafka.cluster import Cluster
    from arroyo_nb.kafka.errors import ErrorSubject

SEARCH_S = 60.0
"""How long it is looked for a record that may be the sink's; then there may be one."""

LOOK_S = 0.5


class SinkHistory:
    """What a sink has written to its topic, as far as the brokers still know.

    Parameters
    ----------
    subject
        The sink's topic and table, for errors.
    cluster
        The brokers.
    """

    def __init__(self, subject: ErrorSubject, cluster: Cluster) -> None:
        self._subject = subject
        self._cluster = cluster

    def check_newest(self, groups: Iterable[str], batch_id: int) -> None:
        """Find out whether a batch that was never begun is as new as its notes say.

        A batch that is begun again is noted; so one that is not, and is there all the
        same, was written from a state that went on after these notes were copied. Had
        its parts been passed over, its rows, which are others now, would be lost.

        Parameters
        ----------
        groups
            Those of the sink's tasks.
        batch_id
            The batch.

        Raises
        ------
        RunProblem
            When it is not, or the brokers do not say.
        """
        if any(
            following > batch_id for following in self._cluster.next_batches(groups)
        ):
            raise older_copy(self._subject, batch_id)

    def is_empty(self, ends: Sequence[int]) -> bool:
        """Whether no committed record has come to the topic since its partitions ended
        there, from this sink or another: then this one has written nothing.

        Raises
        ------
        RunProblem
            When the brokers do not say.
        """
        topic = self._cluster.describe_topic()
        numbers = topic.partitions if topic is not None else ()
        # A partition that was added since has been empty at first.
        since = {n: ends[n] if n < len(ends) else 0 for n in numbers}
        oldest, now = self._cluster.beginnings(numbers), self._cluster.ends(numbers)
        # Where retention has deleted what came, nobody can say whose it was.
        if not ends or any(oldest[number] > end for number, end in since.items()):
            return False
        # Where nobody wrote meanwhile, no record has to be read.
        grown = {number: end for number, end in since.items() if now[number] > end}
        return not grown or self._are_empty(grown)

    def _are_empty(self, since: Offsets) -> bool:
        """Whether the partitions have no record from there on: what ends a transaction
        is none, nor is what one wrote that was given up."""
        # An end offset alone does not tell: the marks of transactions take offsets too.
        left, deadline = set(since), time.monotonic() + SEARCH_S
        with self._cluster.reader(since) as reader:
            while left and time.monotonic() < deadline:
                message = reader.poll(LOOK_S)
                if message is not None and message.error() is None:
                    return False
                if message is not None and message.error().name() == "_PARTITION_EOF":
                    left.discard(message.partition())
        return not left


def older_copy(subject: ErrorSubject, batch_id: int) -> RunProblem:
    """A run would write again what its topic has already."""
    return RunProblem(
        f"the batch {batch_id} of the table '{subject.table}', or a later one, is "
        f"already in the topic '{subject.topic}': this run resumes from an older copy "
        "of its state",
        hint="resume from the newest state folder, or start afresh with another",
    )
