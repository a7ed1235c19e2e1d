"""A look into a broker: its address and what is read there are one URL."""

from __future__ import annotations

from collections.abc import Mapping

from arroyo_nb.connectors import ConnectorInfo, TableSpec
from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import Schema


def split_broker_url(url: str, what: str, other: str) -> tuple[str, str]:
    """The address of a broker, and what is read there.

    Parameters
    ----------
    url
        It may have references to variables.
    what
        What is read, in a word.
    other
        A URL as it should be.

    Raises
    ------
    RunProblem
        When it does not say what is read; the URL is not quoted, as it may have a
        password.

    >>> split_broker_url("mqtt://broker.example/rooms/#", "topic", "")
    ('mqtt://broker.example', 'rooms/#')
    """
    scheme, _, behind = url.partition("://")
    host, _, path = behind.partition("/")
    if not path:
        raise RunProblem(f"the URL does not say which {what}", hint=f"write {other}")
    return f"{scheme}://{host}", path


def peeked_spec(
    info: ConnectorInfo, table: Mapping[str, str], options: Mapping[str, str]
) -> TableSpec:
    """A table of a look, its variables resolved.

    Parameters
    ----------
    info
        Of its connector.
    table
        The options that the URL says.
    options
        Those that were given beside it.

    Raises
    ------
    RunProblem
        When the connector has no such option.
    """
    unknown = next(
        (n for n in options if n not in {o.name for o in info.options}), None
    )
    if unknown is not None:
        raise RunProblem(f"the connector '{info.name}' has no option '{unknown}'")
    defaults = {o.name: o.default for o in info.options if o.default is not None}
    spec = TableSpec("peek", Schema(), {**defaults, **options, **table})
    return spec.resolved()
