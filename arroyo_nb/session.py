"""What one kernel knows: a catalog, an engine, and the runs that were started.

A script happens or it doesn't: its declarations land in the catalog only when the whole
script is good. The work itself is done in the rooms that the methods name.
"""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from arroyo_nb.catalog import Catalog
from arroyo_nb.cell_tests.session_tests import SessionTests
from arroyo_nb.engine import Engine
from arroyo_nb.engine.jars import Tell, say_nothing
from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs import JOBS, SPEC
from arroyo_nb.jobs.known_jobs import KnownJobs
from arroyo_nb.jobs.targets import LOCAL
from arroyo_nb.run.names import safe_name, script_name
from arroyo_nb.run.option_values import state_folder
from arroyo_nb.run.options import BUDGET_BYTES, RunOptions
from arroyo_nb.run.runs import Runs
from arroyo_nb.run.topic_tasks import TopicTasks
from arroyo_nb.udfs import registry
from arroyo_nb.udfs.languages import compiled_functions
from arroyo_nb.udfs.session_functions import SessionFunctions
from arroyo_nb.whatif_tasks import WhatIfTasks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from arroyo_nb.catalog import Relation
    from arroyo_nb.jobs.folder import Promotion
    from arroyo_nb.jobs.spec import Origin
    from arroyo_nb.plan import Plan
    from arroyo_nb.plan.nodes import Node
    from arroyo_nb.plan.show_statements import StatementAnswer
    from arroyo_nb.row_tables.define import RowTable
    from arroyo_nb.run.observe.findings import Report
    from arroyo_nb.run.prepare import PreparedRun, RunFolder
    from arroyo_nb.run.run import Run
    from arroyo_nb.source import ScriptText
    from arroyo_nb.udfs.definition import Udf

_FIRST_RUN = (
    "arroyo_nb.plan.planner",
    "arroyo_nb.run.prepare",
    "arroyo_nb.run.run",
    "arroyo_nb.views.notebook",
)
"""Modules that a first run imports, half a second of it; a kernel that only loads the
extension has them in the background."""


