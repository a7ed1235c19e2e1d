"""The Spark of the ``spark-submit`` that started this process.

Its launcher runs a Python program as a child of Spark's JVM. Who asks such a job to
stop asks the JVM, by SIGTERM, which would take Spark away under a batch that is being
written: so it asks this process first, and waits.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from arroyo_nb.engine import gateway
from arroyo_nb.engine.errors import EngineProblem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LAUNCHER = "PYSPARK_GATEWAY_PORT"

# Spark's own hooks, which stop it, have 40; those of higher numbers come first.
_BEFORE_SPARK = 100

LOOK_S = 0.1
"""How often it is looked whether the job listens, and whether it has ended."""


def submitted() -> SparkSession:
    """The session of that Spark.

    Raises
    ------
    EngineProblem
        When no launcher has started this process.
    """
    if _LAUNCHER not in os.environ:
        raise EngineProblem(
            "no spark-submit has started this process",
            hint="leave --submitted out, or run main.py with spark-submit",
        )
    # On the main thread PySpark would take over SIGINT.
    with ThreadPoolExecutor(1) as other:
        return other.submit(_session).result()


def _session() -> SparkSession:
    gateway.import_pyspark()
    from pyspark.sql import SparkSession

    session = SparkSession.builder.config("spark.api.mode", "classic").getOrCreate()
    gateway.settle(session)
    return session


@contextmanager
def ended_before(spark: SparkSession, *, within_s: float) -> Iterator[None]:
    """While in the block, a JVM that is asked to end lets the block end first.

    Parameters
    ----------
    within_s
        For how long it waits.
    """
    from pyspark.java_gateway import ensure_callback_server_started

    context: Any = spark.sparkContext
    ensure_callback_server_started(context._gateway)
    java, hook = context._jvm.java, _Hook()
    hooks = context._jvm.org.apache.hadoop.util.ShutdownHookManager.get()
    # A thread stands for the same thread when the hook is taken away again.
    thread = java.lang.Thread(hook)
    seconds = java.util.concurrent.TimeUnit.SECONDS
    hooks.addShutdownHook(thread, _BEFORE_SPARK, int(within_s), seconds)
    try:
        yield
    finally:
        hook.over.set()
        with suppress(Exception):  # the JVM is about to end
            hooks.removeShutdownHook(thread)


class _Hook:
    """What the JVM runs before it ends."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def run(self) -> None:
        """Pass SIGTERM on once the job listens, and wait for its end."""
        told = False
        while not self.over.wait(LOOK_S):
            # One that was told by itself listens no more: a second time it would not
            # wait for what is being written.
            listens = signal.getsignal(signal.SIGTERM) is not signal.default_int_handler
            if listens and not told:
                os.kill(os.getpid(), signal.SIGTERM)
                told = True

    class Java:
        """Read by py4j, which looks for a class of this very name."""

        implements = ("java.lang.Runnable",)
