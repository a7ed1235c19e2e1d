"""The signature of a Rust UDF: its arguments, its result and the options of ``#[udf]``.

Source: arroyo-semantics g.1; the rules and the words of the errors are those of
``ParsedUdf::try_parse`` of the crate arroyo-udf-common. What its macros then do not
compile is refused here, before a compiler is started.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arroyo_nb.errors import ArroyoError, CatalogProblem, SyntaxProblem
from arroyo_nb.schema import BYTEA, TEXT, Primitive
from arroyo_nb.udfs.definition import Kind, UdfOptions, UdfParameter
from arroyo_nb.udfs.rust.attributes import read_options
from arroyo_nb.udfs.rust.syntax import (
    Function,
    RustText,
    argument_of,
    children,
    field,
    text_of,
)
from arroyo_nb.udfs.rust.types import RustType, rust_type

if TYPE_CHECKING:
    from tree_sitter import Node

_SMALL = tuple(
    Primitive(name)
    for name in ("TINYINT", "SMALLINT", "TINYINT UNSIGNED", "SMALLINT UNSIGNED")
)


@dataclass(frozen=True)
class RustSignature:
    """What the head of a function says.

    Parameters
    ----------
    name
        As it is written.
    kind
        How it is called.
    parameters
        In order; of an aggregate the types are those of one value.
    result
        The type of its result.
    options
        Of an async function.
    """

    name: str
    kind: Kind
    parameters: tuple[UdfParameter, ...]
    result: RustType
    options: UdfOptions


def read_signature(text: RustText, function: Function) -> RustSignature:
    """What the head of a function says.

    Raises
    ------
    ArroyoError
        When it has no meaning in SQL, or would not compile.
    """
    for part in ("name", "parameters", "return_type"):
        node = function.node.child_by_field_name(part)
        wrong = node and text.first_error(node)
        if wrong is not None:
            raise SyntaxProblem(
                "the signature of the function is no Rust", span=text.span(wrong)
            )
    try:
        return _Reader(text, function).read()
    except ArroyoError as problem:
        problem.span = problem.span or text.head(function)
        raise


class _Reader:
    """Reads the head of one function."""

    def __init__(self, text: RustText, function: Function) -> None:
        self._text = text
        self._function = function
        self._name = text_of(field(function.node, "name"))

    def read(self) -> RustSignature:
        name, is_async = self._name, self._function.is_async
        nodes = children(
            field(self._function.node, "parameters"), "parameter", "self_parameter"
        )
        found = [self._argument(place, node) for place, node in enumerate(nodes)]
        lists = [is_list for _, is_list in found]
        result = self._result()
        options = read_options(self._text, self._function)
        if not found:
            raise CatalogProblem(
                f"the function {name} takes no argument",
                hint="a constant is no function: write it into the SQL",
            )
        if any(lists) and is_async:
            raise CatalogProblem(
                "Async UDAFs are not supported (hint: remove the Vec<_> args)",
                span=self._text.span(nodes[lists.index(True)]),
            )
        if any(lists) and not all(lists):
            raise CatalogProblem(
                f"In function {name}: for a UDAF, all arguments must be Vec<T>",
                span=self._text.span(nodes[lists.index(False)]),
            )
        kind = Kind.ASYNC if is_async else Kind.VALUES if any(lists) else Kind.ROWS
        parameters = tuple(parameter for parameter, _ in found)
        return RustSignature(name, kind, parameters, result, options)

    def _argument(self, place: int, node: Node) -> tuple[UdfParameter, bool]:
        """A parameter, and whether it takes all values of a group."""
        if node.type == "self_parameter":
            raise CatalogProblem(
                f"Function {self._name} has a 'self' argument, which is not allowed",
                span=self._text.span(node),
            )
        said = field(node, "type")
        inner = argument_of(said, "Vec")
        what = f"Could not convert function {self._name}"
        if inner is None:
            what += f" arg {place} into a SQL data type"
            found = self._typed(said, what, owned=False)
        else:
            what += f" inner vector arg {place} into an Arrow data type"
            found = self._typed(inner, what, owned=False)
            if found.type in (TEXT, BYTEA):
                raise CatalogProblem(
                    "Arroyo's published crates do not compile a function with "
                    f"{text_of(said)}",
                    span=self._text.span(said),
                    hint="an aggregate takes numbers",
                )
        name = self._parameter_name(place, node)
        return UdfParameter(name, found.type, found.optional), inner is not None

    def _parameter_name(self, place: int, node: Node) -> str:
        pattern = node.child_by_field_name("pattern")
        is_name = pattern is not None and pattern.type == "identifier"
        return text_of(pattern) if pattern and is_name else f"arg_{place}"

    def _result(self) -> RustType:
        said = self._function.node.child_by_field_name("return_type")
        if said is None:
            raise CatalogProblem(
                f"Function {self._name} return type must be specified",
                hint="write it behind the arguments: -> f64",
            )
        what = f"Could not convert function {self._name} return type into a SQL data"
        found = self._typed(said, f"{what} type", owned=True)
        if self._function.is_async and found.type in _SMALL:
            raise CatalogProblem(
                "Arroyo's published crates do not compile an async function that "
                f"returns {text_of(said)}",
                span=self._text.span(said),
                hint="return an i32, i64, u32 or u64",
            )
        return found

    def _typed(self, node: Node, what: str, *, owned: bool) -> RustType:
        try:
            return rust_type(node, owned=owned)
        except CatalogProblem as problem:
            raise CatalogProblem(
                f"{what}: {problem.message}",
                span=self._text.span(node),
                hint=problem.hint,
            ) from None
