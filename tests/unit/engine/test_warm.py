"""The streams of the warm-up on a machine that is too busy for Spark's limits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from arroyo_nb.engine import archive, gateway, launch, warm
from arroyo_nb.engine.errors import EngineProblem

SLOW = """An error occurred while calling o296.stop.
: java.util.concurrent.TimeoutException: the thread failed to stop within 2000 \
milliseconds (specified by spark.sql.streaming.stopTimeout).
\tat org.apache.spark.sql.execution.streaming.runtime.StreamExecution.interruptAndAwa
Caused by: org.apache.spark.SparkException: The stream thread was last executing:
\tat java.base/java.util.HashMap.get(Unknown Source)"""


def stopping(text):
    def stop():
        raise RuntimeError(text)

    return SimpleNamespace(stop=stop)


def test_a_query_that_ends_later_than_spark_waits_ends_no_warm_up():
    warm._stop(stopping(SLOW))


def test_another_error_of_its_stop_is_raised():
    with pytest.raises(RuntimeError, match="was stopped"):
        warm._stop(stopping("the context was stopped"))


def test_a_failed_archive_is_told_in_a_line(monkeypatch, tmp_path):
    jvm = SimpleNamespace(pid=1, close=None, kill=None, problem=None)
    jvm.wait_until_up = stopping(SLOW).stop
    monkeypatch.setattr(launch, "start", lambda *_, **__: jvm)
    monkeypatch.setattr(gateway, "import_pyspark", lambda: None)
    java = SimpleNamespace(version="25")
    with pytest.raises(EngineProblem) as caught:
        archive._ArchivedStream(java, (), tmp_path).perform(lambda _: None)
    assert str(caught.value) == (
        "the sample stream failed: An error occurred while calling o296.stop. "
        "java.util.concurrent.TimeoutException: the thread failed to stop within 2000 "
        "milliseconds (specified by spark.sql.streaming.stopTimeout)."
    )
