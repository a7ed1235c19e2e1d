"""Async functions: many calls at a time, on one event loop for each worker process.

The loop lives as long as the worker, on a thread of its own: clients and connections
that a function keeps in a global are of one loop, batch after batch.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from arroyo_nb.codecs.python_values import python_values
from arroyo_nb.errors import RunProblem
from arroyo_nb.udfs.messages import timed_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from arroyo_nb.udfs.definition import UdfOptions
    from arroyo_nb.udfs.python.calls import PythonFunction


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=_run, args=[loop], daemon=True, name="async udfs").start()
    return loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    # Again and again: where a function stops the loop, or a task that it made ends the
    # thread, all calls would wait for ever.
    while True:
        with suppress(BaseException):
            loop.run_forever()


@dataclass(frozen=True)
class AsyncCall:
    """Calls an async function for each row of a batch, so many at a time."""

    of: PythonFunction
    options: UdfOptions

    def __call__(self, *arrays: pa.Array) -> pa.Array:
        columns = [python_values(array) for array in arrays]
        rows = list(zip(*columns))  # noqa: B905
        ended = asyncio.run_coroutine_threadsafe(self._all(rows), _loop())
        try:
            results = ended.result()
        except BaseExceptionGroup as failed:
            # The first one ended the others.
            raise failed.exceptions[0] from None
        except futures.CancelledError as error:
            raise self.of.failed(error, advises=False) from None
        return self.of.array(results, columns)

    async def _all(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """The results of all rows, in their order. The first failure ends the rest."""
        results: list[Any] = [None] * len(rows)
        todo, ends = iter(range(len(rows))), asyncio.Event()

        async def work() -> None:
            # Workers, and not a task for each row: a batch may have 10,000.
            for place in todo:
                try:
                    results[place] = await self._one(rows[place], ends)
                except BaseException:
                    ends.set()
                    raise

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self.options.allowed_in_flight, len(rows))):
                group.create_task(work())
        return results

    async def _one(self, row: Sequence[Any], ends: asyncio.Event) -> Any:
        """The result of a row.

        Parameters
        ----------
        ends
            Whether another call has failed, and so the rest is cancelled.
        """
        limit = self.options.timeout.total_seconds()
        clock = asyncio.timeout(limit)
        try:
            async with clock:
                return await self.of.call(*row)
        except TimeoutError as error:
            if not clock.expired():  # a time-out of the function's own
                return self._failed(error, row)
            if self.options.on_timeout == "null":
                return None
            raise RunProblem(
                timed_out("Python", self.of.name, limit),
                hint=f"{self.of.called_with(row)}; on_timeout='null' gives NULL",
            ) from None
        except BaseException as error:
            # One that ends the loop's thread would end all batches to come.
            if isinstance(error, asyncio.CancelledError):
                if ends.is_set():
                    raise
                task = asyncio.current_task()
                while task is not None and task.uncancel():  # it cancelled itself
                    pass
            return self._failed(error, row)

    def _failed(self, error: BaseException, row: Sequence[Any]) -> None:
        if not self.of.null_on_error:
            raise self.of.failed(error, row) from None
