"""A query whose thread hangs as it is stopped is freed, and not waited for for ever."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from arroyo_nb.spark.batch_boundary import STOPS, stop_at_once

TIMEOUT = "failed to stop within 2000 milliseconds (spark.sql.streaming.stopTimeout)"


class Query:
    """A query that does not stop before its client was released so often."""

    def __init__(self, needed, text=TIMEOUT):
        self.needed, self.released, self.text = needed, 0, text
        thread = SimpleNamespace(isAlive=lambda: self.released < needed)
        execution = SimpleNamespace(queryExecutionThread=lambda: thread)
        self._jsq = SimpleNamespace(streamingQuery=lambda: execution)

    def stop(self):
        if self.released < self.needed:
            raise RuntimeError(self.text)

    def release(self):
        self.released += 1


@pytest.mark.parametrize("needed", [0, 1, 2])
def test_it_ends_once_its_client_is_released(needed):
    query = Query(needed)
    assert stop_at_once(query, query.release)
    assert query.released == needed


def test_one_that_hangs_all_the_same_is_told():
    query = Query(STOPS + 1)
    assert not stop_at_once(query, query.release)


def test_another_error_is_raised():
    query = Query(1, "the context was stopped")
    with pytest.raises(RuntimeError, match="the context was stopped"):
        stop_at_once(query, query.release)
    assert query.released == 0
