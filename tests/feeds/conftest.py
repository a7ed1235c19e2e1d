"""Fixtures of the tests of feeds."""

from __future__ import annotations

import pytest

from arroyo_nb import feed_commands
from arroyo_nb.feeds import peek as feeds


@pytest.fixture
def peeked(monkeypatch):
    """What a look shows, and the statement that it offers."""
    monkeypatch.setattr(feeds, "SAMPLE_S", 0.4)
    shown, offered = [], []
    monkeypatch.setattr(feed_commands, "publish", shown.append)

    def peek(url, **options):
        offer = lambda _, statement: offered.append(statement) or True  # noqa: E731
        feed_commands.peek(url, options, 5, offer)
        return shown[-1]["text/plain"], offered[-1] if offered else ""

    return peek
