"""What the comparisons with DataFusion share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_plans import small_plans

from arroyo_nb.engine import Engine


@pytest.fixture(scope="module")
def engine(engine: Engine, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The engine of all tests. Where there are many cases it compiles them, as it does
    for a user."""
    if request.config.getoption("--long"):
        yield engine
        return
    with small_plans(engine):
        yield engine
