"""Variables: ``:name`` of the notebook, ``{{ NAME }}`` of the environment."""

from __future__ import annotations

import os

from arroyo_nb.editor.explanations import Explanation, shortened
from arroyo_nb.editor.pointed_word import PointedWord
from arroyo_nb.editor.tokens import TokenKind
from arroyo_nb.notebook_variables import literal
from arroyo_nb.secrets_in_text import hide_secrets, is_secret
from arroyo_nb.with_options import REFERENCE

VALUE_CHARS = 80


def explain_parameter(word: PointedWord) -> Explanation | None:
    """A variable of the notebook: its type and, shortly, its value."""
    if word.token.kind is not TokenKind.PARAMETER:
        return None
    name, values = word.token.text[1:], word.context.variables
    if name not in values:
        line = f"There is no variable {name}: assign it in a cell before this one."
        return Explanation(f":{name}", (line,))
    value = values[name]
    title = f":{name} ({type(value).__name__})"
    if is_secret(name):
        return Explanation(title, ("Its value is not shown: it may be a secret.",))
    try:
        text = literal(value)
    except ValueError as error:
        return Explanation(title, (f"It {error}.",))
    # Not cut before secrets are hidden: half of one is no longer found.
    return Explanation(title, (shortened(hide_secrets(text), VALUE_CHARS),))


def explain_reference(word: PointedWord) -> Explanation | None:
    """A variable of the environment: whether it is set. Its value may be a secret, and
    is shown nowhere."""
    if word.token.kind not in (TokenKind.STRING, TokenKind.REFERENCE):
        return None
    for found in REFERENCE.finditer(word.token.text):
        start = word.token.start + found.start()
        if start <= word.at < word.token.start + found.end():
            name = found[1]
            state = (
                "It is set; its value is read when a run starts, and is not shown."
                if name in os.environ
                else f"It is not set. In a notebook: %env {name}=..."
            )
            return Explanation(f"{{{{ {name} }}}}", ("Of the environment.", state))
    return None
