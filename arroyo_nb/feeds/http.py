"""Requests over HTTP: where they go, and what their failures mean.

A failure that may pass (nobody answers, a time-out, 408, 429 and 5xx) is
:class:`~arroyo_nb.errors.Unreached`; any other one is a
:class:`~arroyo_nb.errors.RunProblem`. Certificates are always verified. A redirect of a
GET is followed; headers of the table are sent to no other host.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

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

if TYPE_CHECKING:
    import httpx

CONNECT_S, ANSWER_S = 4.0, 6.0
"""How long a server may take to accept a connection, and then to send more of its
answer."""

REDIRECTS = 5
"""How many are followed."""

LONGEST_WAIT_S = 3600.0
"""A server may ask for no longer wait."""

NO_CONTENT, NOT_MODIFIED = 204, 304
"""Good answers without a body."""

_EXCERPT_BYTES, _EXCERPT_CHARS = 2_000, 200
_UNAUTHORIZED = (401, 403, 407)
_MISSING = (404, 410)
_TRANSIENT = (408, 425, 429)
_SERVER_ERRORS = 500


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
            When the package that sends requests is missing, or a variable makes the
            headers or the URL wrong.
        """
        require_package(spec.name, "httpx")
        headers = str(spec.options.get("headers", ""))
        try:
            parsed = parse_headers(headers)
        except CatalogProblem as problem:
            raise RunProblem(problem.message, hint=problem.hint) from None
        url, shown = str(spec.options["endpoint"]), hide_secrets(spec.shown("endpoint"))
        return cls(spec.name, shown, url, parsed)

    def clean(self, text: str) -> str:
        """A text of the server, on one line and without the values of headers."""
        words = " ".join(hide_values(text, self.headers).split())
        return words if len(words) <= _EXCERPT_CHARS else words[:_EXCERPT_CHARS] + "…"

    def unreached(self, why: str, hint: str | None = None) -> Unreached:
        """The error for a server that may be there soon."""
        return Unreached(f"{self._server} {why}", hint=hint)

    def refused(self, why: str, hint: str | None = None) -> RunProblem:
        """The error for what stays wrong until somebody mends it."""
        return RunProblem(f"{self._server} {why}", hint=hint)

    @property
    def _server(self) -> str:
        of_table = f" of '{self.table}'," if self.table else ""
        return f"the server{of_table} {self.shown}{',' if self.table else ''}"


def require_package(table: str, package: str) -> None:
    """Make sure that a package is installed; its module has the same name.

    Raises
    ------
    RunProblem
        When it is not.
    """
    from importlib.util import find_spec

    if find_spec(package) is None:
        who = f"the table '{table}'" if table else "this URL"
        raise RunProblem(
            f"{who} needs the package {package}",
            hint="pip install 'arroyo-nb[feeds]'",
        )


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


def new_client(answer_s: float | None = None) -> httpx.Client:
    """What sends requests, and keeps its connections for the next ones; it is closed by
    whoever asked for it.

    Parameters
    ----------
    answer_s
        How long a server may send nothing; None: for :data:`ANSWER_S`.

    Raises
    ------
    RunProblem
        When the certificates that the environment names cannot be read.
    """
    import httpx

    longest_s = ANSWER_S if answer_s is None else answer_s
    try:
        return httpx.Client(timeout=httpx.Timeout(longest_s, connect=CONNECT_S))
    except OSError as problem:
        raise RunProblem(
            f"the certificates to trust cannot be read: {reason(problem)}",
            hint="look at the environment variables SSL_CERT_FILE and SSL_CERT_DIR",
        ) from problem


def send(
    client: httpx.Client,
    endpoint: Endpoint,
    *,
    method: str = "GET",
    headers: Headers = (),
    body: bytes | None = None,
    trace: Callable[[str, Mapping[str, Any]], None] | None = None,
) -> httpx.Response:
    """Send a request, and follow the redirects of a GET.

    Parameters
    ----------
    client
        Sends it.
    endpoint
        Where it goes, with the headers of the table, which replace others.
    method, headers, body
        Of the request; these headers go to every host.
    trace
        Is told what happens below the request.

    Returns
    -------
    httpx.Response
        A good answer, whose body is not read yet; it is closed by whoever asked.

    Raises
    ------
    Unreached
        When nobody answers, or the server asks for another try.
    RunProblem
        When the server refuses, or what answers is no server of HTTP.
    """
    with http_failures(endpoint):
        url, own = endpoint.url, endpoint.headers
        for _ in range(REDIRECTS + 1):
            request = client.build_request(
                method, url, headers=_merged(headers, own), content=body
            )
            if trace is not None:
                request.extensions["trace"] = trace
            answer = client.send(request, stream=True)
            if not answer.has_redirect_location:
                break
            answer.close()
            url, own = _redirected(endpoint, answer, own)
        else:
            raise endpoint.refused(
                f"redirects more than {REDIRECTS} times",
                hint="write the URL that it leads to",
            )
        try:
            check_status(endpoint, answer)
        except RunProblem:
            answer.close()
            raise
        return answer


def _merged(headers: Headers, own: Headers) -> Headers:
    names = {name.lower() for name, _ in own}
    return (*((n, value) for n, value in headers if n.lower() not in names), *own)


