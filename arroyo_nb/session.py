"""What one kernel knows: a catalog, an engine, and the runs that were started.

A script happens or it doesn't: its declarations land in the catalog only when the
whole script is good. Everything the magics and the command line do is here.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

from arroyo_nb.allowed_roots import current_roots
from arroyo_nb.catalog import Catalog
from arroyo_nb.engine import Engine
from arroyo_nb.engine.folders import make_work_folder
from arroyo_nb.engine.jars import CONNECTOR, Tell, say_nothing
from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import ArroyoError, RunProblem, raise_all
from arroyo_nb.run.names import safe_name, script_name
from arroyo_nb.run.option_values import checkpoint_interval, state_folder
from arroyo_nb.run.options import BUDGET_BYTES, RunOptions
from arroyo_nb.state.header import NO_SPEC, StateSpec

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from arroyo_nb.catalog import Relation
    from arroyo_nb.jobs.folder import Promotion
    from arroyo_nb.jobs.spec import Origin
    from arroyo_nb.kafka.emit.targets import Names
    from arroyo_nb.kafka.local import LocalBroker
    from arroyo_nb.kafka.recording import Recording
    from arroyo_nb.plan import Plan
    from arroyo_nb.plan.answers import StatementAnswer
    from arroyo_nb.run.emission import Emission
    from arroyo_nb.run.run import Run, RunViews

KEPT_RUNS = 50
"""Runs that have ended and stay in the list, the newest. What an older one kept goes
when nobody holds it any more."""

CLOSE_S = 10.0
"""How long closing waits for a run to stop."""


class Session:
    """A catalog, an engine and runs; a context manager that stops them all.

    One that nobody closes is closed when the process exits.

    Parameters
    ----------
    spark
        A SparkSession to run on, local or on a cluster. It is never reconfigured and
        never stopped. None: that of this process, or an engine of our own, started
        when it is first needed. On a cluster ``state_dir`` is needed, a folder that is
        mounted at the same path on every node; and arroyo_nb on each of them.
    state_dir
        Folder under which runs keep their checkpoints, one folder per run name. None:
        a temporary folder that ends with the process.
    strict
        Refuse what Arroyo itself would refuse, though it could be run here.
    engine
        An engine to share with other sessions, in place of one of its own.
    tell
        Is told, a line at a time, what a script has to wait for before it can run, such
        as the download of a connector.

    Examples
    --------
    ::

        with Session() as session:
            run = session.run("SELECT ...", wait=True)
            print(run.table())
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        state_dir: str | Path | None = None,
        strict: bool = False,
        *,
        engine: Engine | None = None,
        tell: Tell = say_nothing,
    ) -> None:
        self.catalog = Catalog()
        self.answers: tuple[StatementAnswer, ...] = ()
        """What SHOW TABLES, DESCRIBE and EXPLAIN of the last script answer."""
        self.broker: LocalBroker | None = None
        """The broker whose topics are meant where no other is named."""
        self.strict = strict
        self.engine = engine or Engine(spark)
        self._owns_engine = engine is None
        self._tell = tell
        self._state_dir = _folder(state_dir)
        self._runs: dict[str, Run] = {}
        self._emissions: list[Emission] = []
        # Where jobs that were attached are, by the names of their runs.
        self._attached: dict[str, Path] = {}
        self._work: Path | None = None
        # It holds the session: also the runs of one that nobody holds are ended well.
        self._at_exit = partial(_leave, self, pid=os.getpid())
        atexit.register(self._at_exit)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def runs(self) -> Mapping[str, Run]:
        """The newest run of each name, oldest first."""
        return MappingProxyType(self._runs)

    def plan(
        self, sql: str, *, strict: bool | None = None, source: str = "<cell>"
    ) -> Plan:
        """Plan a script against the catalog, which stays as it is.

        Parameters
        ----------
        sql
            Statements of the dialect, separated by semicolons.
        strict
            Overrides the session's.
        source
            What errors call the script.

        Raises
        ------
        ArroyoError
            With every independent error of the script.
        """
        # sqlglot is heavy: a kernel that only loads the extension never imports it.
        from arroyo_nb.plan.planner import plan_script

        chosen = self.strict if strict is None else strict
        return plan_script(sql, self.catalog, strict=chosen, name=source)

    def lookup(self, name: str, frame: Any, *, key: str | Sequence[str]) -> None:
        """Make the rows of a DataFrame a table that streams look rows up in.

        Parameters
        ----------
        name
            What ``JOIN`` calls it; it replaces a table of that name.
        frame
            Of pandas, pyarrow, Polars, DuckDB or Spark. Its rows are taken now: what
            changes later changes no query.
        key
            The columns that it is looked up by. A row whose key is NULL is never found.

        Raises
        ------
        CatalogProblem
            When it is no DataFrame, has no such column, or one whose type SQL lacks.
        RunProblem
            When two rows have one key.

        Examples
        --------
        ::

            session.lookup("airlines", frame, key="carrier")
            session.run("SELECT f.flight, a.name FROM flights AS f "
                        "LEFT JOIN airlines AS a ON f.carrier = a.carrier")
        """
        from arroyo_nb.frames import lookup_table

        keys = (key,) if isinstance(key, str) else tuple(key)
        self.catalog = self.catalog.define(lookup_table(name, frame, keys))

    def run(
        self,
        sql: str,
        *,
        name: str | None = None,
        sinks: bool = True,
        wait: bool = False,
        speed: float | str = "max",
        strict: bool | None = None,
        ttl: str | timedelta | None = None,
        trigger: str | timedelta | None = None,
        state_dir: str | Path | None = None,
        keep: bool = False,
        stop_after: str | timedelta | None = None,
        until: str | datetime | None = None,
        step: bool = False,
        traced: bool = True,
        real_time: bool = False,
        printed: bool = False,
        budget: str | int = BUDGET_BYTES,
        source: str = "<cell>",
    ) -> Run | None:
        """Plan a script, take over its declarations, start its INSERTs and SELECTs.

        Parameters
        ----------
        sql
            The script.
        name
            The run's name; by default one made from the script's text. A run of the
            same name is stopped and replaced.
        sinks
            Write to the tables of INSERTs; False previews their rows instead.
        wait
            Return when the run has ended; an interrupt stops it first.
        speed
            ``"max"``, or a factor on event time: 60 shows a minute in a second.
        strict
            Refuse what Arroyo would refuse.
        ttl
            How long an updating query keeps an idle key, such as ``"1h"``; it comes
            before what the script SETs.
        trigger
            Least time between micro-batches, such as ``"250ms"``. Without it the
            changes of live rows are told every 250 ms, by a job every second.
        state_dir
            Folder that survives the process; the same script on it goes on where it
            stopped.
        keep
            Keep rows for a preview beside the sinks that are written.
        stop_after, until
            Stop after a wall time such as ``"30s"``, or once the watermark reaches an
            event time such as ``"2013-02-08 12:00"``. ``until="end"`` reads topics to
            where they end now; windows that are then still open stay open.
        step
            Read chunk by chunk, or of topics micro-batch by micro-batch, by
            ``Run.step()``.
        traced
            Count the rows of windows and late rows.
        real_time
            Run in Spark's real-time mode: a record takes milliseconds from topic to
            topic. Each partition takes a task slot, nothing is shown of the rows, and
            the trigger is the time between checkpoints, 30 s by default.
        printed
            Print the rows of bare SELECTs as JSON lines instead of keeping them.
        budget
            How much of the disk the rows that are kept may take, in bytes or such as
            ``"200MB"``: above it the oldest are let go. 0 keeps only the newest 10,000,
            in memory.
        source
            What errors call the script.

        Returns
        -------
        Run or None
            None where the script only declares.

        Raises
        ------
        ArroyoError
            When the script is wrong; with ``wait`` also when the run fails.
        """
        options = RunOptions.parse(
            {
                "sinks": sinks,
                "keep": keep,
                "speed": speed,
                "strict": self.strict if strict is None else strict,
                "ttl": ttl,
                "trigger": trigger,
                "state_dir": state_dir,
                "stop_after": stop_after,
                "until": until,
                "step": step,
                "traced": traced,
                "real_time": real_time,
                "printed": printed,
                "budget": budget,
            }
        )
        return self.run_with(sql, options, name=name, wait=wait, source=source)

    def run_with(
        self,
        sql: str,
        options: RunOptions,
        *,
        name: str | None = None,
        wait: bool = False,
        source: str = "<cell>",
    ) -> Run | None:
        """Run a script as :meth:`run` does, with options that are parsed already."""
        plan = self.plan(sql, strict=options.strict, source=source)
        if options.ttl is not None:
            plan = plan.with_updating_ttl(options.ttl)
        if options.printed:
            _check_printed(plan)
        if not plan.sinks:
            self.catalog, self.answers = plan.catalog, plan.answers
            return None
        if options.real_time:
            options = _in_real_time(options, plan)
        run = self._new_run(name or script_name(sql), plan, options)
        self.catalog, self.answers = plan.catalog, plan.answers
        return self._waited(run) if wait else self._started(run)

    def head(self, table: str, rows: int = 10) -> pa.Table:
        """The first rows of a source, or of a lookup table; no run is started.

        Parameters
        ----------
        table
            Its name. Of a topic it is the oldest records that are there; those that
            cannot be read are left out.
        rows
            How many at most.

        Raises
        ------
        CatalogProblem
            When there is no such table.
        RunProblem
            When it is a view or a sink, or cannot be read.

        Examples
        --------
        ::

            session.head("flights", 5).to_pandas()
        """
        from arroyo_nb.run.head import head
        from arroyo_nb.run.interrupts import defer_interrupts

        with defer_interrupts() as interrupts:
            found = self.catalog.get(table)
            return head(self.engine, found, rows, interrupts.check)

    def record(
        self,
        topic: str,
        path: str | Path,
        *,
        stop_after: str | timedelta = "30s",
        most: int = 100_000,
        redact: Sequence[str] = (),
        begin: str | None = None,
        servers: str = "",
        tell: Tell | None = None,
    ) -> Recording:
        """Record a topic onto a tape, which ``connector = 'tape'`` plays.

        Partitions, offsets, times, keys, headers and bytes are kept, and in which order
        and when they came. Nobody's reading of the topic is disturbed.

        Parameters
        ----------
        topic
            The name of a topic; or of a table, whose topic is then recorded with the
            table's access, from where the table begins.
        path
            Where the tape will be; it is there once it is whole.
        stop_after, most
            After which time it ends, and with how many records.
        redact
            Names of fields whose values must not be on the tape
            (:mod:`arroyo_nb.tape.redaction`). One that no record has is told, by
            what is returned, and by a Python warning where nothing else is told.
        begin
            ``"latest"``, which is what a topic without a table begins with, or
            ``"earliest"``.
        servers
            ``host:port`` of the broker of a topic without a table, in place of
            :attr:`broker`.
        tell
            Is told how far it is, in place of the session's.

        Raises
        ------
        RunProblem
            When nothing can be recorded, or no more: what came before is kept.
        Interrupted
            When it was interrupted: what came is kept.

        Examples
        --------
        ::

            made = session.record("orders", "orders.tape", stop_after="10s")
            session.run(made.statement + "SELECT count(*) AS orders FROM orders")
        """
        from arroyo_nb.run.topic_io import limits, record

        made = record(
            self._names(servers),
            topic,
            user_path(path),
            begin=begin,
            limits=limits(stop_after, most),
            redact=redact,
            tell=tell or self._tell,
        )
        if made.unmet and tell is None:
            warnings.warn(str(made), stacklevel=2)
        return made

    def emit(
        self,
        target: str | Path,
        rows: Any,
        *,
        rate: float | None = None,
        key: str | None = None,
        timestamp: str | None = None,
        columns: Sequence[str] = (),
        servers: str = "",
        wait: bool | None = None,
    ) -> Emission:
        """Send rows to a topic or onto a tape: a notebook that feeds its own stream.

        Parameters
        ----------
        target
            The name of a table, whose topic or tape then gets its rows as the table's
            format has them; else of a topic, which a local :attr:`broker` makes if need
            be; or the path of a tape: a :class:`~pathlib.Path`, or a text that ends
            with ``.tape`` or has a slash. A tape is there once all rows are on it.
        rows
            A DataFrame of pandas, pyarrow, Polars or Spark, or any iterable, also one
            without end: of mappings, of tuples, or of texts and bytes, which are
            sent as they are, also to a table: so come bad records to test with.
        rate
            How many rows a second; None: as fast as they come and are taken.
        key, timestamp
            The columns that are a record's key and time; else those that a sink
            declares.
        columns
            Names of the values of tuples, where no table has any.
        servers
            ``host:port`` of the broker of a topic without a table, in place of
            :attr:`broker`.
        wait
            Return when all is sent; None: where the rows are all there and have no
            rate. An interrupt stops it.

        Returns
        -------
        Emission
            It goes on by itself, until it or the session is ended.

        Raises
        ------
        RunProblem
            When nothing can be sent; with ``wait`` also when a row could not be.

        Examples
        --------
        ::

            session.emit("orders", [{"id": 1, "price": 9.5}])
            ticks = session.emit("ticks", ({"n": n} for n in itertools.count()), rate=5)
            ticks.stop()
        """
        from arroyo_nb.run.topic_io import emit, wish

        asked = wish(rate, key, timestamp, columns)
        with emit(self._names(servers), target, rows, asked, wait=wait) as emission:
            going = (e for e in self._emissions if not e.state.ended)
            self._emissions = [*going, emission]
        return emission

    def _names(self, servers: str) -> Names:
        """What names mean: where a broker is named, they are topics of it."""
        from arroyo_nb.kafka.emit.targets import Names

        where = partial(self.servers, servers)
        if servers:
            return Names(None, where, None)
        return Names(self.catalog, where, self.broker)

    def servers(self, current_roots: str = "") -> str:
        """Where the broker is that is asked: :attr:`broker` where none is named.

        Raises
        ------
        RunProblem
            When there is none.
        """
        if current_roots:
            return current_roots
        if self.broker is None or not self.broker.alive:
            raise RunProblem(
                "there is no local broker to ask",
                hint="%arroyo kafka start makes one; or add the host:port of another",
            )
        return self.broker.bootstrap_servers

    def promote(
        self,
        name: str,
        folder: str | Path | None = None,
        *,
        deny: Sequence[str] = (),
        target: str = "local",
        origin: Origin | None = None,
        with_state: bool = False,
        overwrite: bool = False,
    ) -> Promotion:
        """Make a job of a run: a folder to review, which runs without a notebook.

        A job writes to the tables of INSERTs, also where the run only previewed them.

        Parameters
        ----------
        name
            The run's, and the job's.
        folder
            Where the job will be; by default :meth:`job_folder`. What is there of the
            job and no cell says is kept: tags, the state folder, parallelism.
        deny
            Codes of findings that are errors (docs/lint.md); ``"all"``: any is.
        target
            Where the job is to run: ``"local"``, with ``arroyo-nb run``;
            ``"spark-submit"`` or ``"kubernetes"``, on a cluster (docs/clusters.md); or
            ``"arroyo"``, which tells every reason why Arroyo would not run it.
        origin
            The notebook and its cell.
        with_state
            Stop the run, and let the job go on from where it stopped: its rows are in
            the tables, each once. The run cannot be gone on with here any more;
            :meth:`attach` brings it back.
        overwrite
            Write also files of the job that were changed by hand since it was promoted.

        Raises
        ------
        ArroyoError
            When the run cannot be a job, or has such a finding, or somebody has changed
            a file of the job since it was promoted; nothing is written.
            With its state, also when it has none to hand over, and goes on.

        Examples
        --------
        ::

            job = session.promote("by_hour", deny=["sample-source"])
            print(job.command, *job.findings, sep="\\n")
        """
        from arroyo_nb.jobs.folder import promote
        from arroyo_nb.jobs.transfer import check_state, give
        from arroyo_nb.run.interrupts import defer_interrupts

        run, there = self.get(name), user_path(folder or self.job_folder(name))
        if with_state:
            check_state(run, there, target)
        made = promote(
            run.plan,
            name,
            there,
            trigger=run.options.trigger,
            real_time=run.options.real_time,
            origin=None if name in self._attached else origin,
            deny=deny,
            target=target,
            ends=run.options.ends,
            overwrite=overwrite,
        )
        if with_state:
            with defer_interrupts() as interrupts:
                give(run, there, interrupts.check)
        return made

    def job_folder(self, name: str) -> Path:
        """Where the job of a run is: whence it was attached, else ``jobs/NAME``."""
        from arroyo_nb.jobs import JOBS

        return self._attached.get(name, Path(JOBS) / name)

    def attach(self, spec: str | Path) -> Run:
        """Bring a job into this session: it is stopped where it runs, and goes on here
        as a run of its name, on its own state, in micro-batches also where the job runs
        in real-time mode: its rows are shown.

        :meth:`promote` with its state gives it back.

        Parameters
        ----------
        spec
            The job's ``job.yaml``.

        Raises
        ------
        ArroyoError
            When the job cannot be stopped from here, or its spec was changed since in
            a way that its state does not go on from.

        Examples
        --------
        ::

            run = session.attach("jobs/by_hour/job.yaml")
            session.promote("by_hour", with_state=True)
        """
        from arroyo_nb.jobs import spec_file
        from arroyo_nb.jobs.transfer import take
        from arroyo_nb.run.interrupts import defer_interrupts

        job = spec_file.load(user_path(spec))
        with defer_interrupts() as interrupts:
            take(job, interrupts.check)
        options = replace(
            job.spec.options, keep=True, state_dir=state_folder(job.state)
        )
        if options.real_time:  # its trigger is the time between checkpoints
            options = replace(options, real_time=False, trigger=None)
        run = self.run_with(
            job.spec.script, options, name=job.spec.name, source=job.source.name
        )
        assert run is not None, "a job has something to run"
        self._attached[run.name] = user_path(spec).absolute().parent
        return run

    def resume(self, name: str) -> Run:
        """Go on with an ended run from its checkpoint, with the options it had.

        The rows that it kept and its trace go on too.

        Raises
        ------
        RunProblem
            When there is no run of that name, or it is still running.
        """
        from arroyo_nb.run.run import Run

        old = self.get(name)
        if not old.state.ended:
            raise RunProblem(f"run '{name}' has not ended", hint="stop it first")
        run = Run(
            name,
            old.plan,
            self.engine,
            old.folder,
            replace(old.options, step=False),
            temporary=old.temporary,
            outputs=old.outputs,
            views=_views(),
            state_spec=old.state_spec,
        )
        self._make_ready(run)
        self._runs[name] = run
        return run.start()

    def get(self, name: str) -> Run:
        """The newest run of that name.

        Raises
        ------
        RunProblem
            When there is none; the hint names the nearest.
        """
        from arroyo_nb.registry import did_you_mean

        if name not in self._runs:
            near = did_you_mean(name, self._runs)
            kept = f"of runs that have ended the newest {KEPT_RUNS} are kept"
            hint = near or (kept if len(self._runs) >= KEPT_RUNS else None)
            raise RunProblem(f"there is no run '{name}'", hint=hint)
        return self._runs[name]

    @property
    def background(self) -> list[tuple[str, str]]:
        """What lives beside the runs: emissions and the local broker, with the state of
        each."""
        emissions = (e for e in self._emissions if not e.state.ended)
        found = [(f"emission to {e.name}", e.state.value) for e in emissions]
        if self.broker is not None and self.broker.alive:
            found.append((f"broker {self.broker.bootstrap_servers}", "running"))
        return found

    def users(self, table: Relation) -> list[str]:
        """The runs that read or write a table and have not ended. Each goes on with it
        whatever becomes of its name: DROP TABLE takes nothing away from a run."""
        from arroyo_nb.plan.paths import uses

        live = (run for run in self._runs.values() if not run.state.ended)
        return [run.name for run in live if uses(run.plan, table)]

    def clear(self, *, everything: bool = False) -> list[str]:
        """Forget the runs that have ended, and the rows that they kept where no state
        folder was named; returns their names.

        Parameters
        ----------
        everything
            Stop the others too, and drop all tables.
        """
        found = [r for r in self._runs.values() if everything or r.state.ended]
        for run in found:
            del self._runs[run.name]
            self._attached.pop(run.name, None)
            run.discard()
        if everything:
            self.catalog = Catalog()
        return [run.name for run in found]

    def close(self) -> None:
        """Stop every run and emission, then the engine (one that was handed in goes
        on)."""
        atexit.unregister(self._at_exit)
        runs, self._runs = self._runs, {}
        emissions, self._emissions = self._emissions, []
        try:
            for emission in emissions:
                emission.stop()
            for run in runs.values():
                with suppress(ArroyoError):  # a shared engine, closed before
                    run.discard()
            deadline = time.monotonic() + CLOSE_S
            for emission in emissions:
                emission.wait_quietly(max(0.0, deadline - time.monotonic()))
            for run in runs.values():
                run.wait_quietly(max(0.0, deadline - time.monotonic()))
        finally:
            for run in runs.values():
                run.detach()
            if self._work is not None:
                shutil.rmtree(self._work, ignore_errors=True)
                self._work = None
            if self._owns_engine:
                self.engine.close()

    def _new_run(self, name: str, plan: Plan, options: RunOptions) -> Run:
        from arroyo_nb.run.run import Run

        base, state_spec = options.state_dir or self._state_dir, NO_SPEC
        _check_inside(plan, base and base / safe_name(name))
        if base is None:
            folder = self._temporary(name)
        else:
            from arroyo_nb.jobs.resume import differences, kept

            folder = base / safe_name(name)
            spec = kept(plan, options)
            state_spec = StateSpec(spec, partial(differences, plan, spec))
        run = Run(
            name,
            plan,
            self.engine,
            folder,
            options,
            temporary=base is None,
            views=_views(),
            state_spec=state_spec,
        )
        self._make_ready(run)
        return run

    def _make_ready(self, run: Run) -> None:
        """See to it that Spark can read and write the topics of a run, if it has any;
        starts it again if need be."""
        from arroyo_nb.run.interrupts import defer_interrupts

        if not (run.feeds.streamed or any(output.streamed for output in run.outputs)):
            return
        live = [run.name for run in self._runs.values() if not run.state.ended]
        with defer_interrupts() as interrupts:
            run.check(interrupts.check)
            self.engine.require(
                CONNECTOR, live=live, tell=self._tell, check=interrupts.check
            )

    def _started(self, run: Run) -> Run:
        # The worker ends the old one before it starts the new one.
        if (old := self._runs.pop(run.name, None)) is not None:
            old.discard()
        self._attached.pop(run.name, None)
        self._runs[run.name] = run.start()
        self._forget_old_runs()
        return run

    def _forget_old_runs(self) -> None:
        ended = [run for run in self._runs.values() if run.state.ended]
        for run in ended[:-KEPT_RUNS]:
            del self._runs[run.name]
            run.forget()

    def _temporary(self, name: str) -> Path:
        # Not in the engine's folder: a run can go on after its engine has died.
        if self._work is None:
            self._work = make_work_folder()
        return Path(tempfile.mkdtemp(prefix=f"{safe_name(name)}-", dir=self._work))

    def _waited(self, run: Run) -> Run:
        from arroyo_nb.run.interrupts import LOOK_S, STOP_S, defer_interrupts

        with defer_interrupts() as interrupts:
            self._started(run)
            try:
                while not run.wait(LOOK_S):
                    interrupts.check()
            except KeyboardInterrupt:
                run.stop("stopped by interrupt").wait_quietly(STOP_S)
                raise
        return run


