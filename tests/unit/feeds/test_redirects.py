"""Where a redirect takes what a table sends."""

import httpx
import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds.endpoint import Endpoint
from arroyo_nb.feeds.http import send


def redirected(url, to, **options):
    """The requests of a GET that is redirected once."""
    requests = []

    def answer(request):
        requests.append(request)
        if len(requests) == 1:
            return httpx.Response(302, headers={"Location": to})
        return httpx.Response(200)

    endpoint = Endpoint("t", url, url, (("X-Key", "a"),))
    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        send(client, endpoint, **options).close()
    return requests


SAME = [
    ("http://host/", "/other"),
    ("http://host/", "http://HOST:80/other"),
    ("http://host:81/", "http://host:81/other"),
    # Encrypted from now on.
    ("http://host/", "https://host/"),
    ("http://host:80/", "https://host:443/"),
]
OTHER = [
    ("http://host/", "http://host:81/"),
    ("http://host/", "https://host:444/"),
    ("http://host:81/", "https://host/"),
    ("http://host:81/", "https://host:81/"),
    ("https://host/", "https://host:444/"),
    ("https://host/", "https://other.host/"),
]


@pytest.mark.parametrize(("url", "to"), SAME)
def test_headers_and_a_body_go_along_to_the_same_server(url, to):
    first, second = redirected(url, to, body=b"b")
    assert first.headers["X-Key"] == second.headers["X-Key"] == "a"
    assert first.content == second.content == b"b"


@pytest.mark.parametrize(("url", "to"), OTHER)
def test_headers_and_a_body_go_to_no_other_server(url, to):
    _, second = redirected(url, to)
    assert "X-Key" not in second.headers
    with pytest.raises(RunProblem, match="a body is sent to no other server"):
        redirected(url, to, body=b"b")


def test_headers_that_stayed_behind_do_not_come_back():
    requests = []

    def answer(request):
        requests.append(request)
        other = "http://other/" if request.url.host == "host" else "http://host/last"
        if request.url.path == "/last":
            return httpx.Response(200)
        return httpx.Response(302, headers={"Location": other})

    endpoint = Endpoint("t", "http://host/", "http://host/", (("X-Key", "a"),))
    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        send(client, endpoint).close()
    assert [r.headers.get("X-Key") for r in requests] == ["a", None, None]


@pytest.mark.parametrize("code", [401, 403])
@pytest.mark.parametrize(
    ("to", "said"),
    [
        (
            "https://user:klmno@other.host:444/x?key=klmno",
            "redirects to https://other.host:444, which refuses the request (",
        ),
        ("/x?key=klmno", "https://host/ refuses the request ("),
    ],
)
def test_who_refuses_behind_a_redirect_is_told(code, to, said):
    def answer(request):
        if request.url.path == "/":
            return httpx.Response(302, headers={"Location": to})
        return httpx.Response(code)

    endpoint = Endpoint("", "https://host/", "https://host/", (("X-Key", "a"),))
    with (
        httpx.Client(transport=httpx.MockTransport(answer)) as client,
        pytest.raises(RunProblem) as refused,
    ):
        send(client, endpoint)
    assert f"{said}{code} " in refused.value.message
    assert ("headers are sent to no other" in refused.value.hint) == (to[0] != "/")
    assert "klmno" not in str(refused.value)
