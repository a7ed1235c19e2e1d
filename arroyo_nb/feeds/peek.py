"""A look into a feed without a table: some messages of a URL."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds import Message, Peekable, PeekedFeed
from arroyo_nb.feeds.interruptible import run_in_thread
from arroyo_nb.feeds.receiver import Receiver
from arroyo_nb.secrets_in_text import hide_secrets

SAMPLE_S = 5.0
"""How long is looked, where too few messages come."""

_LOOK_S = 0.05


class PeekedMessages(NamedTuple):
    """What a look into a feed found.

    Attributes
    ----------
    options
        WITH options of a table for it, but for the format.
    messages
        Its messages, the oldest one first.
    name
        What its table is called after; empty: the URL.
    hint
        What to try where there is no message; empty: nothing is known.
    """

    options: Mapping[str, str]
    messages: Sequence[Message]
    name: str = ""
    hint: str = ""


def peek(
    url: str,
    options: Mapping[str, str],
    *,
    check: Callable[[], None],
    seconds: float,
) -> PeekedMessages:
    """Some messages of a URL.

    Parameters
    ----------
    url
        It may have references to variables.
    options
        Other WITH options, such as headers.
    check
        Is called again and again; what it raises ends the look.
    seconds
        How long it takes at most, once there is an answer.

    Raises
    ------
    RunProblem
        When no connector reads such a URL, or nothing can be received.
    """
    candidates = tuple(_readers(url))
    if not candidates:
        known = ", ".join(
            sorted({f"{s}://" for one in _peekable() for s in one.schemes})
        )
        raise RunProblem(
            f"no connector can look into '{hide_secrets(url)}'",
            hint=f"write a URL that begins with one of: {known}",
        )
    found = run_in_thread(lambda: _first(candidates, url, options), check, "peek")
    if found is None:
        raise RunProblem(f"no connector reads what '{hide_secrets(url)}' gives")
    messages, hint = sample(found, check, seconds), ""
    if not messages and found.explain_silence is not None:
        hint = run_in_thread(found.explain_silence, check, "peek")
    return PeekedMessages(found.options, messages, found.name, hint)


def sample(
    found: PeekedFeed, check: Callable[[], None], seconds: float
) -> Sequence[Message]:
    """The first messages that come."""
    messages: list[Message] = []
    until_s = time.monotonic() + seconds
    with Receiver(found.feed, None, resumed=False) as receiver:
        while len(messages) < found.enough and time.monotonic() < until_s:
            check()
            try:
                messages += receiver.take(_LOOK_S)
            except RunProblem:
                # What ended with a few messages has been looked into.
                if not messages:
                    raise
                break
    return messages[: found.enough]


def _peekable() -> Iterator[Peekable]:
    connectors = (CONNECTORS.get(name) for name in CONNECTORS.names)
    return (one for one in connectors if isinstance(one, Peekable))


def _readers(url: str) -> Iterator[Peekable]:
    scheme = url.partition("://")[0].lower()
    return (one for one in _peekable() if scheme in one.schemes)


def _first(
    candidates: Sequence[Peekable], url: str, options: Mapping[str, str]
) -> PeekedFeed | None:
    found = (one.peek(url, options) for one in candidates)
    return next((feed for feed in found if feed is not None), None)
