"""One connection to a NATS server, and its errors in our words.

The client library lives in an event loop, which has a thread of its own here. It never
connects again by itself, as whoever uses a connection decides that.
"""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import TimeoutError as NoAnswerInTime
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from arroyo_nb.errors import CatalogProblem, RunProblem, Unreached
from arroyo_nb.feeds.message_server import MessageServer

if TYPE_CHECKING:
    from arroyo_nb.connectors import TableSpec
    from arroyo_nb.feeds.connectors.nats._informed_client import InformedClient

CONNECT_S, ANSWER_S = 4.0, 10.0
"""How long a connection may take, and an answer of the server."""

PING_S = 5
"""How often the server is asked whether it is still there; one that does not answer
until the next time is given up."""

CLOSE_S = 0.8

LOOK_S = 0.1

_TLS = "tls://"
_SCHEMES = ("nats://", _TLS)
_HOST = re.compile(r"[\w.-]+(?::\d{1,5})?\Z")
_LOGIN = re.compile(r"(?<=://)[^/]*@|^[^/:]*:[^/]*@")
_REFUSED = re.compile(
    r"authorization|authentication|permissions violation|revoked", re.I
)

T = TypeVar("T")


@dataclass(frozen=True)
class Servers(MessageServer):
    """The servers of a table, and who a client is to them.

    Parameters
    ----------
    table, shown
        As of :class:`~arroyo_nb.feeds.message_server.MessageServer`.
    addresses
        URLs; the first one that answers is used.
    username, password
        Of a login by password; None: there is none.
    jwt, seed
        Of a login by JWT; None: there is none.
    """

    kind = "NATS"
    address_options = "the option 'servers'"

    addresses: tuple[str, ...]
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)
    seed: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, spec: TableSpec) -> Servers:
        """The servers of a table, its variables resolved."""
        options = spec.options
        kind = options.get("auth.type")

        def text(name: str, wanted: str) -> str | None:
            return str(options[name]) if kind == wanted else None

        return cls(
            spec.name,
            spec.shown("servers"),
            addresses(str(options["servers"])),
            text("auth.username", "credentials"),
            text("auth.password", "credentials"),
            text("auth.jwt", "jwt"),
            text("auth.nkey_seed", "jwt"),
        )

    def problem(self, problem: BaseException | None) -> RunProblem:
        """What the client library says, in our words."""
        if isinstance(problem, RunProblem):
            return problem
        if isinstance(problem, ssl.SSLCertVerificationError):
            hint = "look at the host in 'servers'"
            return self.refusal("cannot be trusted by", problem.verify_message, hint)
        why = getattr(problem, "strerror", None) or str(problem or "")
        why = why.removeprefix("nats: ").strip("'")
        if _REFUSED.search(why):
            hint = "look at 'auth.type' and the options of the login, and at what it "
            return self.refusal("refuses", why, f"{hint}may read and write")
        if isinstance(problem, TimeoutError) or not why:
            why = "it does not answer"
        return self.away(why)

    def login(self) -> dict[str, Any]:
        """The settings of a client that say who it is."""
        if self.username is not None:
            return {"user": self.username, "password": self.password}
        if self.jwt is None:
            return {}
        jwt = self.jwt.encode()
        return {"user_jwt_cb": lambda: bytearray(jwt), "signature_cb": self._sign}

    def _sign(self, nonce: str) -> bytes:
        import nkeys

        assert self.seed is not None, "there is no JWT without it"
        try:
            signature = nkeys.from_seed(self.seed.encode()).sign(nonce.encode())
        except Exception:
            # Its text may have the seed.
            raise self.refusal(
                "cannot be told by", "the option 'auth.nkey_seed' is no seed of a user"
            ) from None
        return base64.urlsafe_b64encode(signature).rstrip(b"=")


