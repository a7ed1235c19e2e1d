"""The option ``headers``."""

import pytest

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.feeds.headers import header_problem, hide_values, parse_headers


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("", ()),
        ("X-Key: a", (("X-Key", "a"),)),
        ("X-Key:a,Other:b", (("X-Key", "a"), ("Other", "b"))),
        ("A: 1, B: 2,", (("A", "1"), ("B", "2,"))),
        ("A: b/c, d/e, X: y", (("A", "b/c, d/e"), ("X", "y"))),
        ("Date: Fri, 27 Nov 13:15", (("Date", "Fri, 27 Nov 13:15"),)),
        ("Link: a, https://b.example/c", (("Link", "a, https://b.example/c"),)),
        ("Authorization: Basic YTpi=", (("Authorization", "Basic YTpi="),)),
        ("Empty:, B: 2", (("Empty", ""), ("B", "2"))),
    ],
)
def test_headers_are_names_and_values(text, headers):
    assert parse_headers(text) == headers


@pytest.mark.parametrize("text", ["token", "a b: c", "X: a\r\nY: b", "X: a\0"])
def test_what_is_no_header_is_refused_without_its_value(text):
    with pytest.raises(CatalogProblem, match="header 1 of 'headers'") as refused:
        parse_headers(text)
    assert text not in str(refused.value)


def test_a_variable_may_have_all_headers():
    assert header_problem({"headers": "{{ HEADERS }}"}) is None
    assert header_problem({"headers": "Authorization: Bearer {{ TOKEN }}"}) is None
    assert header_problem({"headers": "nothing"}) is not None


def test_no_value_of_a_header_is_shown():
    headers = (("Authorization", "Bearer abcde"), ("X", "no"))
    said = "Bearer abcde: no access, 'abcde'"
    assert hide_values(said, headers) == "****: no access, '****'"