def _redirected(
    endpoint: Endpoint, answer: httpx.Response, own: Headers
) -> tuple[str, Headers]:
    """Where a redirect leads, and which headers of the table may go there."""
    before, after = answer.url, answer.url.join(answer.headers["location"])
    # Its path and its query may have secrets of their own.
    host = f"{after.scheme}://{after.host}"
    if answer.request.method != "GET":
        raise endpoint.refused(
            f"redirects to {host}, and only a GET is sent on",
            hint="write the URL that it leads to",
        )
    is_upgrade = (before.scheme, after.scheme) == ("http", "https")
    same_port = before.port == after.port and before.scheme == after.scheme
    is_same = before.host == after.host and (same_port or is_upgrade)
    return str(after), own if is_same else ()


def check_status(endpoint: Endpoint, answer: httpx.Response) -> None:
    """Look whether an answer is a good one.

    Raises
    ------
    Unreached
        When the server asks for another try.
    RunProblem
        When it refuses.
    """
    if not answer.is_success and answer.status_code != NOT_MODIFIED:
        raise answer_problem(
            endpoint,
            answer.status_code,
            answer.reason_phrase,
            _excerpt(answer),
            answer.headers.get("retry-after"),
        )


def answer_problem(
    endpoint: Endpoint, code: int, phrase: str, body: bytes, retry_after: str | None
) -> RunProblem:
    """The error for an answer that is not a good one.

    Parameters
    ----------
    endpoint
        Whose answer it is.
    code, phrase
        Its status.
    body
        How it begins.
    retry_after
        The header of that name; None: there is none.
    """
    status = f"{code} {phrase}".strip()
    if code in _TRANSIENT or code >= _SERVER_ERRORS:
        problem = endpoint.unreached(f"answers {status}")
        problem.retry_after_s = _retry_after_s(retry_after)
        return problem
    if code in _UNAUTHORIZED:
        return endpoint.refused(
            f"refuses the request ({status}): the credentials are missing or wrong",
            hint=f"write {'headers = ' if endpoint.table else '--headers '}"
            "'Authorization: Bearer {{ TOKEN }}', or what the server asks for",
        )
    if code in _MISSING:
        return endpoint.refused(
            f"has nothing there ({status})", hint="check 'endpoint'"
        )
    said = endpoint.clean(body[:_EXCERPT_BYTES].decode("utf-8", "replace"))
    return endpoint.refused(f"answers {status}" + (f": {said}" if said else ""))


def _excerpt(answer: httpx.Response) -> bytes:
    """How a body begins."""
    taken = b""
    for piece in answer.iter_bytes():
        taken += piece
        if len(taken) >= _EXCERPT_BYTES:
            break
    return taken


def _retry_after_s(value: str | None) -> float | None:
    """The seconds that a server asks to wait, as a number or as a date."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(seconds, 0.0), LONGEST_WAIT_S)


@contextmanager
def http_failures(endpoint: Endpoint) -> Iterator[None]:
    """Turns what a client of HTTP raises into errors of this package."""
    import httpx

    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as problem:
        raise _problem(endpoint, problem) from problem


def _problem(endpoint: Endpoint, problem: Exception) -> RunProblem:
    import httpx

    if (certificate := certificate_problem(endpoint, problem)) is not None:
        return certificate
    match problem:
        case httpx.ConnectTimeout():
            return endpoint.unreached(f"did not accept a connection in {CONNECT_S:g} s")
        case httpx.TimeoutException():
            return endpoint.unreached("took too long to answer")
        case httpx.NetworkError() | httpx.ProxyError() | OSError():
            return endpoint.unreached(f"cannot be reached: {reason(problem)}")
        case httpx.RemoteProtocolError() if _was_cut(problem):
            return endpoint.unreached("has closed the connection")
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return endpoint.refused("is not at a URL of HTTP", hint="check 'endpoint'")
        case _:
            why = endpoint.clean(reason(problem))
            return endpoint.refused(f"does not answer as HTTP says: {why}")


def _was_cut(problem: Exception) -> bool:
    """Whether an answer ended early; else it was none of HTTP."""
    return "disconnected" in str(problem) or "closed connection" in str(problem)


def certificate_problem(endpoint: Endpoint, problem: Exception) -> RunProblem | None:
    """The error for a certificate that is not to be trusted; None: it is another
    failure."""
    found = next(_causes(problem, ssl.SSLCertVerificationError), None)
    if found is None:
        return None
    why = endpoint.clean(found.verify_message or "it cannot be verified")
    return endpoint.refused(
        f"has a certificate that is not valid: {why.rstrip('.')}",
        hint="use the name that the certificate is for; the environment variable "
        "SSL_CERT_FILE may name a file with the certificates of your own authority",
    )


def _causes(problem: BaseException | None, kind: type[Any]) -> Iterator[Any]:
    while problem is not None:
        if isinstance(problem, kind):
            yield problem
        problem = problem.__cause__ or problem.__context__


def reason(problem: Exception) -> str:
    """Why a connection failed, in the words of the system where it has some."""
    for found in _causes(problem, OSError):
        if found.strerror:
            return str(found.strerror).lower()
    return str(problem).rstrip(".") or type(problem).__name__
