"""Names that a UDF may have: those that mean nothing else."""

from __future__ import annotations

from arroyo_nb import functions
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions import aggregates, over

_WINDOWS = ("tumble", "hop", "session", "unnest", "row_time")
_WORDS = frozenset(
    (
        *("all", "and", "any", "array", "as", "between", "by", "case", "cast"),
        *("create", "cross", "distinct", "drop", "else", "end", "exists", "extract"),
        *("false", "filter", "from", "full", "group", "having", "in", "inner"),
        *("insert", "interval", "into", "is", "join", "left", "like", "limit", "not"),
        *("null", "on", "or", "order", "outer", "over", "partition", "right", "row"),
        *("select", "set", "some", "table", "then", "true", "union", "values"),
        *("when", "where", "with", "desc", "asc", "rows", "unique", "using"),
        *("default", "references", "escape", "fetch", "lateral", "natural", "try_cast"),
        *("cube", "rollup", "grouping", "qualify", "intersect", "except", "recursive"),
    )
)


def check_name(name: str) -> None:
    """Refuse a name that SQL has for something else.

    Raises
    ------
    CatalogProblem
        When it has.
    """
    taken = {*functions.names(), *aggregates.names(), *over.names(), *_WINDOWS}
    if name in taken:
        raise CatalogProblem(
            f"{name}() is a function of the dialect",
            hint=f"give yours another name, such as my_{name}",
        )
    if name in _WORDS:
        raise CatalogProblem(
            f"'{name}' is a word of SQL", hint="give the function another name"
        )
