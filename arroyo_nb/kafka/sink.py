"""How the micro-batches of a sink come to a topic: at least once, or exactly once.

At least once they are written by Spark's own sink; where records have a time of their
own, which that sink cannot give them, by producers in the executors. A batch that comes
again after a crash is there twice then.

Exactly once they are dealt out into a fixed number of parts, each written by a task in
a transaction of its own (:mod:`arroyo_nb.kafka.sink_task`). How many, and in
whose name, is noted before the first write and kept for ever after; so a batch that
comes again has the same rows in the same part, and a part that is there is passed over.
Who reads committed records may see one part of a batch before another.

What was noted tells a batch that comes again from a new one, of which nothing can be
there: if it is all the same, these notes are a copy, and older than what was written.
That needs a state folder that was copied as a whole: of one whose parts are of
different times, the notes may be newer than Spark's checkpoint, and a batch would be
passed over that has other rows now.

No row comes to the driver.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.connectors import with_schema
from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import Envelope, payload_format
from arroyo_nb.kafka.cluster import PATIENT_S, cluster_of
from arroyo_nb.kafka.errors import AccessRefused, ErrorSubject, deleted_topic
from arroyo_nb.kafka.recovery import SinkHistory
from arroyo_nb.kafka.sink_records import (
    KEY,
    PARTITION,
    RECORD,
    VALUE,
    Merged,
    SinkRows,
)
from arroyo_nb.kafka.sink_task import PATIENCE_S, SENT, Sender, Transaction
from arroyo_nb.kafka.sink_watch import Watch, Watched
from arroyo_nb.kafka.table_options import COMMIT_MODE, TIMESTAMP_FIELD
from arroyo_nb.schema_registry import ENDPOINT, registered_under, registry_client
from arroyo_nb.sink_notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter

    from arroyo_nb.connectors import Offsets, TableSpec, Writer
    from arroyo_nb.kafka.cluster import Described
    from arroyo_nb.kafka.config import Access

REMEMBERED_S = 24 * 3600
"""The shortest time for which a broker keeps the offset of a group, by default: a day
before Kafka 2.0, a week since."""

PATIENT: Mapping[str, str] = {
    "kafka.delivery.timeout.ms": str(PATIENCE_S * 1000),
    "kafka.max.block.ms": str(PATIENCE_S * 1000),
}
"""Spark's sink waits too for a broker that is away."""

_COLUMNS = (VALUE, KEY, PARTITION)


@dataclass(frozen=True)
class Counted:
    """Makes records of changes in a worker, and counts them for the driver; pickled."""

    merged: Merged
    counter: Any

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in self.merged(batches):
            self.counter.add(batch.num_rows)
            yield batch


class SparkWriter:
    """Writes by Spark's own sink (see :class:`arroyo_nb.connectors.Writer`).

    Parameters
    ----------
    rows
        What becomes of rows.
    options
        Of Spark's sink.
    watch
        Looks whether its batches can arrive.
    """

    native: str | None = None
    timed = False

    def __init__(
        self, rows: SinkRows, options: Mapping[str, str], watch: Watch
    ) -> None:
        self._rows = rows
        self._watch = watch
        # Queries of the same options share a producer of Spark and wait for its rows:
        # those of a deleted topic would hold up every other sink.
        own = {"kafka.client.id": f"arroyo-{secrets.token_hex(8)}"}
        self._options = {**PATIENT, **own, **options}
        self._counter: Any = None

    def write(self, batch: DataFrame, batch_id: int) -> int | None:  # noqa: ARG002
        """Write one micro-batch."""
        # Rows that are only appended were counted on their way here (spark.observe). Of
        # changes there are fewer documents, which are counted as they are merged.
        if WEIGHT not in batch.columns:
            self._save(batch, self._rows.appended(batch))
            return None
        if self._counter is None:
            # One for all batches: PySpark keeps each for ever.
            self._counter = batch.sparkSession.sparkContext.accumulator(0)
        before = self._counter.value
        merged = Counted(self._rows.merged, self._counter)
        self._save(batch, self._rows.changed(batch).mapInArrow(merged, RECORD))
        return int(self._counter.value - before)

    def _save(self, batch: DataFrame, records: DataFrame) -> None:
        records = records.select(*_COLUMNS)
        with self._watch.over(batch):
            records.write.format("kafka").options(**self._options).save()

    def stream(self, rows: DataFrame) -> DataStreamWriter:
        """What writes rows, which are only appended, as they come."""
        records = self._rows.appended(rows).select(*_COLUMNS)
        return records.writeStream.format("kafka").options(**self._options)

    def watch(self) -> Watched:
        """Look from now on whether such rows can arrive."""
        return self._watch.beside()

    def close(self) -> None:
        """Spark's producers are its own."""


