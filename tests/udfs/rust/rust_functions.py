"""Rust sources as short as tests want them, and what reads them."""

from __future__ import annotations

from arroyo_nb.source import ScriptText
from arroyo_nb.udfs.definition import Udf
from arroyo_nb.udfs.rust import loading
from arroyo_nb.udfs.rust.crate import Crate
from arroyo_nb.udfs.rust.definitions import definition

USE = "use arroyo_udf_plugin::udf;"


def rust(function: str, *, attribute: str = "#[udf]", before: str = "") -> str:
    """A source with one function; it begins in line 2."""
    return f"{USE}{before}\n{attribute} {function}\n"


def read(source: str) -> Udf:
    """The function that a source defines."""
    return definition(ScriptText(source, "f.rs"))


def crate_of(source: str) -> Crate:
    """The crate that it is compiled in."""
    return loading.crate_of(read(source))
