"""What tests on Spark share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_plans import small_plans

from arroyo_nb.engine import Engine

COMPILED = (
    "test_datafusion",
    "test_engine",
    "test_examples",
    "test_expressions",
    "test_functions_against_duckdb",
    "test_json_functions",
    "test_literals",
    "test_nexmark_queries",
    "test_scalar_functions",
    "test_wrapping_arithmetic",
)
"""Of an expression Spark has two forms: these files test the one that is compiled, as
it is for a user. So do the tests of Kafka, feeds and notebooks, and all long ones."""


@pytest.fixture(scope="module")
def engine(engine: Engine, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The engine of all tests, which compiles nothing for a module's few rows."""
    if request.path.stem in COMPILED or request.config.getoption("--long"):
        yield engine
        return
    with small_plans(engine):
        yield engine
