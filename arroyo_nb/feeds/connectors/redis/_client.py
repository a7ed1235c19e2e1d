"""The client of a Redis server, or of a cluster of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from arroyo_nb.with_options import OptionValue

TIMEOUT_S = 2.0
"""How long a server may take to answer. One that does not is told, and not asked again:
it hangs, and everybody would wait for it several times."""

PASSWORD = re.compile(r"(?<=://)[^/]*@")


def addresses(options: Mapping[str, OptionValue]) -> tuple[str, ...]:
    """The URLs of a table: of one server, or of nodes of a cluster."""
    given = str(options.get("address", options.get("cluster.addresses")))
    parts = given.split(",") if "address" not in options else [given]
    return tuple(part.strip() for part in parts)


def make_client(
    addresses: tuple[str, ...],
    *,
    is_cluster: bool,
    username: str | None,
    password: str | None,
    tries: int,
    timeout_s: float = TIMEOUT_S,
) -> Any:
    """A client that connects when it is first asked.

    Parameters
    ----------
    addresses
        URLs; several are nodes of one cluster.
    is_cluster
        Whether it is one.
    username, password
        Where they are not in the URL.
    tries
        How often it tries again to connect.
    timeout_s
        How long an answer may take.
    """
    import redis

    settings: dict[str, Any] = {
        "retry": _retry(tries),
        "socket_timeout": timeout_s,
        "socket_connect_timeout": TIMEOUT_S,
        **({"username": username} if username else {}),
        **({"password": password} if password else {}),
    }
    first, *others = addresses
    if not is_cluster:
        return redis.Redis.from_url(first, **settings)
    # Whichever of them answers tells the others.
    urls = map(redis.connection.parse_url, others)
    nodes = [redis.cluster.ClusterNode(u["host"], u.get("port", 6379)) for u in urls]
    return redis.RedisCluster(url=first, startup_nodes=nodes, **settings)


def _retry(tries: int) -> Any:
    """Tries again to connect, more and more seldom; a login that was refused it gives
    up at once."""
    from redis import exceptions
    from redis.backoff import ExponentialBackoff
    from redis.retry import Retry

    class Refused(Exception):
        """Passes the library, for which a refusal is a connection that was lost."""

        def __init__(self, problem: Exception) -> None:
            self.problem = problem

    class RetryUnlessRefused(Retry):  # type: ignore[misc]
        def call_with_retry(
            self, do: Callable[[], Any], *rest: Any, **more: Any
        ) -> Any:
            def once() -> Any:
                try:
                    return do()
                except exceptions.AuthenticationError as problem:
                    raise Refused(problem) from None

            try:
                return super().call_with_retry(once, *rest, **more)
            except Refused as refused:
                raise refused.problem from None

    backoff = ExponentialBackoff(cap=1.0, base=0.05)
    return RetryUnlessRefused(backoff, tries, (exceptions.ConnectionError,))


def is_away(problem: Exception) -> bool:
    """Whether nobody answers; a server that refuses who logs in does."""
    from redis import exceptions

    if isinstance(problem, exceptions.RedisClusterException):
        return "cannot be connected" in str(problem)
    refused = (exceptions.AuthenticationError, exceptions.AuthorizationError)
    away = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)
    return isinstance(problem, away) and not isinstance(problem, refused)


def login_hint(problem: Exception) -> str | None:
    """What to look at when the server refuses who logs in, or what the login does;
    None: it is another refusal."""
    from redis import exceptions

    logins = (
        exceptions.AuthenticationError,
        exceptions.AuthenticationWrongNumberOfArgsError,
    )
    if isinstance(problem, logins):
        return "look at the options 'username' and 'password'"
    if isinstance(problem, exceptions.NoPermissionError):
        return (
            "look at the option 'username', and at the commands and keys that the "
            "login may use (ACL GETUSER)"
        )
    return None


def is_busy(problem: Exception) -> bool:
    """Whether a server answers that it cannot write for now: it has no memory left, is
    a replica, or somebody else writes the same."""
    from redis import exceptions

    passing = (
        exceptions.BusyLoadingError,
        exceptions.ClusterDownError,  # and MasterDownError
        exceptions.OutOfMemoryError,
        exceptions.ReadOnlyError,
        exceptions.TryAgainError,
        exceptions.WatchError,
    )
    return isinstance(problem, passing)
