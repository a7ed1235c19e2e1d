"""What the word under the pointer is; it works while the cell is unfinished."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from arroyo_nb.editor.answers import EditorContext, Hover
from arroyo_nb.editor.cell_tables import planning
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.editor.explanations import Explanation
from arroyo_nb.editor.explanations.clauses import with_badge
from arroyo_nb.editor.explanations.columns import (
    explain_alias,
    explain_column,
    explain_declared,
    explain_inserted,
)
from arroyo_nb.editor.explanations.first_line import explain_first_line
from arroyo_nb.editor.explanations.functions import explain_function, function_named
from arroyo_nb.editor.explanations.keywords import explain_keyword
from arroyo_nb.editor.explanations.options import explain_option
from arroyo_nb.editor.explanations.results import (
    explain_result,
    explain_run_name,
    explain_view,
)
from arroyo_nb.editor.explanations.sections import explain_section
from arroyo_nb.editor.explanations.tables import explain_owner, explain_table
from arroyo_nb.editor.explanations.types import explain_type
from arroyo_nb.editor.explanations.variables import (
    explain_parameter,
    explain_reference,
)
from arroyo_nb.editor.explanations.windows import (
    explain_interval,
    explain_window,
    window_named,
)
from arroyo_nb.editor.given_tables import with_given
from arroyo_nb.editor.pointed_word import PointedWord, pointed_words
from arroyo_nb.editor.tokens import EditorToken, TokenKind
from arroyo_nb.secrets_in_text import hide_secrets

_OPENS_LIST = {"(", ","}


def hover(cell: CellText, at: int, context: EditorContext) -> Hover | None:
    """What the thing at a place of a cell is.

    Parameters
    ----------
    cell
        The cell, as it is at the moment.
    at
        A place in it, or right behind a word.
    context
        What it would be planned against.

    Returns
    -------
    Hover or None
        None where nothing is known of it.
    """
    if at < cell.start or cell.start == len(cell.text):
        return explain_run_name(cell, at, context) or explain_first_line(cell, at)
    context = with_given(cell, context)
    with planning(context):
        for word in pointed_words(cell, at, context):
            made = explain(word)
            if made is not None:
                return _placed(made, word.token)
    return explain_section(cell, at, context)


def _placed(made: Explanation, token: EditorToken) -> Hover:
    lines = tuple(map(hide_secrets, made.lines))
    return Hover(token.start, token.end, made.title, lines, made.example, made.badge)


def explain(word: PointedWord) -> Explanation | None:
    """What a word of a statement is; None: nothing is known of it."""
    found = next(filter(None, (ask(word) for ask in _asked(word))), None)
    return None if found is None else with_badge(found, word)


def _asked(word: PointedWord) -> Iterable[Callable[[PointedWord], Explanation | None]]:
    """Who may know a word, in order."""
    if word.options is not None:
        return (explain_reference, explain_option, explain_parameter)
    if word.token.kind is TokenKind.SYMBOL:
        return ()
    if word.token.kind is TokenKind.QUOTED or word.near(-1).text == ".":
        return (
            *(explain_alias, explain_column, explain_view, explain_table),
            explain_owner,
        )
    return (
        *(explain_parameter, explain_reference, explain_window, explain_interval),
        *(explain_alias, explain_function, explain_view, explain_table),
        explain_inserted,
        *((_declared_column,) if _is_column_list(word) else ()),
        *(explain_column, explain_type, explain_declared, explain_result),
        explain_keyword,
        *(explain_owner, _function_alone),
    )


def _is_column_list(word: PointedWord) -> bool:
    """Whether a word begins a column of CREATE TABLE, or is one of a constraint: there
    ``at`` and ``date`` are names."""
    begins = word.near(-1).text in _OPENS_LIST
    return word.statement[0].word == "CREATE" and (
        begins or word.near(-1).word in ("FOR", "AS")
    )


def _declared_column(word: PointedWord) -> Explanation | None:
    return None if word.scope.branch else explain_declared(word)


def _function_alone(word: PointedWord) -> Explanation | None:
    """A function whose brackets are still to be typed."""
    name = word.token.name
    if not name:
        return None
    return window_named(name) or function_named(name, word.context.catalog.functions)
