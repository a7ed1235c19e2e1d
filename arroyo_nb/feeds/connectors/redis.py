"""``redis``: a key-value store, whose values a stream looks up by key.

A lookup table is read by MGET, one round trip for the keys of an Arrow batch. Each
Python worker of Spark has a connection of its own, made when it first asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from arroyo_nb.connectors import (
    ConnectorBase,
    ConnectorInfo,
    Direction,
    TableSpec,
    Writer,
)
from arroyo_nb.errors import CatalogProblem, RunProblem, Unreached
from arroyo_nb.formats import Framing
from arroyo_nb.schema import TEXT, Schema
from arroyo_nb.tape import Recorder
from arroyo_nb.with_options import Holds, Option, OptionKind, OptionValue

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_S = 2.0
"""How long a server may take to answer. One that does not is told, and not asked again:
it hangs, and everybody would wait for it several times."""

TRIES = 6
"""How often one that refuses, or breaks off, is tried again: some three seconds in
all."""

_PASSWORD = re.compile(r"(?<=://)[^/]*@")
_SCHEMES = ("redis://", "rediss://", "unix://")


@dataclass(frozen=True)
class RedisAsker:
    """Asks a server, or a cluster of them.

    Parameters
    ----------
    table
        Whose rows it finds, for errors.
    shown
        What errors call the server.
    addresses
        URLs; several are nodes of one cluster.
    is_cluster
        Whether it is one.
    username, password
        Where they are not in the URL.
    """

    table: str
    shown: str
    addresses: tuple[str, ...]
    is_cluster: bool
    username: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        # Spark logs what it sends to its workers.
        return f"<RedisAsker {self.table}: {self.shown}>"

    def ask(self, keys: Sequence[str]) -> Sequence[bytes | None]:
        """The value of each key; None where there is none, or what is no string.

        Raises
        ------
        Unreached
            When the server cannot be reached.
        RunProblem
            When it refuses.
        """
        if not keys:
            return []
        with self._told():
            client = _client(self)
            # A cluster has its keys on several servers: one MGET for each.
            many = client.mget_nonatomic if self.is_cluster else client.mget
            values: list[bytes | None] = many(keys)
            return values

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the client raises, in our words."""
        from redis.exceptions import RedisClusterException, RedisError

        try:
            yield
        except (RedisError, RedisClusterException, ValueError, OSError) as problem:
            # The next batch, of a run that is started again, connects anew.
            _client.cache_clear()
            why = str(problem).rstrip(".") or type(problem).__name__
            told = f"the lookup table '{self.table}' cannot ask redis at {self.shown}"
            if _is_away(problem):
                start = "start it, or look at 'address' or 'cluster.addresses'"
                raise Unreached(f"{told}: {why}", hint=start) from problem
            raise RunProblem(f"{told}: {why}") from problem


def _is_away(problem: Exception) -> bool:
    """Whether nobody answers; a server that refuses who logs in does."""
    from redis import exceptions

    if isinstance(problem, exceptions.RedisClusterException):
        return "cannot be connected" in str(problem)
    refused = (exceptions.AuthenticationError, exceptions.AuthorizationError)
    away = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)
    return isinstance(problem, away) and not isinstance(problem, refused)


@cache
def _client(asker: RedisAsker) -> Any:
    """The connection of this process."""
    import redis
    from redis.backoff import ExponentialBackoff
    from redis.retry import Retry

    backoff = ExponentialBackoff(cap=1.0, base=0.05)
    settings: dict[str, Any] = {
        "retry": Retry(backoff, TRIES, supported_errors=(redis.ConnectionError,)),
        "socket_timeout": TIMEOUT_S,
        "socket_connect_timeout": TIMEOUT_S,
        **({"username": asker.username} if asker.username else {}),
        **({"password": asker.password} if asker.password else {}),
    }
    first, *others = asker.addresses
    if not asker.is_cluster:
        return redis.Redis.from_url(first, **settings)
    # Whichever of them answers tells the others.
    urls = map(redis.connection.parse_url, others)
    nodes = [redis.cluster.ClusterNode(u["host"], u.get("port", 6379)) for u in urls]
    return redis.RedisCluster(url=first, startup_nodes=nodes, **settings)


class Redis(ConnectorBase):
    """The connector; its tables are looked up."""

    info = ConnectorInfo(
        name="redis",
        doc="a key-value store that a stream looks values up in",
        directions=frozenset({Direction.LOOKUP}),
        framings=frozenset({Framing.VALUES}),
        metadata=MappingProxyType({"key": TEXT}),
        python_packages=("redis",),
        options=(
            Option(
                "address",
                OptionKind.STRING,
                "URL of a server: redis://host:port/database",
                holds=Holds.ADDRESS,
            ),
            Option(
                "cluster.addresses",
                OptionKind.STRING,
                "URLs of nodes of a cluster, with commas between",
                holds=Holds.ADDRESS,
            ),
            Option("username", OptionKind.STRING, "who connects", in_identity=False),
            Option(
                "password",
                OptionKind.STRING,
                "the password, best as '{{ VARIABLE }}'",
                in_identity=False,
                holds=Holds.SECRET,
            ),
        ),
    )

    def columns(self, options: Mapping[str, OptionValue]) -> Schema | None:
        """None: a value does not say its columns.

        Raises
        ------
        CatalogProblem
            When there is no address, or an address is none.
        """
        if ("address" in options) == ("cluster.addresses" in options):
            raise CatalogProblem(
                "exactly one of 'address' and 'cluster.addresses' must be set",
                hint="write address = 'redis://localhost:6379'",
            )
        for address in _addresses(options):
            if "{{" not in address and not address.startswith(_SCHEMES):
                raise CatalogProblem(
                    f"the address '{_PASSWORD.sub('', address)}' is not a URL of redis",
                    hint="write redis://host:port, or rediss:// for TLS",
                )
        return None

    def asker(self, spec: TableSpec) -> RedisAsker:
        """How values are found.

        Raises
        ------
        RunProblem
            When the client is not installed.
        """
        try:
            import redis  # noqa: F401
        except ImportError:
            raise RunProblem(
                f"the table '{spec.name}' needs the package redis",
                hint="pip install 'arroyo-nb[redis]'",
            ) from None
        cluster = "cluster.addresses" in spec.options
        user, password = (spec.options.get(word) for word in ("username", "password"))
        shown = spec.shown("cluster.addresses" if cluster else "address")
        return RedisAsker(
            spec.name,
            _PASSWORD.sub("", shown),
            _addresses(spec.options),
            cluster,
            None if user is None else str(user),
            None if password is None else str(password),
        )

    def recorder(self, spec: TableSpec) -> Recorder:
        """Refused: Redis is only looked up, never read as a stream."""
        raise RunProblem(f"'{spec.name}' is a lookup table: it cannot be read whole")

    def writer(self, spec: TableSpec, state: Path) -> Writer:  # noqa: ARG002
        """Refused: Redis is only looked up, never written."""
        raise RunProblem(f"'{spec.name}' is a lookup table: it cannot be written")


def _addresses(options: Mapping[str, OptionValue]) -> tuple[str, ...]:
    given = str(options.get("address", options.get("cluster.addresses")))
    parts = given.split(",") if "address" not in options else [given]
    return tuple(part.strip() for part in parts)


CONNECTOR = Redis()
