"""The parts of a Rust source: its functions, their attributes and their types.

tree-sitter reads it: nothing of Rust has to be installed for a definition. What it
cannot parse outside of a signature is left to the compiler, which knows newer Rust.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.source import ScriptText, Span

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_COMMENTS = ("line_comment", "block_comment")


@dataclass(frozen=True)
class Function:
    """A function of a source.

    Parameters
    ----------
    node
        The function itself.
    attributes
        What stands before it as ``#[...]``.
    doc
        The first line of its ``///`` comment; empty: it has none.
    """

    node: Node
    attributes: tuple[Node, ...]
    doc: str

    @property
    def is_async(self) -> bool:
        """Whether it is an ``async fn``."""
        modifiers = children(self.node, "function_modifiers")
        return any("async" in text_of(node).split() for node in modifiers)

    def attribute(self, name: str) -> Node | None:
        """The attribute of that name, whatever the path before it."""
        for item in self.attributes:
            (attribute,) = children(item, "attribute")
            if squeezed(attribute.named_children[0]).split("::")[-1] == name:
                return attribute
        return None


class RustText:
    """A Rust source that was parsed, and the places of its parts.

    Parameters
    ----------
    source
        The text.

    Raises
    ------
    CatalogProblem
        Where tree-sitter is not installed.
    """

    def __init__(self, source: ScriptText) -> None:
        self.source = source
        self._bytes = source.text.encode("utf-8", "replace")
        self.root = _parser().parse(self._bytes).root_node

    def functions(self) -> Iterator[Function]:
        """The functions at the top of the source."""
        attributes: list[Node] = []
        doc = ""
        for node in self.root.named_children:
            if node.type in _COMMENTS:
                doc = doc or _doc(node)
            elif node.type == "attribute_item":
                attributes.append(node)
            else:
                if node.type == "function_item":
                    yield Function(node, tuple(attributes), doc)
                attributes, doc = [], ""

    def span(self, node: Node) -> Span:
        """Where a part stands; tree-sitter counts bytes."""
        return Span(self._chars(node.start_byte), self._chars(node.end_byte))

    def head(self, function: Function) -> Span:
        """Where the signature of a function stands."""
        body = function.node.child_by_field_name("body")
        end = body.start_byte if body is not None else function.node.end_byte
        start = self._chars(function.node.start_byte)
        signature = self.source.text[start : self._chars(end)].rstrip()
        return Span(start, start + len(signature))

    def first_error(self, node: Node | None = None) -> Node | None:
        """The first part that is no Rust; None: all of it is."""
        node = node or self.root
        if not node.has_error:
            return None
        if node.is_error or node.is_missing:
            return node
        found = (self.first_error(child) for child in node.children)
        return next((error for error in found if error is not None), node)

    def _chars(self, offset: int) -> int:
        return len(self._bytes[:offset].decode(errors="ignore"))


def children(node: Node, *types: str) -> list[Node]:
    """The parts of a node that are of some types."""
    return [child for child in node.named_children if child.type in types]


def field(node: Node, name: str) -> Node:
    """A part that the grammar gives to each node of this type."""
    found = node.child_by_field_name(name)
    assert found is not None, f"{node.type} without {name}"
    return found


def text_of(node: Node) -> str:
    """What a part of the source is, as it stands there."""
    return (node.text or b"").decode()


def squeezed(node: Node) -> str:
    """What a part of the source is, without white space."""
    return "".join(text_of(node).split())


def argument_of(node: Node, name: str) -> Node | None:
    """``T`` of ``name<T>``, whatever the path before it; None: it is another type."""
    if node.type != "generic_type":
        return None
    if squeezed(field(node, "type")).split("::")[-1] != name:
        return None
    inner = field(node, "type_arguments").named_children
    types = [n for n in inner if n.type not in (*_COMMENTS, "lifetime")]
    return types[0] if types else None


def _doc(node: Node) -> str:
    """What a doc comment says of the function after it."""
    if node.child_by_field_name("outer") is None:
        return ""
    said = node.child_by_field_name("doc")
    return text_of(said).strip().partition("\n")[0] if said is not None else ""


@cache
def _parser() -> Parser:
    try:
        import tree_sitter_rust
        from tree_sitter import Language, Parser
    except ImportError:
        raise CatalogProblem(
            "a Rust UDF cannot be read: tree-sitter is not installed",
            hint='run: pip install "arroyo-nb[rust]"',
        ) from None
    return Parser(Language(tree_sitter_rust.language()))
