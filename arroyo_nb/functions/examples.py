"""The examples in the rows of functions and aggregates.

An example is one text: a call, and after ``->`` its result as a reader would see it. A
test computes every one, and the reference pages show them. Those of aggregates are over
the five rows of ``trips``.
"""

from __future__ import annotations

TRIP_COLUMNS = "at TIMESTAMP, name TEXT, seats INT, fare DOUBLE, done BOOLEAN"

TRIPS = (
    {"at": "10:00", "name": "ann", "seats": 1, "fare": 4.0, "done": True},
    {"at": "10:10", "name": "bob", "seats": 5, "fare": 12.0, "done": True},
    {"at": "10:20", "name": "ann", "seats": 3, "fare": 8.0, "done": False},
    {"at": "10:30", "name": "cy", "seats": 5, "fare": 12.0, "done": True},
    {"at": "10:40", "name": "bob", "seats": 1, "fare": 4.0, "done": True},
)
"""The rows that examples of aggregates are over; the times are of one day."""


def split_example(example: str) -> tuple[str, str]:
    """The call and its result, which is empty where no result is given.

    >>> split_example("upper('abc') -> 'ABC'")
    ("upper('abc')", "'ABC'")
    >>> split_example("uuid()")
    ('uuid()', '')
    """
    call, _, result = example.partition(" -> ")
    return call, result
