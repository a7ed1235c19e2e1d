"""How clients reach the brokers, in the settings of librdkafka and of Java's client.

The dialect has librdkafka's names, as Arroyo uses it. Here two clients need them:
librdkafka asks the brokers before and beside a run, and writes what Spark cannot;
Spark's client, which is Java's, reads the records and writes the others. The tables
below translate a setting or leave it out where only one client has it. A setting that
they do not know is refused, as Spark's client would ignore it in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.kafka.login import (
    JAVA_LOGINS,
    LOGIN_SETTINGS,
    Login,
    login_of_configs,
)
from arroyo_nb.registry import did_you_mean
from arroyo_nb.with_options import OptionValue

_READ_ONLY = ("fetch.", "queued.", "max.partition.fetch.bytes", "check.crcs")
"""Beginnings of the names that only a client that reads knows."""


def _is_read_only(name: str) -> bool:
    return name.startswith(_READ_ONLY)


JAVA_NAMES: Mapping[str, str] = {
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "max.partition.fetch.bytes": "max.partition.fetch.bytes",
    "socket.timeout.ms": "request.timeout.ms",
    "socket.send.buffer.bytes": "send.buffer.bytes",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
    **{
        name: name
        for name in (
            *("check.crcs", "client.dns.lookup", "client.id", "client.rack"),
            *("connections.max.idle.ms", "fetch.max.bytes"),
            *("fetch.min.bytes", "metadata.max.age.ms", "reconnect.backoff.max.ms"),
            *("reconnect.backoff.ms", "retry.backoff.max.ms", "retry.backoff.ms"),
            *("security.protocol", "socket.connection.setup.timeout.ms"),
            *("ssl.endpoint.identification.algorithm", "ssl.key.password"),
        )
    },
}
"""Settings of librdkafka by their names in Java's client, of one that reads."""

LIBRDKAFKA_ONLY = frozenset(
    (
        *("api.version.request", "broker.address.family", "broker.address.ttl"),
        *("broker.version.fallback", "debug", "fetch.error.backoff.ms"),
        *("fetch.queue.backoff.ms", "log.connection.close", "log_level"),
        *("max.in.flight", "message.max.bytes", "queued.max.messages.kbytes"),
        *("queued.min.messages", "receive.message.max.bytes"),
        *("socket.keepalive.enable", "socket.max.fails", "socket.nagle.disable"),
        *("statistics.interval.ms", "topic.metadata.refresh.sparse"),
    )
)
"""Settings that tune librdkafka itself: Java's client has none like them."""

JAVA_WRITER_NAMES: Mapping[str, str] = {
    **{ours: java for ours, java in JAVA_NAMES.items() if not _is_read_only(ours)},
    "compression.codec": "compression.type",
    "message.max.bytes": "max.request.size",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
    **{
        name: name
        for name in (
            *("acks", "batch.size", "compression.type", "delivery.timeout.ms"),
            *("enable.idempotence", "linger.ms", "retries"),
            "max.in.flight.requests.per.connection",
        )
    },
}
"""The same as :data:`JAVA_NAMES`, of a client that writes."""

LIBRDKAFKA_WRITER_ONLY = frozenset(
    (
        *(name for name in LIBRDKAFKA_ONLY if not _is_read_only(name)),
        *("batch.num.messages", "queue.buffering.max.kbytes"),
        *("queue.buffering.max.messages", "sticky.partitioning.linger.ms"),
        "transaction.timeout.ms",
    )
) - set(JAVA_WRITER_NAMES)
"""The same as :data:`LIBRDKAFKA_ONLY`, of a client that writes."""

_FILES: Mapping[str, str] = {
    "ssl.certificate.location": "ssl.keystore.certificate.chain",
    "ssl.key.location": "ssl.keystore.key",
}
"""Files whose text Java's client gets as a setting."""

OWN_OPTIONS: Mapping[str, str] = {
    "auto.offset.reset": "source.offset",
    "bootstrap.servers": "bootstrap_servers",
    "enable.auto.commit": "",
    "enable.auto.offset.store": "",
    "group.id": "source.group_id",
    "isolation.level": "source.read_mode",
    "metadata.broker.list": "bootstrap_servers",
    "partitioner": "",
    "transactional.id": "",
}
"""Settings that a table has an option for, or that a run decides (empty)."""

FETCH_WAIT_MS = 5
"""How long a broker holds back an answer that has no records: by default half a second,
which a record that comes then would wait for."""

_FETCH_WAIT = "fetch.max.wait.ms"


