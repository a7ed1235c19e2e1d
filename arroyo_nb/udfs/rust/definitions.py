"""The function that a Rust source defines: read from its text, which is not compiled.

Source: arroyo-semantics g.1, whose words the errors have.
"""

from __future__ import annotations

from arroyo_nb.errors import ArroyoError, CatalogProblem, SyntaxProblem
from arroyo_nb.source import ScriptText
from arroyo_nb.udfs.definition import Udf
from arroyo_nb.udfs.names import check_name
from arroyo_nb.udfs.rust.dependencies import read_dependencies
from arroyo_nb.udfs.rust.loading import RustLoader
from arroyo_nb.udfs.rust.signature import read_signature
from arroyo_nb.udfs.rust.syntax import Function, RustText

NO_UDF = "UDF must contain a function with with the annotation #[udf]"
TWO_UDFS = "Only one function in a UDF may be annotated with #[udf]"


def definition(source: ScriptText) -> Udf:
    """The function that a source defines.

    Parameters
    ----------
    source
        A Rust source as Arroyo takes it: one function with ``#[udf]``, what it needs
        beside it, and a ``[dependencies]`` comment.

    Raises
    ------
    ArroyoError
        When there is not one such function, its signature has no meaning in SQL, or
        Arroyo's crates would not compile it.
    """
    try:
        read_dependencies(source)
        return _read(RustText(source))
    except ArroyoError as problem:
        raise problem.at(source) from None


def _read(text: RustText) -> Udf:
    function = _annotated(text)
    signature = read_signature(text, function)
    name = signature.name.lower()
    try:
        check_name(name)
    except ArroyoError as problem:
        problem.span = text.head(function)
        raise
    return Udf(
        name,
        "rust",
        signature.kind,
        signature.parameters,
        signature.result.type,
        signature.result.optional,
        text.source.text,
        function.node.start_point.row + 1,
        RustLoader(text.source),
        function.doc,
        signature.options,
    )


def _annotated(text: RustText) -> Function:
    """The function that has ``#[udf]``."""
    found = [f for f in text.functions() if f.attribute("udf") is not None]
    if len(found) > 1:
        raise CatalogProblem(TWO_UDFS, span=text.head(found[1]))
    if found:
        return found[0]
    wrong = text.first_error()
    if wrong is not None:
        raise SyntaxProblem("the source is no Rust", span=text.span(wrong))
    raise CatalogProblem(
        NO_UDF, hint="write use arroyo_udf_plugin::udf; and #[udf] above the function"
    )
