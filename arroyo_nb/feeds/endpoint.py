"""Where the requests of a table go, and how errors call it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from arroyo_nb.connectors import TableSpec
from arroyo_nb.errors import ArroyoError, CatalogProblem, RunProblem, Unreached
from arroyo_nb.feeds.headers import (
    Headers,
    header_problem,
    hide_values,
    parse_headers,
)
from arroyo_nb.secrets_in_text import hide_secrets
from arroyo_nb.with_options import OptionValue

_EXCERPT_CHARS = 200


@dataclass(frozen=True)
class Endpoint:
    """Where the requests of a table go.

    Parameters
    ----------
    table
        The table's name, for errors; empty: there is none yet.
    shown
        What errors call the URL: as the script has it, without secrets.
    url
        The URL itself.
    headers
        What is sent with each request.
    """

    table: str
    shown: str
    url: str = field(repr=False)
    headers: Headers = field(default=(), repr=False)

    @classmethod
    def of(cls, spec: TableSpec) -> Endpoint:
        """The endpoint of a table whose variables are resolved.

        Raises
        ------
        RunProblem
            When a variable makes the headers wrong.
        """
        headers = str(spec.options.get("headers", ""))
        try:
            parsed = parse_headers(headers)
        except CatalogProblem as problem:
            raise RunProblem(problem.message, hint=problem.hint) from None
        url, shown = str(spec.options["endpoint"]), hide_secrets(spec.shown("endpoint"))
        return cls(spec.name, shown, url, parsed)

    def clean(self, text: str) -> str:
        """A text of the server, on one line, and without what it was sent: the values
        of headers, and the parts of a URL of which a variable is a part."""
        hidden = hide_values(text, (*self.headers, *self._url_values()))
        words = " ".join(hidden.split())
        return words if len(words) <= _EXCERPT_CHARS else words[:_EXCERPT_CHARS] + "…"

    def _url_values(self) -> Iterator[tuple[str, str]]:
        parts = urlsplit(self.url)
        yield "password", parts.password or ""
        if "{{" in self.shown:
            # As the URL has them, and as they are meant.
            yield from parse_qsl(parts.query)
            yield from (
                ("query", one.partition("=")[2]) for one in parts.query.split("&")
            )
            yield from (("path", one) for one in parts.path.split("/"))

    def unreached(self, why: str, hint: str | None = None) -> Unreached:
        """The error for a server that may be there soon."""
        return Unreached(f"{self.name} {why}", hint=hint)

    def refused(self, why: str, hint: str | None = None) -> RunProblem:
        """The error for what stays wrong until somebody mends it."""
        return RunProblem(f"{self.name} {why}", hint=hint)

    @property
    def name(self) -> str:
        """What errors call the server."""
        of_table = f" of '{self.table}'," if self.table else ""
        return f"the server{of_table} {self.shown}{',' if self.table else ''}"


def endpoint_problems(
    options: Mapping[str, OptionValue], schemes: Sequence[str]
) -> Iterator[tuple[str, ArroyoError]]:
    """What is wrong with the URL and the headers of a table, each with its option."""
    url = str(options["endpoint"])
    # A reference to a variable may be the whole URL, or its beginning.
    if not url.strip().startswith("{{") and not _is_url(url, schemes):
        shown = " or ".join(f"{scheme}://" for scheme in schemes)
        yield (
            "endpoint",
            CatalogProblem(
                f"the endpoint '{hide_secrets(url)}' is not a URL that begins with "
                f"{shown}",
                hint=f"write endpoint = '{schemes[-1]}://host/path'",
            ),
        )
    if (problem := header_problem(options)) is not None:
        yield "headers", problem


def _is_url(url: str, schemes: Sequence[str]) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in schemes and bool(parts.hostname)
    except ValueError:
        return False
