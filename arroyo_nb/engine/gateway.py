"""Connect PySpark to a JVM of ours, and make it forget one that is gone.

PySpark keeps its gateway, context and session in class attributes, one of each for
the whole process, and has no way to say that the JVM behind them has died.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

from arroyo_nb.engine import wrapping_arithmetic as wrapping
from arroyo_nb.engine.launch import Jvm
from arroyo_nb.python_worker_errors import mark_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def import_pyspark() -> None:
    """Import what a session needs; its warnings and its noise are not the user's.

    pyarrow with it: results leave Spark as Arrow, and java is still starting.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import py4j.java_gateway
        import pyarrow  # noqa: F401
        import pyspark.sql
        import pyspark.sql.streaming  # noqa: F401
    # A call that is under way when the JVM dies is reported there through the root
    # logger, whose first use also gives it a handler: a traceback in the notebook.
    py4j.java_gateway.logging = logging.getLogger("py4j.java_gateway")


def connect(jvm: Jvm) -> SparkSession:
    """A session on a JVM that is up. Not to be called on the main thread.

    On the main thread PySpark would take over SIGINT, and an interrupt would cancel
    the jobs of every run.
    """
    from pyspark.core.context import SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    found = {
        "PYSPARK_GATEWAY_PORT": str(jvm.port),
        "PYSPARK_GATEWAY_SECRET": jvm.secret,
    }
    with _environ(found), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gateway: Any = launch_gateway()
        gateway.proc = jvm.process  # as PySpark has it of a Java that it starts
        SparkContext._ensure_initialized(gateway=gateway)
        # The mode is named: a SPARK_REMOTE of the user's must not win.
        session = SparkSession.builder.config("spark.api.mode", "classic").getOrCreate()
    # What workers run on; without PYSPARK_PYTHON it would be any python3 of the path.
    context: Any = session.sparkContext
    context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    settle(session)
    wrapping.register(session)
    return session


def settle(session: SparkSession) -> None:
    """Make a session quiet, its batches shorter, and its callbacks end."""
    from arroyo_nb.engine import callbacks

    context: Any = session.sparkContext
    callbacks.start_server(context._gateway)
    mark_workers(context.environment)
    _silence_context_loggers()
    _forget_where_settings_came_from(context)
    # It prints a traceback when the JVM at its other end goes, which is no error.
    context._accumulatorServer.handle_error = _say_nothing


def end_leftovers(session: SparkSession) -> None:
    """End the threads, descriptors and listeners that Spark forgets with each query
    that has state; only for a JVM of ours, which has the class for it."""
    classic: Any = session
    classic._jvm.arroyo_nb.Leftovers.end(classic._jsparkSession)


def _forget_where_settings_came_from(context: Any) -> None:
    """Drop Hadoop's notes on the file that each of its 1,100 settings came from.

    Spark writes these settings three times in each micro-batch, and the notes, each
    compressed by itself, take most of it: 10 to 15 ms of a batch.
    """
    with suppress(Exception):  # never needed, and a private field
        # Settings that are loaded later would bring their notes with them.
        hadoop = context._jvm.org.apache.hadoop
        hadoop.mapreduce.util.ConfigUtil.loadResources()
        hadoop.hdfs.HdfsConfiguration.init()
        settings = context._jsc.hadoopConfiguration()
        settings.size()
        notes = settings.getClass().getDeclaredField("updatingResource")
        notes.setAccessible(True)
        notes.set(settings, context._jvm.java.util.concurrent.ConcurrentHashMap())


def _silence_context_loggers() -> None:
    # They print each failed query as JSON to stderr, besides the error that is raised.
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def forget_own(jvm: Jvm) -> None:
    """As :func:`forget`, where PySpark remembers this JVM: another engine of the
    process may have started one since."""
    from pyspark.core.context import SparkContext

    gateway: Any = SparkContext._gateway
    if gateway is not None and gateway.proc is jvm.process:
        forget()


def forget() -> None:
    """Clear what PySpark's classes remember of a JVM, without talking to it.

    Otherwise the next getOrCreate() returns the dead session.
    """
    from pyspark import SparkFiles
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.context import SQLContext

    context: Any = SparkContext._active_spark_context
    gateway: Any = SparkContext._gateway
    session_class: Any = SparkSession
    if context is not None:
        context._jsc = None
        # One that was still being made has none yet.
        server = getattr(context, "_accumulatorServer", None)
        context._accumulatorServer = None
        # It looks twice a second whether it is to end. While Python ends it starts no
        # thread, and this one ends with it.
        with suppress(RuntimeError):
            Thread(target=_shut_down, args=(server,), daemon=True).start()
    if gateway is not None:
        # Finalizers of Java objects look at this before they call the dead JVM.
        gateway._gateway_client.is_connected = False
        with suppress(Exception):
            gateway.shutdown()
    with SparkContext._lock:
        SparkContext._active_spark_context = None
        SparkContext._gateway = None
        SparkContext._jvm = None
        SparkContext._python_includes = None
    session_class._instantiatedSession = None
    session_class._activeSession = None
    SQLContext._instantiatedContext = None
    SparkFiles._sc = None


def _shut_down(server: Any) -> None:
    with suppress(Exception):  # its socket may have gone with the work folder
        server.shutdown()


def _say_nothing(*_: object) -> None:
    pass


@contextmanager
def _environ(values: Mapping[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
