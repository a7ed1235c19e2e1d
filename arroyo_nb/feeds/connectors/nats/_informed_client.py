"""The library's client, which looks at what the server says before it logs in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nats.aio.client import Client


class InformedClient(Client):
    """A client that has what the server says first looked at.

    The server says in clear whether the connection is to be encrypted. The library goes
    by that, also where it was told to encrypt: whoever is between could have it log in
    in clear.

    Parameters
    ----------
    check
        Is given what the server says; what it raises ends the connection.
    """

    def __init__(self, check: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self._check = check
        self.has_streams = False
        """Whether the server says that it has JetStream."""

    async def _process_info(
        self, info: dict[str, Any], initial_connection: bool = False
    ) -> None:
        if initial_connection:
            self._check(info)
            self.has_streams = bool(info.get("jetstream"))
        await super()._process_info(info, initial_connection)