class ProducerWriter:
    """Writes by producers in the executors, as they come (see
    :class:`arroyo_nb.connectors.Writer`).

    Parameters
    ----------
    rows
        What becomes of rows.
    sender
        What a task does with them.
    watch
        Looks whether batches can arrive.
    """

    native: str | None = None
    timed = False

    def __init__(self, rows: SinkRows, sender: Sender, watch: Watch) -> None:
        self._rows = rows
        self._watch = watch
        self._sender = sender

    def write(self, batch: DataFrame, batch_id: int) -> int:  # noqa: ARG002
        """Write one micro-batch."""
        return self._send(batch, self._sender, None)

    def _send(self, batch: DataFrame, sender: Sender, tasks: int | None) -> int:
        if WEIGHT in batch.columns:
            sender = replace(sender, merged=self._rows.merged)
            records = self._rows.changed(batch, tasks)
        else:
            records = self._rows.appended(batch, tasks)
        with self._watch.over(batch):
            # One number for each task.
            sent = records.mapInArrow(sender, SENT).collect()
        return sum(row["rows"] for row in sent)

    def close(self) -> None:
        """Each task has let go of its producer."""


@dataclass(frozen=True)
class SinkManifest:
    """What the state folder says of a topic's sink: written when the sink starts, and
    before each batch where it writes exactly once.

    Parameters
    ----------
    prefix
        Begins the names of its producers and groups.
    topic_id
        What the brokers alone call the topic.
    partitions
        How many it had: the place of a change is one of them, also when others are
        added.
    ends
        Where these ended: what came later may be the sink's.
    tasks
        Into how many parts batches are dealt; 0 before the first.
    batch_id, at_s
        The newest batch of which any part may be there, and when it was first begun, in
        seconds since 1970.
    """

    prefix: str
    topic_id: str
    partitions: int
    ends: tuple[int, ...] = ()
    tasks: int = 0
    batch_id: int = -1
    at_s: float = 0.0

    @classmethod
    def noted(
        cls,
        notes: Notes,
        topic: Described,
        ends: Callable[[tuple[int, ...]], Offsets],
    ) -> SinkManifest:
        """The manifest of a state folder; a new sink writes one, with the ends that the
        topic has now."""
        saved = notes.read()
        if saved is not None:
            return cls(**{**saved, "ends": tuple(saved.get("ends", ()))})
        # By chance and kept for ever: two runs with one name would fence each other's
        # producers.
        prefix = f"arroyo-{secrets.token_hex(8)}"
        numbers = topic.partitions
        now = ends(numbers)
        places = tuple(now[number] for number in numbers)
        manifest = cls(prefix, topic.topic_id, len(numbers), places)
        notes.write(asdict(manifest))
        return manifest

    def with_batch(self, batch_id: int, slots: int, now_s: float) -> SinkManifest:
        """The manifest once a batch is about to be written; unchanged where the batch
        comes again."""
        if batch_id <= self.batch_id:
            return self
        # No more than the topic has partitions: fewer transactions, each of more rows.
        tasks = self.tasks or max(1, min(slots, self.partitions))
        return replace(self, tasks=tasks, batch_id=batch_id, at_s=now_s)


class TransactionWriter(ProducerWriter):
    """Writes in transactions (see :class:`arroyo_nb.connectors.Writer`).

    Parameters
    ----------
    rows, sender, watch
        As of :class:`ProducerWriter`.
    manifest, notes
        What the state folder says, and the file that says it.
    history
        What the brokers still know.
    """

    def __init__(
        self,
        rows: SinkRows,
        sender: Sender,
        watch: Watch,
        manifest: SinkManifest,
        notes: Notes,
        history: SinkHistory,
    ) -> None:
        super().__init__(rows, sender, watch)
        self._manifest = manifest
        self._notes = notes
        self._history = history
        self._is_newest = False

    def write(self, batch: DataFrame, batch_id: int) -> int:
        """Write one micro-batch; of one that came before, what is missing."""
        now_s = time.time()
        slots = int(batch.sparkSession.conf.get("spark.sql.shuffle.partitions"))
        manifest = self._manifest.with_batch(batch_id, slots, now_s)
        forgotten, is_new = False, manifest != self._manifest
        if is_new:
            self._check_newest(manifest)
            # Before the first record: a crash from here on finds that the batch may be
            # in the topic, and so asks the brokers.
            self._notes.write(asdict(manifest))
        else:
            is_old = now_s - manifest.at_s > REMEMBERED_S
            forgotten = is_old and not self._is_unwritten()
        self._manifest = manifest
        master = str(batch.sparkSession.conf.get("spark.master"))
        # A Spark whose executors are itself loses none, and so runs no stage again.
        may_rerun = master != "local" and not master.startswith("local[")
        transaction = Transaction(
            manifest.prefix, batch_id, forgotten, is_new, may_rerun
        )
        sender = replace(self._sender, transaction=transaction)
        return self._send(batch, sender, manifest.tasks)

    def _is_unwritten(self) -> bool:
        """Whether nothing of this sink was ever written: there is nothing to forget."""
        return self._history.is_empty(self._manifest.ends)

    def _check_newest(self, manifest: SinkManifest) -> None:
        """Make sure, before the first new batch, that no run has written it from a
        newer state; later ones come from this very process."""
        if not self._is_newest:
            names = Transaction(manifest.prefix, manifest.batch_id)
            groups = map(names.name, range(manifest.tasks))
            self._history.check_newest(groups, manifest.batch_id)
        self._is_newest = True


