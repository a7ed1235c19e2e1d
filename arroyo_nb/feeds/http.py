"""Requests over HTTP.

Certificates are always verified. A redirect of a GET is followed; headers and the body
of the table are sent to no other server, and what is encrypted stays so.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds.client_logs import unlogged
from arroyo_nb.feeds.endpoint import Endpoint
from arroyo_nb.feeds.headers import Headers
from arroyo_nb.feeds.http_errors import check_status, http_failures, reason

if TYPE_CHECKING:
    import httpx

CONNECT_S, ANSWER_S = 4.0, 6.0
"""How long a server may take to accept a connection, and then to send more of its
answer."""

_PORTS = {"http": 80, "https": 443}

REDIRECTS = 5
"""How many are followed."""


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
    with _reading_certificates():
        return httpx.Client(timeout=httpx.Timeout(longest_s, connect=CONNECT_S))


@contextmanager
def _reading_certificates() -> Iterator[None]:
    """Tells that the certificates of the environment cannot be read."""
    try:
        yield
    except OSError as problem:
        raise RunProblem(
            f"the certificates to trust cannot be read: {reason(problem)}",
            hint="look at the environment variables SSL_CERT_FILE and SSL_CERT_DIR",
        ) from problem


def probe(endpoint: Endpoint) -> None:
    """Find out whether a server accepts connections, and has a valid certificate.

    It is sent no request, as any may change something there. Where the environment
    names a proxy nothing is found out: only a request says what is behind it.

    Raises
    ------
    Unreached
        When nobody accepts a connection.
    RunProblem
        When the certificate is not valid, or it is no URL of HTTP; or as of
        :func:`new_client`.
    """
    import httpx

    with _reading_certificates():
        context = httpx.create_ssl_context()
    with http_failures(endpoint):
        url = httpx.URL(endpoint.url)
        if url.scheme not in _PORTS or not url.host:
            raise httpx.UnsupportedProtocol(url.scheme)
        if {url.scheme, "all"} & set(getproxies()):
            return
        host = url.raw_host.decode()
        address = host, url.port or _PORTS[url.scheme]
        with socket.create_connection(address, CONNECT_S) as connection:
            if url.scheme == "https":
                context.wrap_socket(connection, server_hostname=host).close()


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
            with unlogged():
                answer = client.send(request, stream=True)
            if not answer.has_redirect_location:
                break
            answer.close()
            url, own = _redirected(endpoint, answer, own, has_body=body is not None)
        else:
            raise endpoint.refused(
                f"redirects more than {REDIRECTS} times",
                hint="write the URL that it leads to",
            )
        try:
            check_status(endpoint, answer, _other_server(endpoint, answer))
        except RunProblem:
            answer.close()
            raise
        return answer


def _merged(headers: Headers, own: Headers) -> list[tuple[bytes, bytes]]:
    """Both, those of the table in place of others; their values may be any text."""
    names = {name.lower() for name, _ in own}
    others = (header for header in headers if header[0].lower() not in names)
    return [(name.encode(), value.encode()) for name, value in (*others, *own)]


def _host(url: httpx.URL) -> str:
    """What errors call where a redirect leads: its path and its query may have secrets
    of their own."""
    return f"{url.scheme}://{url.netloc.decode()}"


def _other_server(endpoint: Endpoint, answer: httpx.Response) -> str:
    """The server of an answer, where it is not the endpoint's own."""
    import httpx

    host = _host(answer.url)
    return host if host != _host(httpx.URL(endpoint.url)) else ""


def _redirected(
    endpoint: Endpoint, answer: httpx.Response, own: Headers, *, has_body: bool
) -> tuple[str, Headers]:
    """Where a redirect leads, and which headers of the table may go there."""
    before, after = answer.url, answer.url.join(answer.headers["location"])
    host = _host(after)
    if answer.request.method != "GET":
        raise endpoint.refused(
            f"redirects to {host}, and only a GET is sent on",
            hint="write the URL that it leads to",
        )
    schemes = before.scheme, after.scheme
    if schemes == ("https", "http"):
        raise endpoint.refused(f"redirects to {host}, which is not encrypted")
    same_port = before.port == after.port
    # To the same server, at the usual ports of both.
    is_upgrade = schemes == ("http", "https") and same_port and before.port is None
    is_same = schemes[0] == schemes[1] and same_port
    if before.host == after.host and (is_same or is_upgrade):
        return str(after), own
    if has_body:
        raise endpoint.refused(
            f"redirects to {host}, and a body is sent to no other server",
            hint="write the URL that it leads to",
        )
    return str(after), ()
