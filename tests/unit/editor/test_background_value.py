"""Values that are found in the background."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import chain, repeat

import pytest

from arroyo_nb.editor.background_value import BackgroundValue


def test_what_fails_is_logged_and_looked_for_again(
    caplog: pytest.LogCaptureFixture, eventually: Callable[..., None]
) -> None:
    found = chain([1, None], repeat(3))

    def find() -> int:
        value = next(found)
        if value is None:
            raise OSError("the folder is gone")
        return value

    value = BackgroundValue(find, keep_s=0)
    with caplog.at_level(logging.ERROR):
        eventually(lambda: value.newest() == 1)
        eventually(lambda: value.newest() == 3)
    assert "the folder is gone" in caplog.text
