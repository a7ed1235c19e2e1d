"""End a query between two micro-batches, which Spark has no call for.

Its own ``stop()`` cancels the batch that runs. That is done again by who goes on; but
what Spark itself has written of it to a topic by then is there twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass

from arroyo_nb.engine.query_settings import STOP_TIMEOUT

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

STOPS = 5
"""How often a query is asked to stop; each waits as long as Spark's ``stopTimeout``."""

_TERMINATED = "org.apache.spark.sql.execution.streaming.runtime.TERMINATED$"


def begin_no_batch(query: StreamingQuery) -> None:
    """Let the batch that runs be the last one; returns at once, on the worker.

    The query's own loop asks before each batch whether it has been stopped, which is
    what is set here (Spark's ``StreamExecution.state``). From then on it is not active
    any more, though its batch may still run: :func:`has_ended` tells.
    """
    wrapper: Any = query._jsq
    classes = JavaClass(_TERMINATED, wrapper._gateway_client)
    wrapper.streamingQuery().state().set(getattr(classes, "MODULE$"))


def has_ended(query: StreamingQuery) -> bool:
    """Whether its last batch is done; on the worker, after :func:`begin_no_batch`.

    One that waits for its next trigger would look only then, and is woken. Its thread
    is asked, and not its status: that says that no trigger is active for as long as the
    next batch is planned, too, which would then be given up.
    """
    if _waits_for_trigger(query):
        query.stop()
    return not is_alive(query)


def _waits_for_trigger(query: StreamingQuery) -> bool:
    """Whether its thread sleeps until the next trigger is due."""
    # Thread.sleep is on top of it, in one frame or two.
    frames = list(_thread(query).getStackTrace())[:5]
    return any(frame.getMethodName() == "waitTillTime" for frame in frames)


def _thread(query: StreamingQuery) -> Any:
    execution: Any = query._jsq.streamingQuery()
    return execution.queryExecutionThread()


def stop_at_once(query: StreamingQuery, release: Callable[[], object]) -> bool:
    """Give up the batch that runs, and end a query; on the worker.

    Parameters
    ----------
    release
        Frees what the query's thread may hang in: an interrupted thread still closes
        its clients, and one of a server that is away closes only after a minute.

    Returns
    -------
    bool
        Whether it has ended; False: its thread still hangs.
    """
    for _ in range(STOPS):
        try:
            query.stop()
        except Exception as error:
            if STOP_TIMEOUT not in str(error):
                raise
            release()
        else:
            return True
    return not is_alive(query)


def is_alive(query: StreamingQuery) -> bool:
    """Whether the thread of a query still runs."""
    return bool(_thread(query).isAlive())
