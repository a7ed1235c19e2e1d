"""The function whose brackets a place is in."""

from __future__ import annotations

from arroyo_nb.editor.answers import EditorContext, Hover
from arroyo_nb.editor.cell_tables import planning
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.editor.explanations.functions import explain_function
from arroyo_nb.editor.explanations.keywords import phrase_named
from arroyo_nb.editor.explanations.windows import explain_window
from arroyo_nb.editor.pointed_word import last_token
from arroyo_nb.editor.tokens import TokenKind, closing, openings

DEEPEST = 100
"""The function is looked for in so many brackets around a place."""

_WITH_BRACKETS = {"CAST", "TRY_CAST", "EXTRACT"}


def signature(cell: CellText, at: int, context: EditorContext) -> Hover | None:
    """The innermost function whose brackets are around a place, open or closed.

    Returns
    -------
    Hover or None
        Its place is the function's name; None where no brackets of one are around.
    """
    word = last_token(cell, at, context)
    if word is None:
        return None
    # A place right behind the opening bracket is in it; right behind the closing one it
    # is not.
    is_open = word.token.text in ("(", "[") and word.token.kind is TokenKind.SYMBOL
    opens = openings(word.statement, word.place + is_open)
    if word.token.text == ")" and word.token.end <= at:
        opens = openings(word.statement, word.place)[1:]
    with planning(context):
        for opening in opens[:DEEPEST]:
            close = closing(word.statement, opening)
            if opening == 0 or (
                close < len(word.statement) and word.statement[close].end <= at
            ):
                continue
            called = word.moved_to(opening - 1)
            name = called.token
            made = explain_window(called) or explain_function(called)
            if made is None and name.word in _WITH_BRACKETS:
                made = phrase_named(name.word)
            if made is not None:
                return Hover(
                    *(name.start, name.end, made.title, made.lines),
                    *(made.example, made.badge),
                )
    return None
