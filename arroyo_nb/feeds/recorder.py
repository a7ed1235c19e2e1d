"""Records a feed: its messages, decoded, as the chunks of a tape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from arroyo_nb.connectors import Connector, TableSpec, decoding_options
from arroyo_nb.feeds import (
    ConnectionStatus,
    Feed,
    FeedEnded,
    Forgettable,
    Message,
    ReadsFeed,
)
from arroyo_nb.feeds.receiver import Receiver
from arroyo_nb.formats import FORMATS
from arroyo_nb.schema import TIMESTAMP, Schema, arrow_schema
from arroyo_nb.tape import ARRIVAL, KEPT_BAD_ROWS, Chunk, Position
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.records import CountingDecoder, Records

WAIT_S = 0.1
"""How long a chunk waits for its first message. What comes meanwhile is in it."""


class FeedRecorder:
    """Records a feed; a position is a number of messages, and where the connection is.

    Parameters
    ----------
    feed
        Makes the connections.
    spec
        The table, its variables resolved.
    format_options
        Those options of the table that its format takes.
    """

    live = True

    def __init__(
        self, feed: Feed, spec: TableSpec, format_options: Mapping[str, OptionValue]
    ) -> None:
        self.bounded = False
        self._feed = feed
        self._spec = spec
        self._options = format_options
        self._drop = spec.options.get("bad_data") == "drop"
        self._receiver: Receiver | None = None

    @property
    def connection_status(self) -> ConnectionStatus:
        """How it is connected now."""
        return (
            ConnectionStatus()
            if self._receiver is None
            else self._receiver.connection_status
        )

    def forget(self) -> None:
        """No run goes on (see :class:`arroyo_nb.feeds.Forgettable`)."""
        if isinstance(self._feed, Forgettable):
            self._feed.forget()

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """What has come, as soon as something has; an empty chunk when nothing has.
        They end when the server wants no other connection.

        Raises
        ------
        Unreached
            When the server of a new run cannot be reached.
        RunProblem
            When it refuses, or a record is bad and not dropped.
        """
        number, position = (
            (after["messages"], after["position"]) if after else (0, None)
        )
        reader = self._reader()
        decoder = reader.decoder()
        empty = reader.rows(self._records([], 0), decoder).rename_columns(self._names)
        resumed = after is not None
        self._receiver = Receiver(self._feed, position, resumed=resumed)
        with self._receiver as receiver:
            while True:
                try:
                    messages = receiver.take(WAIT_S)
                except FeedEnded:
                    self.bounded = True
                    return
                if not messages:
                    yield Chunk(empty, {"messages": number, "position": position})
                    continue
                records = self._records(messages, number)
                number += len(messages)
                position = messages[-1].position or position
                stand = {"messages": number, "position": position}
                yield self._chunk(records, stand, reader, decoder)
                # Whoever asks for the next chunk has this one on disk.
                receiver.acknowledge(position)

    def _chunk(
        self,
        records: pa.Table,
        stand: Position,
        reader: Records,
        decoder: CountingDecoder,
    ) -> Chunk:
        """The chunk of some records, behind which the recorder stands there."""
        from arroyo_nb.codecs.bad_records import refusal

        before = decoder.counts
        decoded, bad_rows, bad = reader.split_bad(records, decoder)
        if bad_rows and not self._drop:
            raise refusal(next(bad))
        return Chunk(
            decoded.rename_columns(self._names),
            stand,
            bad_rows,
            tuple(islice(bad, KEPT_BAD_ROWS)),
            # What is acknowledged must be counted for good, too.
            quiet=bad_rows > 0,
            counts=decoder.counts - before,
            durable=True,
        )

    def _reader(self) -> Records:
        from arroyo_nb.records import Records

        spec = self._spec
        return Records(
            spec.name,
            str(spec.options["format"]),
            spec.record,
            arrow_schema(spec.physical),
            self._options,
            spec.event_time,
            spec.primary_key,
            spec.metadata,
            self._beside,
            # Times that no window can hold are looked at where the recorder is wrapped
            # (WindowTimes), as for every tape.
            windowed=False,
        )

    @property
    def _beside(self) -> tuple[str, ...]:
        from arroyo_nb.changelog import SEQUENCE, WEIGHT

        updating = FORMATS.get(str(self._spec.options["format"])).updating
        return (*((WEIGHT, SEQUENCE) if updating else ()), ARRIVAL, TIMESTAMP)

    @property
    def _names(self) -> list[str]:
        return [*self._spec.physical.names, *self._beside]

    def _records(self, messages: Sequence[Message], first: int) -> pa.Table:
        """Messages as a topic would have them: a feed has one partition."""
        import pyarrow as pa

        from arroyo_nb.records import OFFSET, TIME, VALUE

        instant = pa.timestamp("us", "UTC")
        arrived = pa.array([m.arrived_us for m in messages], pa.int64()).cast(instant)
        beside = {
            key: pa.array([m.metadata[at] for m in messages], type_)
            for at, (key, type_) in enumerate(self._feed.metadata.items())
        }
        return pa.table(
            {
                **beside,
                VALUE: pa.array([m.payload for m in messages], pa.binary()),
                TIME: arrived,
                ARRIVAL: arrived,
                OFFSET: pa.array(range(first, first + len(messages)), pa.int64()),
            }
        )


class FeedConnector(Connector, ReadsFeed, Protocol):
    """A connector of feeds: its sources are recorded, and declare their columns."""

    def columns(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> Schema | None:
        """None: a message does not say its columns."""
        return None

    def recorder(self, spec: TableSpec) -> FeedRecorder:
        """A recorder of the messages.

        Raises
        ------
        ArroyoError
            When the feed cannot be used, or the schema of its records cannot be read.
        """
        options = decoding_options(self, spec)
        return FeedRecorder(self.feed(spec), spec, options)
