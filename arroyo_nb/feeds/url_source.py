"""What sources that are found by a URL have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace

from arroyo_nb.connectors import Direction, SourceOnly, TableSpec
from arroyo_nb.errors import ArroyoError
from arroyo_nb.feeds import PEEKED_MESSAGES, PeekedFeed
from arroyo_nb.feeds.broker_url import peeked_spec
from arroyo_nb.feeds.endpoint import (
    Endpoint,
    endpoint_problems,
)
from arroyo_nb.feeds.http import new_client, send
from arroyo_nb.feeds.packages import require_package
from arroyo_nb.feeds.recorder import FeedConnector


class UrlSource(SourceOnly, FeedConnector):
    """A connector whose sources have the option ``endpoint``, a URL."""

    schemes: tuple[str, ...]
    """What such URLs begin with, before ``://``."""

    peeked_messages = PEEKED_MESSAGES
    """How many messages show what a URL gives."""

    @abstractmethod
    def gives(self, endpoint: Endpoint) -> bool:
        """Whether a URL gives what this connector reads.

        Raises
        ------
        RunProblem
            When it cannot be asked.
        """

    def check(
        self,
        spec: TableSpec,
        direction: Direction,  # noqa: ARG002
    ) -> Iterator[tuple[str, ArroyoError]]:
        """What is wrong with the URL and the headers."""
        yield from endpoint_problems(spec.options, self.schemes)

    def peek(self, url: str, options: Mapping[str, str]) -> PeekedFeed | None:
        """What a URL gives (see :class:`arroyo_nb.feeds.Peekable`)."""
        for package in self.info.python_packages:
            require_package("", package)
        table = {"endpoint": url, **options}
        # It is no table yet: errors of the server name none.
        spec = replace(peeked_spec(self.info, {"endpoint": url}, options), name="")
        if not self.gives(Endpoint.of(spec)):
            return None
        found = {"connector": self.info.name, **table}
        return PeekedFeed(self.feed(spec), found, self.peeked_messages)


def content_type(endpoint: Endpoint) -> str:
    """What a URL says that it gives, in lower case and without parameters.

    Raises
    ------
    RunProblem
        When it cannot be asked.
    """
    with new_client() as client:
        answer = send(client, endpoint)
        answer.close()
    found: str = answer.headers.get("content-type", "")
    return found.partition(";")[0].strip().lower()
