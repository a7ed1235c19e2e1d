"""Start the queries of a run in its folder; on the engine's worker thread."""

from __future__ import annotations

from contextvars import Context
from datetime import timedelta
from functools import partial
from operator import eq
from typing import TYPE_CHECKING

from arroyo_nb.engine import external_session
from arroyo_nb.engine.query_settings import query_settings
from arroyo_nb.errors import RunProblem
from arroyo_nb.run.heartbeat import Heartbeat
from arroyo_nb.run.prepare import PreparedRun, RunFolder, errors_in
from arroyo_nb.spark.lower import Read
from arroyo_nb.spark.state_config import StateConfig
from arroyo_nb.spark.task_slots import Slots
from arroyo_nb.state.folder import StateFolder
from arroyo_nb.state.identity import plan_identity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from arroyo_nb.run.output import Output


def claim_folder(prepared: PreparedRun, place: RunFolder) -> StateFolder:
    """Lock the folder of a run; it is released by who has it.

    Raises
    ------
    RunProblem
        When another run holds it, or it has the state of another query.
    """
    # Rows that were only looked at have been read, and were not written.
    tables = any(output.sink.table for output in prepared.outputs)
    previewed = tables and not prepared.options.sinks
    identity = plan_identity(prepared.plan, previewed=previewed)
    return StateFolder(
        place.path,
        identity=identity,
        name=prepared.name,
        spec=place.spec,
        forgets=prepared.plan.forgets_idle_keys,
        temporary=place.temporary,
    )


def check_reach(spark: SparkSession, place: RunFolder) -> None:
    """Refuse a folder that Spark cannot read: a temporary one, this host's, where
    others must read it; and a name that is too odd for a Spark of the user's.

    Raises
    ------
    RunProblem
        When Spark cannot read it.
    """
    external_session.check_finds(spark, place.path)
    if place.temporary and not external_session.is_local(spark):
        raise RunProblem(
            f"Spark's executors at {spark.sparkContext.master} may be on other "
            "hosts, which cannot read the temporary folder of this run",
            hint="give state_dir= a folder that is mounted at the same path on "
            "every node, and install arroyo_nb on each of them",
        )


def output_trigger(prepared: PreparedRun, output: Output) -> timedelta | None:
    """How often the changes of an output are emitted. What ends is done soonest without
    a trigger."""
    if output.is_stateful and prepared.sources.is_endless(output.sink):
        # Without an interval each batch would emit the changes of a few rows, and cost
        # as much as one of many.
        return prepared.options.trigger or prepared.options.flush
    return prepared.options.trigger


class Heart:
    """The beats by which queries with idle state have a batch now and then.

    Parameters
    ----------
    heartbeat
        Writes a beat.
    outputs
        The queries that hear it.
    """

    def __init__(self, heartbeat: Heartbeat, outputs: Sequence[Output]) -> None:
        self.heartbeat = heartbeat
        self._outputs = outputs
        # The first batch of each query that was not done at the last beat.
        self._beaten: list[int] = []

    @classmethod
    def of(cls, prepared: PreparedRun, claim: StateFolder) -> Heart | None:
        """The heart of a run; None where nothing is forgotten."""
        hearing = [output for output in prepared.outputs if output.is_stateful]
        if not hearing or not claim.forgets:
            return None
        return cls(Heartbeat(claim.heartbeat(), prepared.plan.updating_ttl), hearing)

    def beat(self) -> None:
        """Beat once all queries have ended a batch since the last time: a long batch
        must find the beats that it was to read."""
        done = [output.observation.next_batch for output in self._outputs]
        if not any(map(eq, done, self._beaten)):
            self.heartbeat.beat()
            self._beaten = done


class QueryStarter:
    """What a started run has on its engine: its folder, heart, and task slots.

    Attributes
    ----------
    claim
        The run's folder, locked.
    heart
        None where no state can be idle.

    Parameters
    ----------
    context
        In which batches are written.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        spark: SparkSession,
        claim: StateFolder,
        context: Context,
    ) -> None:
        self.claim = claim
        self._prepared = prepared
        self._spark = spark
        self._context = context
        # Sources first: queries begin where these say, and read folders that these
        # make.
        with errors_in(prepared.plan):
            prepared.sources.start(claim)
        self.heart = Heart.of(prepared, claim)
        self._slots = Slots(spark) if prepared.options.real_time else None
        self.check_slots()

    def start_all(self) -> None:
        """Start every query."""
        for index in range(len(self._prepared.outputs)):
            self.start(index)

    def start(self, index: int) -> None:
        """Start the query of an output, by its number."""
        output, claim = self._prepared.outputs[index], self.claim
        keeping = self._state_config
        with query_settings(self._spark, output.settings(keeping)):
            output.start(
                self._read,
                checkpoint=claim.checkpoint(index),
                state=claim.sink(index),
                rows=claim.rows(index),
                budget_bytes=self._budget_bytes,
                resume=claim.resume(index),
                mend=partial(claim.mend, index),
                trigger=output_trigger(self._prepared, output),
                keeping=keeping,
                context=self._context,
            )

    def check_slots(self) -> None:
        """See to it that all partitions are read at once, in real-time mode: topics get
        partitions, executors go.

        Raises
        ------
        RunProblem
            When there are fewer task slots than partitions.
        """
        if self._slots is not None:
            sinks = (output.sink for output in self._prepared.outputs)
            self._slots.check(sum(map(self._prepared.sources.partitions, sinks)))

    @property
    def _read(self) -> Read:
        sources = self._prepared.sources
        if self._prepared.options.real_time:
            return partial(sources.read_in_real_time, self._spark)
        return partial(sources.read_stream, self._spark)

    @property
    def _state_config(self) -> StateConfig:
        if self.heart is None:
            return StateConfig(self.claim.buckets, lowering=self.claim.lowering)
        # Each query reads the beats as one more stream: only a row makes Spark run a
        # batch, and only a batch looks for idle keys.
        beats = partial(self.heart.heartbeat.read_stream, self._spark)
        ttl = self._prepared.plan.updating_ttl
        return StateConfig(self.claim.buckets, ttl, beats, self.claim.lowering)

    @property
    def _budget_bytes(self) -> int:
        """What each output that keeps rows may keep."""
        keeping = sum(o.preview is not None for o in self._prepared.outputs)
        return self._prepared.options.budget_bytes // max(keeping, 1)
