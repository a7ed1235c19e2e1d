"""YAML as plain values that know their places; nothing of YAML that could do more.

Only mappings, lists, texts, numbers and truth values are read. Tags, anchors, aliases
and a key that stands twice are refused: a spec means what a reviewer sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from arroyo_nb.errors import PromoteProblem
from arroyo_nb.source import ScriptText, Span

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = "Scalar | Mapping[str, Item] | tuple[Item, ...]"

MAX_DEPTH = 20
"""How deep values may be nested; the parser is recursive."""

_YAML = "tag:yaml.org,2002:"
_TEXT = f"{_YAML}str"
_SCALARS = {f"{_YAML}{kind}" for kind in ("str", "int", "float", "bool", "null")}
_QUOTE = "write a text in quotes"
_NEVER_FOLDED = 2**31
_BAD = "may not stand in it"


@dataclass(frozen=True)
class Item:
    """A value and where it stands.

    Parameters
    ----------
    value
        A scalar, items by key, or items in order.
    span
        The value's characters.
    key
        Those of its key in a mapping; else the same as ``span``.
    """

    value: Value
    span: Span
    key: Span

    @property
    def entries(self) -> Mapping[str, Item]:
        """The items by key; none of what is no mapping."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def elements(self) -> tuple[Item, ...]:
        """The items in order; none of what is no list."""
        return self.value if isinstance(self.value, tuple) else ()

    def listed(self, key: str) -> tuple[Item, ...]:
        """The elements of the list under a key; none where there is no such key."""
        return self.entries[key].elements if key in self.entries else ()

    @property
    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, Mapping):
            return {key: item.plain for key, item in self.value.items()}
        if isinstance(self.value, tuple):
            return [item.plain for item in self.value]
        return self.value


def read(source: ScriptText) -> Item:
    """The one value of a document.

    Raises
    ------
    PromoteProblem
        When it is not YAML, is more than plain values, or has a key twice.
    """
    try:
        loader = _Loader(source.text)
        root = loader.get_single_node()
        if root is None:
            raise PromoteProblem("there is nothing in it", span=Span(0, 0))
        return _item(root, loader)
    except PromoteProblem as problem:
        raise problem.at(source) from None
    except yaml.YAMLError as error:
        raise _not_yaml(error).at(source) from None


def write(value: Any) -> str:
    """The document of a plain value: keys in their order, texts of several lines as
    they are."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_NEVER_FOLDED
    )
    return text


def place(source: ScriptText, item: Item, span: Span) -> Span:
    """Where a part of a text stands in the document.

    Parameters
    ----------
    item
        The text, as it was read from ``source``.
    span
        The part of the text; where its characters are written in another way, the
        place of all of the text is given.
    """
    written = source.text[item.span.start : item.span.end]
    value = str(item.value)
    if written.startswith("|"):
        first, last = (_in_block(source, item, at) for at in (span.start, span.end))
        return Span(first, max(first + 1, last))
    lead = written.find(value)
    if lead < 0:
        return item.span
    start = item.span.start + lead
    return Span(start + span.start, start + span.end)


def _in_block(source: ScriptText, item: Item, at: int) -> int:
    """A literal block has the lines of its text, each further in."""
    value = str(item.value)
    before = value.rfind("\n", 0, at) + 1
    line = value[before:].split("\n", 1)[0]
    start = item.span.start
    for _ in range(value.count("\n", 0, at) + 1):
        start = source.text.index("\n", start) + 1
    written = source.text[start:].split("\n", 1)[0].rstrip("\r")
    return start + max(0, len(written) - len(line)) + at - before


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Composes nodes with their places, and constructs scalars only."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Read one node; anchors, aliases and deep nesting are refused."""
        event = self.peek_event()
        span = Span(event.start_mark.index, event.end_mark.index)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise PromoteProblem("anchors and aliases are not read", span=span)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise PromoteProblem(f"nested deeper than {MAX_DEPTH} levels", span=span)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _item(node: Any, loader: _Loader, key: Span | None = None) -> Item:
    span = _span(node)
    value: Value
    match node:
        case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
            value = _mapping(node, loader)
        case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
            value = tuple(_item(child, loader) for child in node.value)
        case yaml.ScalarNode():
            value = _scalar(node, loader)
        case _:
            raise PromoteProblem(f"the tag '{node.tag}' is not read", span=span)
    return Item(value, span, key or span)


def _mapping(node: yaml.MappingNode, loader: _Loader) -> dict[str, Item]:
    items: dict[str, Item] = {}
    for name, value in node.value:
        span = _span(name)
        if not isinstance(name, yaml.ScalarNode) or name.tag != _TEXT:
            raise PromoteProblem("a key must be a text", span=span, hint=_QUOTE)
        if name.value in items:
            raise PromoteProblem(f"'{name.value}' stands here twice", span=span)
        items[name.value] = _item(value, loader, span)
    return items


def _scalar(node: yaml.ScalarNode, loader: _Loader) -> Scalar:
    if node.tag not in _SCALARS:
        kind = node.tag.removeprefix(_YAML)
        raise PromoteProblem(
            f"a value of the kind '{kind}' is not read", span=_span(node), hint=_QUOTE
        )
    try:
        value: Scalar = loader.construct_object(node)
    except (ValueError, KeyError):  # an explicit tag, as in !!int word
        problem = f"'{node.value}' is not what its tag says"
        raise PromoteProblem(problem, span=_span(node)) from None
    return value


def _span(node: Any) -> Span:
    return Span(node.start_mark.index, node.end_mark.index)


def _not_yaml(error: yaml.YAMLError) -> PromoteProblem:
    if isinstance(error, yaml.reader.ReaderError):
        at, reason = error.position, f"the character #x{error.character:04x} {_BAD}"
    else:
        assert isinstance(error, yaml.MarkedYAMLError)
        assert error.problem_mark is not None
        at, reason = error.problem_mark.index, str(error.problem)
    return PromoteProblem(f"this is not YAML: {reason}", span=Span(at, at + 1))


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes texts of several lines as literal blocks wherever YAML can."""

    def analyze_scalar(self, scalar: str) -> Any:
        """Allow a literal block for every text that YAML can write as one."""
        analysis = super().analyze_scalar(scalar)
        # PyYAML takes a space before a line's end, or a tab, for a reason to quote.
        analysis.allow_block = all(map(_in_blocks, scalar))
        return analysis

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        """True: a value that occurs twice is written twice, never as an alias."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:  # noqa: ARG002
        """Indent lists below their key, which PyYAML does not by itself."""
        # Lists further in than their key.
        return super().increase_indent(flow, False)


def _in_blocks(char: str) -> bool:
    """Whether a character comes back as it was from a literal block."""
    return char.isprintable() or char in "\n\t"


def _text_node(dumper: _Dumper, text: str) -> Any:
    # PyYAML loses some line breaks of Unicode unless it escapes them.
    as_it_is = all(map(_in_blocks, text))
    style = ("|" if "\n" in text else None) if as_it_is else '"'
    return dumper.represent_scalar(_TEXT, text, style=style)


_Dumper.add_representer(str, _text_node)
