"""Values of Redis by key, for a lookup join.

A lookup table is read by MGET, one round trip for the keys of an Arrow batch. Each
Python worker of Spark has a connection of its own, made when it first asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds.connectors.redis._client import is_away, login_hint, make_client

TRIES = 6
"""How often one that refuses, or breaks off, is tried again: some three seconds in
all."""


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
            try:
                values: list[bytes | None] = many(keys)
            except BaseException:
                # The cache forgets it, and nobody else would end its connection.
                client.close()
                raise
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
            if is_away(problem):
                start = "start it, or look at 'address' or 'cluster.addresses'"
                raise Unreached(f"{told}: {why}", hint=start) from problem
            hint = login_hint(problem)
            raise RunProblem(f"{told}: {why}", hint=hint) from problem


@cache
def _client(asker: RedisAsker) -> Any:
    """The connection of this process."""
    return make_client(
        asker.addresses,
        is_cluster=asker.is_cluster,
        username=asker.username,
        password=asker.password,
        tries=TRIES,
    )
