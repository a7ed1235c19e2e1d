"""What a notebook needs that a machine may not have."""

from __future__ import annotations

import pytest

from arroyo_nb.engine import EngineProblem
from arroyo_nb.engine.jars import BROKER, CONNECTOR, resolve

WITH_BROKER = ("05_kafka.ipynb", "09_your_own_events.ipynb")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the notebooks of a broker where none can be downloaded."""
    for item in items:
        if item.path.name in WITH_BROKER:
            try:
                resolve(BROKER)
                resolve(CONNECTOR)
            except EngineProblem as problem:
                item.add_marker(pytest.mark.skip(reason=str(problem)))
