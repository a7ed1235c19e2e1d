"""WITH options of a table: meaning, values and default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.editor.explanations import Explanation
from arroyo_nb.editor.pointed_word import PointedWord
from arroyo_nb.editor.table_options import (
    CONNECTOR,
    FORMAT,
    choices_of,
    connector_of,
    options_for,
    plugin,
)
from arroyo_nb.formats import FORMATS
from arroyo_nb.with_options import Holds, Option, OptionKind


def explain_option(word: PointedWord) -> Explanation | None:
    """An option's name, or its value."""
    options = word.options
    if options is None or word.place not in options.places:
        return None
    name, is_name = options.places[word.place]
    if not is_name:
        value = word.token.value
        if name == CONNECTOR.name and (made := connector_explanation(value)):
            return made
        if name == FORMAT.name and (made := _format(value)):
            return made
    return option_explanation(name, options.given)


def option_explanation(name: str, given: Mapping[str, str]) -> Explanation | None:
    """An option of a table by its name.

    Parameters
    ----------
    given
        The options that the table has, by name.
    """
    known = {option.name: option for option in options_for(given)}
    option = known.get(name) or _of_other_direction(name, given)
    if option is None:
        return None
    return Explanation(option.name, tuple(_lines(option, given)), _example(option))


def _of_other_direction(name: str, given: Mapping[str, str]) -> Option | None:
    connector = connector_of(given)
    own = () if connector is None else connector.info.options
    return next((option for option in own if option.name == name), None)


def _lines(option: Option, given: Mapping[str, str]) -> Iterator[str]:
    yield f"{option.doc[:1].upper()}{option.doc[1:].removesuffix('.')}."
    values = option.choices or choices_of(option.name, given)
    if values:
        yield "One of " + ", ".join(f"'{value}'" for value in values) + "."
    elif option.kind is not OptionKind.ENUM:
        yield f"Its value is {option.kind.value}."
    if option.required:
        yield "Required."
    elif option.default is not None:
        default = option.default
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        yield f"Default: {shown}."
    if option.only:
        yield f"Only of a {option.only}."
    if option.holds is Holds.SECRET:
        yield "A secret: write '{{ NAME }}', and set NAME in the environment."
    if not option.in_arroyo:
        yield "Arroyo does not have it."


def _example(option: Option) -> str | None:
    name = f"'{option.name}'" if "." in option.name else option.name
    if option.example:
        is_text = option.kind in (OptionKind.STRING, OptionKind.ENUM, OptionKind.FIELD)
        value = f"'{option.example}'" if is_text else option.example
        return f"{name} = {value}"
    return f"{name} = '{option.choices[0]}'" if option.choices else None


def connector_explanation(name: str) -> Explanation | None:
    """A connector by its name: what it is, and what its tables can be."""
    connector = plugin(CONNECTORS, name)
    if connector is None:
        return None
    info = connector.info
    lines = [f"{info.doc[:1].upper()}{info.doc[1:].removesuffix('.')}."]
    lines.append(f"Can be: {', '.join(sorted(d.value for d in info.directions))}.")
    if info.formats:
        lines.append(f"Formats: {', '.join(info.formats)}.")
    required = [option.name for option in info.options if option.required]
    if required:
        lines.append(f"Required: {', '.join(required)}.")
    if not info.runs:
        lines.append("It runs in Arroyo only: here it is checked and promoted.")
    guarantees = info.guarantees.items()
    lines += [f"As a {d.value}: {text.removesuffix('.')}." for d, text in guarantees]
    return Explanation(f"connector {info.name}", tuple(lines))


def _format(name: str) -> Explanation | None:
    format_ = plugin(FORMATS, name)
    if format_ is None:
        return None
    kind = "changes of rows" if format_.updating else "rows"
    doc = f"{format_.doc[:1].upper()}{format_.doc[1:].removesuffix('.')}."
    return Explanation(f"format {name}", (doc, f"Its records are {kind}."))
