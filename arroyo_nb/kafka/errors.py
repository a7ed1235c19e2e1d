"""What Kafka's errors mean: one table from an error's name to a message.

Every path words an error by this table: a table's source and its sink, ``peek``,
``head``, ``topics``, ``record``, ``emit`` and the local broker. Only what the message
is about differs (:class:`ErrorSubject`). The client's own texts are never shown, as
they may quote settings, and so a password.

Spark's Python workers load this module, so it loads neither the planner nor pyspark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.registry import did_you_mean, nearest

if TYPE_CHECKING:
    from arroyo_nb.connectors import TableSpec

UNREACHABLE = frozenset(("_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT", "_TRANSPORT"))
"""What the client says while it finds no broker; it recovers from that by itself."""

GROUP_OPENING = frozenset(
    (
        *("_WAIT_COORD", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
        *("COORDINATOR_LOAD_IN_PROGRESS", "UNSTABLE_OFFSET_COMMIT"),
    )
)
"""What a broker says of a consumer group that it is still loading."""

PARTITION_OPENING = frozenset(
    (
        *("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PART"),
        *("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "_NOENT"),
    )
)
"""What a broker says of a partition that is just about to open."""

TRANSIENT = UNREACHABLE | GROUP_OPENING | {"NETWORK_EXCEPTION", "REQUEST_TIMED_OUT"}
"""What is said of a broker that is away or starting: a request is worth repeating."""

UNEXPECTED_LOGIN = "login not expected"
SILENT_PORT = "no answer on an open port"
"""Names of ours for what librdkafka reports like other errors."""


class AccessRefused(RunProblem):
    """The brokers are reached and refuse: to wait does not help."""


@dataclass(frozen=True)
class ErrorSubject:
    """What a message is about, in the user's words.

    Parameters
    ----------
    servers
        The brokers as the script names them: a variable's value is not shown.
    topic
        Its name; empty where it is about all topics.
    table
        The table that reads or writes it; empty where a command does.
    action
        What is done to the topic: ``read``, ``write to`` or ``create``; or ``list``.
    """

    servers: str
    topic: str = ""
    table: str = ""
    action: str = "read"

    @classmethod
    def of(cls, spec: TableSpec, action: str) -> ErrorSubject:
        """The topic of a table, which it reads or writes to."""
        servers = spec.address("bootstrap_servers")
        return cls(servers, str(spec.options["topic"]), spec.name, action)

    @property
    def words(self) -> Mapping[str, str]:
        """What the sentences of the table are filled with."""
        table = f"the table '{self.table}'" if self.table else ""
        topic = f"the topic '{self.topic}'" if self.topic else "the topic"
        topic = "the topics" if self.action == "list" else topic
        permission = {"write to": "Write", "create": "Create"}.get(self.action, "Read")
        return {
            "servers": self.servers,
            "broker": f"the broker at {self.servers}" if self.servers else "the broker",
            "name": self.topic,
            "topic": f"{topic} of {table}" if table else topic,
            "client": f"the client of {table}" if table else f"the client of {topic}",
            "user": f"the user of {table}" if table else "this user",
            "of_table": f" of {table}" if table else "",
            "for_table": f" for {table}" if table else "",
            "action": self.action,
            "permission": permission,
        }


class ErrorMessage(NamedTuple):
    """The message for some errors of the client.

    Attributes
    ----------
    errors
        Their names.
    sentence
        What is wrong, with the fields of :attr:`ErrorSubject.words`.
    hint
        What to do, with the same fields.
    kind
        The class of the error that is raised.
    """

    errors: tuple[str, ...]
    sentence: str
    hint: str
    kind: type[RunProblem] = RunProblem


MESSAGES = (
    # Reaching a broker.
    ErrorMessage(
        ("_TRANSPORT", "_ALL_BROKERS_DOWN"),
        "cannot connect to {broker}{for_table}",
        "start the broker, or correct its address (bootstrap_servers)",
        Unreached,
    ),
    ErrorMessage(
        ("_RESOLVE",),
        "the host name in {servers}{of_table} is not known",
        "correct the broker's address (bootstrap_servers)",
    ),
    ErrorMessage(
        ("_SSL",),
        "cannot connect by TLS to {broker}{for_table}",
        "check the port, and ssl.ca.location in 'client_configs'",
    ),
    ErrorMessage(
        (SILENT_PORT,),
        "connected to {servers}{for_table}, but no Kafka broker answers there",
        "the port may be for clients that log in or use TLS: check 'auth.type' and "
        "'auth.protocol'",
        Unreached,
    ),
    ErrorMessage(
        (
            *("_TIMED_OUT", "_TIMED_OUT_QUEUE", "REQUEST_TIMED_OUT"),
            *("NETWORK_EXCEPTION", "_WAIT_CACHE"),
            *sorted(GROUP_OPENING),
            *sorted(PARTITION_OPENING - {"UNKNOWN_TOPIC_OR_PART"}),
        ),
        "{broker} does not answer{for_table}",
        "it may be down or starting: try again once it is up",
        Unreached,
    ),
    # Who the client is, and what it may do.
    ErrorMessage(
        (UNEXPECTED_LOGIN,),
        "{broker} does not expect the login{of_table}",
        "check the port, 'auth.type' and 'auth.mechanism'",
        AccessRefused,
    ),
    ErrorMessage(
        ("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED"),
        "{broker} refuses the login{of_table}: wrong credentials",
        "check the user's name and the password",
        AccessRefused,
    ),
    ErrorMessage(
        ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"),
        "{broker} does not allow {user} to {action} {topic}",
        "grant the user {permission} on the topic",
        AccessRefused,
    ),
    ErrorMessage(
        ("GROUP_AUTHORIZATION_FAILED",),
        "{broker} does not allow {user} to read the consumer group",
        "grant the user Read on the group; those of a sink that writes exactly once "
        "begin with 'arroyo-'",
        AccessRefused,
    ),
    ErrorMessage(
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED",),
        "{broker} does not allow {user} to write in transactions",
        "grant the user Write on transactional ids and Read on groups that begin with "
        "'arroyo-'; or leave 'sink.commit_mode' = 'exactly_once' out",
        AccessRefused,
    ),
    # The topic.
    ErrorMessage(
        ("_UNKNOWN_TOPIC", "UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_PARTITION"),
        "{topic} was deleted, or has lost partitions",
        "create it again; a topic of the same name is another one, so a run with a "
        "state folder needs a new folder",
    ),
    ErrorMessage(
        ("TOPIC_ALREADY_EXISTS",),
        "{topic} already exists at {servers}",
        "choose another name, or use the topic as it is",
    ),
    ErrorMessage(
        ("TOPIC_EXCEPTION",),
        "no topic can have the name '{name}'",
        "use at most 249 letters, digits, dots, underscores and hyphens",
    ),
    ErrorMessage(
        ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"),
        "records of {topic} were deleted before they were read",
        "begin again at the oldest record that is left: 'earliest'",
    ),
    # Writing.
    ErrorMessage(
        ("_MSG_TIMED_OUT",),
        "{broker} did not take the records for {topic} in time",
        "it may be down: try again once it is up; a run with a state folder resumes "
        "from its checkpoint",
        Unreached,
    ),
    ErrorMessage(
        ("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"),
        "a record is larger than {topic} takes",
        "if the topic takes more, set client_configs = 'message.max.bytes=...' in the "
        "table that it is written by",
    ),
    ErrorMessage(
        ("_FENCED", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "FENCED_INSTANCE_ID"),
        "another process writes to {topic} in the name of this run",
        "it resumed from a copy of the state folder, or a transaction was open for "
        "longer than the broker waits; resume once the other process has ended",
    ),
    ErrorMessage(
        ("INVALID_TRANSACTION_TIMEOUT",),
        "{broker} does not allow a transaction{of_table} to be open for so long",
        "set client_configs = 'transaction.timeout.ms=...', at most the broker's "
        "transaction.max.timeout.ms; a batch must not take longer",
    ),
)
"""Every message about an error of the client. Each name stands once."""

_BY_NAME: Mapping[str, ErrorMessage] = {
    name: message for message in MESSAGES for name in message.errors
}


def named_problem(name: str, subject: ErrorSubject) -> RunProblem:
    """The message for an error, by its name; what is not in the table is named."""
    words = subject.words
    message = _BY_NAME.get(name)
    if message is None:
        return RunProblem(
            "cannot {action} {topic}".format_map(words) + f": {name}",
            hint="Kafka's documentation explains the error of this name",
        )
    sentence, hint = message.sentence.format_map(words), message.hint.format_map(words)
    return message.kind(sentence, hint=hint)


def problem(error: Any, subject: ErrorSubject) -> RunProblem:
    """The message for an error of the client.

    Parameters
    ----------
    error
        A ``KafkaError``, an exception that carries one, or a ``TimeoutError``.
    subject
        What the message is about.
    """
    if isinstance(error, Exception):
        # A future that got no answer in time has no error of Kafka's.
        error = error.args[0] if error.args else None
    if not hasattr(error, "name"):
        return named_problem("_TIMED_OUT", subject)
    name = str(error.name())
    # The client knows of more errors that pass than the table names.
    if name not in _BY_NAME and error.retriable():
        name = "_TIMED_OUT"
    return named_problem(name, subject)


def connection_fault(heard: Mapping[str, str]) -> str | None:
    """Why no broker answers, as a name of :data:`MESSAGES`; None: nothing says why.

    Parameters
    ----------
    heard
        Errors that the client reported beside the request, by name, with its text.
    """
    # A broker that expects no login breaks off the handshake; librdkafka names that as
    # it names a wrong password.
    if "handshake failed" in heard.get("_AUTHENTICATION", ""):
        return UNEXPECTED_LOGIN
    # The most exact first: each of them is followed by _TRANSPORT and
    # _ALL_BROKERS_DOWN, which say less.
    for name in ("_AUTHENTICATION", "_RESOLVE", "_SSL"):
        if name in heard:
            return name
    return "_SSL" if "SSL" in heard.get("_TRANSPORT", "") else None


def missing_topic(subject: ErrorSubject, known: Iterable[str]) -> RunProblem:
    """A topic is not there.

    Parameters
    ----------
    subject
        The topic.
    known
        The topics that are there, for one that may be meant.
    """
    words = subject.words
    # Kafka's own topics begin so, and are not meant.
    known = [name for name in known if not name.startswith("__")]
    return RunProblem(
        "{topic} does not exist at {servers}".format_map(words),
        hint=nearest(subject.topic, known) or _known_or_new(subject.topic, known),
    )


def _known_or_new(topic: str, known: Iterable[str]) -> str:
    listed = did_you_mean(topic, known)
    return "; or ".join(filter(None, (listed, create_topic_hint(topic))))


def create_topic_hint(topic: str) -> str:
    """How to create a topic."""
    return (
        f"create it first: kafka-topics.sh --create --topic {topic}; at the broker of "
        f"'arroyo-nb kafka start' arroyo-nb kafka create {topic}, at that of a "
        f"notebook session.broker.create_topic('{topic}')"
    )


def deleted_topic(topic: str, table: str) -> RunProblem:
    """The topic of a run was deleted, and may have been created again since."""
    return RunProblem(
        f"the topic '{topic}' of the table '{table}' was deleted",
        hint="a topic of the same name is another one: start afresh, with another "
        "state folder",
    )


def refused_settings(
    subject: ErrorSubject, given: Mapping[str, Any], error: Exception
) -> RunProblem:
    """A client refuses its settings. The message names those that the client's text
    names; the text itself may quote their values, which may be secret."""
    words = set(_NAME.findall(str(error)))
    blamed = ", ".join(name for name in given if name in words)
    return RunProblem(
        f"{subject.words['client']} refuses its settings{blamed and f': {blamed}'}",
        hint="check 'client_configs'",
    )


_NAME = re.compile(r"\w+(?:\.\w+)*")


def missing_client() -> RunProblem:
    """The package with librdkafka's client is not installed."""
    return RunProblem(
        "Kafka needs the package confluent-kafka, which is not installed",
        hint="pip install 'arroyo-nb[kafka]'",
    )
