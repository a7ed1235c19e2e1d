"""What tests without Spark share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from shells import new_shell

from arroyo_nb.extension import load, unload
from arroyo_nb.session import Session


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A shell with a session that never starts Spark."""
    monkeypatch.setattr(Session, "warm_up", lambda self: None)
    with new_shell() as shell:
        load(shell, Session())
        yield shell
        unload(shell)
