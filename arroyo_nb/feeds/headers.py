"""Headers of HTTP requests, as an option has them: ``'Name: value, Name: value'``.

Their values are often secrets: no message shows one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.with_options import REFERENCE, Holds, Option, OptionKind, OptionValue

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""The names and the values, in the order of the option."""

_NAME = r"[\w!#$%&'*+.^`|~-]+"

# A comma may stand in a value, as in "Accept: text/html, text/plain": one that ends it
# has a name and a colon behind it, which does not begin the rest of a URL.
_SEPARATOR = re.compile(rf",\s*(?={_NAME}\s*:(?!//))", re.ASCII)
_HEADER = re.compile(rf"\s*({_NAME})\s*:\s*(.*?)\s*", re.ASCII)

# What no value may have: a line end begins another header.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

_SHORTEST_HIDDEN = 4
"""Characters of a value that is hidden: a shorter one is a word such as `no`."""

HEADERS = Option(
    "headers",
    OptionKind.STRING,
    "headers of the request: 'Name: value, Name: value'; write a secret as a "
    "reference: 'Authorization: Bearer {{ TOKEN }}'",
    in_identity=False,
)


def endpoint_option(doc: str, example: str = "https://example.com/events") -> Option:
    """The option that says where a server is."""
    kind = OptionKind.STRING
    return Option(
        "endpoint", kind, doc, required=True, example=example, holds=Holds.ADDRESS
    )


def parse_headers(text: str) -> Headers:
    """The headers of an option.

    >>> parse_headers("Accept: text/html, text/plain, X-Key: a")
    (('Accept', 'text/html, text/plain'), ('X-Key', 'a'))

    Raises
    ------
    CatalogProblem
        When a part has no name, or a value has a line end.
    """
    parts = [part for part in _SEPARATOR.split(text) if part.strip()]
    found = [_HEADER.fullmatch(part) for part in parts]
    for number, match in enumerate(found, 1):
        if match is None or _CONTROL.search(match[2]):
            raise CatalogProblem(
                f"header {number} of 'headers' is not a name and a value on one line",
                hint="write headers = 'Name: value, Name: value'",
            )
    return tuple((match[1], match[2]) for match in found if match is not None)


def header_problem(options: Mapping[str, OptionValue]) -> CatalogProblem | None:
    """What is wrong with the headers of a table; None: nothing, or a variable has
    them all."""
    text = str(options.get("headers", ""))
    if REFERENCE.fullmatch(text.strip()):
        return None
    try:
        parse_headers(text)
    except CatalogProblem as problem:
        return problem
    return None


def hide_values(text: str, headers: Headers) -> str:
    """A text of a server without the values of headers, which it may repeat.

    >>> hide_values("no such token: abcde", (("Authorization", "Bearer abcde"),))
    'no such token: ****'
    """
    values = {value for _, value in headers}
    # Of "Bearer abcde" a server may repeat the second word.
    values |= {word for value in values for word in value.split()[1:]}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST_HIDDEN:
            text = text.replace(value, "****")
    return text
