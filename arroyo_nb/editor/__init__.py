"""What a front end asks of a cell: completion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from IPython.core.completer import (
    CompletionContext,
    SimpleMatcherResult,
    context_matcher,
)

if TYPE_CHECKING:
    from arroyo_nb.session import Session


def matcher(session: Session) -> Callable[[CompletionContext], SimpleMatcherResult]:
    """The matcher of a session, to be put among a completer's custom matchers."""

    @context_matcher(identifier="arroyo_nb", priority=100)  # type: ignore[untyped-decorator]
    def arroyo_matcher(context: CompletionContext) -> SimpleMatcherResult:
        # At the first key, not while the extension loads.
        from arroyo_nb.editor.completion import complete

        return complete(session, context)

    made: Callable[[CompletionContext], SimpleMatcherResult] = arroyo_matcher
    return made
