"""What a session does with topics beside its queries: it records and emits.

The work is done in :mod:`arroyo_nb.run.topic_io`, which a kernel that has no topic
never imports.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import RunProblem

if TYPE_CHECKING:
    from arroyo_nb.catalog import Catalog
    from arroyo_nb.engine.jars import Tell
    from arroyo_nb.kafka.emit.targets import Names
    from arroyo_nb.kafka.local import LocalBroker
    from arroyo_nb.run.emission import Emission
    from arroyo_nb.run.recording import Recording


class TopicTasks:
    """The part of a session that has to do with topics and their tapes.

    Parameters
    ----------
    tell
        Is told how far a recording is.
    """

    catalog: Catalog

    def __init__(self, tell: Tell) -> None:
        self.broker: LocalBroker | None = None
        """The broker whose topics are meant where no other is named."""
        self._tell = tell
        self._emissions: list[Emission] = []

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
            (:mod:`arroyo_nb.tape.redaction`). One that no record has is warned of.
        begin
            ``"latest"``, the default of a topic without a table, or ``"earliest"``.
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

        recording = record(
            self._names(servers),
            topic,
            user_path(path),
            begin=begin,
            limits=limits(stop_after, most),
            redact=redact,
            tell=tell or self._tell,
        )
        if recording.unmet and tell is None:
            warnings.warn(str(recording), stacklevel=2)
        return recording

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

        It goes on by itself, until it or the session is ended.

        Parameters
        ----------
        target
            The name of a table, whose topic or tape then gets its rows as the table's
            format has them; else of a topic, which a local :attr:`broker` makes if need
            be; or the path of a tape: a :class:`~pathlib.Path`, or a text that ends
            with ``.tape`` or has a slash. A tape is there once all rows are on it.
        rows
            A DataFrame of pandas, pyarrow, Polars or Spark, or any iterable, also one
            without end: of mappings, of tuples, of objects of a class of events
            (:mod:`arroyo_nb.events`), or of texts and bytes, which are
            sent as they are, also to a table: so come bad records to test with.
        rate
            How many rows a second; None: as fast as they come and are taken.
        key, timestamp
            The columns that are a record's key and time; else those that a sink
            declares.
        columns
            Names of the values of tuples, where no table has any.
        servers
            As of :meth:`record`.
        wait
            Return when all is sent; None: where the rows are all there and have no
            rate. An interrupt stops it.

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
        from arroyo_nb.run.topic_io import emit, emit_options

        asked = emit_options(rate, key, timestamp, columns)
        with emit(self._names(servers), target, rows, asked, wait=wait) as emission:
            self._emissions = [*self._live_emissions(), emission]
        return emission

    def servers(self, named: str = "") -> str:
        """The ``host:port`` of the broker that is asked: the named one, or
        :attr:`broker`.

        Raises
        ------
        RunProblem
            When there is none.
        """
        if named:
            return named
        if self.broker is None or not self.broker.alive:
            raise RunProblem(
                "there is no local broker to ask",
                hint="%arroyo kafka start makes one; or add the host:port of another",
            )
        return self.broker.bootstrap_servers

    @property
    def background(self) -> list[tuple[str, str]]:
        """What lives beside the runs: emissions and the local broker, with the state of
        each."""
        emissions = self._live_emissions()
        tasks = [(f"emission to {e.name}", e.state.value) for e in emissions]
        if self.broker is not None and self.broker.alive:
            tasks.append((f"broker {self.broker.bootstrap_servers}", "running"))
        return tasks

    def stop_emissions(self) -> Sequence[Emission]:
        """Stop all emissions, and forget them; they may still be on their way."""
        emissions, self._emissions = self._emissions, []
        for emission in emissions:
            emission.stop()
        return emissions

    def _live_emissions(self) -> list[Emission]:
        return [e for e in self._emissions if not e.state.ended]

    def _names(self, servers: str) -> Names:
        """What names mean: where a broker is named, they are topics of it."""
        from arroyo_nb.kafka.emit.targets import Names

        where = partial(self.servers, servers)
        if servers:
            return Names(None, where, None)
        return Names(self.catalog, where, self.broker)
