"""A function of a notebook as a definition: its source, and what that needs.

A cell's function names modules, helpers and constants of other cells. Its definition
has them too, so that it means the same where no notebook is::

    import math                    # what the function names
    RADIUS_KM = 6371.0
    def radians(degrees): ...      # of another cell
    @udf
    def distance(...) -> float: ...
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.source import ScriptText
from arroyo_nb.udfs import decorators
from arroyo_nb.udfs.definition import Udf
from arroyo_nb.udfs.python.definitions import definitions
from arroyo_nb.udfs.python.loading import batch_call
from arroyo_nb.udfs.python.source_text import source_text

if TYPE_CHECKING:
    import pyarrow as pa

_LITERALS = (bool, int, float, complex, str, bytes, type(None))


def udf_of(made: Any) -> Udf:
    """The definition of a decorated function or class.

    Raises
    ------
    ArroyoError
        When its source cannot be read, or its signature has no meaning in SQL.
    """
    source = _Source(made)
    text = source.text()

    def load(udf: Udf) -> Callable[..., pa.Array]:
        return batch_call(udf, made)

    found = definitions(ScriptText(text, f"<{made.__name__}>"), load)
    (udf,) = (u for u in found if u.name == made.__name__.lower())
    return replace(udf, not_portable=source.hindrance)


class _Source:
    """The text of a module that defines what is decorated."""

    def __init__(self, made: Any) -> None:
        self.hindrance = ""
        self._module = made.__module__
        self._imports: dict[str, None] = {}
        self._parts: dict[str, str] = {}
        self._made = made

    def text(self) -> str:
        """All of it: imports, constants, helpers, and at the end the definition."""
        own = source_text(self._made).text
        if not _is_decorated(own):
            word = "udaf" if isinstance(self._made, type) else "udf"
            self._imports[f"from arroyo_nb import {word}"] = None
            own = f"@{word}\n{own}"
        self._needed(own, _names_of(self._made))
        head = "\n".join(self._imports)
        return "\n\n".join(filter(None, (head, *self._parts.values(), own))) + "\n"

    def _needed(self, text: str, names: dict[str, Any]) -> None:
        for name in _free_names(text):
            if name in self._parts or hasattr(builtins, name):
                continue
            if name in names:
                self._need(name, names[name])

    def _need(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            alias = "" if value.__name__ == name else f" as {name}"
            self._imports[f"import {value.__name__}{alias}"] = None
        elif isinstance(value, FunctionType | type):
            self._need_definition(name, value)
        elif _is_literal(value):
            self._parts[name] = f"{name} = {value!r}"
        elif (path := _imported(value)) is not None:
            self._import(name, *path)
        else:
            kind = type(value).__name__
            self.hindrance = f"it uses '{name}', a value of type {kind}"

    def _need_definition(self, name: str, value: Any) -> None:
        if value.__module__ != self._module or value.__qualname__ != name:
            self._import(name, value.__module__, value.__qualname__)
            return
        try:
            text = source_text(value).text
        except CatalogProblem:
            self.hindrance = f"it uses '{name}', whose source cannot be read"
            return
        self._parts[name] = ""  # one that calls itself is needed once
        # The methods that make a dataclass one know no names.
        is_function = isinstance(value, FunctionType)
        self._needed(text, _names_of(value if is_function else self._made))
        # Behind what it needs itself.
        del self._parts[name]
        self._parts[name] = text

    def _import(self, name: str, module: str, path: str) -> None:
        if module == decorators.__name__:
            module = "arroyo_nb"
        if "." in path or "<" in path or module == "__main__":
            self.hindrance = f"it uses '{name}', which cannot be imported"
            return
        alias = "" if path == name else f" as {name}"
        self._imports[f"from {module} import {path}{alias}"] = None


def _is_decorated(text: str) -> bool:
    """Whether a definition has ``@udf`` or ``@udaf``, by whatever name."""
    (node,) = ast.parse(text).body
    decorators = getattr(node, "decorator_list", ())
    found = (d.func if isinstance(d, ast.Call) else d for d in decorators)
    return any(ast.unparse(d).rpartition(".")[2] in ("udf", "udaf") for d in found)


def _names_of(made: Any) -> dict[str, Any]:
    """What the names in its source mean where it was defined."""
    if isinstance(made, type):
        functions = [v for v in vars(made).values() if isinstance(v, FunctionType)]
        return dict(functions[0].__globals__) if functions else {}
    found = inspect.unwrap(made)
    names = dict(found.__globals__)
    cells = zip(found.__code__.co_freevars, found.__closure__ or (), strict=True)
    return names | {name: cell.cell_contents for name, cell in cells}


def _free_names(text: str) -> Iterator[str]:
    """The names that a definition reads, those of its annotations among them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Constant) and str(node.value).isidentifier():
            yield str(node.value)  # an annotation may be a text


def _is_literal(value: Any) -> bool:
    if isinstance(value, tuple | list | set | frozenset):
        return all(map(_is_literal, value))
    if isinstance(value, dict):
        return all(map(_is_literal, [*value, *value.values()]))
    return isinstance(value, _LITERALS)


def _imported(value: Any) -> tuple[str, str] | None:
    """Whence an object such as a built-in function or ``typing.Optional`` comes."""
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "_name", None)
    return (module, name) if module and name else None
