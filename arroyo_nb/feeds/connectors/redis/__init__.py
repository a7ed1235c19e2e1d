"""``redis``: a key-value store, in which a stream looks values up and writes them
(arroyo-semantics b.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.connectors import (
    ConnectorBase,
    ConnectorInfo,
    Direction,
    TableSpec,
    Writer,
)
from arroyo_nb.errors import ArroyoError, CatalogProblem, RunProblem
from arroyo_nb.feeds.connectors.redis._client import PASSWORD, addresses
from arroyo_nb.feeds.packages import require_package
from arroyo_nb.feeds.table_options import metadata_problems
from arroyo_nb.formats import Framing
from arroyo_nb.schema import TEXT, Schema
from arroyo_nb.tape import Recorder
from arroyo_nb.with_options import Holds, Option, OptionKind, OptionValue

if TYPE_CHECKING:
    from arroyo_nb.feeds.connectors.redis._lookup import RedisAsker

_SCHEMES = ("redis://", "rediss://", "unix://")

_KEY, _FIELD = "target.key_column", "target.field_column"

_ONLY = MappingProxyType(
    {
        "target.ttl_secs": "string",
        "target.max_length": "list",
        "target.operation": "list",
        _FIELD: "hash",
    }
)
"""Options of one kind of target."""

_INFO = ConnectorInfo(
    name="redis",
    doc="a key-value store that a stream looks values up in, or writes to",
    directions=frozenset({Direction.LOOKUP, Direction.SINK}),
    framings=frozenset({Framing.VALUES}),
    metadata=MappingProxyType({"key": TEXT}),
    python_packages=("redis",),
    guarantees=MappingProxyType(
        {
            Direction.SINK: "every row arrives; a string or a field of a hash is "
            "written again with the same value, and a list gets each row once, but on "
            "a cluster some may come twice after a lost connection or a killed run",
        }
    ),
    options=(
        Option(
            "address",
            OptionKind.STRING,
            "URL of a server: redis://host:port/database",
            holds=Holds.ADDRESS,
            example="redis://localhost:6379",
            suggested=True,
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
        Option(
            "target",
            OptionKind.ENUM,
            "what a row becomes: the value of a key, of a list, or of a field of a "
            "hash",
            required=True,
            choices=("string", "list", "hash"),
            only="sink",
        ),
        Option(
            "target.key_prefix",
            OptionKind.STRING,
            "what each key begins with",
            required=True,
            example="events:",
            only="sink",
        ),
        Option(
            _KEY,
            OptionKind.FIELD,
            "the column, TEXT NOT NULL, that stands behind the prefix; without it all "
            "rows have one key",
            only="sink",
        ),
        Option(
            "target.ttl_secs",
            OptionKind.UINT,
            "seconds for which a string is kept; without it for ever",
            only="sink",
        ),
        Option(
            "target.max_length",
            OptionKind.UINT,
            "values of a list: the oldest ones are removed; without it there is no "
            "limit",
            only="sink",
        ),
        Option(
            "target.operation",
            OptionKind.ENUM,
            "where the newest value of a list is: at its end, or at its beginning; "
            "without it append",
            choices=("append", "prepend"),
            only="sink",
        ),
        Option(
            _FIELD,
            OptionKind.FIELD,
            "the column, TEXT NOT NULL, that names the field of a hash",
            only="sink",
        ),
    ),
)


class Redis(ConnectorBase):
    """The connector; its tables are looked up, or written."""

    info = _INFO

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
        for address in addresses(options):
            if "{{" not in address and not address.startswith(_SCHEMES):
                raise CatalogProblem(
                    f"the address '{PASSWORD.sub('', address)}' is not a URL of redis",
                    hint="write redis://host:port, or rediss:// for TLS",
                )
        return None

    def check(
        self,
        spec: TableSpec,
        direction: Direction,  # noqa: ARG002
    ) -> Iterator[tuple[str, ArroyoError]]:
        """What is wrong with the options of a sink."""
        target = str(spec.options["target"])
        for name, kind in _ONLY.items():
            if name in spec.options and target != kind:
                message = f"'{name}' is only for target = '{kind}'"
                yield name, CatalogProblem(message, hint=f"remove '{name}'")
        if target == "hash" and _FIELD not in spec.options:
            yield "target", CatalogProblem(f"required option '{_FIELD}' not set")
        for name in (_KEY, _FIELD):
            column = spec.options.get(name)
            # Columns of a sink may be those of a query that is still to come.
            if column is not None and spec.physical.names:
                yield from _column_problems(spec, name, str(column))
        for name in ("target.ttl_secs", "target.max_length"):
            if spec.options.get(name) == 0:
                message = f"'{name}' must be above 0"
                yield name, CatalogProblem(message, hint="leave it out for no limit")
        yield from metadata_problems(spec)

    def asker(self, spec: TableSpec) -> RedisAsker:
        """How values are found.

        Raises
        ------
        RunProblem
            When the client is not installed.
        """
        from arroyo_nb.feeds.connectors.redis._lookup import RedisAsker

        require_package(spec.name, "redis", extra="redis")
        cluster = "cluster.addresses" in spec.options
        user, password = (spec.options.get(word) for word in ("username", "password"))
        shown = spec.shown("cluster.addresses" if cluster else "address")
        return RedisAsker(
            spec.name,
            PASSWORD.sub("", shown),
            addresses(spec.options),
            cluster,
            None if user is None else str(user),
            None if password is None else str(password),
        )

    def recorder(self, spec: TableSpec) -> Recorder:
        """Refused: Redis is looked up or written, never read as a stream."""
        raise RunProblem(
            f"'{spec.name}' is a lookup table or a sink: it cannot be read whole"
        )

    def writer(self, spec: TableSpec, state: Path) -> Writer:
        """Writes rows.

        Raises
        ------
        RunProblem
            When the client is not installed.
        """
        from arroyo_nb.feeds.connectors.redis._sink import Target, publisher
        from arroyo_nb.feeds.sink import MessageWriter

        require_package(spec.name, "redis", extra="redis")
        connect, target = publisher(spec, state), Target.of(spec)
        # A list gets a batch in one transaction.
        whole = target.kind == "list"
        return MessageWriter(spec, connect, beside=target.columns, whole=whole)

    def reach(self, spec: TableSpec, look: Callable[[], None]) -> None:
        """Find out whether the server lets the client in.

        Raises
        ------
        RunProblem
            When it does not, or does not answer.
        """
        from arroyo_nb.feeds.connectors.redis._sink import Server, publisher
        from arroyo_nb.feeds.sink import check_server

        require_package(spec.name, "redis", extra="redis")
        check_server(publisher(spec, None), Server.of(spec).name, look)


def _column_problems(
    spec: TableSpec, option: str, column: str
) -> Iterator[tuple[str, ArroyoError]]:
    """That a key's column is none."""
    named = next((field for field in spec.physical if field.name == column), None)
    if named is None or named.type != TEXT or named.nullable:
        yield (
            option,
            CatalogProblem(
                f"invalid value '{column}' for {option}, must be the name of a "
                "non-nullable TEXT column on the table",
                hint=f"declare it: {column} TEXT NOT NULL",
            ),
        )


CONNECTOR = Redis()
