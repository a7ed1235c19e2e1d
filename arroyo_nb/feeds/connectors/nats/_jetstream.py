"""What JetStream is asked about a stream, and its errors in our words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds.connectors.nats._client import NatsClient

REQUEST_S = 5
"""How long an answer may take."""

_SHOWN_NAMES = 20
_MISSING, _AWAY = 404, 503
_NO_NAME = frozenset(" .*>/\\")
"""What no name of a stream has; behind a dot the server sees another request."""


class JetStream:
    """Asks JetStream about one stream.

    Parameters
    ----------
    client
        Is connected.
    stream
        Its name.
    """

    def __init__(self, client: NatsClient, stream: str) -> None:
        self._client = client
        self._servers = client.servers
        self._stream = stream

    def info(self) -> dict[str, Any]:
        """The settings of the stream, and what it has.

        Raises
        ------
        Unreached
            When JetStream does not answer.
        RunProblem
            When there is no such stream, with the names of those that are there; or as
            of :meth:`ask`.
        """
        if _NO_NAME & set(self._stream):
            raise self._no_stream()
        found = self.ask(f"STREAM.INFO.{self._stream}", {}, missing=True)
        if "error" in found:
            raise self._no_stream()
        return found

    def ask(
        self, path: str, body: Mapping[str, Any], *, missing: bool = False
    ) -> dict[str, Any]:
        """The answer to a request.

        Parameters
        ----------
        path
            Behind ``$JS.API.``.
        body
            What is asked.
        missing
            Whether what is named need not be there.

        Raises
        ------
        Unreached
            When JetStream does not answer.
        RunProblem
            When it is not enabled, or refuses.
        """
        from nats.errors import NoRespondersError

        try:
            found = self._client.call(self.request(path, body))
        except Unreached as problem:
            if isinstance(problem.__cause__, NoRespondersError):
                raise self._servers.refusal(
                    "cannot be read by",
                    "JetStream is not enabled",
                    "start nats-server with -js, or read a 'subject'",
                ) from problem
            raise
        return self.checked(found, missing=missing)

    async def request(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request, which may be an error; in the event loop."""
        data = json.dumps(body).encode()
        client = self._client.client
        answer = await client.request(f"$JS.API.{path}", data, timeout=REQUEST_S)
        found: dict[str, Any] = json.loads(answer.data)
        return found

    def checked(
        self, found: dict[str, Any], *, missing: bool = False
    ) -> dict[str, Any]:
        """An answer that is no error; parameters and errors as of :meth:`ask`."""
        error = found.get("error")
        if error is None or (missing and error.get("code") == _MISSING):
            return found
        why = str(error.get("description", error))
        if error.get("code") == _AWAY:
            raise self._servers.away(why)
        raise self._servers.refusal(
            f"cannot give the stream '{self._stream}' to",
            why,
            "look at the options 'stream' and 'consumer.*'",
        )

    def names(self, subject: str = "") -> list[str]:
        """The names of the streams of the server, in their order.

        Parameters
        ----------
        subject
            Only of those that keep a message of it; may have wildcards. Empty: of all.

        Raises
        ------
        RunProblem
            As of :meth:`ask`.
        """
        asked = {"subject": subject} if subject else {}
        return sorted(self.ask("STREAM.NAMES", asked).get("streams") or ())

    def _no_stream(self) -> RunProblem:
        names = self.names()
        listed = ", ".join(f"'{name}'" for name in names[:_SHOWN_NAMES])
        more = f" and {len(names) - _SHOWN_NAMES} more" * (len(names) > _SHOWN_NAMES)
        return self._servers.refusal(
            f"cannot give the stream '{self._stream}' to",
            "there is no such stream",
            f"the streams of the server: {listed}{more}"
            if names
            else "the server has no stream; read a 'subject'",
        )
