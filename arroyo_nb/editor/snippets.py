"""CREATE TABLE with each connector: its required options, with values that plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from arroyo_nb.connectors import CONNECTORS, Connector, Direction
from arroyo_nb.editor.answers import Hover
from arroyo_nb.editor.explanations.options import connector_explanation
from arroyo_nb.editor.table_options import FORMAT, TYPE
from arroyo_nb.errors import ArroyoError
from arroyo_nb.with_options import Option, OptionKind

HEAD = "CREATE TABLE "
_COLUMNS = ("id BIGINT NOT NULL", "at TIMESTAMP NOT NULL")
_WATERMARK = "WATERMARK FOR at AS at - INTERVAL '5 seconds'"
_TEXTS = {OptionKind.STRING, OptionKind.ENUM, OptionKind.FIELD, OptionKind.SIZE}


@dataclass(frozen=True)
class Snippet:
    """A statement to begin with.

    Parameters
    ----------
    connector
        Whose table it makes.
    direction
        Whether it is read or written.
    text
        The statement, without a semicolon.
    """

    connector: str
    direction: Direction
    text: str

    @property
    def label(self) -> str:
        """What a list shows of it: one line."""
        return f"{HEAD}… {self.connector} {self.direction.value}"


@cache
def table_snippets() -> tuple[Snippet, ...]:
    """One for each connector and direction, sources first."""
    found = [s for name in CONNECTORS.names for s in _of(CONNECTORS.get(name))]
    return tuple(sorted(found, key=lambda s: (s.direction is Direction.SINK, s.text)))


def _of(connector: Connector) -> Iterator[Snippet]:
    for direction in (Direction.SOURCE, Direction.SINK):
        if direction in connector.info.directions:
            yield Snippet(
                connector.info.name, direction, _statement(connector, direction)
            )


def _statement(connector: Connector, direction: Direction) -> str:
    info = connector.info
    given = [f"connector = '{info.name}'"]
    given += [_given(o) for o in info.options if _is_begun_with(o, direction)]
    if info.typed:
        given.append(f"{TYPE.name} = '{direction.value}'")
    if info.formats:
        given.append(f"{FORMAT.name} = '{info.formats[0]}'")
    is_source = direction is Direction.SOURCE
    columns = list(_COLUMNS)
    if is_source:
        columns = [] if _brings_columns(connector) else [*columns, _WATERMARK]
    elif not info.formats:
        columns = []
    name = f"{info.name}_{direction.value}"
    listed = f" ({_lines(columns)})" if columns else ""
    return f"{HEAD}{name}{listed} WITH ({_lines(given)})"


def _lines(parts: list[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    inside = ",\n".join(f"    {part}" for part in parts)
    return f"\n{inside}\n"


def _is_begun_with(option: Option, direction: Direction) -> bool:
    is_of = option.only in ("", direction.value)
    return is_of and (option.required or option.suggested)


def _given(option: Option) -> str:
    name = f"'{option.name}'" if "." in option.name else option.name
    value = option.example or next(iter(option.choices), "")
    return f"{name} = '{value}'" if option.kind in _TEXTS else f"{name} = {value}"


def _brings_columns(connector: Connector) -> bool:
    """Whether a source of it has columns of its own."""
    options = {o.name: o.example for o in connector.info.options if o.example}
    try:
        return connector.columns(options) is not None
    except ArroyoError:
        return False


def snippet_hover(text: str) -> Hover | None:
    """What a snippet is, where a text ends with one that has just been inserted."""
    found = next((s for s in table_snippets() if text.endswith(s.text)), None)
    made = None if found is None else connector_explanation(found.connector)
    if found is None or made is None:
        return None
    start = len(text) - len(found.text)
    return Hover(start, len(text), found.label, (*made.lines, *found.text.split("\n")))
