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
import symtable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from arroyo_nb.udfs.definition import NOT_DEFINED


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

    def has_module(self, path: str) -> bool:
        """Whether there is a module of that dotted path."""


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
    needs = _Needs(names)
    if not _is_decorated(own, names):
        (node,) = ast.parse(own).body
        word = "udaf" if isinstance(node, ast.ClassDef) else "udf"
        needs.imports[Import("arroyo_nb", word).line(word)] = None
        needs.add(own)
        own = f"@{word}\n{own}"
    else:
        needs.add(own)
    parts = ["\n".join(needs.imports), *needs.parts.values(), own]
    return "\n\n".join(filter(None, parts)) + "\n", needs.hindrance


class _Needs:
    """What a text names, directly or not."""

    def __init__(self, names: Names) -> None:
        self.imports: dict[str, None] = {}
        self.parts: dict[str, str] = {}
        self.hindrance = ""
        self._names = names

    def add(self, text: str) -> None:
        """Take in what a text names."""
        for name in _global_names(text):
            if name in self.parts:
                continue
            match self._names.meaning(name):
                case Import() as found:
                    self._import(name, found, text)
                case Definition(text=needed):
                    self.parts[name] = ""  # one that names itself is needed once
                    self.add(needed)
                    # Behind what it needs itself.
                    del self.parts[name]
                    self.parts[name] = needed
                case Unwritable(what=what):
                    self.hindrance = f"it uses '{name}', {what}"
                case None if not hasattr(builtins, name) and name != _own_name(text):
                    self.hindrance = f"it uses '{name}', {NOT_DEFINED}"

    def _import(self, name: str, found: Import, text: str) -> None:
        self.imports[found.line(name)] = None
        if found.path or found.module != name:
            return
        # `import xml` brings no xml.dom: what is imported is the longest module.
        for path in _dotted(text, name):
            while path != name:
                if self._names.has_module(path):
                    self.imports[f"import {path}"] = None
                    break
                path = path.rpartition(".")[0]


def has_plain_defaults(node: ast.stmt) -> bool:
    """Whether the defaults of a function are literals: others were computed where it
    was defined, of what may mean something else by now."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    try:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            ast.literal_eval(default)
    except ValueError:
        return False
    return True


def _global_names(text: str) -> list[str]:
    """The names of a module that a text reads, in order: not its locals, and of texts
    only those that are annotations."""
    table = symtable.symtable(text, "<udf>", "exec")
    found: set[str] = set()
    own = {node.name for node in ast.parse(text).body if hasattr(node, "name")}
    stack = [table]
    while stack:
        scope = stack.pop()
        stack += scope.get_children()
        for symbol in scope.get_symbols():
            is_module = scope.get_type() == "module"
            is_global = symbol.is_global() or (is_module and symbol.is_referenced())
            if is_global and (symbol.is_referenced() or symbol.is_declared_global()):
                found.add(symbol.get_name())
    for node in ast.walk(ast.parse(text)):
        for annotation in _annotations(node):
            found.update(_names_in(annotation))
    ordered = [
        name
        for node in ast.walk(ast.parse(text))
        for name in _names_in_order(node)
        if name in found
    ]
    return [
        name for name in dict.fromkeys((*ordered, *sorted(found))) if name not in own
    ]


def _names_in_order(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    return [name for a in _annotations(node) for name in _names_in(a)]


def _annotations(node: ast.AST) -> list[ast.expr]:
    found = [getattr(node, word, None) for word in ("annotation", "returns")]
    return [one for one in found if isinstance(one, ast.expr)]


def _names_in(annotation: ast.expr) -> list[str]:
    """The names of an annotation, also of one that is a text."""
    names = []
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            names.append(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            with suppress(SyntaxError):
                names += _names_in(ast.parse(node.value, mode="eval").body)
    return names


def _dotted(text: str, name: str) -> list[str]:
    """The dotted paths that begin with a name, such as ``xml.dom.minidom``."""
    paths = (
        ast.unparse(node)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
    )
    return [path for path in paths if path.startswith(f"{name}.")]


def _own_name(text: str) -> str:
    return str(getattr(ast.parse(text).body[0], "name", ""))


def _is_decorated(text: str, names: Names) -> bool:
    """Whether a definition has ``@udf`` or ``@udaf``, by whatever name."""
    (node,) = ast.parse(text).body
    decorators = getattr(node, "decorator_list", ())
    found = (d.func if isinstance(d, ast.Call) else d for d in decorators)
    for decorator in found:
        meaning = names.meaning(ast.unparse(decorator))
        path = meaning.path if isinstance(meaning, Import) else ast.unparse(decorator)
        if path.rpartition(".")[2] in ("udf", "udaf"):
            return True
    return False
