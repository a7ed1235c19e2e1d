"""Which test reaches which line: a plugin of pytest.

The tests and the processes that they start note each line under the name of the test.
Spark's workers serve all tests of a process: their contexts end with ``worker``."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

NAME = "COVERED_TEST"


def _note(context: str) -> None:
    from coverage import Coverage

    os.environ[NAME] = context
    if (current := Coverage.current()) is not None:
        current.switch_context(context)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    _note(f"{item.nodeid}|setup")
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    _note(f"{item.nodeid}|call")
    return (yield)
