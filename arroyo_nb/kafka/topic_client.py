"""Asks the brokers of a table about its topic, by librdkafka.

Its client says why it fails by the way, in a callback: a question alone only times out,
whether nobody is there or the password is wrong. So a check asks for a short while,
again and again, and hears what is said meanwhile.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from arroyo_nb.connectors import create_topic_hint
from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.kafka.sending import refused_settings
from arroyo_nb.registry import did_you_mean

if TYPE_CHECKING:
    from concurrent.futures import Future

    from arroyo_nb.connectors import Offsets, TableSpec
    from arroyo_nb.kafka.config import Access

CHECK_S = 3.0
"""How long the brokers may take to answer before a run starts: what is wrong is told
within five seconds."""

SLICE_S, LONGEST_SLICE_S = 0.25, 0.5
"""How long the first question waits, and the later ones, each twice as long, at most:
who interrupts the check is heard in between, and a broker far away is heard too."""

ASK_S = 3.0
"""How long later questions wait."""

PATIENT_S = 15.0
"""How long those of a run wait that begins to write: its broker was there a moment ago,
and may be busy."""

OPENING_S = 30.0
"""How long a broker may take to open its groups, the first time or after a start."""

OPENING = (
    *("_WAIT_COORD", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
    *("COORDINATOR_LOAD_IN_PROGRESS", "UNSTABLE_OFFSET_COMMIT"),
)
"""What a broker says of a group meanwhile."""

TICK_S = 0.02
"""How often who waits for an answer looks."""

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())

_abandoned: deque[Any] = deque()
"""Clients whose :class:`Broker` is gone. librdkafka ends the process where a client
is freed on a thread of its own, and Python's garbage collector runs on any: in the
callback of a question that nobody waits for any more, on that very thread. So they are
freed where the next one is made."""


class Described(NamedTuple):
    """A topic: what the brokers alone call it, and the numbers of its partitions."""

    topic_id: str
    partitions: tuple[int, ...]


class AccessRefused(RunProblem):
    """That the brokers are there and refuse: who waits is refused again."""


class Broker:
    """The brokers of one table; it connects when it is first asked.

    Parameters
    ----------
    table, topic
        Whose; for errors too.
    shown
        What errors call the brokers.
    access
        How they are reached.
    committed_only
        Whether the end of a partition is before the first open transaction.
    ask_s
        How long questions wait, after the check.

    Raises
    ------
    RunProblem
        When the client is not installed, or refuses its settings.
    """

    def __init__(
        self,
        table: str,
        topic: str,
        shown: str,
        access: Access,
        *,
        committed_only: bool,
        ask_s: float = ASK_S,
    ) -> None:
        try:
            from confluent_kafka import KafkaException
            from confluent_kafka.admin import AdminClient
        except ImportError:
            raise RunProblem(
                f"the table '{table}' needs the package confluent-kafka",
                hint="pip install 'arroyo-nb[kafka]'",
            ) from None
        self._table = table
        self._topic = topic
        self._shown = shown
        self._access = access
        self._committed_only = committed_only
        self._ask_s = ask_s
        self._said: dict[int, str] = {}
        settings: dict[str, Any] = {
            "log_level": 0,
            **access.for_librdkafka(),
            # Not a method: the client would keep this object, and so itself, alive.
            "error_cb": partial(_note_error, self._said),
        }
        _free_abandoned()
        try:
            self._client = AdminClient(settings, logger=_log)
        except (KafkaException, ValueError) as problem:
            raise refused_settings(f"'{table}'", settings, problem) from None
        weakref.finalize(self, _abandoned.append, self._client).atexit = False

    def check(self, look: Callable[[], None], *, verb: str = "reads") -> None:
        """Find out whether the topic is there.

        Also one that is only written: a broker may make it when it is first named, as
        it makes one of each name that is misspelt.

        Parameters
        ----------
        look
            Is called again and again; what it raises ends the wait.
        verb
            What the table does to it, for the error.

        Raises
        ------
        RunProblem
            When it is not, or the brokers do not answer, or refuse.
        """
        topics = self._topics(look)
        if self._topic not in topics:
            raise RunProblem(
                f"the table '{self._table}' {verb} the topic '{self._topic}', which is "
                f"not at {self._shown}",
                hint=did_you_mean(self._topic, topics)
                or create_topic_hint(self._topic),
            )

    def _topics(self, look: Callable[[], None]) -> Mapping[str, Any]:
        from confluent_kafka import KafkaError, KafkaException

        deadline, slice_s = time.monotonic() + CHECK_S, SLICE_S
        while True:
            look()
            try:
                topics: Mapping[str, Any] = self._client.list_topics(
                    timeout=slice_s
                ).topics
            except KafkaException:
                self._client.poll(0)
                refused = KafkaError._AUTHENTICATION in self._said
                if refused or time.monotonic() > deadline:
                    raise self._unreached() from None
                slice_s = min(2 * slice_s, LONGEST_SLICE_S)
            else:
                return topics

    def _unreached(self) -> RunProblem:
        """Why nobody answers, by what was said meanwhile."""
        from confluent_kafka import KafkaError

        start, said = f"the table '{self._table}'", self._said
        if "handshake failed" in said.get(KafkaError._AUTHENTICATION, ""):
            return AccessRefused(
                f"{start} logs in, which the broker at {self._shown} does not expect",
                hint="look at its port, at 'auth.type' and at 'auth.mechanism'",
            )
        if KafkaError._AUTHENTICATION in said:
            return AccessRefused(
                f"{start} is refused by the broker at {self._shown}: wrong credentials",
                hint="look at the user's name and the password",
            )
        if KafkaError._RESOLVE in said:
            return RunProblem(
                f"{start} names a host that is not known: {self._shown}",
                hint="look at 'bootstrap_servers'",
            )
        if KafkaError._SSL in said or "SSL" in said.get(KafkaError._TRANSPORT, ""):
            return RunProblem(
                f"{start} cannot speak TLS with the broker at {self._shown}",
                hint="look at its port, and at ssl.ca.location in 'client_configs'",
            )
        if self._is_listened_to():
            return Unreached(
                f"{start} gets no answer from {self._shown}, where somebody listens",
                hint="it may be a port for clients that log in, or speak TLS: look at "
                "'auth.type' and 'auth.protocol'",
            )
        return Unreached(
            f"{start} finds no broker at {self._shown}",
            hint="start it, or look at 'bootstrap_servers'",
        )

    def _is_listened_to(self) -> bool:
        """Whether a broker's port is open: then it is not by its absence that it does
        not answer."""
        import socket

        for server in self._access.servers.split(","):
            host, _, port = server.strip().rpartition(":")
            try:
                with socket.create_connection((host.strip("[]"), int(port)), SLICE_S):
                    return True
            except (OSError, ValueError):
                continue
        return False

    def described(self, look: Callable[[], None] = lambda: None) -> Described | None:
        """What the topic is made of; None where there is no such topic.

        Parameters
        ----------
        look
            Is called again and again; what it raises ends the wait.

        Raises
        ------
        Refused
            When the brokers do not let the user in, or see it.
        RunProblem
            When they do not say.
        """
        from confluent_kafka import KafkaError, KafkaException, TopicCollection

        asked = self._client.describe_topics(
            TopicCollection([self._topic]), request_timeout=self._ask_s
        )
        with self._told():
            try:
                found = self._waited(asked[self._topic], look)
            except KafkaException as problem:
                if problem.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
                return None
        numbers = sorted(partition.id for partition in found.partitions)
        return Described(str(found.topic_id), tuple(numbers))

    def _waited(self, future: Future[Any], look: Callable[[], None]) -> Any:
        """An answer. That the user is refused is told beside it, and sooner."""
        from confluent_kafka import KafkaError

        deadline = time.monotonic() + 2 * self._ask_s
        while not future.done() and time.monotonic() < deadline:
            look()
            self._client.poll(TICK_S)
            if KafkaError._AUTHENTICATION in self._said:
                raise self._unreached()
        return future.result(0)

    def beginnings(self, partitions: tuple[int, ...]) -> Offsets:
        """The oldest record that each partition still has."""
        from confluent_kafka.admin import OffsetSpec

        return self._listed(partitions, OffsetSpec.earliest())

    def ends(self, partitions: tuple[int, ...]) -> Offsets:
        """The end of each partition."""
        from confluent_kafka.admin import OffsetSpec

        return self._listed(partitions, OffsetSpec.latest())

    def since(self, partitions: tuple[int, ...], at_ms: int) -> Offsets:
        """The first record of each partition that is no older; where there is none, the
        end."""
        from confluent_kafka.admin import OffsetSpec

        found = self._listed(partitions, OffsetSpec.for_timestamp(at_ms))
        return self._or_ends(found)

    def committed(self, partitions: tuple[int, ...], group: str) -> Offsets:
        """Where a group of consumers stands; where it does not say, the end."""
        return self._or_ends(self._offsets(group, partitions))

    def _offsets(
        self, group: str, partitions: tuple[int, ...], *, ended: bool = True
    ) -> Offsets:
        """Where a group stands; negative where it does not say. Where it is to have
        ``ended``, an offset whose transaction is open is waited for."""
        from confluent_kafka import KafkaException, TopicPartition

        wanted = [TopicPartition(self._topic, number) for number in partitions]
        deadline = time.monotonic() + OPENING_S
        # The client that asks about groups crashes where a broker is just opening one.
        level = "read_committed" if ended else "read_uncommitted"
        with self._told(), self._consumer(group, level) as consumer:
            while True:
                try:
                    found = committed(consumer, wanted, 2 * self._ask_s)
                except KafkaException as problem:
                    is_opening = problem.args[0].name() in OPENING
                    if not is_opening or time.monotonic() > deadline:
                        raise
                    time.sleep(TICK_S)
                else:
                    return {place.partition: place.offset for place in found}

    def next_batches(self, groups: Iterable[str]) -> list[int]:
        """Which batch is next for groups of a sink's tasks; negative: none was written.

        Raises
        ------
        RunProblem
            When the brokers do not say.
        """
        # A transaction that is open there is ended when the next is begun, and a broker
        # may have lost its end.
        return [self._offsets(group, (0,), ended=False)[0] for group in groups]

    @contextmanager
    def reader(self, begin: Offsets) -> Iterator[Any]:
        """A client that reads committed records from there on, and is told where a
        partition ends. It joins no group."""
        from confluent_kafka import TopicPartition

        with self._consumer("arroyo-look") as consumer:
            places = [TopicPartition(self._topic, *place) for place in begin.items()]
            consumer.assign(places)
            yield consumer

    @contextmanager
    def _consumer(self, group: str, level: str = "read_committed") -> Iterator[Any]:
        """A client that names a group, which it does not join."""
        from confluent_kafka import Consumer

        consumer = Consumer(
            {
                "log_level": 0,
                **self._access.for_librdkafka(),
                "group.id": group,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": level,
            },
            logger=_log,
        )
        try:
            yield consumer
        finally:
            consumer.close()

    def _or_ends(self, found: Offsets) -> Offsets:
        unknown = tuple(number for number, offset in found.items() if offset < 0)
        return {**found, **(self.ends(unknown) if unknown else {})}

    def _listed(self, partitions: tuple[int, ...], wanted: Any) -> Offsets:
        from confluent_kafka import IsolationLevel, TopicPartition

        level = IsolationLevel.READ_UNCOMMITTED
        if self._committed_only:
            level = IsolationLevel.READ_COMMITTED
        places = {TopicPartition(self._topic, number): wanted for number in partitions}
        with self._told():
            asked = self._client.list_offsets(
                places, isolation_level=level, request_timeout=self._ask_s
            )
            return {
                place.partition: future.result(2 * self._ask_s).offset
                for place, future in asked.items()
            }

    @contextmanager
    def _told(self) -> Iterator[None]:
        from confluent_kafka import KafkaException

        try:
            yield
        except (KafkaException, TimeoutError) as problem:
            raise self._unanswered(problem) from None

    def _unanswered(self, problem: Exception) -> RunProblem:
        error = problem.args[0] if problem.args else None
        if error is not None and error.name().endswith("_AUTHORIZATION_FAILED"):
            what = f"the topic '{self._topic}'"
            if error.name() == "GROUP_AUTHORIZATION_FAILED":
                what = "the group that it reads or writes by"
            return AccessRefused(
                f"the broker at {self._shown} does not let the user of "
                f"'{self._table}' see {what}",
                hint="have the user allowed to describe it",
            )
        return Unreached(
            f"the broker at {self._shown} does not answer for '{self._table}'",
            hint="it may be down, or on its way up",
        )


def _free_abandoned() -> None:
    # The newest may still be in the hands of the thread that is abandoning it.
    while len(_abandoned) > 1:
        _abandoned.popleft()


def _note_error(said: dict[int, str], error: Any) -> None:
    said[error.code()] = error.str()


def committed(consumer: Any, places: Sequence[Any], within_s: float) -> Sequence[Any]:
    """What the group of a client has committed. A broker may answer, and still fail to
    tell of a place: that has no offset either, and would seem to have none."""
    from confluent_kafka import KafkaException

    found: Sequence[Any] = consumer.committed(places, within_s)
    for each in found:
        if each.error is not None:
            raise KafkaException(each.error)
    return found


def broker_of(spec: TableSpec, access: Access, ask_s: float = ASK_S) -> Broker:
    """The brokers of a table whose variables are resolved."""
    return Broker(
        spec.name,
        str(spec.options["topic"]),
        spec.address("bootstrap_servers"),
        access,
        committed_only=spec.options.get("source.read_mode") == "read_committed",
        ask_s=ask_s,
    )