class Session(TopicTasks, WhatIfTasks, SessionFunctions, SessionTests):
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
        super().__init__(tell)
        SessionFunctions.__init__(self)
        SessionTests.__init__(self)
        self.catalog = Catalog()
        self.answers: tuple[StatementAnswer, ...] = ()
        """What SHOW TABLES, DESCRIBE and EXPLAIN of the last script answer."""
        self.strict = strict
        self.engine = engine or Engine(spark)
        self._owns_engine = engine is None
        self._state_dir = None if state_dir is None else state_folder(state_dir)
        self._runs = Runs()
        # Functions are known to the whole process, which must not hold the session.
        self._unlisten = registry.listen(partial(_tell_callers, weakref.ref(self)))
        self.jobs = KnownJobs()
        # Where jobs that were attached are, by the names of their runs.
        self._attached: dict[str, Path] = {}
        # It holds the session: also the runs of one that nobody holds are ended well.
        self._at_exit = partial(_leave, self, pid=os.getpid())
        atexit.register(self._at_exit)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def warm_up(self) -> None:
        """Start Spark and load what a first run needs, in the background; returns at
        once. A first run that comes meanwhile is not held up."""
        self.engine.warm_up(_FIRST_RUN)

    @property
    def runs(self) -> Mapping[str, Run]:
        """The newest run of each name, oldest first."""
        return self._runs.by_name

    def plan(
        self,
        sql: str | ScriptText,
        *,
        strict: bool | None = None,
        source: str = "<cell>",
    ) -> Plan:
        """Plan a script against the catalog, which stays as it is.

        ``strict`` overrides the session's; ``source`` is what errors call a script that
        has no place.

        Raises
        ------
        ArroyoError
            With every independent error of the script.
        """
        # sqlglot is heavy: it would hold up who loads the extension.
        from arroyo_nb.plan.planner import plan_script

        chosen = self.strict if strict is None else strict
        catalog = self.catalog.with_functions(self.function_rows())
        return plan_script(sql, catalog, strict=chosen, name=source)

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
        sinks, keep
            Write to the tables of INSERTs; False previews their rows instead. With
            ``keep`` rows are kept for a preview beside the sinks that are written.
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
            changes of live rows are emitted every 250 ms, by a job every second.
        state_dir
            Folder that survives the process; the same script on it goes on where it
            stopped.
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
        options = {
            "sinks": sinks, "keep": keep, "speed": speed, "ttl": ttl,
            "strict": self.strict if strict is None else strict, "trigger": trigger,
            "state_dir": state_dir, "stop_after": stop_after, "until": until,
            "step": step, "traced": traced, "real_time": real_time,
            "printed": printed, "budget": budget,
        }  # fmt: skip
        parsed = RunOptions.parse(options)
        return self.run_with(sql, parsed, name=name, wait=wait, source=source)

    def run_with(
        self,
        sql: str | ScriptText,
        options: RunOptions,
        *,
        name: str | None = None,
        wait: bool = False,
        source: str = "<cell>",
    ) -> Run | None:
        """Run a script as :meth:`run` does, with options that are parsed already."""
        from arroyo_nb.plan.user_functions import user_functions
        from arroyo_nb.run.prepare import prepare

        plan = self.plan(sql, strict=options.strict, source=source)
        if options.ttl is not None:
            plan = plan.with_updating_ttl(options.ttl)
        if plan.sinks:
            name = name or script_name(plan.source.text)
            base = options.state_dir or self._state_dir
            state = base and base / safe_name(name)
            prepared = prepare(name, plan, options, state=state)
            # Here, where an interrupt is heard, and not once the run has begun.
            compiled_functions(user_functions(plan.sinks))
            run = self._ready(prepared, self._folder(prepared, state))
        self._take_over(plan.catalog)
        self.answers = plan.answers
        if not plan.sinks:
            return None
        self._attached.pop(run.name, None)
        return self._runs.run_to_end(run) if wait else self._runs.start(run)

    def resume(self, name: str) -> Run:
        """Go on with an ended run from its checkpoint, with the options it had.

        The rows that it kept and its trace go on too.

        Raises
        ------
        RunProblem
            When there is no run of that name, or it is still running.
        """
        from arroyo_nb.run.prepare import prepare

        old = self.get(name)
        if not old.state.ended:
            raise RunProblem(f"run '{name}' has not ended", hint="stop it first")
        options = replace(old.options, step=False)
        prepared = prepare(name, old.plan, options, outputs=old.outputs)
        run = self._ready(prepared, old.place)
        self._runs.add(run)
        return run.start()

    def get(self, name: str) -> Run:
        """The newest run of that name.

        Raises
        ------
        RunProblem
            When there is none; the hint names the nearest.
        """
        return self._runs.get(name)

    def doctor(self, name: str | None = None) -> Report:
        """See :meth:`Run.doctor <arroyo_nb.run.run.Run.doctor>`; None: the newest."""
        return (self._runs.newest if name is None else self.get(name)).doctor()

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
        ArroyoError
            When it is no DataFrame, has no such column, or one whose type SQL lacks;
            or when two rows have one key.

        Examples
        --------
        ::

            session.lookup("airlines", frame, key="carrier")
            session.run("SELECT f.flight, a.name FROM flights AS f "
                        "LEFT JOIN airlines AS a ON f.carrier = a.carrier")
        """
        from arroyo_nb.frames import lookup_table

        keys = (key,) if isinstance(key, str) else tuple(key)
        self._take_over(self.catalog.define(lookup_table(name, frame, keys)))

    def rows(
        self,
        name: str,
        data: Any,
        *,
        event_time: str | None = None,
        watermark: str | timedelta | None = None,
        arrives: str = "arrives",
        path: str | Path | None = None,
        disorder: Mapping[str, Any] | None = None,
        types: Mapping[str, str] | None = None,
    ) -> RowTable:
        """Make a stream of a few rows: a tape, and a table that reads it.

        The same rows make the same micro-batches, so the same rows are late each time.

        Parameters
        ----------
        name
            The table's; it replaces one of that name. A run of before goes on with the
            rows that it has.
        data
            A table as text, the path of a CSV file (a :class:`~pathlib.Path`, or a text
            that ends with ``.csv`` or ``.tsv``), a DataFrame (pandas, pyarrow, Polars,
            DuckDB or Spark), or a list of mappings or of typed events.
        event_time
            The column that is the event time; None: the only one of type TIMESTAMP.
            Where there is none, rows have the event time of their arrival.
        watermark
            How late rows may be, such as ``"10 seconds"``; None: as of a table that
            declares none.
        arrives
            The column that says when a row arrives, which is no column of the table;
            what arrives at the same moment is a micro-batch. Where there is none, rows
            arrive as they stand, one second apart. In a text blank lines may end
            micro-batches instead.
        path
            Where the tape is kept; None: it goes with the session.
        disorder
            How rows come otherwise than they stand, such as ``{"shuffle": "10s"}``:
            ``shuffle``, ``delay``, ``duplicate``, ``gap``, ``burst``, ``seed``, as the
            options of ``%%arroyo_rows``.
        types
            The types of some columns of a text or a file, such as ``{"zip": "TEXT"}``;
            the others are found out.

        Raises
        ------
        ArroyoError
            When a line or a value is wrong, with its place; nothing has changed then.

        Examples
        --------
        ::

            session.rows("clicks", '''
            at       | user
            10:00:00 | ann
            10:00:20 | bob
            09:59:30 | ann
            ''', watermark="10 seconds")
        """
        from arroyo_nb.row_tables.define import define_rows, read_rows

        catalog, made = define_rows(
            name,
            read_rows(data, event_time, arrives, types=types),
            watermark=watermark,
            disorder=disorder or {},
            catalog=self.catalog,
            plan=self.plan,
            readers=self._runs.readers,
            work=self._runs.work_folder() / "rows" / safe_name(name),
            path=None if path is None else user_path(path),
        )
        self._take_over(catalog)
        return made

    def head(self, table: str, rows: int = 10) -> pa.Table:
        """The first rows of a source, or of a lookup table; no run is started.

        Of a topic they are the oldest records that are there; those that cannot be
        read are left out.

        Raises
        ------
        ArroyoError
            When there is no such table, or it is a view or a sink, or cannot be read.

        Examples
        --------
        ::

            session.head("flights", 5).to_pandas()
        """
        from arroyo_nb.run.table_head import head

        return head(self.engine, self.catalog.get(table), rows).rows

    def promote(
        self,
        name: str,
        folder: str | Path | None = None,
        *,
        deny: Sequence[str] = (),
        target: str = LOCAL,
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
        from arroyo_nb.jobs.transfer import promote_run

        path = user_path(folder or self.job_folder(name))
        made = promote_run(
            self.get(name),
            path,
            deny=deny,
            target=target,
            origin=None if name in self._attached else origin,
            with_state=with_state,
            overwrite=overwrite,
            tests=self.carried_tests(name),
        )
        self.jobs.add(path / SPEC)
        return made

    def job_folder(self, name: str) -> Path:
        """Where the job of a run is: whence it was attached, else ``jobs/NAME``."""
        return self._attached.get(name, Path(JOBS) / name)

    def attach(self, spec: str | Path) -> Run:
        """Bring a job into this session: it is stopped where it runs, and goes on here
        as a run of its name, on its own state, in micro-batches also where the job runs
        in real-time mode: its rows are shown.

        ``spec`` is its ``job.yaml``. :meth:`promote` with its state gives it back.

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
        from arroyo_nb.jobs.transfer import take_over

        path = user_path(spec)
        job, options = take_over(path)
        self.jobs.add(path)
        for udf in job.functions:
            self.define(udf)
        run = self.run_with(
            job.spec.script, options, name=job.spec.name, source=job.source.name
        )
        assert run is not None, "a job has something to run"
        self._attached[run.name] = path.absolute().parent
        return run

    def _take_over(self, catalog: Catalog) -> None:
        """Have other tables from now on; runs that read one that has changed are marked
        stale."""
        before, self.catalog = self.catalog, catalog
        for name, table in before.tables.items():
            if name in catalog and catalog.get(name) != table:
                self._runs.mark_stale(table)

    def define(self, udf: Udf) -> None:
        """Make a definition a function of this session's SQL."""
        super().define(udf)
        self._runs.mark_function(udf)

    def users(self, table: Relation) -> list[str]:
        """The runs that read or write a table and have not ended. Each goes on with it
        whatever becomes of its name: DROP TABLE takes nothing away from a run."""
        return self._runs.users(table)

    def callers(self, function: str) -> list[str]:
        """The runs that call a UDF and have not ended. Each goes on
        with it as it was when the run was started."""
        return self._runs.callers(function)

    def views_of(self, function: str) -> list[str]:
        """The views that call a UDF; each goes on with it as it was when the view was
        declared."""
        from arroyo_nb.catalog import View
        from arroyo_nb.plan.user_functions import user_functions

        found = []
        for table in self.catalog.tables.values():
            if isinstance(table, View):
                called = user_functions([cast("Node", table.plan)])
                if function in (udf.name for udf in called):
                    found.append(table.name)
        return found

    def clear(self, *, everything: bool = False) -> list[str]:
        """Forget the runs that have ended, and the rows that they kept where no state
        folder was named; returns their names. With ``everything`` stop the others too,
        and drop all tables."""
        names = self._runs.clear(everything=everything)
        for name in names:
            self._attached.pop(name, None)
        if everything:
            self.catalog = Catalog()
        return names

    def close(self, reason: str = "its session was closed") -> None:
        """Stop every run and emission, then the engine (one that was handed in goes
        on). ``reason`` is what the runs then say."""
        atexit.unregister(self._at_exit)
        self._unlisten()
        try:
            self._runs.close(beside=self.stop_emissions(), reason=reason)
        finally:
            if self._owns_engine:
                self.engine.close()

    def _folder(self, prepared: PreparedRun, state: Path | None) -> RunFolder:
        """Where a new run keeps its state."""
        from arroyo_nb.jobs.resume import state_spec
        from arroyo_nb.run.prepare import RunFolder

        if state is None:
            return RunFolder(self._runs.temporary_folder(prepared.name), temporary=True)
        return RunFolder(state, spec=state_spec(prepared.plan, prepared.options))

    def _ready(self, prepared: PreparedRun, place: RunFolder) -> Run:
        """A run that can be started: Spark can read and write its topics."""
        from arroyo_nb.run.run import Run
        from arroyo_nb.views.results import ResultViews

        run = Run(prepared, self.engine, place, views=ResultViews())
        live = [run.name for run in self._runs.live]
        prepared.require_connector(self.engine, live=live, tell=self._tell)
        return run


def _tell_callers(session: weakref.ref[Session], udf: Udf, before: Udf | None) -> None:
    """Have the runs of a session say that a function they call is another one now."""
    found = session()
    if found is not None and before is not None:
        found._runs.mark_function(udf)


def _leave(session: Session, *, pid: int) -> None:
    """At exit: close a session."""
    # A child that was forked must not end what is its parent's.
    if os.getpid() == pid:
        session.close()
