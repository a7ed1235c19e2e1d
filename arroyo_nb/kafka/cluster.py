"""What the brokers are asked: about topics, offsets and groups; and to create a topic.

librdkafka reports why a connection fails beside a request, in a callback: the request
itself only times out, whether nobody listens or the password is wrong. So a request is
repeated for a short while, and what is reported meanwhile decides the message.
"""

from __future__ import annotations

import socket
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from arroyo_nb.kafka.client import admin_client, committed, consumer, library
from arroyo_nb.kafka.config import Access
from arroyo_nb.kafka.errors import (
    GROUP_OPENING,
    PARTITION_OPENING,
    SILENT_PORT,
    ErrorSubject,
    connection_fault,
    missing_topic,
    named_problem,
    problem,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

    from arroyo_nb.connectors import Offsets, TableSpec
    from arroyo_nb.errors import RunProblem

CHECK_S = 3.0
"""How long the brokers may take to answer the first request: what is wrong is reported
within five seconds."""

SLICE_S, LONGEST_SLICE_S = 0.25, 0.5
"""How long the first try waits, and how long later ones do at most, each twice as long
as the one before: an interrupt is noticed between two, and a broker far away is given
time."""

ASK_S = 3.0
"""How long later requests wait."""

PATIENT_S = 15.0
"""How long they wait for a run that begins to write: its broker was there a moment ago,
and may be busy."""

GROUP_OPENING_S = 30.0
"""How long a broker may take to load its groups, the first time or after a start."""

TOPIC_S = 30.0
"""How long a new topic may take to be created, and then to be open, on a busy
machine."""

CREATE_S = 5.0
"""How long one request to create it waits, before it is made again."""

LEADERS_S = 5.0
"""How long partitions may be without a leader, by default."""

TABLE_LEADERS_S = 1.0
"""How long a table's may: to wait for longer would delay the news that its topic was
deleted."""

TICK_S = 0.02
"""How often a wait for an answer looks for an interrupt."""

_abandoned: deque[Any] = deque()
"""Clients whose :class:`Cluster` is gone. librdkafka ends the process where a client
is freed on a thread of its own, and Python's garbage collector runs on any: in the
callback of a request that nobody waits for any more, on that very thread. So they are
freed where the next one is made."""


class Described(NamedTuple):
    """A topic: the id that the brokers gave it, and the numbers of its partitions."""

    topic_id: str
    partitions: tuple[int, ...]


def do_nothing() -> None:
    """Let a wait go on."""


class Cluster:
    """The brokers that a table or a command names; it connects with the first request.

    Parameters
    ----------
    access
        How they are reached.
    subject
        The topic that requests are about, and what errors call it.
    committed_only
        Whether the end of a partition is before the first open transaction.
    ask_s
        How long requests wait, after the first one.

    Raises
    ------
    RunProblem
        When the client is not installed, or refuses its settings.
    """

    def __init__(
        self,
        access: Access,
        subject: ErrorSubject,
        *,
        committed_only: bool = False,
        ask_s: float = ASK_S,
    ) -> None:
        self._access = access
        self._subject = subject
        self._topic = subject.topic
        self._committed_only = committed_only
        self._ask_s = ask_s
        self._heard: dict[str, str] = {}
        _free_abandoned()
        # Not a method: the client would keep this object, and so itself, alive.
        on_error = partial(_note_error, self._heard)
        self._client = admin_client(access, subject, on_error)
        weakref.finalize(self, _abandoned.append, self._client).atexit = False

    def topics(self, check: Callable[[], None]) -> Mapping[str, tuple[int, ...]]:
        """All topics, each with the numbers of its partitions.

        Parameters
        ----------
        check
            Called again and again; what it raises ends the wait.

        Raises
        ------
        RunProblem
            When the brokers do not answer, or refuse.
        """
        # Short tries, as none of them hears an interrupt.
        deadline, slice_s = time.monotonic() + CHECK_S, SLICE_S
        while True:
            check()
            try:
                topics = self._client.list_topics(timeout=slice_s).topics
            except library().KafkaException:
                self._client.poll(0)  # lets the callback hear why
                is_refused = "_AUTHENTICATION" in self._heard
                if is_refused or time.monotonic() > deadline:
                    raise self._unreached() from None
                slice_s = min(2 * slice_s, LONGEST_SLICE_S)
            else:
                return {name: tuple(each.partitions) for name, each in topics.items()}

    def require_topic(self, check: Callable[[], None]) -> tuple[int, ...]:
        """Make sure that the topic is there; returns the numbers of its partitions.

        All topics are asked for, never the one: a broker may be set up to create a
        topic when somebody names it, and so one of each name that is misspelt.

        Raises
        ------
        RunProblem
            When it is not there, or as of :meth:`topics`.
        """
        topics = self.topics(check)
        if self._topic not in topics:
            raise missing_topic(self._subject, topics)
        return topics[self._topic]

    def _unreached(self) -> RunProblem:
        """Why nobody answers, by what was heard meanwhile."""
        fault = connection_fault(self._heard)
        if fault is None:
            fault = SILENT_PORT if self._has_open_port() else "_TRANSPORT"
        return named_problem(fault, self._subject)

    def _has_open_port(self) -> bool:
        """Whether something listens: then it is not a missing broker that is silent."""
        for server in self._access.servers.split(","):
            host, _, port = server.strip().rpartition(":")
            try:
                with socket.create_connection((host.strip("[]"), int(port)), SLICE_S):
                    return True
            except (OSError, ValueError):
                continue
        return False

    def describe_topic(
        self, check: Callable[[], None] = do_nothing
    ) -> Described | None:
        """The topic's id and its partitions; None where there is no such topic.

        Parameters
        ----------
        check
            Called again and again; what it raises ends the wait.

        Raises
        ------
        AccessRefused
            When the brokers do not let the user in, or do not let it see the topic.
        RunProblem
            When they do not answer.
        """
        topics = library().TopicCollection([self._topic])
        futures = self._client.describe_topics(topics, request_timeout=self._ask_s)
        with self._worded():
            try:
                topic = self._awaited(futures[self._topic], check, 2 * self._ask_s)
            except library().KafkaException as error:
                if error.args[0].name() != "UNKNOWN_TOPIC_OR_PART":
                    raise
                return None
        numbers = sorted(partition.id for partition in topic.partitions)
        return Described(str(topic.topic_id), tuple(numbers))

    def create_topic(
        self, partitions: int, config: Mapping[str, str], check: Callable[[], None]
    ) -> None:
        """Create the topic with one replica; returns when it can be read and written.

        Parameters
        ----------
        check
            Called again and again; what it raises ends the wait.

        Raises
        ------
        RunProblem
            When the broker refuses, as where there is one of that name.
        """
        new_topic = library("confluent_kafka.admin").NewTopic
        topic = new_topic(self._topic, partitions, 1, config=dict(config))
        with self._worded():
            self._create(topic, check)
        # Its partitions get their leaders later: until then they have no offsets.
        parts = [(self._topic, number) for number in range(partitions)]
        self.offsets(parts, _offset_spec().latest(), check, within_s=TOPIC_S)

    def _create(self, topic: Any, check: Callable[[], None]) -> None:
        deadline, is_again = time.monotonic() + TOPIC_S, False
        while True:
            futures = self._client.create_topics([topic], request_timeout=CREATE_S)
            try:
                self._awaited(futures[self._topic], check, 2 * CREATE_S)
            except library().KafkaException as error:
                name = error.args[0].name()
                # The request before this one was only slow.
                if is_again and name == "TOPIC_ALREADY_EXISTS":
                    return
                # Seen at a broker that had just started: it ran, and a request waited
                # in the client until it timed out.
                if name != "_TIMED_OUT" or time.monotonic() > deadline:
                    raise
                is_again = True
            else:
                return

    def beginnings(self, partitions: tuple[int, ...]) -> Offsets:
        """The offset of the oldest record that each partition still has."""
        return self._offsets_of(partitions, _offset_spec().earliest())

    def ends(self, partitions: tuple[int, ...]) -> Offsets:
        """The end of each partition: the offset that its next record gets, or that of
        the first open transaction."""
        return self._offsets_of(partitions, _offset_spec().latest())

    def since(self, partitions: tuple[int, ...], at_ms: int) -> Offsets:
        """The first record of each partition that is no older; where there is none, the
        end."""
        spec = _offset_spec().for_timestamp(at_ms)
        return self._or_ends(self._offsets_of(partitions, spec))

    def _offsets_of(self, partitions: tuple[int, ...], spec: Any) -> Offsets:
        parts = [(self._topic, number) for number in partitions]
        offsets = self.offsets(parts, spec, within_s=TABLE_LEADERS_S)
        return dict(zip(partitions, offsets, strict=True))

    def offsets(
        self,
        parts: Sequence[tuple[str, int]],
        spec: Any,
        check: Callable[[], None] = do_nothing,
        *,
        within_s: float = LEADERS_S,
    ) -> list[int]:
        """An offset of each partition, of any topics.

        Parameters
        ----------
        parts
            Topics and numbers of partitions.
        spec
            Which offset: a value of ``OffsetSpec``.
        check
            Called again and again; what it raises ends the wait.
        within_s
            How long partitions may take that are just about to open.

        Raises
        ------
        RunProblem
            When the brokers do not answer, or refuse.
        """
        answers = self._list_when_open(parts, spec, check, within_s)
        return [answer.offset for answer in answers]

    def newest_times(
        self,
        parts: Sequence[tuple[str, int]],
        check: Callable[[], None] = do_nothing,
    ) -> list[int | None]:
        """The newest record's time in each partition, in milliseconds since 1970; None
        where it has no record with a time.

        Raises
        ------
        RunProblem
            As of :meth:`offsets`, and when the broker is older than Kafka 3.0.
        """
        spec = _offset_spec().max_timestamp()
        answers = self._list_when_open(parts, spec, check, LEADERS_S)
        return [a.timestamp if a.timestamp >= 0 else None for a in answers]

    def _list_when_open(
        self,
        parts: Sequence[tuple[str, int]],
        spec: Any,
        check: Callable[[], None],
        within_s: float,
    ) -> list[Any]:
        begun_s = time.monotonic()
        with self._worded():
            while True:
                try:
                    return self._list_offsets(parts, spec, check)
                except library().KafkaException as error:
                    # A leader that has just moved, or was just elected, fences those
                    # who know the one before: the client asks again by itself only
                    # once it has heard of it.
                    name = error.args[0].name()
                    # A topic that was deleted is unknown; one without a leader will
                    # have one, and on a busy machine late.
                    is_unknown = name == "UNKNOWN_TOPIC_OR_PART"
                    most_s = within_s if is_unknown else max(within_s, LEADERS_S)
                    waited_s = time.monotonic() - begun_s
                    if name not in PARTITION_OPENING or waited_s > most_s:
                        raise
                    time.sleep(TICK_S)

    def _list_offsets(
        self, parts: Sequence[tuple[str, int]], spec: Any, check: Callable[[], None]
    ) -> list[Any]:
        if not parts:
            return []
        places = [library().TopicPartition(*part) for part in parts]
        levels = library().IsolationLevel
        futures = self._client.list_offsets(
            dict.fromkeys(places, spec),
            isolation_level=levels.READ_COMMITTED
            if self._committed_only
            else levels.READ_UNCOMMITTED,
            request_timeout=self._ask_s,
        )
        within_s = 2 * self._ask_s
        return [self._awaited(futures[each], check, within_s) for each in places]

    def _awaited(
        self, future: Future[Any], check: Callable[[], None], within_s: float
    ) -> Any:
        """An answer. That the login is refused is heard beside it, and sooner."""
        deadline = time.monotonic() + within_s
        while not future.done() and time.monotonic() < deadline:
            check()
            wait((future,), TICK_S)
            self._client.poll(0)  # runs the callback, on this thread
            if "_AUTHENTICATION" in self._heard:
                raise self._unreached()
        return future.result(0)

    def committed(self, partitions: tuple[int, ...], group: str) -> Offsets:
        """The offsets of a consumer group; where it has none, the end."""
        return self._or_ends(self._group_offsets(group, partitions))

    def next_batches(self, groups: Iterable[str]) -> list[int]:
        """The next batch of each group of a sink's tasks; negative: none was written.

        Raises
        ------
        RunProblem
            When the brokers do not answer.
        """
        # A transaction that is open there is ended when the next is begun, and a broker
        # may have lost its end: a committed read would wait for it for ever.
        return [
            self._group_offsets(group, (0,), isolation="read_uncommitted")[0]
            for group in groups
        ]

    def _group_offsets(
        self,
        group: str,
        partitions: tuple[int, ...],
        *,
        isolation: str = "read_committed",
    ) -> Offsets:
        """The offsets of a group; negative where it has none. A committed read waits
        for an open transaction on one of them."""
        places = [library().TopicPartition(self._topic, n) for n in partitions]
        deadline = time.monotonic() + GROUP_OPENING_S
        settings = {"isolation.level": isolation}
        # The admin client's request about groups crashes while a broker is loading one,
        # so a consumer that names the group asks.
        with self._worded(), self._consumer(group, settings) as client:
            while True:
                try:
                    answers = committed(client, places, 2 * self._ask_s)
                except library().KafkaException as error:
                    is_opening = error.args[0].name() in GROUP_OPENING
                    if not is_opening or time.monotonic() > deadline:
                        raise
                    time.sleep(TICK_S)
                else:
                    return {place.partition: place.offset for place in answers}

    @contextmanager
    def reader(self, begin: Offsets) -> Iterator[Any]:
        """A client that reads committed records from there on, and is told where a
        partition ends."""
        settings = {"isolation.level": "read_committed", "enable.partition.eof": True}
        with self._consumer("arroyo-look", settings) as client:
            place = library().TopicPartition
            client.assign([place(self._topic, *each) for each in begin.items()])
            yield client

    def _consumer(self, group: str, settings: Mapping[str, Any]) -> Any:
        return consumer(self._access, self._subject, group, settings)

    def _or_ends(self, offsets: Offsets) -> Offsets:
        unknown = tuple(number for number, offset in offsets.items() if offset < 0)
        return {**offsets, **(self.ends(unknown) if unknown else {})}

    @contextmanager
    def _worded(self) -> Iterator[None]:
        """The client's errors in the words of our table."""
        try:
            yield
        except (library().KafkaException, TimeoutError) as error:
            raise problem(error, self._subject) from None


def _offset_spec() -> Any:
    return library("confluent_kafka.admin").OffsetSpec


def _free_abandoned() -> None:
    # The newest may still be in the hands of the thread that is abandoning it.
    while len(_abandoned) > 1:
        _abandoned.popleft()


def _note_error(heard: dict[str, str], error: Any) -> None:
    heard[error.name()] = error.str()


def local_cluster(servers: str, topic: str) -> Cluster:
    """A broker of this machine, on which a topic is to be made."""
    subject = ErrorSubject(servers, topic, action="create")
    return Cluster(Access(servers), subject, ask_s=PATIENT_S)


def cluster_of(
    spec: TableSpec, access: Access, action: str, *, ask_s: float = ASK_S
) -> Cluster:
    """The brokers of a table whose variables are resolved.

    Parameters
    ----------
    action
        As of :class:`arroyo_nb.kafka.errors.ErrorSubject`.
    """
    return Cluster(
        access,
        ErrorSubject.of(spec, action),
        committed_only=spec.options.get("source.read_mode") == "read_committed",
        ask_s=ask_s,
    )
