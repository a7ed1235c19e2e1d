"""The watermark of each batch, also where the points of a picture are thinned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from arroyo_nb.cell_tests.run import _watermarks
from arroyo_nb.errors import RunProblem
from arroyo_nb.run.observe.history import HISTORY_POINTS, History
from arroyo_nb.run.observe.snapshot import MarkPoint

BEGIN = datetime(2026, 1, 1)


def observed(batches: int, traced: int) -> Any:
    history = History()
    marks = [BEGIN + timedelta(seconds=n) for n in range(batches)]
    for number, mark in enumerate(marks):
        history.add(MarkPoint(number, 0.0, None, mark))
    kept = [
        SimpleNamespace(batch_id=n, watermark=mark.replace(tzinfo=UTC))
        for n, mark in enumerate(marks[:traced])
    ]
    traces = [SimpleNamespace(batches=tuple(kept))] if traced else []
    return SimpleNamespace(history=history, traces=traces)


@pytest.mark.parametrize(
    ("batches", "traced"), [(3, 0), (HISTORY_POINTS, 0), (1000, 1000)]
)
def test_each_batch_has_its_watermark(batches, traced):
    found = _watermarks(observed(batches, traced))
    assert found == [(n, BEGIN + timedelta(seconds=n)) for n in range(batches)]


@pytest.mark.parametrize("traced", [0, 900])
def test_more_batches_than_are_kept_are_told(traced):
    with pytest.raises(RunProblem, match=r"had 1,000 micro-batches.*not kept"):
        _watermarks(observed(1000, traced))