def topic_writer(
    spec: TableSpec, access: Access, described: Described | None, state: Path
) -> Writer:
    """The writer of a table's rows: Spark's own sink, or producers in the executors.

    Parameters
    ----------
    spec
        The table, its variables resolved.
    access
        How the brokers are access.
    described
        The topic; None where there is none.
    state
        The sink's part of the state folder.

    Raises
    ------
    RunProblem
        When the topic is not the one that was written before, or what is needed of a
        record's schema cannot be had.
    """
    topic = str(spec.options["topic"])
    notes = Notes(state / "topic.json")
    if described is None:
        raise deleted_topic(topic, spec.name)
    _check_resume(spec, notes)
    cluster = cluster_of(spec, access, "write to", ask_s=PATIENT_S)
    manifest = SinkManifest.noted(notes, described, cluster.ends)
    # A topic that was deleted and created again has the same name and another id.
    if manifest.topic_id != described.topic_id:
        raise deleted_topic(topic, spec.name)
    spec = with_schema(spec)
    rows = SinkRows(spec, _envelope(spec), manifest.partitions)
    watch = Watch(partial(_lost, spec, access, manifest.topic_id))
    sender = _sender(spec, access)
    if sender is None:
        options = {**access.for_spark(writes=True), "topic": topic}
        return SparkWriter(rows, options, watch)
    if sender.transaction is not None:
        history = SinkHistory(sender.subject, cluster)
        return TransactionWriter(rows, sender, watch, manifest, notes, history)
    return ProducerWriter(rows, sender, watch)


def _check_resume(spec: TableSpec, notes: Notes) -> None:
    """Make sure that the manifest belongs to the checkpoint; only a sink that writes
    exactly once has its batches there."""
    saved, resume = notes.read(), spec.resume
    is_exact = spec.options.get(COMMIT_MODE) == "exactly_once"
    if resume is not None and (saved is None or is_exact):
        resume.check(notes.path, None if saved is None else saved["batch_id"])


def _lost(
    spec: TableSpec, access: Access, topic_id: str, look: Callable[[], None]
) -> RunProblem | None:
    """Why a topic cannot be written for good (see
    :data:`arroyo_nb.kafka.sink_watch.Ask`)."""
    try:
        found = cluster_of(spec, access, "write to").describe_topic(look)
    except AccessRefused as problem:
        return problem
    except RunProblem:  # it is away, and may come back
        return None
    if found is None or found.topic_id != topic_id:
        return deleted_topic(str(spec.options["topic"]), spec.name)
    return None


def check_client(spec: TableSpec, access: Access) -> None:
    """Make sure that librdkafka takes a sink's settings, where it writes; connects to
    nobody.

    Raises
    ------
    RunProblem
        When it does not.
    """
    if (sender := _sender(spec, access)) is not None:
        sender.check()


def _sender(spec: TableSpec, access: Access) -> Sender | None:
    """What a task does with records; None: Spark's own sink writes them."""
    is_exact = spec.options[COMMIT_MODE] == "exactly_once"
    if not is_exact and TIMESTAMP_FIELD not in spec.options:
        return None
    return Sender(
        ErrorSubject.of(spec, "write to"),
        access,
        # Each batch has one of its own.
        transaction=Transaction("arroyo", 0) if is_exact else None,
    )


def _envelope(spec: TableSpec) -> Envelope:
    """What the format has put around each payload."""
    format_ = payload_format(str(spec.options["format"]))
    register = partial(register_schema, spec)
    return Envelope(*format_.envelope(spec.physical, spec.options, register))


def register_schema(spec: TableSpec, schema_type: str, text: str) -> int:
    """The id of the schema of a table's records, which is registered if it is new.

    Parameters
    ----------
    spec
        The table, its variables resolved.
    schema_type, text
        The schema, as :class:`arroyo_nb.schema_registry.RegisteredSchema` has it.

    Raises
    ------
    Unreached
        When the registry does not answer.
    RunProblem
        When it refuses.
    """
    called = f"the schema registry of '{spec.name}' at {spec.shown(ENDPOINT)}"
    client = registry_client(spec.options, called)
    assert client is not None, "a sink without one is refused"
    return client.register(registered_under(spec.options), schema_type, text)
