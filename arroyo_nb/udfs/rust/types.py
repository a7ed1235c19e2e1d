"""What a type of Rust is in SQL.

Source: arroyo-semantics g.1; the rules and the words of the errors are those of
``rust_to_arrow`` of the crate arroyo-udf-common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.schema import BYTEA, TEXT, Primitive, Type
from arroyo_nb.udfs.rust.syntax import argument_of, field, squeezed

if TYPE_CHECKING:
    from tree_sitter import Node

NUMBERS: Mapping[str, Type] = {
    "i8": Primitive("TINYINT"),
    "i16": Primitive("SMALLINT"),
    "i32": Primitive("INT"),
    "i64": Primitive("BIGINT"),
    "u8": Primitive("TINYINT UNSIGNED"),
    "u16": Primitive("SMALLINT UNSIGNED"),
    "u32": Primitive("INT UNSIGNED"),
    "u64": Primitive("BIGINT UNSIGNED"),
    "f32": Primitive("FLOAT"),
    "f64": Primitive("DOUBLE"),
}

_AS_MICROSECONDS = "take an i64, in microseconds"
UNCOMPILED: Mapping[str, str] = {
    "bool": "take an i32, and write CAST(... AS INT) in SQL",
    "f16": "take an f32",
    "SystemTime": _AS_MICROSECONDS,
    "std::time::SystemTime": _AS_MICROSECONDS,
    "Duration": _AS_MICROSECONDS,
    "std::time::Duration": _AS_MICROSECONDS,
}
"""Types that Arroyo knows, and for which its published macros give code that does not
compile -> what to write in their place."""

_BY_VALUE = "primitives should be passed by value (hint: remove the &)"
_PATHS = ("primitive_type", "type_identifier", "scoped_type_identifier", "generic_type")


@dataclass(frozen=True)
class RustType:
    """A type of an argument or a result.

    Parameters
    ----------
    type
        What it is in SQL.
    optional
        Whether it is an ``Option``.
    """

    type: Type
    optional: bool = False


def rust_type(node: Node, *, owned: bool) -> RustType:
    """What a type is in SQL.

    Parameters
    ----------
    node
        Where it stands in the source.
    owned
        Whether it is that of a result, whose text is a ``String``; an argument is a
        ``&str``.

    Raises
    ------
    CatalogProblem
        When a function cannot have it.
    """
    inner = argument_of(node, "Option")
    if inner is not None:
        return RustType(rust_type(inner, owned=owned).type, optional=True)
    if node.type == "reference_type":
        return RustType(_reference(squeezed(field(node, "type")), owned))
    if node.type not in _PATHS:
        raise CatalogProblem("unsupported Rust data type")
    return RustType(_path(squeezed(node), owned))


def _path(name: str, owned: bool) -> Type:
    if name.split("::")[-1] == "Option":
        raise CatalogProblem("invalid Rust type; Option must have arguments")
    if name in NUMBERS:
        return NUMBERS[name]
    if name in UNCOMPILED:
        raise _uncompiled(name, UNCOMPILED[name])
    match name, owned:
        case "String", True:
            return TEXT
        case "String", False:
            raise CatalogProblem("expected reference type &str instead of String")
        case "Vec<u8>", True:
            return BYTEA
        case "Vec<u8>", False:
            raise CatalogProblem("expected reference type &[u8] instead of Vec<u8>")
    known = ", ".join((*NUMBERS, *(("String", "Vec<u8>") if owned else ())))
    raise CatalogProblem(
        f"unsupported Rust type {name}",
        hint=f"known: {known}{'' if owned else ', &str, &[u8]'}, and Option of those",
    )


def _reference(name: str, owned: bool) -> Type:
    match name, owned:
        case "str", False:
            return TEXT
        case "str", True:
            raise CatalogProblem("expected owned String, not &str")
        case "[u8]", False:
            return BYTEA
        case "[u8]", True:
            raise CatalogProblem("expected owned Vec<u8>, not &[u8]")
        case "String" | "Vec<u8>", True:
            raise CatalogProblem(
                f"expected owned {name}, not &{name} (hint: remove the &)"
            )
        case "String", False:
            raise CatalogProblem("expected &str, not &String")
        case "Vec<u8>", False:
            raise CatalogProblem("expected &[u8], not &Vec<u8>")
    if name in NUMBERS or name in UNCOMPILED:
        raise CatalogProblem(f"unexpected &{name}; {_BY_VALUE}")
    raise CatalogProblem("unsupported Rust data type")


def _uncompiled(name: str, instead: str) -> CatalogProblem:
    return CatalogProblem(
        f"Arroyo's published crates do not compile a function with {name}",
        hint=instead,
    )
