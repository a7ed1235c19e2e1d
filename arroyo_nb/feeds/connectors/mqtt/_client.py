"""One client of an MQTT broker: it connects, and tells what went wrong in our words.

MQTT 5 is spoken where the broker knows it, else 3.1.1. The client library receives and
sends on a thread of its own; it never connects again by itself, as whoever uses a
client decides that.
"""

from __future__ import annotations

import secrets
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from arroyo_nb.errors import CatalogProblem, RunProblem, Unreached
from arroyo_nb.feeds.message_server import MessageServer
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode

    from arroyo_nb.connectors import TableSpec

CONNECT_S, ANSWER_S = 4.0, 10.0
"""How long a connection may take, and an answer of the broker."""

CLOSE_S = 0.8

KEEP_ALIVE_S = 10
"""How often the broker is asked whether it is still there, where nothing else is
sent. One that does not answer is given up after twice as long."""

SESSION_S = 24 * 3600
"""How long the broker keeps messages for a client that is away."""

RECEIVE_MAXIMUM = 20_000
"""How many messages the broker may send before one is acknowledged; it may allow
fewer."""

_PORTS = {"mqtt": 1883, "tcp": 1883, "mqtts": 8883, "ssl": 8883}
_TLS = ("mqtts", "ssl")
URL_HINT = "write mqtt://host:port, or mqtts:// for TLS"

_OLD_VERSION = 132
_BAD_LOGIN = (134, 135, 138, 140)
"""Reason codes of MQTT 5; the library translates those of 3.1.1."""

_LASTING = (
    *(130, 133, 142),
    *(143, 144, 149, 153, 154, 155, 157, 158),
)
"""Reasons that come again with the next connection: protocol errors, names, sizes."""

_TAKEN_OVER = 142


@dataclass(frozen=True)
class Broker(MessageServer):
    """A broker, and who a client is to it.

    Parameters
    ----------
    table, shown
        As of :class:`~arroyo_nb.feeds.message_server.MessageServer`.
    host, port, tls
        Where it is, and whether the connection is encrypted.
    username, password
        Of the login; None: there is none.
    ca, certificate, key
        Files of TLS; None: those of the system, and no certificate of the client.
    prefix
        What the names of clients begin with.
    max_packet_bytes
        The largest message; None: there is no limit.
    """

    kind = "the MQTT broker"
    address_options = "the option 'url'"

    host: str
    port: int
    tls: bool
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = None
    certificate: str | None = None
    key: str | None = field(default=None, repr=False)
    prefix: str = "arroyo-nb"
    max_packet_bytes: int | None = None

    @classmethod
    def of(cls, spec: TableSpec) -> Broker:
        """The broker of a table, its variables resolved."""
        options = spec.options

        def text(name: str) -> str | None:
            return None if name not in options else str(options[name])

        scheme, host, port = split_url(str(options["url"]))
        check_tls(scheme, options)
        limit = options.get("max_packet_size")
        return cls(
            table=spec.name,
            shown=spec.shown("url"),
            host=host,
            port=port,
            tls=scheme in _TLS,
            username=text("username"),
            password=text("password"),
            ca=text("tls.ca"),
            certificate=text("tls.cert"),
            key=text("tls.key"),
            prefix=text("client_prefix") or cls.prefix,
            max_packet_bytes=None if limit is None else int(str(limit)),
        )

    def client_id(self) -> str:
        """A new name of a client."""
        return f"{self.prefix}-{secrets.token_hex(8)}"

    def problem(self, reason: ReasonCode) -> RunProblem:
        """The error for a connection that the broker refuses or ends."""
        why = str(reason)
        if reason.value in _BAD_LOGIN:
            hint = "look at the options 'username' and 'password'"
            return self.refusal("refuses the login of", why, hint)
        if reason.value == _TAKEN_OVER:
            hint = "stop the other run of the same state folder"
            return self.refusal("lets another client take the place of", why, hint)
        if reason.value in _LASTING:
            return self.refusal("refuses", why)
        return self.away(why)

    def tls_context(self) -> ssl.SSLContext:
        """How the connection is encrypted.

        Raises
        ------
        RunProblem
            When a file of the options cannot be used.
        """
        try:
            context = ssl.create_default_context(cafile=self.ca)
            context.sslsocket_class = TlsSocket
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as problem:
            why = getattr(problem, "strerror", None) or str(problem)
            raise RunProblem(
                f"the certificates of the table '{self.table}' cannot be used: {why}",
                hint="look at the options 'tls.ca', 'tls.cert' and 'tls.key'",
            ) from problem
        return context


