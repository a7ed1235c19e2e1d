"""A module that defines one function, and all that the function names.

A cell's function names modules, helpers and constants of other cells. Its source has
them too, so that it means the same where no notebook is::

    import math                    # what the function names
    RADIUS_KM = 6371.0
    def radians(degrees): ...      # of another cell
    @udf
    def distance(...) -> float: ...
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True)
class Import:
    """A name that an import statement makes.

    Parameters
    ----------
    module
        What is imported, or imported from.
    path
        The name in the module; empty: the module itself.
    """

    module: str
    path: str = ""

    def line(self, name: str) -> str:
        """The statement that makes a name mean it."""
        if self.path:
            alias = "" if self.path == name else f" as {name}"
            return f"from {self.module} import {self.path}{alias}"
        alias = "" if self.module == name else f" as {name}"
        return f"import {self.module}{alias}"


@dataclass(frozen=True)
class Definition:
    """A name that a statement makes: ``def``, ``class`` or an assignment."""

    text: str


@dataclass(frozen=True)
class Unwritable:
    """A name whose value no source says: what it is, in words."""

    what: str


Meaning: TypeAlias = Import | Definition | Unwritable


class Names(Protocol):
    """What the names of a notebook mean."""

    def meaning(self, name: str) -> Meaning | None:
        """What a name means; None: it is none of the notebook's."""


def module_text(own: str, names: Names) -> tuple[str, str]:
    """The text of a module, and what is missing in it.

    Parameters
    ----------
    own
        The source of the function, decorators among it.
    names
        What it may name.

    Returns
    -------
    tuple of str
        The text; and why it does not stand for itself, in words: empty, it does.
    """
    if not _is_decorated(own):
        (node,) = ast.parse(own).body
        word = "udaf" if isinstance(node, ast.ClassDef) else "udf"
        own = f"@{word}\n{own}"
        decorator = Import("arroyo_nb", word).line(word)
    else:
        decorator = ""
    needs = _Needs(names)
    needs.of(own)
    lines = dict.fromkeys((*filter(None, (decorator,)), *needs.imports))
    parts = ["\n".join(lines), *needs.parts.values(), own]
    return "\n\n".join(filter(None, parts)) + "\n", needs.hindrance


class _Needs:
    """What a text names, directly or not."""

    def __init__(self, names: Names) -> None:
        self.imports: dict[str, None] = {}
        self.parts: dict[str, str] = {}
        self.hindrance = ""
        self._names = names

    def of(self, text: str) -> None:
        for name in _names_in(text):
            if name in self.parts or hasattr(builtins, name):
                continue
            match self._names.meaning(name):
                case Import() as found:
                    self.imports[found.line(name)] = None
                case Definition(text=needed):
                    self.parts[name] = ""  # one that names itself is needed once
                    self.of(needed)
                    # Behind what it needs itself.
                    del self.parts[name]
                    self.parts[name] = needed
                case Unwritable(what=what):
                    self.hindrance = f"it uses '{name}', {what}"


def _names_in(text: str) -> Iterator[str]:
    """The names that a text reads, those of annotations among them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Constant) and str(node.value).isidentifier():
            yield str(node.value)  # an annotation may be a text


def _is_decorated(text: str) -> bool:
    """Whether a definition has ``@udf`` or ``@udaf``, by whatever name."""
    (node,) = ast.parse(text).body
    decorators = getattr(node, "decorator_list", ())
    found = (d.func if isinstance(d, ast.Call) else d for d in decorators)
    return any(ast.unparse(d).rpartition(".")[2] in ("udf", "udaf") for d in found)
