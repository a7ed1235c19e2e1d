"""What the failures of HTTP mean.

A failure that may pass (nobody answers, a time-out, 408, 429 and 5xx) is
:class:`~arroyo_nb.errors.Unreached`; any other one is a
:class:`~arroyo_nb.errors.RunProblem`.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds.endpoint import Endpoint

if TYPE_CHECKING:
    import httpx

LONGEST_WAIT_S = 3600.0
"""A server may ask for no longer wait."""

NO_CONTENT, NOT_MODIFIED = 204, 304
"""Good answers without a body."""

_EXCERPT_BYTES, _EXCERPT_S = 2_000, 3.0
_UNAUTHORIZED = (401, 403, 407)
_MISSING = (404, 410)
_TRANSIENT = (408, 425, 429)
_SERVER_ERRORS = 500


def check_status(
    endpoint: Endpoint, answer: httpx.Response, redirected_to: str = ""
) -> None:
    """Look whether an answer is a good one.

    Parameters
    ----------
    endpoint
        Whose answer it is.
    answer
        The answer.
    redirected_to
        The other server that gives it, after a redirect; empty: there is none.

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
            redirected_to,
        )


def answer_problem(
    endpoint: Endpoint,
    code: int,
    phrase: str,
    body: bytes,
    retry_after: str | None,
    redirected_to: str = "",
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
    redirected_to
        As of :func:`check_status`.
    """
    status = f"{code} {phrase}".strip()
    if code in _TRANSIENT or code >= _SERVER_ERRORS:
        problem = endpoint.unreached(f"answers {status}")
        problem.retry_after_s = _retry_after_s(retry_after)
        return problem
    if code in _UNAUTHORIZED and redirected_to:
        return endpoint.refused(
            f"redirects to {redirected_to}, which refuses the request ({status})",
            hint="headers are sent to no other server: write the URL that it leads to, "
            "and the headers for it",
        )
    if code in _UNAUTHORIZED:
        return endpoint.refused(
            f"refuses the request ({status}): the credentials are missing or wrong",
            hint=f"write {'headers = ' if endpoint.table else '--headers '}"
            "'Authorization: Bearer {{ TOKEN }}', or what the server asks for",
        )
    if code in _MISSING:
        return endpoint.refused(f"has nothing there ({status})", hint="check the URL")
    said = endpoint.clean(body[:_EXCERPT_BYTES].decode("utf-8", "replace"))
    return endpoint.refused(f"answers {status}" + (f": {said}" if said else ""))


def _excerpt(answer: httpx.Response) -> bytes:
    """How a body begins; of one that comes slowly, what has come in time."""
    import httpx

    taken, until_s = b"", time.monotonic() + _EXCERPT_S
    # The status says what is wrong, whatever becomes of the body.
    with suppress(httpx.HTTPError):
        for piece in answer.iter_bytes():
            taken += piece
            if len(taken) >= _EXCERPT_BYTES or time.monotonic() > until_s:
                break
    return taken


def _retry_after_s(value: str | None) -> float | None:
    """The seconds that a server asks to wait, as a number or as a date."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return min(float(value), LONGEST_WAIT_S)
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
    except UnicodeError as problem:  # of a host whose name no server can have
        raise _no_url(endpoint) from problem


def _problem(endpoint: Endpoint, problem: Exception) -> RunProblem:
    import httpx

    if (certificate := certificate_problem(endpoint, problem)) is not None:
        return certificate
    match problem:
        case httpx.ConnectTimeout():
            return endpoint.unreached("did not accept a connection in time")
        case httpx.TimeoutException():
            return endpoint.unreached("took too long to answer")
        case httpx.NetworkError() | httpx.ProxyError() | OSError():
            why = f"cannot be reached: {reason(problem)}"
            return endpoint.unreached(why, "start it, or check the URL")
        case httpx.RemoteProtocolError() if _was_cut(problem):
            return endpoint.unreached("has closed the connection")
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return _no_url(endpoint)
        case _:
            why = endpoint.clean(reason(problem))
            return endpoint.refused(f"does not answer as HTTP says: {why}")


def _no_url(endpoint: Endpoint) -> RunProblem:
    return endpoint.refused("is not at a URL of HTTP", hint="check the URL")


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