def _leave(session: Session, *, pid: int) -> None:
    """At exit: close a session."""
    # A child that was forked must not end what is its parent's.
    if os.getpid() == pid:
        session.close()


def _views() -> RunViews:
    from arroyo_nb.views.results import ResultViews

    return ResultViews()


def _check_printed(plan: Plan) -> None:
    """Refuse what only rows that are kept have."""
    for sink in plan.sinks:
        if sink.order or sink.limit is not None:
            raise RunProblem(
                "rows that are printed as they come have no ORDER BY and no LIMIT",
                span=sink.span,
                hint="they are for cells and Session.run, whose rows are kept",
            ).at(plan.source)


def _in_real_time(options: RunOptions, plan: Plan) -> RunOptions:
    from arroyo_nb.plan.real_time import check_real_time

    check_real_time(plan.sinks)
    if not options.sinks or options.until is not None:
        raise RunProblem(
            "in real-time mode a run writes to its topics, until it is stopped",
            hint="leave out real_time to see its rows, or to have it end by itself",
        )
    trigger = checkpoint_interval(options.trigger)
    return replace(options, real_time=True, trigger=trigger, keep=False, traced=False)


def _check_inside(plan: Plan, state: Path | None) -> None:
    """Refuse what would be read or written where it is not allowed; of no folder for
    the state, it is in one of ours."""
    from arroyo_nb.plan.paths import outside

    allowed = current_roots()
    found = outside(plan, allowed)
    if state is not None and not allowed.allow(state):
        found.append(allowed.refusal(f"the state folder '{state}'"))
    try:
        raise_all(found)
    except ArroyoError as error:
        raise error.at(plan.source) from None


def _folder(named: str | Path | None) -> Path | None:
    return None if named is None else state_folder(named)