def split_url(url: str) -> tuple[str, str, int]:
    """The scheme, the host and the port of a broker's URL.

    Raises
    ------
    CatalogProblem
        When it is none; the URL is not quoted, as it may have a password.

    >>> split_url("mqtts://broker.example")
    ('mqtts', 'broker.example', 8883)
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise CatalogProblem("'url' is not a URL", hint=URL_HINT) from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise CatalogProblem("'url' is not the URL of an MQTT broker", hint=URL_HINT)
    if "@" in parts.netloc:
        raise CatalogProblem(
            "'url' has a login in it",
            hint="write username and password as options, best as '{{ VARIABLE }}'",
        )
    return parts.scheme, parts.hostname, port or _PORTS[parts.scheme]


def check_tls(scheme: str, options: Mapping[str, OptionValue]) -> None:
    """Make sure that options of TLS are not given for a connection in clear.

    Raises
    ------
    CatalogProblem
        When they are.
    """
    given = next((name for name in options if name.startswith("tls.")), None)
    if given is not None and scheme not in _TLS:
        raise CatalogProblem(
            f"'{given}' is set, and 'url' is not of an encrypted connection",
            hint="write mqtts://host:port",
        )


class TlsSocket(ssl.SSLSocket):
    """A socket that is closed where the handshake fails: the library leaves it open."""

    def do_handshake(self, block: bool = False) -> None:
        """Agree on how the connection is encrypted."""
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


class MqttClient:
    """A client that is connected.

    Parameters
    ----------
    broker
        Where to.
    client_id
        Its name.
    keeps_session
        Whether the broker keeps messages for it while it is away.
    is_old
        Whether it speaks MQTT 3.1.1 only.
    topic
        What it subscribes to, with its QoS; None: nothing.
    on_message
        Is given each message, on the library's thread.
    on_lost
        Is called when the connection is lost.

    Raises
    ------
    Unreached
        When the broker does not answer.
    RunProblem
        When it refuses.
    """

    def __init__(
        self,
        broker: Broker,
        client_id: str,
        *,
        keeps_session: bool = False,
        is_old: bool = False,
        topic: tuple[str, int] | None = None,
        on_message: Callable[[MQTTMessage], None] | None = None,
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        from paho.mqtt.client import MQTTv5, MQTTv311
        from paho.mqtt.enums import CallbackAPIVersion

        from arroyo_nb.feeds.connectors.mqtt._reporting_client import ReportingClient

        self.broker = broker
        self.is_old = is_old
        self.has_session = False
        self.limits: dict[str, Any] = {}
        self._keeps_session = keeps_session
        self._changed = threading.Condition()
        self._answer: ReasonCode | None = None
        self._failure: RunProblem | None = None
        self._topic = topic
        self._is_subscribed = False
        self._closing = False
        self._on_message, self._on_lost = on_message, on_lost
        self.client = ReportingClient(
            CallbackAPIVersion.VERSION2,
            client_id=client_id,
            clean_session=not keeps_session if is_old else None,
            protocol=MQTTv311 if is_old else MQTTv5,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        self.client.on_failure = self._broken
        self.client.connect_timeout = CONNECT_S
        # Who publishes counts: how many the broker takes is known when it answers.
        self.client.max_inflight_messages_set(0)
        if broker.username is not None:
            self.client.username_pw_set(broker.username, broker.password)
        if broker.tls:
            self.client.tls_set_context(broker.tls_context())
        self.client.on_connect = self._connected
        self.client.on_subscribe = self._subscribed
        self.client.on_disconnect = self._disconnected
        if on_message is not None:
            self.client.on_message = self._received
        self._connect()

    def _connect(self) -> None:
        began_s = time.monotonic()
        settings = {} if self.is_old else self._settings()
        try:
            self.client.connect(
                self.broker.host, self.broker.port, KEEP_ALIVE_S, **settings
            )
        except ssl.SSLCertVerificationError as problem:
            raise self.broker.refusal(
                "cannot be trusted by",
                problem.verify_message,
                "look at the host in 'url' and at 'tls.ca'",
            ) from problem
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or str(problem)
            raise self.broker.away(why) from problem
        self.client.loop_start()
        try:
            self._await_answer(began_s + CONNECT_S)
        except RunProblem:
            self.close()
            raise

    def _settings(self) -> dict[str, Any]:
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        asked = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        asked.SessionExpiryInterval = SESSION_S if self._keeps_session else 0
        asked.ReceiveMaximum = RECEIVE_MAXIMUM
        if self.broker.max_packet_bytes is not None:
            asked.MaximumPacketSize = self.broker.max_packet_bytes
        return {"clean_start": not self._keeps_session, "properties": asked}

    def _await_answer(self, until_s: float) -> None:
        with self._changed:
            wait_s = max(0.1, until_s - time.monotonic())
            self._changed.wait_for(lambda: self._answer or self._failure, wait_s)
            if self._answer is None:
                raise self._failure or self.broker.away("it does not answer")
            if self._answer.is_failure:
                if self._answer.value == _OLD_VERSION and not self.is_old:
                    raise OldBroker(self.broker.away("it speaks MQTT 3.1.1").message)
                raise self.broker.problem(self._answer)

    def await_subscription(self, is_busy: Callable[[], bool]) -> None:
        """Wait until the broker has confirmed the subscription.

        Parameters
        ----------
        is_busy
            Whether so many messages are there that they must be taken first: those of a
            session may come before the answer.

        Raises
        ------
        Unreached
            When the connection is lost.
        RunProblem
            When the broker refuses.
        """
        with self._changed:
            known = self._changed.wait_for(
                lambda: self._is_subscribed or self._failure or is_busy(), ANSWER_S
            )
        self.check()
        if not known:
            raise self.broker.away("it does not answer")

    def wake(self) -> None:
        """Have who waits look again."""
        with self._changed:
            self._changed.notify_all()

    @property
    def is_lost(self) -> bool:
        """Whether there is no connection any more."""
        return self._failure is not None

    def check(self) -> None:
        """Raise why the connection was lost, if it was.

        Raises
        ------
        Unreached, RunProblem
            As of the constructor.
        """
        if self._failure is not None:
            raise self._failure

    def close(self, *, forget: bool = False) -> None:
        """Disconnect; ``forget``: the broker keeps no more messages, where MQTT 5 is
        spoken."""
        self._closing = True
        settings = self._forgotten() if forget and not self.is_old else {}
        with suppress(OSError, ValueError):
            self.client.disconnect(**settings)
        # It waits until all is sent, which a broker that hangs does not take.
        stopping = threading.Thread(target=self.client.loop_stop, daemon=True)
        stopping.start()
        stopping.join(CLOSE_S)

    @staticmethod
    def _forgotten() -> dict[str, Any]:
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        told = Properties(PacketTypes.DISCONNECT)  # type: ignore[no-untyped-call]
        told.SessionExpiryInterval = 0
        return {"properties": told}

    def _connected(
        self,
        _client: Client,
        _data: Any,
        flags: Any,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        with self._changed:
            self.has_session = bool(flags.session_present)
            self.limits = properties.json() if properties is not None else {}  # type: ignore[no-untyped-call]
            self._answer = reason
            self._changed.notify_all()
        # Here, so that no message of a session comes between.
        if self._topic is not None and not reason.is_failure:
            self._subscribe(*self._topic)

    def _subscribe(self, topic: str, qos: int) -> None:
        from paho.mqtt.subscribeoptions import SubscribeOptions

        # Messages that the broker retains come once, and not with each connection.
        news = SubscribeOptions(qos, retainHandling=1)
        asked = {"qos": qos} if self.is_old else {"options": news}
        self.client.subscribe(topic, **asked)

    def _received(self, _client: Client, _data: Any, message: MQTTMessage) -> None:
        assert self._on_message is not None, "set where it is"
        self._on_message(message)
        if not self._is_subscribed:
            self.wake()

    def _subscribed(
        self,
        _client: Client,
        _data: Any,
        _mid: int,
        reasons: Sequence[ReasonCode],
        _properties: Properties | None,
    ) -> None:
        refused = next((reason for reason in reasons if reason.is_failure), None)
        if refused is None or self._topic is None:
            self._is_subscribed = True
            self.wake()
        else:
            subject = f"refuses a subscription to '{self._topic[0]}' of"
            hint = "look at the option 'topic', and at what the login may read"
            self._lose(self.broker.refusal(subject, str(refused), hint))

    def _disconnected(
        self,
        _client: Client,
        _data: Any,
        flags: Any,
        reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        said = flags.is_disconnect_packet_from_server
        self._lose(
            self.broker.problem(reason)
            if said
            else self.broker.away("the connection was lost")
        )

    def _broken(self, problem: Exception) -> None:
        """The library's thread has ended: of what the broker sent it made nothing."""
        why = f"it sends what is not MQTT ({type(problem).__name__})"
        self._lose(self.broker.away(why))

    def _lose(self, problem: RunProblem) -> None:
        with self._changed:
            # The first one says the most: what comes behind follows from it.
            if self._failure is None:
                self._failure = problem
            self._changed.notify_all()
        if not self._closing:
            self._on_lost()


class OldBroker(Unreached):
    """A broker that does not speak MQTT 5."""
