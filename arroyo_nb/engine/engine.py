"""The engine of one kernel: a worker thread, and the SparkSession that it makes.

The session comes from a JVM of our own, which is replaced when it has died; or from a
session of the user's, which is never reconfigured or stopped. One that was handed in is
never replaced; one that was only found in the process is, once the user has stopped it.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, suppress
from importlib import import_module
from inspect import GEN_CLOSED, getgeneratorstate
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arroyo_nb.engine import (
    class_data,
    descriptors,
    external_session,
    folders,
    gateway,
    launch,
    warm,
)
from arroyo_nb.engine.config import static_settings
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.jars import Check, JarSet, Tell, resolve, say_nothing
from arroyo_nb.engine.java import Java, find_java
from arroyo_nb.engine.launch import Jvm
from arroyo_nb.engine.program import go_on
from arroyo_nb.engine.worker_thread import Worker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

# Making an archive takes cores: not in the first moments, when a cell may wait.
_BUILD_AFTER_S = 10

_END = object()

# PySpark has one context in a process: of two engines that start at once the later one
# works beside the Spark of the first.
_starting = threading.Lock()
# Of a child that is forked meanwhile it would never be released.
os.register_at_fork(after_in_child=_starting._at_fork_reinit)  # type: ignore[attr-defined]


class Event(NamedTuple):
    """Something happened to the engine.

    Attributes
    ----------
    kind
        ``starting``, ``ready``, ``died``, ``failed`` or ``closed``.
    text
        For the user: one lower-case sentence.
    elapsed_s
        Since the start that it belongs to began.
    """

    kind: str
    text: str
    elapsed_s: float


class Engine:
    """Starts Spark when it is first wanted, and again when it has died.

    Parameters
    ----------
    spark
        A session of the user's to work beside. Without one that of the process is
        taken, where there is one, or a JVM is started.
    on_event
        Is told of every :class:`Event`, mostly on the worker thread.

    Attributes
    ----------
    worker
        The thread that makes all Spark calls.
    restarts
        How often a JVM has been replaced: a session of an earlier number is dead.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.worker = Worker()
        self.restarts = 0
        self._given = spark
        self._handed_in = spark is not None
        self._on_event = on_event
        self._jars: dict[str, tuple[Path, ...]] = {}
        self._warmth: Generator[None, None, None] = (None for _ in ())
        self._jvm: Jvm | None = None
        self._work: Path | None = None
        self._session: SparkSession | None = None
        self._builder: subprocess.Popen[bytes] | None = None
        self._cancel_build: Callable[[], None] = _nothing
        self._state = "not started"
        self._since = time.monotonic()
        self._closed = False
        self._pid = os.getpid()
        atexit.register(self.close)

    @property
    def alive(self) -> bool:
        """Is there a Spark that can answer? Does not ask it, so never waits."""
        if self._given is not None:
            return external_session.is_alive(self._given)
        return self._jvm is not None and self._jvm.alive

    def died(self, within_s: float = 0) -> str | None:
        """How its Spark ended, as one sentence; None when it goes on or nobody knows.

        Parameters
        ----------
        within_s
            How long to wait for its end: the sockets of a process close a moment
            before the system calls it dead.
        """
        deadline = time.monotonic() + within_s
        while self.alive and time.monotonic() < deadline:
            time.sleep(0.01)
        if self._given is not None and not external_session.is_on(self._given):
            return "its SparkSession was stopped"
        if self._jvm is None or self.alive:
            return None
        return self._jvm.problem("its Java process has ended").message

    @property
    def status(self) -> str:
        """One line for a progress display: ``starting Spark, 1.4 s`` or ``ready``."""
        if self._session is not None and not (self.alive or self._closed):
            return "died"
        if not self._state.startswith("starting"):
            return self._state
        return f"{self._state}, {time.monotonic() - self._since:.1f} s"

    @property
    def pid(self) -> int | None:
        """The JVM's process id, where it is ours."""
        return self._jvm.pid if self._jvm is not None else None

    @property
    def session(self) -> SparkSession:
        """The session, started if need be. To be asked for on the worker thread.

        Raises
        ------
        EngineProblem
            When there is no Java, when Spark does not start, or when the session that
            was handed in has been stopped.
        """
        if not self.worker.is_current:
            # Elsewhere py4j could be hit by an interrupt, or take over SIGINT.
            raise RuntimeError("Engine.session is for tasks of Engine.worker")
        self._refuse_if_closed()
        if self._session is not None and not (
            self.alive and external_session.is_on(self._session)
        ):
            self._bury()
        if self._session is None:
            self._since = time.monotonic()
            if _starting.locked():
                self._tell("starting", "waiting for the spark of another session")
            with _starting:
                self._session = self._start()
            self._tell("ready", "ready")
            # What a killed process left; once this one has nothing to do.
            with suppress(EngineProblem):  # closed meanwhile
                self.worker.when_idle(folders.sweep)
        return self._session

    def require(
        self,
        jars: JarSet,
        *,
        live: Iterable[str] = (),
        tell: Tell = say_nothing,
        check: Check = go_on,
    ) -> None:
        """See to it that the session has a set of jars, from the next time it is asked
        for. A JVM of ours that runs without them is ended, to be started again.

        Not for the worker thread, which a download would hold up.

        Parameters
        ----------
        jars
            The set. It is downloaded where it is needed and has not been yet.
        live
            Names of the runs that are live, to tell.
        tell, check
            See :func:`arroyo_nb.engine.jars.resolve`.

        Raises
        ------
        EngineProblem
            When they cannot be had, when something runs on the JVM that would have to
            end, or when the session is the user's and has not got them.
        """
        if self.worker.call(self._has, jars, check=check):
            return
        names = tuple(live)
        self.worker.call(self._refuse_if_live, jars, names, check=check)
        files = resolve(jars, tell=tell, check=check)
        self.worker.call(self._add, jars, files, names, check=check)

    def warm_up(self, modules: Sequence[str] = ()) -> None:
        """Start, then run small streams, in the background; returns at once.

        What fails here fails again, and is then told, when a session is wanted.

        Parameters
        ----------
        modules
            What its user will import for a first run: Python has loaded them by then.
        """
        self._warmth = self._warming(modules)
        self.worker.when_idle(self._step, self._warmth)

    @property
    def is_warm(self) -> bool:
        """Whether a warm-up has come to its end, or has given way to a run."""
        return getgeneratorstate(self._warmth) == GEN_CLOSED

    def tidy(self) -> None:
        """Have what queries that ended left behind in Spark closed, once the worker has
        nothing else to do; returns at once."""
        with suppress(EngineProblem):  # closed meanwhile
            self.worker.when_idle(self._tidy)

    def close(self) -> None:
        """End everything that is ours. May be called on any thread, and again."""
        # A forked child must not end its parent's JVM when it exits.
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        atexit.unregister(self.close)
        self._stop_builder()
        try:
            if self._jvm is not None:
                # In good order it would take half a second, and only tidy what goes
                # with it: all that its queries have committed lies in files.
                self._jvm.kill()
                with suppress(EngineProblem, TimeoutError):
                    self.worker.call(gateway.forget_own, self._jvm, timeout=2)
        finally:
            self.worker.close()
            self._remove_work()
            self._tell("closed", "closed")

    def _start(self) -> SparkSession:
        self._refuse_if_closed()
        if (found := self._given or external_session.active_session()) is not None:
            session = external_session.derive(found)
            self._given = found
            return session
        java = find_java()
        fitting = class_data.archive_for(java)
        try:
            return self._connect(java, fitting.use())
        except EngineProblem:
            if not fitting.exists:
                raise
            # An archive is never needed. Where Spark starts without, it was to blame.
            session = self._connect(java, [])
            fitting.discard()
            return session

    def _connect(self, java: Java, archive_flags: list[str]) -> SparkSession:
        self._refuse_if_closed()
        descriptors.check_limit()
        self._remove_work()
        self._work = folders.make_work_folder()
        self._tell("starting", "starting Java")
        self._jvm = jvm = launch.start(
            java,
            self._work,
            static_settings(self._work),
            archive_flags=archive_flags,
            jars=chain.from_iterable(self._jars.values()),
        )
        try:
            self._refuse_if_closed()  # who closed it before saw no JVM to end
            gateway.import_pyspark()  # while java starts
            jvm.wait_until_up()
            self._tell("starting", "starting Spark")
            if external_session.active_session() is None:
                gateway.forget()  # the JVM of a Spark that has been stopped
            session = gateway.connect(jvm)
            self._refuse_if_closed()
            return session
        except Exception as error:
            gateway.forget()
            jvm.kill()
            if self._closed:
                self._remove_work()
            else:
                self._state = "failed"
            if isinstance(error, EngineProblem):
                raise
            raise jvm.problem("spark did not start") from error

    def _refuse_if_closed(self) -> None:
        if self._closed:  # perhaps meanwhile, by another thread
            raise EngineProblem("the engine is closed")

    def _has(self, jars: JarSet) -> bool:
        """Whether the session that there is, or will be, has a set of jars."""
        self._refuse_if_closed()
        user = self._given
        if user is None and self._session is None:
            user = external_session.active_session()
        if user is None or not external_session.is_on(user):
            return jars.name in self._jars
        external_session.check_has(user, jars)
        return True

    def _refuse_if_live(self, jars: JarSet, live: Sequence[str]) -> None:
        """Refuse to end a JVM that streams; the warm-up's stream is no reason."""
        if self._session is None or not self.alive:
            return
        self._warmth.close()
        if live or self._session.streams.active:
            ended = ", ".join(live) or "streaming queries of another session"
            raise EngineProblem(
                f"spark must start again to have {jars.what}, which would end {ended}",
                hint="stop it first: %arroyo stop --all, or stop() of each run",
            )

    def _add(self, jars: JarSet, files: tuple[Path, ...], live: Sequence[str]) -> None:
        """Have a set of jars from the next start on; one that runs is ended for it."""
        self._refuse_if_live(jars, live)
        self._jars[jars.name] = files
        if self._jvm is None or self._session is None or not self.alive:
            return  # the next start is still to come
        self._session = None
        self.restarts += 1
        self._cancel_build()  # the next warm-up asks for it again
        self._jvm.kill()
        gateway.forget_own(self._jvm)
        self._tell("starting", f"starting again with {jars.what}")
        self.warm_up()

    def _bury(self) -> None:
        """Make everyone forget a session whose JVM, or context, is gone."""
        if self._handed_in:
            problem = EngineProblem(
                "the SparkSession that was handed in has been stopped",
                hint="make a new session with a new SparkSession",
            )
            problem.lasting = True  # nobody hands in another one
            raise problem
        self._session = None
        self.restarts += 1
        why = "spark was stopped" if self.alive else "java has died"
        if self._given is not None:
            # What is left of it goes only if the user has not made another.
            self._given, why = None, "the SparkSession of this process was stopped"
        else:
            if self._jvm is not None:
                self._jvm.kill()
                why = str(self._jvm.problem(why).message)
                gateway.forget_own(self._jvm)
        self._tell("died", f"{why}; starting a new engine")

    def _warming(self, modules: Sequence[str]) -> Generator[None, None, None]:
        """Warm-up in steps, between which the worker serves others."""
        session = self.session
        yield
        for module in modules:
            import_module(module)
            yield
        if self._given is not None or self._work is None:
            return
        folder = self._work / f"warm-{self.restarts}"
        # A stream of the user's warms Spark better, and must not share the cores.
        with closing(warm.steps(session, folder)) as steps:
            while self.worker.served == 0 and next(steps, _END) is not _END:
                yield
        shutil.rmtree(folder, ignore_errors=True)
        self._cancel_build = self.worker.every(_BUILD_AFTER_S, self._start_builder)

    def _step(self, steps: Generator[None, None, None]) -> None:
        if self._closed:
            return
        try:
            next(steps)
        except StopIteration:
            return
        except Exception as error:
            dead = self._session is not None and not self.alive
            if not (self._closed or dead):  # a death is told by who finds it
                self._tell("failed", str(error))
            _log.debug("warm-up ended early", exc_info=error)
            return
        with suppress(EngineProblem):  # closed meanwhile
            self.worker.when_idle(self._step, steps)

    def _tidy(self) -> None:
        from arroyo_nb.engine import callbacks

        if self._session is None or not (
            self.alive and external_session.is_on(self._session)
        ):
            return
        try:
            callbacks.close_idle_connections(self._session)
            if self._given is None:
                gateway.end_leftovers(self._session)
        except Exception as error:  # the next run that ends tries again
            _log.debug("what ended queries left was not closed", exc_info=error)

    def _start_builder(self) -> None:
        self._cancel_build()
        if os.environ.get("ARROYO_NB_ARCHIVE", "on") == "off" or self._builder:
            return
        if class_data.archive_for(find_java()).is_wanted:
            self._builder = class_data.start_builder()

    def _stop_builder(self) -> None:
        if self._builder is None or self._builder.stdin is None:
            return
        self._builder.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._builder.wait(2)

    @property
    def work(self) -> Path | None:
        """The folder for what its JVM writes down for a while; None: it has none."""
        return self._work

    def _remove_work(self) -> None:
        work, self._work = self._work, None
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)

    def _tell(self, kind: str, text: str) -> None:
        self._state = text if kind != "died" else kind
        if self._on_event is None:
            return
        try:
            self._on_event(Event(kind, text, time.monotonic() - self._since))
        except Exception:
            _log.exception("on_event failed")


def _nothing() -> None:
    pass