def parse_configs(text: str, *, writes: bool = False) -> dict[str, str]:
    """Parse ``client_configs``: ``k=v`` pairs with commas between.

    Parameters
    ----------
    text
        The option's value.
    writes
        Whether it is a sink's.

    Raises
    ------
    CatalogProblem
        When it is not that, or has a name that is not to be set there.

    >>> parse_configs("client.id=me, fetch.wait.max.ms=10")
    {'client.id': 'me', 'fetch.wait.max.ms': '10'}
    """
    # The value of a variable may have a comma: variables are put in after this.
    pairs = [part.strip() for part in text.split(",") if part.strip()]
    configs = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name = name.strip()
        if not equals or not name:
            raise CatalogProblem(
                "invalid value for 'client_configs': expected pairs of a name and a "
                "value, with commas between",
                hint="write client_configs = 'client.id=me,fetch.min.bytes=1'",
            )
        _check_name(name, writes)
        configs[name] = value.strip()
        if LOGIN_SETTINGS.get(name) == "mechanism" and configs[name] not in JAVA_LOGINS:
            raise CatalogProblem(
                f"the mechanism '{configs[name]}' is not supported",
                hint=f"supported: {', '.join(JAVA_LOGINS)}",
            )
    return configs


def _check_name(name: str, writes: bool) -> None:
    # Set twice, one of the two would win without a word.
    if name in OWN_OPTIONS:
        option = OWN_OPTIONS[name]
        raise CatalogProblem(
            f"'client_configs' cannot set '{name}'",
            hint=f"set '{option}'" if option else "the run decides it",
        )
    ours = (JAVA_NAMES, LIBRDKAFKA_ONLY)
    if writes:
        ours = (JAVA_WRITER_NAMES, LIBRDKAFKA_WRITER_ONLY)
    known = {*ours[0], *ours[1], *_FILES, *LOGIN_SETTINGS}
    if name not in known:
        raise CatalogProblem(
            f"the client config '{name}' has no counterpart in the client of Spark",
            hint=did_you_mean(name, known),
        )


@dataclass(frozen=True)
class Access:
    """How clients reach the brokers.

    Parameters
    ----------
    servers
        ``host:port``, with commas between.
    login
        None where there is none.
    configs
        Further settings, by librdkafka's names.
    """

    servers: str = field(repr=False)
    login: Login | None = None
    configs: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def _protocol(self) -> str:
        configured = self.configs.get("security.protocol", "PLAINTEXT")
        return (self.login.protocol if self.login else configured).upper()

    def for_librdkafka(self) -> dict[str, str]:
        """The settings of a client of librdkafka, before :mod:`arroyo_nb.kafka.client`
        adds those of its role."""
        settings = {
            name: value
            for name, value in self.configs.items()
            if name not in LOGIN_SETTINGS
        }
        settings |= {
            "bootstrap.servers": self.servers,
            "security.protocol": self._protocol,
        }
        if self.login is not None:
            settings |= {
                "sasl.mechanism": self.login.mechanism,
                "sasl.username": self.login.username,
                "sasl.password": self.login.password,
            }
        return settings

    def for_spark(self, *, writes: bool = False) -> dict[str, str]:
        """The options of Spark's source or sink, which passes them to Java's client.

        Raises
        ------
        RunProblem
            When a file of a certificate or a key cannot be read.
        """
        # Before the table's own settings, which may say otherwise.
        settings = {} if writes else {_FETCH_WAIT: str(FETCH_WAIT_MS)}
        names = JAVA_WRITER_NAMES if writes else JAVA_NAMES
        for name, value in self.configs.items():
            # Java's client reads PEM as text only; its files have another format.
            if name in _FILES:
                settings[_FILES[name]] = _text_of(name, value)
            elif name in names:
                settings[names[name]] = value
        settings |= _java_stores(settings)
        # librdkafka says "none" where Java's client wants an empty text.
        if settings.get("ssl.endpoint.identification.algorithm") == "none":
            settings["ssl.endpoint.identification.algorithm"] = ""
        # Last, so that nothing in client_configs can point the client elsewhere.
        settings |= {
            "bootstrap.servers": self.servers,
            "security.protocol": self._protocol,
        }
        if self.login is not None:
            settings["sasl.mechanism"] = self.login.mechanism
            settings["sasl.jaas.config"] = self.login.jaas
        return {f"kafka.{name}": value for name, value in settings.items()}


def _java_stores(names: Iterable[str]) -> dict[str, str]:
    """Settings that say that certificates and keys are texts: by default Java's client
    expects files in formats of its own."""
    stores = ("ssl.truststore", "ssl.keystore")
    used = (store for store in stores if any(n.startswith(store) for n in names))
    return {f"{store}.type": "PEM" for store in used}


def _text_of(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        said = getattr(problem, "strerror", None) or "it is not text"
        raise RunProblem(
            f"the file of the client config '{name}' cannot be read: {said}"
        ) from None


def table_access(
    options: Mapping[str, OptionValue], login: Login | None, configs: Mapping[str, str]
) -> Access:
    """How a table's clients reach its brokers.

    Parameters
    ----------
    options
        Of the table, the variables in them resolved.
    login
        From the table's own options.
    configs
        Its client configs, resolved too; they may have a login.
    """
    login = login or login_of_configs(configs)
    return Access(str(options["bootstrap_servers"]), login, configs)
