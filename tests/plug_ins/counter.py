"""``counter``: numbers that Spark counts up, so many in each micro-batch.

A source that Spark reads itself, in one file: the tests put it into a copy of the
package. Spark's ``rate-micro-batch`` gives the same rows again for the same batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from arroyo_nb.connectors import (
    NO_METADATA,
    ConnectorInfo,
    Direction,
    Offsets,
    SourceOnly,
    TableSpec,
    TopicOffsets,
)
from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import Framing
from arroyo_nb.schema import BIGINT, Field, Schema, Timestamp
from arroyo_nb.with_options import Option, OptionKind, OptionValue

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from arroyo_nb.tape import Chunk, Recorder

TOPIC = "counter"
SCHEMA = Schema(
    (
        Field("value", BIGINT, nullable=False),
        Field("timestamp", Timestamp(), nullable=False),
    )
)
RECORD: Mapping[str, str] = MappingProxyType(
    {
        "value": "CAST(to_json(struct(*)) AS BINARY)",
        "timestamp": "timestamp",
        "partition": "0",
        "offset": "value",
    }
)


@dataclass(frozen=True)
class CounterStream:
    """The numbers from 0 on; offset and topic are the same in every run."""

    rows: int

    format = "rate-micro-batch"
    topic = TOPIC
    older_records = ""
    record = RECORD
    metadata = NO_METADATA

    def check(self, look: Callable[[], None]) -> None:
        """Nothing to find out: it is made where it is read."""

    def begin(self) -> TopicOffsets:
        """At 0."""
        return TopicOffsets(TOPIC, {0: 0})

    beginnings = begin

    def ends(self) -> TopicOffsets:
        """None is known: how far it has come is in Spark's offsets."""
        return TopicOffsets(TOPIC, {})

    def deleted(self, table: str) -> RunProblem:
        """Cannot happen."""
        return RunProblem(f"'{table}' is gone")

    def first_rows(
        self, spec: TableSpec, count: int, check: Callable[[], None]
    ) -> Iterator[Chunk]:
        """None: rows are made in Spark only."""
        return iter(())

    def first_payloads(self, count: int) -> Sequence[bytes]:
        """None, as of :meth:`first_rows`."""
        return ()

    def options(
        self, begin: Offsets, *, real_time: bool = False, held: bool = False
    ) -> Mapping[str, str]:
        """Of Spark's source; a second of event time passes in each batch."""
        return {"rowsPerBatch": str(self.rows), "advanceMillisPerBatch": "1000"}

    def options_between(self, first: Offsets, after: Offsets) -> Mapping[str, str]:
        """As of :meth:`options`: Spark itself gives a batch again."""
        return self.options(first)

    def hold(self, query: StreamingQuery) -> bool:
        """At once: it never reads ahead."""
        return True

    def limit(self, query: StreamingQuery, records: int) -> None:
        """Nothing: the table says how many rows a batch has."""

    def fix_end(self, query: StreamingQuery, end: Offsets | None) -> None:
        """Nothing: it has no end."""

    def release(self, query: StreamingQuery) -> None:
        """Nothing: it waits for nobody."""


class Counter(SourceOnly):
    """The connector ``counter``."""

    info = ConnectorInfo(
        name="counter",
        doc="numbers that Spark counts up, so many in each micro-batch",
        directions=frozenset({Direction.SOURCE}),
        options=(
            Option("rows_per_batch", OptionKind.UINT, "rows of a batch", required=True),
        ),
        framings=frozenset({Framing.MESSAGES}),
        typed=False,
        has_event_time=True,
        synthetic="rows that are generated",
        in_arroyo=False,
        reading="readStream.rate-micro-batch",
    )

    def columns(self, options: Mapping[str, OptionValue]) -> Schema:
        """The number and its time."""
        return SCHEMA

    def recorder(self, spec: TableSpec) -> Recorder:
        """Refused: Spark reads it itself."""
        raise RunProblem(f"'{spec.name}' is not recorded: Spark reads it itself")

    def stream(self, spec: TableSpec) -> CounterStream:
        """How it is read."""
        return CounterStream(int(str(spec.options["rows_per_batch"])))

    def topic_of(self, description: str) -> str | None:
        """Its topic."""
        return TOPIC if description.startswith("RatePerMicroBatchStream") else None

    def offsets_of(self, logged: Mapping[str, Any]) -> Mapping[str, Offsets]:
        """The next number."""
        if logged.keys() != {"offset", "timestamp"}:
            return {}
        return {TOPIC: {0: int(logged["offset"])}}


CONNECTOR = Counter()
