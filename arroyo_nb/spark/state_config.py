"""How the state of updating operators is kept, for all of a query alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.changelog import BUCKETS
from arroyo_nb.engine.query_settings import IN_ROCKSDB, STREAMING
from arroyo_nb.plan import nodes
from arroyo_nb.plan.append_joins import append_joins
from arroyo_nb.plan.lowering import LOWERING
from arroyo_nb.plan.tree import walk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CLOSING_IN_SILENCE: Mapping[str, str] = MappingProxyType(
    {STREAMING + "noDataMicroBatches.enabled": "true"}
)
"""Settings of a query whose source may fall silent: a window that the watermark has
passed is then closed by a micro-batch without rows. Over tapes, such batches would come
or not as time has it, and decide what is late."""

REAL_TIME: Mapping[str, str] = MappingProxyType(
    {**IN_ROCKSDB, "spark.sql.variant.allowDuplicateKeys": "true"}
)
"""Settings of a query in real-time mode, which refuses any other store, also where it
keeps nothing. It reads JSON in Spark's expressions: the last one of two members of one
name counts, as in the other readers."""


@dataclass(frozen=True)
class StateConfig:
    """How state is cut, and when it is forgotten.

    Parameters
    ----------
    buckets
        Into how many pieces the state of an operator is cut; the same for as long as
        it lives.
    ttl
        Processing time without an append after which a key is retracted and
        forgotten; None: never.
    beats
        Gives a stream that has a row now and then: each has every operator look for
        idle keys, also while no other rows come. None: they are looked for with each
        batch of a bucket only.
    lowering
        The version of how its plan becomes a query of Spark's.
    """

    buckets: int = BUCKETS
    ttl: timedelta | None = None
    beats: Callable[[], DataFrame] | None = None
    lowering: int = LOWERING

    def append_joins(self, root: nodes.Node) -> frozenset[int]:
        """The joins of a query, by identity, whose pairs Spark's own join gives."""
        forgets = self.ttl is not None
        return append_joins(root, forgets=forgets, lowering=self.lowering)

    def settings(self, root: nodes.Node) -> Mapping[str, str]:
        """Settings of a query for its state store: what Spark itself keeps is in the
        heap of the JVM, where windows are faster, and joins take half the time."""
        in_heap = self.append_joins(root)
        keeping = (id(n) for n in walk(root) if isinstance(n, nodes.Stateful))
        return {} if in_heap.issuperset(keeping) else IN_ROCKSDB

    @property
    def ttl_us(self) -> int | None:
        """The time to live in microseconds."""
        return None if self.ttl is None else self.ttl // timedelta(microseconds=1)


KEPT = StateConfig()
"""For as long as the query lives, in as many buckets as is usual."""
