"""``webhook``: one POST a row (arroyo-semantics b.2).

Rows are posted one behind the other, in their order, and a batch is written when the
server has taken the last one. A batch that comes again after a crash is posted again:
each row arrives at least once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.connectors import (
    ConnectorInfo,
    Direction,
    SinkOnly,
    TableSpec,
    Writer,
)
from arroyo_nb.errors import ArroyoError, RunProblem, Unreached
from arroyo_nb.feeds.answer_socket import OpenSocket
from arroyo_nb.feeds.backoff import backoff_s
from arroyo_nb.feeds.endpoint import (
    Endpoint,
    endpoint_problems,
)
from arroyo_nb.feeds.headers import HEADERS, endpoint_option
from arroyo_nb.feeds.http import new_client, probe, send
from arroyo_nb.feeds.http_errors import http_failures
from arroyo_nb.feeds.packages import require_package
from arroyo_nb.feeds.payloads import VALUE, EncodingWriter
from arroyo_nb.feeds.sink import check_in_time
from arroyo_nb.formats import FORMATS, Framing

if TYPE_CHECKING:
    import httpx
    import pyarrow as pa

ANSWER_S = 5.0
"""How long a server may take to answer."""

PATIENCE_S, FIRST_PATIENCE_S = 120.0, 5.0
"""How long a row waits for a server that is away, before the run fails; and the first
row of a run, whose URL may be wrong."""

FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 10.0
"""Before a row is posted again: the first time, and after many."""

_READ_BYTES, _READ_S = 64 * 2**10, 1.0
"""An answer that is longer, or slower, is not read to its end, and ends its
connection."""


class WebhookWriter(EncodingWriter):
    """Posts the rows of micro-batches.

    Parameters
    ----------
    spec
        The table, its variables resolved.
    clock
        A monotonic clock, in seconds.
    """

    def __init__(
        self, spec: TableSpec, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(spec)
        self._endpoint = Endpoint.of(spec)
        self._clock = clock
        self._client = new_client(ANSWER_S)
        self._socket = OpenSocket()
        self._stopping = Event()
        self._is_known = False

    def take(self, rows: pa.Table, batch_id: int) -> int:
        """Post one micro-batch.

        Raises
        ------
        Unreached
            When the server was away for too long, or the run is stopped.
        RunProblem
            When it refuses a row.
        """
        bodies = self.messages(rows)[VALUE].to_pylist()
        for number, body in enumerate(bodies, 1):
            self._post(body, f"row {number:,} of batch {batch_id}")
        return len(bodies)

    def give_up(self) -> None:
        """Post no more: the run is stopped."""
        self._stopping.set()
        self._socket.shut_down()

    def close(self) -> None:
        """Close the connection that is kept for the next row."""
        self.give_up()
        self._client.close()

    def _post(self, body: bytes, row: str) -> None:
        """Post a row, again and again while the server is away."""
        patience_s = PATIENCE_S if self._is_known else FIRST_PATIENCE_S
        until_s, tries = self._clock() + patience_s, 0
        while not self._stopping.is_set():
            try:
                self._try(body)
            except Unreached as problem:
                if not self._stopping.is_set() and self._clock() >= until_s:
                    raise
                wait_s = _wait_s(tries, problem.retry_after_s)
                # A server may ask for hours: the last try is when patience ends.
                self._stopping.wait(min(wait_s, max(0.0, until_s - self._clock())))
                tries += 1
            except RunProblem as problem:
                message = f"{row} was not taken: {problem.message}"
                raise RunProblem(message, hint=problem.hint) from problem
            else:
                self._is_known = True
                return
        raise Unreached(f"the run was stopped before {row} was taken")

    def _try(self, body: bytes) -> None:
        content_type = FORMATS.get(self._format).content_type
        answer = send(
            self._client,
            self._endpoint,
            method="POST",
            headers=(("Content-Type", content_type),),
            body=body,
            trace=self._socket,
        )
        # The row is taken, whatever becomes of the rest of the answer.
        with closing(answer), suppress(RunProblem), http_failures(self._endpoint):
            _read(answer)


def _read(answer: httpx.Response) -> None:
    """Read an answer that nobody needs: its connection is kept for the next row."""
    size_bytes, until_s = 0, time.monotonic() + _READ_S
    for piece in answer.iter_raw():
        size_bytes += len(piece)
        if size_bytes > _READ_BYTES or time.monotonic() > until_s:
            return


def _wait_s(tries: int, retry_after_s: float | None) -> float:
    """How long to wait before a row is posted again; no less than the server asks
    for."""
    usual_s = backoff_s(tries, FIRST_WAIT_S, LONGEST_WAIT_S)
    return max(usual_s, retry_after_s or 0.0)


class Webhook(SinkOnly):
    """The connector ``webhook``."""

    info = ConnectorInfo(
        name="webhook",
        doc="an HTTP endpoint that each row is posted to",
        directions=frozenset({Direction.SINK}),
        framings=frozenset({Framing.MESSAGES}),
        typed=False,
        python_packages=("httpx",),
        guarantees=MappingProxyType(
            {
                Direction.SINK: "each row is posted at least once, in order; rows of "
                "the newest batch come again when a run was killed"
            }
        ),
        options=(endpoint_option("URL that rows are posted to"), HEADERS),
    )

    def check(
        self,
        spec: TableSpec,
        direction: Direction,  # noqa: ARG002
    ) -> Iterator[tuple[str, ArroyoError]]:
        """What is wrong with the URL and the headers."""
        yield from endpoint_problems(spec.options, ("http", "https"))

    def writer(self, spec: TableSpec, state: Path) -> Writer:  # noqa: ARG002
        """What posts the rows; nothing is noted, as a server forgets none.

        Raises
        ------
        RunProblem
            When a package is missing, or a variable makes an option wrong.
        """
        require_package(spec.name, "httpx")
        return WebhookWriter(spec)

    def reach(self, spec: TableSpec, look: Callable[[], None]) -> None:
        """Find out whether the server accepts connections; whether it takes rows, only
        a row finds out.

        Raises
        ------
        RunProblem
            When it does not, or as of :meth:`writer`.
        """
        require_package(spec.name, "httpx")
        endpoint = Endpoint.of(spec)
        check_in_time(partial(probe, endpoint), endpoint.name, look)


CONNECTOR = Webhook()
