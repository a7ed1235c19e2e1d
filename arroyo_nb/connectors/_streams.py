"""What Spark reads itself: a topic, its offsets, and what is asked of its broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from arroyo_nb.connectors import TableSpec
    from arroyo_nb.errors import RunProblem
    from arroyo_nb.tape import Chunk

Offsets: TypeAlias = Mapping[int, int]
"""Of each partition of a topic, the offset of the next record to be read."""


FIRST_BATCH_RECORDS = 50_000
"""Records of a topic that a query's first micro-batch reads at most."""


class TopicOffsets(NamedTuple):
    """Offsets in a topic. One that is made again under the name of another that was
    deleted has another ``topic_id``, and its offsets mean other records."""

    topic_id: str
    offsets: Offsets


class Stream(Protocol):
    """A topic that Spark reads itself, and what is asked of its broker meanwhile.

    Spark gives its records, each of them with what :attr:`record` and :attr:`metadata`
    name. Every method but :meth:`deleted`, :meth:`options`,
    :meth:`options_between`, :meth:`hold` and :meth:`fix_end` asks the broker, for a few
    seconds at most.
    """

    @property
    def format(self) -> str:
        """Spark's name of the source."""

    @property
    def topic(self) -> str:
        """The name of the topic."""

    @property
    def record(self) -> Mapping[str, str]:
        """What a record is, as Spark SQL over what Spark gives: its ``value`` as bytes,
        its ``timestamp``, ``partition`` and ``offset``."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """What each key of METADATA FROM is, as Spark SQL over what Spark gives."""

    def check(self, look: Callable[[], None]) -> None:
        """Find out whether it can be read.

        Parameters
        ----------
        look
            Is called again and again; what it raises ends the wait.

        Raises
        ------
        RunProblem
            When it cannot: one sentence that tells why, and what to do.
        """

    def begin(self) -> TopicOffsets:
        """Where a new run begins to read.

        Raises
        ------
        RunProblem
            When the broker does not say, or the table asks for what is not there.
        """

    @property
    def older_records(self) -> str:
        """What to write so that a new run reads the records that are there before it;
        empty where it reads them."""

    def beginnings(self) -> TopicOffsets:
        """The oldest record that each partition still has.

        Raises
        ------
        RunProblem
            When the broker does not say.
        """

    def deleted(self, table: str) -> RunProblem:
        """That the topic that a table read is there no more."""

    def first_rows(
        self, spec: TableSpec, count: int, check: Callable[[], None]
    ) -> Iterator[Chunk]:
        """The oldest rows that are there, bad records left out.

        Parameters
        ----------
        spec
            The table.
        count
            How many records are read at most.
        check
            Is called again and again; what it raises ends the wait.

        Raises
        ------
        RunProblem
            When the broker does not answer.
        """

    def first_payloads(self, count: int) -> Sequence[bytes]:
        """The values of the oldest records that are there.

        Raises
        ------
        RunProblem
            When the broker does not answer.
        """

    def ends(self) -> TopicOffsets | None:
        """The end of each partition; None where there is no such topic.

        Raises
        ------
        RunProblem
            When the broker does not say.
        """

    def options(
        self, begin: Offsets, *, real_time: bool = False, held: bool = False
    ) -> Mapping[str, str]:
        """Spark's options for reading from there on, in micro-batches or in real-time
        mode; where it is held, these partitions only, and nothing is read until
        :meth:`fix_end`."""

    def hold(self, query: StreamingQuery) -> bool:
        """Have a query plan no more records; False: it has not begun yet."""

    def limit(self, query: StreamingQuery, records: int) -> None:
        """Let the micro-batches to come of a query read so many records at most."""

    def fix_end(self, query: StreamingQuery, end: Offsets | None) -> None:
        """Have a query read on, up to an end and no further.

        Parameters
        ----------
        query
            It is held, and has read what was planned before.
        end
            The offset behind the last record of each partition, none before what was
            read; None: where each partition ends now.
        """

    def release(self, query: StreamingQuery) -> None:
        """Free the thread of a query that is stopped, where it waits for the brokers:
        they may be away."""

    def options_between(self, first: Offsets, after: Offsets) -> Mapping[str, str]:
        """Spark's options for reading what lies between, once."""
