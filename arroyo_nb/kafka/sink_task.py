"""A sink's task in a Spark worker: it sends its records, alone or in a transaction.

Each task has a producer of its own, made afresh: one that an earlier task left behind
in this process may meanwhile have been fenced by a later one elsewhere.

In a transaction, what a task sends appears as a whole or not at all, and together with
it the broker keeps, for a group of the task's number, which batch is next. Whoever is
given the batch again first fences the producer of before, which ends what it had open,
and then asks: of a batch that is there nothing is sent. A transaction that is lost to a
broker's restart is tried again as a whole, with the records that were kept for that.
Design: *Transactional Messaging in Kafka*, and KIP-447, without consumers.

A worker loads this module, so it loads neither the planner nor DataFrames.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.kafka.client import (
    ANY_PARTITION,
    NO_OFFSET,
    NOW,
    committed,
    consumer,
    library,
    produce,
    producer,
)
from arroyo_nb.kafka.config import Access
from arroyo_nb.kafka.errors import TRANSIENT, ErrorSubject, problem
from arroyo_nb.kafka.recovery import older_copy
from arroyo_nb.kafka.replayed_batches import ReplayedBatches
from arroyo_nb.kafka.sink_records import (
    AT,
    KEY,
    PARTITION,
    VALUE,
    Merged,
)
from arroyo_nb.kafka.table_options import TIMESTAMP_FIELD

PATIENCE_S = 600
"""How long a batch waits for a broker that is away, and how long a transaction may be
open: less than the quarter of an hour that brokers allow by default. So long too does
who reads what is committed wait for a run that was killed, unless it is resumed."""

ASK_S = 5.0
"""How long one request waits; it is sent again."""

SHORT_ASK_S = 1.0
"""How long the first request of a new batch waits: what it asks for can be had in
another way."""

OPEN_S = 30.0
"""How long a group may have a transaction open whose producer was fenced; the broker
ends it before it answers that one."""

ABORT_S = 10.0
"""How long a task that has failed tries to abort its transaction."""

AGAIN_S = 0.1
"""How long a request rests that was refused, before it is sent again: a broker that
restarts may refuse it at once."""

SENT = "rows bigint"
"""What a task returns to the driver: how many records it sent."""

_T = TypeVar("_T")
_MS = 1000

_AT_ONCE: Mapping[str, Any] = {
    # Else a client of a task, which lives for one batch only, spends half a second on
    # its way to the coordinator one time in three, and 60 ms the others; not 5.
    "enable.sparse.connections": False,
}

SETTINGS: Mapping[str, Any] = {
    **_AT_ONCE,
    "delivery.report.only.error": True,
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 131_072,
    "transaction.timeout.ms": PATIENCE_S * _MS,
}
"""Settings of a task's producer, before those of the table."""


@dataclass(frozen=True)
class Transaction:
    """The transactions of one batch: their names, and what is known of it before.

    Parameters
    ----------
    prefix
        Begins the names of the producers and groups of a run's sink: the number of a
        task follows.
    batch_id
        Which batch it is.
    forgotten
        Whether the batch was begun so long ago that the broker may have forgotten
        that it was written, if it was.
    is_new
        Whether it is begun for the first time: nothing of it can be there, before a
        task of it runs.
    may_rerun
        Whether Spark may run a whole stage of it again, as where an executor is lost:
        the tasks of that begin to count their attempts anew.
    """

    prefix: str
    batch_id: int
    forgotten: bool = False
    is_new: bool = False
    may_rerun: bool = False

    def name(self, task: int) -> str:
        """The producer, and the group, of a task."""
        return f"{self.prefix}-{task}"


