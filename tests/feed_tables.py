"""Tables of feeds, as SQL declares them: their recorders and their writers, without a
JVM."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from machine import allowed

from arroyo_nb.catalog import Catalog, ConnectorTable
from arroyo_nb.connectors import CONNECTORS, Writer
from arroyo_nb.feeds.payloads import VALUE
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.tape import Position, Recorder


def declared(connector: str, direction: str, columns: str = "n BIGINT", **options: Any):
    """The table of a statement."""
    given = {"connector": connector, "type": direction, "format": "json", **options}
    written = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
    plan = plan_script(f"CREATE TABLE t ({columns}) WITH ({written});", Catalog())
    table = plan.catalog.get("t")
    assert isinstance(table, ConnectorTable)
    return table


def recorder(connector: str, columns: str = "n BIGINT", **options: Any) -> Recorder:
    """What receives the messages of a table."""
    table = declared(connector, "source", columns, **options)
    return CONNECTORS.get(connector).recorder(table.spec.resolved())


def writer(connector: str, state: Path, columns: str = "n BIGINT", **options: Any):
    """What writes to a table."""
    table = declared(connector, "sink", columns, **options)
    return CONNECTORS.get(connector).writer(table.spec.resolved(), state)


@contextmanager
def open_writer(*arguments: Any, **options: Any) -> Iterator[Writer]:
    """The same, closed behind the block."""
    with closing(writer(*arguments, **options)) as made:
        yield made


def batch(payloads: Sequence[bytes | None], **beside: Sequence[Any]) -> pa.Table:
    """A micro-batch as Spark has encoded it."""
    return pa.table({VALUE: pa.array(payloads, pa.binary()), **beside})


class Tape:
    """What a recorder gives, on a tape in memory; runs in a thread."""

    def __init__(self, source: Recorder, after: Position | None = None) -> None:
        self.recorder = source
        self.rows: list[dict[str, Any]] = []
        self.position = after
        self.error: BaseException | None = None
        self._stopping = False
        self._pausing = threading.Event()
        self._going = threading.Event()
        self._going.set()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Tape:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            with closing(self.recorder.chunks(self.position)) as chunks:
                for chunk in chunks:
                    self._going.wait()
                    self.rows.extend(chunk.rows.to_pylist())
                    if not chunk.empty:
                        self.position = chunk.position
                    if self._stopping:
                        return
        except BaseException as problem:  # the test looks at it
            self.error = problem

    def pause(self) -> None:
        """Take nothing more until :meth:`resume`."""
        self._going.clear()

    def resume(self) -> None:
        """Take what comes again."""
        self._going.set()

    def stop(self) -> float:
        """End it; returns how many seconds that took."""
        began_s = time.monotonic()
        self._stopping = True
        self._going.set()
        self._thread.join(allowed(20))
        assert not self._thread.is_alive()
        return time.monotonic() - began_s

    def column(self, name: str = "n") -> list[Any]:
        """The values of a column so far."""
        return [row[name] for row in list(self.rows)]


Eventually = Callable[..., None]
