"""Work beside a SparkSession of the user's, without changing it.

A new session of the same Spark has SQL settings, views and functions of its own, so
ours are set there; the user's session keeps what it has. Its Python workers get a
variable into their environment, which only our errors look at.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.engine import wrapping_arithmetic as wrapping
from arroyo_nb.engine.config import LOCAL_FILES_CLASS, LOCAL_FILES_KEY, sql_settings
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.jars import JarSet
from arroyo_nb.engine.paths import SEARCHED, is_searched
from arroyo_nb.python_worker_errors import mark_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def derive(session: SparkSession) -> SparkSession:
    """A new session of the same Spark, with our SQL settings.

    Raises
    ------
    EngineProblem
        When it has been stopped, or is a Spark Connect session.
    """
    if not hasattr(session, "_jsparkSession"):
        raise EngineProblem(
            "a Spark Connect session cannot run these streams: their results are "
            "handed to this kernel batch by batch",
            hint='hand in a session made with .config("spark.api.mode", "classic")',
        )
    if not is_on(session):
        raise EngineProblem("the SparkSession that was handed in has been stopped")
    from arroyo_nb.engine import callbacks

    context: Any = session.sparkContext
    callbacks.start_server(context._gateway)
    mark_workers(context.environment)
    ours: SparkSession = session.newSession()
    settings = sql_settings(context.defaultParallelism, local=is_local(session))
    for key, value in settings.items():
        ours.conf.set(key, value)
    wrapping.register(ours)
    return ours


def check_has(session: SparkSession, jars: JarSet) -> None:
    """Refuse a session without a set of jars: only its user can start it again.

    Raises
    ------
    EngineProblem
        When its Spark cannot load the set's class.
    """
    if _can_load(session, jars.provider):
        return
    raise EngineProblem(
        f"the SparkSession of this kernel lacks {jars.what}",
        hint=f'make it with .config("spark.jars.packages", "{jars.own}"), or make '
        "none: one of ours is then started",
    )


def _can_load(session: SparkSession, name: str) -> bool:
    from py4j.protocol import Py4JJavaError

    jvm: Any = session.sparkContext._jvm
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(name)
    except Py4JJavaError:
        return False
    return True


def has_class(session: SparkSession, name: str) -> bool:
    """Has it a class of ours? A session that a user has made need not."""
    from py4j.java_gateway import JavaClass

    jvm: Any = session._jvm
    return isinstance(getattr(jvm.arroyo_nb, name), JavaClass)


def check_finds(session: SparkSession, folder: Path) -> None:
    """Refuse a state folder in which a Spark without our ``LocalFiles.java`` finds no
    files.

    Raises
    ------
    EngineProblem
        With what is wrong with its path.
    """
    if not is_searched(folder):
        return
    context: Any = session.sparkContext
    if context._jsc.hadoopConfiguration().get(LOCAL_FILES_KEY) != LOCAL_FILES_CLASS:
        raise EngineProblem(
            f"the SparkSession of this kernel finds no files in the state folder "
            f"'{folder}': its path has a ':' and one of {SEARCHED}, for which Hadoop "
            "searches as for a pattern",
            hint="name another folder, or make no SparkSession: the one that is then "
            "started reads folders of any name",
        )


def is_on(session: SparkSession) -> bool:
    """Has nobody stopped its Spark? Told by PySpark, without asking the JVM."""
    context: Any = getattr(session, "_sc", None)
    return context is not None and context._jsc is not None


def is_local(session: SparkSession) -> bool:
    """Is all its work done on this host? That of ``local-cluster`` is too."""
    master: str = session.sparkContext.master
    return master.startswith("local")


def is_alive(session: SparkSession) -> bool:
    """Is its Spark on, and its JVM, where PySpark started it, a living process?"""
    context: Any = getattr(session, "_sc", None)
    gateway = getattr(context, "_gateway", None)
    process = getattr(gateway, "proc", None)
    return is_on(session) and (process is None or process.poll() is None)


def active_session() -> SparkSession | None:
    """The session that the user has made in this kernel, if there is one.

    PySpark has one Spark in a process: beside it no other can be started.
    """
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    session: SparkSession | None = SparkSession._instantiatedSession
    return session if session is not None and is_alive(session) else None
