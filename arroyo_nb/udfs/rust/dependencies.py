"""The crates that a Rust UDF needs: the ``[dependencies]`` comment of its source."""

from __future__ import annotations

import re
import tomllib

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.source import ScriptText, Span

_COMMENT = re.compile(r"/\*\r?\n\[dependencies]\r?\n(.*?)\*/", re.DOTALL)

PLUGIN = "arroyo-udf-plugin"
"""The crate that has ``#[udf]``: every function is built with it."""


def read_dependencies(source: ScriptText) -> str:
    """The lines of the comment, TOML, without the first; empty: there is none.

    Raises
    ------
    CatalogProblem
        When there are two, or when it is no TOML.
    """
    found = list(_COMMENT.finditer(source.text))
    if not found:
        return ""
    if len(found) > 1:
        raise CatalogProblem(
            "Only one dependencies definition is allowed in a UDF",
            span=Span(found[1].start(), found[1].end()),
        )
    text = found[0][1]
    span = Span(found[0].start(1), found[0].end(1))
    for name in names(text, span):
        if name.replace("_", "-") == PLUGIN:
            raise CatalogProblem(
                f"{PLUGIN} is a dependency of every UDF",
                span=span,
                hint="leave it out of [dependencies]",
            )
    return text


def names(text: str, span: Span | None = None) -> frozenset[str]:
    """The names of the crates in the lines of a comment.

    Raises
    ------
    CatalogProblem
        When they are no TOML, or have another table.

    >>> sorted(names('regex = "1"\\n[dependencies.uuid]\\nversion = "1"'))
    ['regex', 'uuid']
    """
    try:
        tables = tomllib.loads(f"[dependencies]\n{text}")
    except tomllib.TOMLDecodeError as error:
        # It counts the line that is not part of the text.
        said = re.sub(r" \(at .*\)$", "", str(error))
        raise CatalogProblem(
            f"invalid dependency definition: {said}", span=span
        ) from None
    others = [name for name in tables if name != "dependencies"]
    if others:
        raise CatalogProblem(
            f"invalid dependency definition: [{others[0]}] is no table of a UDF",
            span=span,
            hint="a UDF has [dependencies] alone",
        )
    return frozenset(tables["dependencies"])
