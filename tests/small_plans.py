"""Queries over a few rows: Spark compiles nothing for them.

Spark makes Java of each query, which pays for itself after many rows. A query of a
test has a few, and another plan each time: that compiling takes a fifth of its time,
and much more where it has many columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arroyo_nb.engine import Engine

SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def small_plans(engine: Engine) -> Iterator[None]:
    """Queries that start meanwhile are not compiled."""
    before = engine.worker.call(_set, engine, SMALL)
    try:
        yield
    finally:
        # One that was started anew meanwhile has no such settings to be taken back.
        if engine.alive:
            engine.worker.call(_set, engine, before)


def _set(engine: Engine, settings: Mapping[str, str]) -> dict[str, str]:
    """Set them, and give what they were."""
    conf = engine.session.conf
    before = {name: conf.get(name) for name in settings}
    for name, value in settings.items():
        conf.set(name, value)
    return before