@dataclass(frozen=True)
class Sender:
    """What a worker does to the records that came to it; pickled.

    Parameters
    ----------
    subject
        The topic and the table, for errors.
    access
        How the brokers are reached.
    merged
        What makes records of changes; None: they are some.
    transaction
        None: as they come.
    """

    subject: ErrorSubject
    access: Access = field(repr=False)
    merged: Merged | None = None
    transaction: Transaction | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.merged is not None:
            batches = self.merged(batches)
        some = (batch for batch in batches if batch.num_rows)
        sent = 0
        # Of a task without rows the broker hears nothing: it has none again, if it is
        # run again.
        if (first := next(some, None)) is not None:
            records = chain([first], some)
            with self._worded():
                if self.transaction is None:
                    sent = self._send(records)
                else:
                    sent = self._commit(records, self.transaction)
            # Spark's pipe wants to be read to its end.
            for _ in some:
                pass
        yield pa.RecordBatch.from_pydict({"rows": [sent]})

    def check(self) -> None:
        """Find out whether the client takes its settings; nobody is asked.

        Raises
        ------
        RunProblem
            When it does not.
        """
        name = self.transaction.name(0) if self.transaction is not None else None
        self._producer([], name)

    def _producer(self, failed: list[Any], name: str | None = None) -> Any:
        """A task's client; why a record could not be sent is added to ``failed``."""
        given = {**SETTINGS, **self.access.for_librdkafka()}
        own = {
            **SETTINGS,
            # A record must not wait for longer than its transaction.
            "message.timeout.ms": given["transaction.timeout.ms"],
            "on_delivery": lambda error, _: failed.append(error),
            **({} if name is None else {"transactional.id": name}),
        }
        return producer(self.access, self.subject, own)

    def _send(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Send records; returns when the broker has them all."""
        failed: list[Any] = []
        client = self._producer(failed)
        sent = self._put(client, batches, failed)
        # Each ends, if only by its time: then it is among the failed.
        while client.flush(ASK_S):
            pass
        _raise(failed)
        return sent

    def _commit(
        self, batches: Iterable[pa.RecordBatch], transaction: Transaction
    ) -> int:
        """Send records and commit the number of the next batch with them, or neither;
        again and again while the broker aborts the transaction because it restarts."""
        from pyspark import TaskContext

        task = TaskContext.get()
        name = transaction.name(task.partitionId())
        # A task that Spark runs again may have written before it was lost.
        is_new = transaction.is_new and task.attemptNumber() == 0
        if is_new and transaction.may_rerun:
            # Where a stage runs again, the attempt is 0 again too: only the broker
            # remembers that a task was here before.
            with self._group(f"{name}-begun") as group:
                is_new = self._note_start(group, transaction.batch_id)
        deadline = time.monotonic() + PATIENCE_S
        with closing(ReplayedBatches(batches)) as records:
            while True:
                tried = replace(transaction, is_new=is_new)
                try:
                    return self._try_commit(records, tried, name)
                except _AbortedError as aborted:
                    if time.monotonic() > deadline:
                        raise aborted.reason from None
                    # Until it asked for the commit, nothing of it can be there.
                    is_new = is_new and not aborted.is_committing
                    time.sleep(AGAIN_S)

    def _try_commit(
        self, batches: Iterable[pa.RecordBatch], transaction: Transaction, name: str
    ) -> int:
        """One transaction.

        The order is what exactly-once rests on: the producer is fenced first, so that
        no earlier task can commit any more; then the group is read, so that what such a
        task has committed is seen; and only then something is sent.
        """
        failed: list[Any] = []
        client = self._producer(failed, name)
        # Fences every earlier producer of this name and ends what it had open.
        _insist(lambda: client.init_transactions(ASK_S))
        with self._group(name) as group:
            if self._is_written(group, transaction):
                return sum(batch.num_rows for batch in batches)
            # The offset of the group is the next batch: it is committed with the
            # records, in the same transaction, or not at all.
            after = [self._place(transaction.batch_id + 1)]

            def note_batch() -> None:
                member = group.consumer_group_metadata()
                client.send_offsets_to_transaction(after, member, ASK_S)

            client.begin_transaction()
            is_committing = False
            try:
                sent = self._put(client, batches, failed)
                _insist(note_batch)
                is_committing = True
                _insist(client.commit_transaction)
            except BaseException as error:
                # An abort makes the records fail that are left, for another reason.
                first = failed[:1]
                reason = _reason(error, note_batch)
                with suppress(Exception):
                    client.abort_transaction(ABORT_S)
                if isinstance(reason, library().KafkaException):
                    if _is_aborted(reason.args[0]):
                        raise _AbortedError(reason, is_committing) from None
                    _raise(first)  # it says why the others fail
                raise reason from None
        return sent

    def _note_start(self, group: Any, batch_id: int) -> bool:
        """Have the broker note that a task starts with its part of a batch; False: a
        task did before. This group is not the one of the transactions, whose offset
        nobody is told while a transaction is open on it."""
        (noted,) = _insist(lambda: committed(group, [self._place()], ASK_S))
        if noted.offset > batch_id:
            return False
        after = [self._place(batch_id + 1)]
        _insist(lambda: group.commit(offsets=after, asynchronous=False))
        return True

    @contextmanager
    def _group(self, name: str, level: str = "read_committed") -> Iterator[Any]:
        """A consumer group without members, which keeps an offset. With
        ``read_committed`` a broker answers only once no transaction on it is open."""
        settings = {**_AT_ONCE, "isolation.level": level}
        with consumer(self.access, self.subject, name, settings) as group:
            yield group

    def _place(self, *offset: int) -> Any:
        """The partition of the topic that a group's offset, the next batch, is noted
        for; the partition itself has nothing to do with it."""
        return library().TopicPartition(self.subject.topic, 0, *offset)

    def _is_written(self, group: Any, transaction: Transaction) -> bool:
        """Whether this task's part of the batch is in the topic already."""
        following = self._next_batch(group, transaction).offset
        if following > transaction.batch_id + 1:
            raise older_copy(self.subject, transaction.batch_id)
        # A broker deletes a group's offsets after days without a commit: then their
        # absence says nothing.
        if following == NO_OFFSET and transaction.forgotten:
            raise RunProblem(
                f"whether the batch {transaction.batch_id} of the table "
                f"'{self.subject.table}' was written before cannot be verified: the "
                f"broker at {self.subject.servers} has expired the offsets of this "
                "run's group",
                hint="compare the end of the topic with what the run computes, and "
                "start with another state folder; 'offsets.retention.minutes' of the "
                "broker says how soon a run must be resumed",
            )
        return bool(following > transaction.batch_id)

    def _next_batch(self, group: Any, transaction: Transaction) -> Any:
        """The offset that a task's group has: the next batch.

        Earlier transactions have ended, as their producer was fenced. All the same a
        broker may keep one open on the group for ever: a broker that is stopped while
        it ends a transaction can lose the end marker (Kafka 4.3 does). The group's
        offset before that transaction is enough for a new batch, whose own end marker
        then ends what was left open. Of a batch that comes again nobody can say whether
        it is there.
        """
        place = [self._place()]
        within_s = SHORT_ASK_S if transaction.is_new else ASK_S
        start_s = time.monotonic()
        # None: no transaction is known to be open, as far as the broker answers at all.
        open_since_s: float | None = None
        while True:
            try:
                (answer,) = committed(group, place, within_s)
            except library().KafkaException as error:
                is_late = time.monotonic() - start_s > PATIENCE_S
                if is_late or not _is_transient(error.args[0]):
                    raise
            else:
                return answer
            before, now_s = self._before_open(place, transaction), time.monotonic()
            if before is None:  # the broker is away, or loads its groups
                open_since_s = None
            elif transaction.is_new:
                return before
            # An uncommitted read is answered and a committed one is not: a transaction
            # is open. One that is just about to end gets OPEN_S to do so.
            elif open_since_s is None:
                open_since_s = now_s
            elif now_s - open_since_s >= OPEN_S:
                raise self._left_open(transaction)

    def _before_open(self, place: list[Any], transaction: Transaction) -> Any:
        """The offset that the group had before a transaction that is open on it; None
        where the broker does not answer that either."""
        from pyspark import TaskContext

        name = transaction.name(TaskContext.get().partitionId())
        with self._group(name, "read_uncommitted") as group:
            try:
                (answer,) = committed(group, place, ASK_S)
            except library().KafkaException:
                return None
        return answer

    def _left_open(self, transaction: Transaction) -> RunProblem:
        """A broker has lost the end marker of a transaction of a batch that may be in
        the topic."""
        return RunProblem(
            f"whether the batch {transaction.batch_id} of the table "
            f"'{self.subject.table}' was written before cannot be verified: the broker "
            f"at {self.subject.servers} has lost the end of a transaction of this run, "
            "as it can when it is stopped meanwhile",
            hint="find it by Kafka's tool 'kafka-transactions.sh find-hanging' in the "
            "topic '__consumer_offsets' and end it by 'abort'; if the topic "
            f"'{self.subject.topic}' has the rows of this batch, start with another "
            "state folder, else resume from the checkpoint",
        )

    def _put(
        self, client: Any, batches: Iterable[pa.RecordBatch], failed: Sequence[Any]
    ) -> int:
        """Hand batches of records to the client; returns how many records."""
        sent = 0
        for batch in batches:
            _raise(failed)
            produce(client, self.subject.topic, self._fields(batch))
            sent += batch.num_rows
        return sent

    def _fields(self, batch: pa.RecordBatch) -> Iterable[tuple[Any, ...]]:
        """Value, key, partition and time of each record, as the client wants them."""
        times = batch.column(AT)
        first = pc.min(times).as_py()
        if first is not None and first <= 0:
            raise DataProblem(
                f"a row of '{self.subject.table}' has a '{TIMESTAMP_FIELD}' that is "
                "not after the beginning of 1970, which no record can have"
            )
        columns = (
            batch.column(VALUE),
            batch.column(KEY),
            pc.fill_null(batch.column(PARTITION), ANY_PARTITION),
            pc.fill_null(times, NOW),
        )
        return zip(*(column.to_pylist() for column in columns), strict=True)

    @contextmanager
    def _worded(self) -> Iterator[None]:
        """The client's errors in the words of our table."""
        try:
            yield
        except library().KafkaException as error:
            raise problem(error, self.subject) from None


class _AbortedError(Exception):
    """A transaction that can only be aborted, and tried again as a whole.

    Parameters
    ----------
    reason
        What the client has raised.
    is_committing
        Whether it was asked to commit: then it may be there all the same.
    """

    def __init__(self, reason: Exception, is_committing: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_committing = is_committing


def _insist(call: Callable[[], _T]) -> _T:
    """The result of a call, which is repeated while the broker is away."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call()
        except library().KafkaException as error:
            if not _is_transient(error.args[0]) or time.monotonic() > deadline:
                raise
        time.sleep(AGAIN_S)


def _is_transient(error: Any) -> bool:
    """Whether the same request may succeed soon. In a transaction that must be aborted
    none does any more."""
    if error.fatal() or error.txn_requires_abort():
        return False
    return bool(error.retriable() or error.name() in TRANSIENT)


def _reason(error: BaseException, ask: Callable[[], object]) -> BaseException:
    """What a transaction was lost to. To a record that comes later the client says only
    that there is no transaction for it, and to another request the reason."""
    if isinstance(error, library().KafkaException) and error.args[0].name() == "_STATE":
        try:
            ask()
        except library().KafkaException as told:
            reason: BaseException = told
            return reason
    return error


def _is_aborted(error: Any) -> bool:
    """Whether only this transaction is lost, to a broker that restarts."""
    return bool(error.txn_requires_abort() and error.name() in TRANSIENT)


def _raise(failed: Sequence[Any]) -> None:
    if failed:
        raise library().KafkaException(failed[0])
