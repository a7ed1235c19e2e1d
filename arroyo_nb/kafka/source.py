"""A topic as Spark reads it, and where a run begins in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from arroyo_nb.connectors import (
    FIRST_BATCH_RECORDS,
    Offsets,
    TableSpec,
    TopicOffsets,
)
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.kafka.cluster import Cluster, Described
from arroyo_nb.kafka.config import Access
from arroyo_nb.kafka.errors import ErrorSubject, deleted_topic, missing_topic
from arroyo_nb.kafka.source_end import fix_end, hold, limit, release
from arroyo_nb.schema import EPOCH

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from arroyo_nb.tape import Chunk

T = TypeVar("T")

OFFSET, TIMESTAMP, OFFSETS = (
    "source.offset",
    "source.start_timestamp",
    "source.start_offsets",
)

BATCH_RECORDS = FIRST_BATCH_RECORDS
"""Records that a micro-batch reads at most, of all partitions together, before
:meth:`KafkaStream.limit`."""

RECORD: Mapping[str, str] = MappingProxyType(
    {name: name for name in ("value", "timestamp", "partition", "offset")}
)
"""What a record is: Spark gives it as it is."""

METADATA: Mapping[str, str] = MappingProxyType(
    {
        "offset_id": "offset",
        "partition": "partition",
        "topic": "topic",
        "timestamp": "unix_millis(timestamp)",
        "key": "key",
        "headers": "headers",
    }
)
"""What Spark has for each key of METADATA FROM."""

_PAIR = re.compile(r"\s*(\d+)\s*:\s*(\d+)\s*\Z")


def start_offsets(text: str) -> Offsets:
    """``partition:offset``, with commas between.

    Raises
    ------
    CatalogProblem
        When it is not that.

    >>> start_offsets("0:1200, 2:0")
    {0: 1200, 2: 0}
    """
    offsets = {}
    for part in text.split(","):
        pair = _PAIR.match(part)
        if pair is None:
            raise CatalogProblem(
                f"invalid value for '{OFFSETS}': `{text}`; expected a partition and an "
                "offset, as in '0:1200, 1:900'"
            )
        offsets[int(pair[1])] = int(pair[2])
    return offsets


def start_timestamp_ms(text: str) -> int:
    """An instant in milliseconds after the epoch; without a zone it is UTC.

    Raises
    ------
    CatalogProblem
        When it is none.

    >>> start_timestamp_ms("1970-01-01 00:00:01")
    1000
    """
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise CatalogProblem(
            f"invalid value for '{TIMESTAMP}': `{text}`; expected a time",
            hint="write one like '2024-02-08T12:00:00Z'",
        ) from None
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return int((aware - EPOCH).total_seconds() * 1000)


def timestamp_of_millis(text: str) -> str:
    """The time of a number of milliseconds, as Flink and Spark have it; empty: none.

    >>> timestamp_of_millis("1700000000123"), timestamp_of_millis("timestamp")
    ('2023-11-14T22:13:20.123Z', '')
    """
    try:
        instant = EPOCH + timedelta(milliseconds=int(text))
    except (ValueError, OverflowError):
        return ""
    precision = "milliseconds" if instant.microsecond else "seconds"
    return instant.isoformat(timespec=precision).replace("+00:00", "Z")


def offsets_of_pairs(text: str) -> str:
    """Offsets of partitions as Flink writes them; empty: they are none.

    >>> offsets_of_pairs("partition:0,offset:42;partition:1,offset:300")
    '0:42, 1:300'
    """
    pairs = re.findall(r"partition:(\d+),offset:(\d+)", text)
    return ", ".join(":".join(pair) for pair in pairs)


@dataclass(frozen=True)
class KafkaStream:
    """One table's topic.

    Parameters
    ----------
    spec
        The table, its variables resolved.
    access
        How the brokers are reached.
    cluster
        Asks them.
    """

    # What a traceback shows of it must not have secrets in it.
    spec: TableSpec = field(repr=False)
    access: Access = field(repr=False)
    cluster: Cluster = field(repr=False)

    format = "kafka"
    record = RECORD
    metadata = METADATA

    @property
    def topic(self) -> str:
        """The name of the topic."""
        return str(self.spec.options["topic"])

    @property
    def subject(self) -> ErrorSubject:
        """What errors call it."""
        return ErrorSubject.of(self.spec, "read")

    def check(self, look: Callable[[], None]) -> None:
        """Find out whether it can be read.

        Raises
        ------
        RunProblem
            When it cannot.
        """
        self.cluster.require_topic(look)

    def begin(self) -> TopicOffsets:
        """Where a new run begins to read.

        Raises
        ------
        RunProblem
            When the brokers do not say, or an offset is asked for that is not there.
        """
        topic_id, partitions = self._described()
        # Every partition has a beginning, also where the option names some of them
        # only.
        begin = dict(self._default_begin(partitions))
        if OFFSETS in self.spec.options:
            chosen = self._read(OFFSETS, start_offsets)
            self._check_chosen(chosen, partitions)
            begin |= chosen
        return TopicOffsets(topic_id, begin)

    @property
    def older_records(self) -> str:
        """The option that reads them; empty where one of the table's says where to
        begin."""
        options = self.spec.options
        chosen = TIMESTAMP in options or OFFSETS in options
        if chosen or options.get(OFFSET) in ("earliest", "group"):
            return ""
        return f"'{OFFSET}' = 'earliest'"

    def _default_begin(self, partitions: tuple[int, ...]) -> Offsets:
        options = self.spec.options
        if TIMESTAMP in options:
            at_ms = self._read(TIMESTAMP, start_timestamp_ms)
            return self.cluster.since(partitions, at_ms)
        match options.get(OFFSET):
            case "earliest":
                return self.cluster.beginnings(partitions)
            case "group":
                return self._of_group(str(options["source.group_id"]), partitions)
            case _:
                return self.cluster.ends(partitions)

    def _read(self, option: str, read: Callable[[str], T]) -> T:
        """An option that the planner could not check, as the value of a variable."""
        try:
            return read(str(self.spec.options[option]))
        except CatalogProblem as problem:
            raise RunProblem(
                f"'{option}' of '{self.spec.name}' cannot be read: "
                f"`{self.spec.shown(option)}`",
                hint=problem.hint,
            ) from None

    def _of_group(self, group: str, partitions: tuple[int, ...]) -> Offsets:
        committed = self.cluster.committed(partitions, group)
        # Asked after the group's own offsets: retention goes on meanwhile, and only
        # what is compared last is sure to be there.
        for number, oldest in self.cluster.beginnings(partitions).items():
            if committed[number] < oldest:
                raise RunProblem(
                    f"{self.subject.words['topic']} has lost records that the group "
                    f"has not read: its partition {number} begins at {oldest}, the "
                    f"group stands at {committed[number]}",
                    hint=f"write '{OFFSET}' = 'earliest', or '{OFFSETS}'",
                )
        return committed

    def _check_chosen(self, chosen: Offsets, partitions: tuple[int, ...]) -> None:
        first = self.cluster.beginnings(partitions)
        last = self.cluster.ends(partitions)
        for number, offset in chosen.items():
            if number not in last:
                raise RunProblem(
                    f"'{OFFSETS}' names the partition {number}, which "
                    f"{self.subject.words['topic']} does not have",
                    hint=f"its partitions are 0 to {max(last)}",
                )
            if not first[number] <= offset <= last[number]:
                raise RunProblem(
                    f"{self.subject.words['topic']} has no offset {offset} in its "
                    f"partition {number}",
                    hint=f"it has those from {first[number]} on, and ends at "
                    f"{last[number]}",
                )

    def beginnings(self) -> TopicOffsets:
        """The oldest record that each partition still has."""
        topic_id, partitions = self._described()
        return TopicOffsets(topic_id, self.cluster.beginnings(partitions))

    def ends(self) -> TopicOffsets | None:
        """The end of each partition; None where there is no such topic."""
        topic = self.cluster.describe_topic()
        if topic is None:
            return None
        return TopicOffsets(topic.topic_id, self.cluster.ends(topic.partitions))

    def deleted(self, table: str) -> RunProblem:
        """That the topic that a table read is there no more."""
        return deleted_topic(self.topic, table)

    def first_rows(
        self, spec: TableSpec, count: int, check: Callable[[], None]
    ) -> Iterator[Chunk]:
        """The oldest rows that are there, bad records left out.

        Raises
        ------
        RunProblem
            When the brokers do not answer.
        """
        from arroyo_nb.kafka.peek.first_records import first_rows

        return first_rows(self, spec, count, check)

    def first_payloads(self, count: int) -> Sequence[bytes]:
        """The values of the oldest records that are there.

        Raises
        ------
        RunProblem
            When the brokers do not answer.
        """
        from arroyo_nb.kafka.peek.first_records import first_records

        records = first_records(self, count, lambda: None)
        return [record.value for record in records if record.value is not None]

    def _described(self) -> Described:
        # With the topic's id: a topic of the same name that was created again has other
        # records under the same offsets.
        topic = self.cluster.describe_topic()
        if topic is None:
            raise missing_topic(self.subject, ())
        return topic

    def options(
        self, begin: Offsets, *, real_time: bool = False, held: bool = False
    ) -> Mapping[str, str]:
        """Spark's options for reading from there on."""
        # With a limit of 0 Spark plans no batch, until fix_end() gives it an end.
        most = 0 if held else BATCH_RECORDS
        bound = {} if real_time else {"maxOffsetsPerTrigger": str(most)}
        # What is held ends where these partitions do: of one that is added Spark would
        # want a beginning and an end too.
        which = self._assigned(begin) if held else {"subscribe": self.topic}
        return {
            **self._common(),
            **which,
            "startingOffsets": self._written(begin),
            **bound,
        }

    def options_between(self, first: Offsets, after: Offsets) -> Mapping[str, str]:
        """Spark's options for reading what lies between, once."""
        return {
            **self._common(),
            **self._assigned(after),
            "startingOffsets": self._written({n: first[n] for n in after}),
            "endingOffsets": self._written(after),
        }

    def hold(self, query: StreamingQuery) -> bool:
        """Have a query plan no more records; False: it has not begun yet."""
        return hold(query, self.topic)

    def fix_end(self, query: StreamingQuery, end: Offsets | None) -> None:
        """Have a query that is held read on, up to there."""
        fix_end(query, self.topic, end, BATCH_RECORDS)

    def limit(self, query: StreamingQuery, records: int) -> None:
        """Let the batches to come read so many records at most."""
        limit(query, self.topic, records)

    def release(self, query: StreamingQuery) -> None:
        """Free the thread of a query that waits for the brokers."""
        release(query, self.topic)

    def _common(self) -> dict[str, str]:
        options = self.spec.options
        level = str(options.get("source.read_mode", "read_uncommitted"))
        common = {
            **self.access.for_spark(),
            "kafka.isolation.level": level,
            # Else Spark passes over records that retention has removed, with a line in
            # its log.
            "failOnDataLoss": "true",
            "includeHeaders": str("headers" in self.spec.metadata.values()).lower(),
        }
        if "source.group_id" in options:
            # Brokers may allow this group only. Spark commits nothing to it: offsets
            # are in the checkpoint.
            common["kafka.group.id"] = str(options["source.group_id"])
        if "source.group_id_prefix" in options:
            common["groupIdPrefix"] = str(options["source.group_id_prefix"])
        return common

    def _assigned(self, partitions: Iterable[int]) -> Mapping[str, str]:
        return {"assign": json.dumps({self.topic: sorted(partitions)})}

    def _written(self, offsets: Offsets) -> str:
        # As text: JSON has no numbers as keys.
        return json.dumps({self.topic: {str(n): o for n, o in offsets.items()}})
