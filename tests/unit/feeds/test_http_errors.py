"""What a server asks for with an answer that is not a good one."""

import pytest

from arroyo_nb.feeds.endpoint import Endpoint
from arroyo_nb.feeds.http_errors import answer_problem

ENDPOINT = Endpoint("numbers", "http://host", "http://host")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600.0),
        ("86400", 3600.0),
        ("9" * 5000, 3600.0),
        # Nobody may be made to wait for ever, or not at all, by what is no number.
        *((no_wait, None) for no_wait in ("nan", "inf", "-1", "", "soon", "\u00b2")),
        ("Fri, 99 Dec 9999 23:59:59 GMT", None),
    ],
)
def test_a_wait_is_a_number_or_a_date_and_an_hour_at_most(value, seconds):
    problem = answer_problem(ENDPOINT, 503, "Unavailable", b"", value)
    assert problem.retry_after_s == seconds
