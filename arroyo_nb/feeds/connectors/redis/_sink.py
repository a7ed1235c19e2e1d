"""Rows as values of Redis: strings, lists, or fields of hashes.

A string or a field that is written again has the same value. What is appended to a list
comes once too, on one server: a batch and its number are written in one transaction, so
a batch that comes again is known. A cluster has its keys on several servers, and a list
there may have rows of such a batch twice.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import RunProblem, StateProblem, Unreached
from arroyo_nb.feeds.connectors.redis._client import (
    PASSWORD,
    addresses,
    is_away,
    is_busy,
    login_hint,
    make_client,
)
from arroyo_nb.feeds.message_server import MessageServer
from arroyo_nb.feeds.payloads import VALUE
from arroyo_nb.sink_notes import Notes

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.connectors import TableSpec

ANSWER_S = 10.0
"""How long the server may take to write a piece."""

MARKER_S = 7 * 24 * 3600
"""How long the number of a list's newest batch is kept."""

KEY, FIELD = "target.key_column", "target.field_column"

_COMMAND = re.compile(r"\ACommand # \d+ \(.*\) of pipeline caused error: ", re.S)
"""What the library puts before an error: the command, which has the row."""


@dataclass(frozen=True)
class Target:
    """What becomes of a row.

    Parameters
    ----------
    kind
        ``string``, ``list`` or ``hash``.
    prefix
        What its key begins with.
    key, field
        The columns behind the prefix, and of a hash's field; None: there is none.
    ttl_s
        For how long a string is kept; None: for ever.
    longest
        How many values a list has at most; None: any number.
    prepends
        Whether the newest value of a list is its first.
    """

    kind: str
    prefix: str
    key: str | None = None
    field: str | None = None
    ttl_s: int | None = None
    longest: int | None = None
    prepends: bool = False

    @classmethod
    def of(cls, spec: TableSpec) -> Target:
        """What a table says."""
        options = spec.options

        def text(name: str) -> str | None:
            return None if name not in options else str(options[name])

        def number(name: str) -> int | None:
            return None if name not in options else int(str(options[name]))

        return cls(
            kind=str(options["target"]),
            prefix=str(options["target.key_prefix"]),
            key=text(KEY),
            field=text(FIELD),
            ttl_s=number("target.ttl_secs"),
            longest=number("target.max_length"),
            prepends=options.get("target.operation") == "prepend",
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs beside the payload."""
        return tuple(dict.fromkeys(c for c in (self.key, self.field) if c is not None))

    def add(self, pipeline: Any, rows: pa.Table) -> None:
        """Add the commands that write rows, in their order."""
        keys, values = list(self._keys(rows)), rows[VALUE].to_pylist()
        if self.kind == "hash":
            assert self.field is not None, "checked with the options"
            names = rows[self.field].to_pylist()
            for key, name, value in zip(keys, names, values, strict=True):
                pipeline.hset(key, name, value)
        elif self.kind == "string":
            for key, value in zip(keys, values, strict=True):
                pipeline.set(key, value, ex=self.ttl_s)
        else:
            self._add_lists(pipeline, keys, values)

    def _add_lists(self, pipeline: Any, keys: list[str], values: list[bytes]) -> None:
        lists: dict[str, list[bytes]] = {}
        for key, value in zip(keys, values, strict=True):
            lists.setdefault(key, []).append(value)
        for key, added in lists.items():
            push = pipeline.lpush if self.prepends else pipeline.rpush
            for start in range(0, len(added), 1_000):
                push(key, *added[start : start + 1_000])
            if self.longest is not None:
                ends = (0, self.longest - 1) if self.prepends else (-self.longest, -1)
                pipeline.ltrim(key, *ends)

    def _keys(self, rows: pa.Table) -> Iterator[str]:
        if self.key is None:
            return iter([self.prefix] * rows.num_rows)
        return (f"{self.prefix}{key}" for key in rows[self.key].to_pylist())


@dataclass(frozen=True)
class Server(MessageServer):
    """A server, or a cluster of them.

    Parameters
    ----------
    table, shown
        As of :class:`~arroyo_nb.feeds.message_server.MessageServer`.
    settings
        Of its client.
    """

    kind = "redis"
    address_options = "'address' or 'cluster.addresses'"

    settings: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, spec: TableSpec) -> Server:
        """Where a table is, its variables resolved."""
        is_cluster = "cluster.addresses" in spec.options
        user, password = (spec.options.get(word) for word in ("username", "password"))
        settings = {
            "addresses": addresses(spec.options),
            "is_cluster": is_cluster,
            "username": None if user is None else str(user),
            "password": None if password is None else str(password),
        }
        shown = spec.shown("cluster.addresses" if is_cluster else "address")
        return cls(spec.name, PASSWORD.sub("", shown), settings)

    @property
    def is_cluster(self) -> bool:
        """Whether its keys are on several servers."""
        return bool(self.settings["is_cluster"])

    def problem(self, problem: Exception) -> RunProblem:
        """What its client raises, in our words."""
        why = _COMMAND.sub("", str(problem)).rstrip(".") or type(problem).__name__
        if is_busy(problem):
            return Unreached(
                f"{self.name} takes no rows of the table '{self.table}' now: {why}",
                hint="look at its memory, and whether 'address' is of the primary",
            )
        if is_away(problem):
            return self.away(why)
        return self.refusal("refuses", why, login_hint(problem))


class Marker:
    """The number of the newest batch that is in the lists of a sink.

    Parameters
    ----------
    notes
        Of the sink's state folder: the key is one of its own, by chance.
    prefix
        What the key begins with: the login may be allowed no other ones.
    """

    def __init__(self, notes: Notes, prefix: str) -> None:
        saved = notes.read()
        if saved is None:
            saved = {"id": secrets.token_hex(8)}
            notes.write(saved)
        self._notes = notes
        self._key = f"{prefix}arroyo-nb:{saved['id']}"
        self._is_first = True

    def has(self, pipeline: Any, batch_id: int) -> bool:
        """Whether a batch is there. What a pipeline writes behind it is refused if
        somebody else writes the number meanwhile.

        Raises
        ------
        StateProblem
            When a later one is: the state folder is an older copy.
        """
        pipeline.watch(self._key)
        found = pipeline.get(self._key)
        newest = -1 if found is None else int(found)
        if newest > batch_id and self._is_first:
            raise StateProblem(
                self._notes.path,
                "is an older copy",
                f"its run goes on with batch {batch_id}, and the sink has batch "
                f"{newest} already",
            )
        self._is_first = False
        return newest >= batch_id

    def add(self, pipeline: Any, batch_id: int) -> None:
        """Add the command that says that a batch is there."""
        pipeline.set(self._key, batch_id, ex=MARKER_S)

    def withdraw(self, client: Any, batch_id: int) -> None:
        """Say that a batch is not there: a transaction goes on behind a command that
        fails."""
        client.set(self._key, batch_id - 1, ex=MARKER_S)


class RedisPublisher:
    """Writes rows, over one connection.

    Parameters
    ----------
    server
        Where to.
    target
        What becomes of them.
    marker
        What makes them come once; None: nothing.
    """

    def __init__(self, server: Server, target: Target, marker: Marker | None) -> None:
        from redis.exceptions import RedisClusterException, RedisError

        self._errors = (RedisError, RedisClusterException, ValueError, OSError)
        self._server = server
        self._target = target
        self._marker = marker
        try:
            self._client = make_client(**server.settings, tries=0, timeout_s=ANSWER_S)
            self._client.ping()
        except self._errors as problem:
            raise server.problem(problem) from problem

    def send(self, rows: pa.Table, batch_id: int) -> None:
        """Write rows in order; returns when the server has all of them."""
        try:
            with self._pipeline() as pipeline:
                if self._marker is not None:
                    if self._marker.has(pipeline, batch_id):
                        return
                    pipeline.multi()
                    self._marker.add(pipeline, batch_id)
                self._target.add(pipeline, rows)
                pipeline.execute()
        except self._errors as problem:
            self._withdraw(problem, batch_id)
            raise self._server.problem(problem) from problem

    def _pipeline(self) -> Any:
        if self._server.is_cluster:
            return self._client.pipeline()
        return self._client.pipeline(transaction=self._marker is not None)

    def _withdraw(self, problem: Exception, batch_id: int) -> None:
        from redis.exceptions import ResponseError

        if self._marker is not None and isinstance(problem, ResponseError):
            with suppress(*self._errors):
                self._marker.withdraw(self._client, batch_id)

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


def publisher(spec: TableSpec, state: Path | None) -> Callable[[], RedisPublisher]:
    """What connects to the server of a sink.

    Parameters
    ----------
    spec
        The table, its variables resolved.
    state
        The sink's part of the state folder; None: nothing will be written.
    """
    server, target = Server.of(spec), Target.of(spec)
    marker = None
    if state is not None and target.kind == "list" and not server.is_cluster:
        marker = Marker(Notes(state / "redis.json"), target.prefix)
    return lambda: RedisPublisher(server, target, marker)