def addresses(servers: str) -> tuple[str, ...]:
    """The addresses of an option.

    Raises
    ------
    CatalogProblem
        When one is none; a login in it is not quoted.

    >>> addresses("one:4222, tls://two")
    ('nats://one:4222', 'tls://two')
    """
    found = []
    for one in (part.strip() for part in servers.split(",")):
        if "@" in one:
            raise CatalogProblem(
                f"the address '{_LOGIN.sub('', one)}' has a login in it",
                hint="write 'auth.type' = 'credentials' with 'auth.username' and "
                "'auth.password'",
            )
        url = one if one.startswith(_SCHEMES) else f"{_SCHEMES[0]}{one}"
        if not _HOST.match(url.partition("://")[2]):
            raise CatalogProblem(
                f"the address '{one}' is not one of NATS",
                hint="write host:4222, or tls://host:4222, with commas between",
            )
        found.append(url)
    return tuple(found)


class ClosingLoop(asyncio.SelectorEventLoop):
    """An event loop that ends the connections which its coroutines leave open: the
    library does where it cannot log in."""

    def __init__(self) -> None:
        super().__init__()
        self._opened: list[asyncio.BaseTransport] = []

    async def create_connection(self, *args: Any, **settings: Any) -> Any:
        """Connect, and know it."""
        made = await super().create_connection(*args, **settings)
        self._opened.append(made[0])
        return made

    def end(self) -> None:
        """End the coroutines and connections that are left, and close the loop; it does
        not run."""
        # What is asked for meanwhile becomes a task too.
        while left := asyncio.all_tasks(self):
            for task in left:
                task.cancel()
            self.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        for transport in self._opened:
            if isinstance(transport, asyncio.Transport):
                transport.abort()
        # It is the next turn that closes their sockets.
        self.run_until_complete(asyncio.sleep(0))
        self.close()


class NatsClient:
    """A client that is connected.

    Parameters
    ----------
    servers
        Where to.
    on_lost
        Is called when the connection is lost, on the thread of the event loop.
    on_slow
        Is called for each message that the library has left out.

    Raises
    ------
    Unreached
        When no server answers.
    RunProblem
        When one refuses.
    """

    def __init__(
        self,
        servers: Servers,
        *,
        on_lost: Callable[[], None] = lambda: None,
        on_slow: Callable[[], None] = lambda: None,
    ) -> None:
        self.servers = servers
        self.failure: RunProblem | None = None
        self._refusals: dict[str, asyncio.Event] = {}
        self._on_lost, self._on_slow = on_lost, on_slow
        self._closing = False
        self._client: InformedClient | None = None
        self._failed: asyncio.Future[Exception] | None = None
        self._loop = ClosingLoop()
        self._thread = threading.Thread(
            target=self._run, name=f"nats {servers.shown}", daemon=True
        )
        self._thread.start()
        try:
            self.call(self._connect(), 2 * CONNECT_S)
        except BaseException:
            self._end()
            raise

    @property
    def client(self) -> InformedClient:
        """The library's client; used in the event loop only."""
        assert self._client is not None, "it is connected"
        return self._client

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.end()

    def call(self, work: Coroutine[Any, Any, T], timeout_s: float = ANSWER_S) -> T:
        """What a coroutine gives, in the event loop.

        Raises
        ------
        Unreached, RunProblem
            In place of the library's errors.
        """
        from nats.errors import Error

        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        until_s = time.monotonic() + timeout_s
        # What waits for an answer is not told that the connection is lost.
        while self.failure is None and time.monotonic() < until_s:
            if wait([future], LOOK_S).done:
                break
        try:
            return future.result(0)
        except NoAnswerInTime as problem:
            future.cancel()
            raise self.failure or self.servers.problem(problem) from problem
        except (Error, OSError) as problem:
            raise self.failure or self.servers.problem(problem) from problem

    async def unless_refused(self, work: Awaitable[T], subject: str) -> T | None:
        """What an answer gives, in the event loop; None where the login may not ask.

        Parameters
        ----------
        work
            Waits for the answer. Nobody would tell it of a refusal, which is sent to
            the connection.
        subject
            Where it asks, in lower case. A refusal that names it does not end the
            connection.
        """
        refused = self._refusals[subject] = asyncio.Event()
        asking = asyncio.ensure_future(work)
        hearing = asyncio.ensure_future(refused.wait())
        try:
            await asyncio.wait((asking, hearing), return_when=asyncio.FIRST_COMPLETED)
            return await asking if asking.done() else None
        finally:
            asking.cancel()
            hearing.cancel()

    async def _connect(self) -> None:
        problem: BaseException | None = None
        for address in self.servers.addresses:
            try:
                await asyncio.wait_for(self._connect_to(address), CONNECT_S)
            except Exception as found:
                # A server that refuses says more than one that is away.
                said = self.servers.problem(found)
                if problem is None or not isinstance(said, Unreached):
                    problem = said
            else:
                return
        raise problem or self.servers.away("there is no address")

    async def _connect_to(self, address: str) -> None:
        from arroyo_nb.feeds.connectors.nats._informed_client import InformedClient

        is_encrypted = address.startswith(_TLS)
        client = InformedClient(partial(self._check_info, is_encrypted))
        # The library would try again and again, and tells only its callback why.
        self._failed = asyncio.get_running_loop().create_future()
        settings: dict[str, Any] = {
            "error_cb": self._heard,
            "closed_cb": self._closed,
            "allow_reconnect": False,
            "connect_timeout": CONNECT_S,
            "ping_interval": PING_S,
            "max_outstanding_pings": 1,
            "name": f"arroyo-nb {self.servers.table}",
            **self.servers.login(),
        }
        if is_encrypted:
            settings["tls"] = ssl.create_default_context()
        connecting = asyncio.ensure_future(client.connect([address], **settings))
        either: set[asyncio.Future[Any]] = {connecting, self._failed}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not connecting.done():
                raise self._failed.result()
            await connecting
        except BaseException:
            connecting.cancel()
            # Its end waits for a server that has let go already.
            with suppress(Exception):
                await asyncio.wait_for(client.close(), CLOSE_S)
            raise
        finally:
            self._failed = None
        self._client = client

    def _check_info(self, is_encrypted: bool, info: Mapping[str, Any]) -> None:
        if is_encrypted and not info.get("tls_required"):
            raise self.servers.refusal(
                "does not encrypt the connection of",
                "its 'servers' say tls://",
                "look at the settings of the server, or at who is between",
            )

    async def _heard(self, problem: Exception) -> None:
        from nats.errors import SlowConsumerError

        if self._failed is not None:
            if not self._failed.done():
                self._failed.set_result(problem)
        elif isinstance(problem, SlowConsumerError):
            self._on_slow()
        elif refused := self._refused(str(problem).lower()):
            refused.set()
        else:
            self._lose(problem)

    def _refused(self, said: str) -> asyncio.Event | None:
        return next((e for name, e in self._refusals.items() if name in said), None)

    async def _closed(self) -> None:
        # One that never was connected is no loss.
        if self._client is not None:
            self._lose(self._client.last_error)

    def _lose(self, problem: BaseException | None) -> None:
        if self._closing or self.failure is not None:
            return
        self.failure = (
            self.servers.problem(problem)
            if problem is not None
            else self.servers.away("the connection was lost")
        )
        self._on_lost()

    def check(self) -> None:
        """Raise why the connection was lost, if it was.

        Raises
        ------
        Unreached, RunProblem
            As of the constructor.
        """
        if self.failure is not None:
            raise self.failure

    async def flush(self, timeout_s: int = int(ANSWER_S)) -> None:
        """Wait until the server has had everything that was sent."""
        # The library's ping overtakes what waits to be sent; that is gone before the
        # second one.
        for _ in range(2):
            await self.client.flush(timeout_s)

    def soon(self, work: Callable[[], Awaitable[Any]]) -> None:
        """Have a coroutine run, and wait for nothing; what it raises is dropped: a
        connection that is lost says so by itself."""

        async def run() -> None:
            with suppress(Exception):
                await work()

        running = run()
        try:
            asyncio.run_coroutine_threadsafe(running, self._loop)
        except RuntimeError:  # the loop has ended
            running.close()

    def close(self) -> None:
        """Disconnect."""
        self._closing = True
        with suppress(RunProblem):
            self.call(self.client.close(), CLOSE_S)
        self._end()

    def _end(self) -> None:
        if not self._loop.is_closed():
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
