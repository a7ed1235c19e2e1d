"""Names of folders that something gives a meaning to: a shell, a JVM, Hadoop, YAML.

Each is the name of a folder that a user may have. The list is one, so that whatever
takes a path is tried with all of them.
"""

from __future__ import annotations

import pytest

ODD_NAMES = (
    "a b",
    "ü",
    "a'b",
    'a"b',
    "$x",
    "${y}",
    "{y}",
    "a,b",
    "a&b",
    "a:b",
    "a#b",
    "[1]",
    "a\nb",
    "a%20b",
    "a?b",
    "a*b",
    "a\\b",
    "~a",
    "-a",
    "a;b",
    "(a)",
    "a=b",
    "a+b",
    "a|b",
    "a`b",
    "<a>",
    "😀",
    "e\N{COMBINING ACUTE ACCENT}",
    "a\N{NO-BREAK SPACE}b",
    "%p",
)

NESTED = "/".join(ODD_NAMES)
"""All of them at once: what fails with one fails with this, in the time of one."""

WITHOUT_COLON = "/".join(name for name in ODD_NAMES if ":" not in name)


def any_name(family: str) -> pytest.MarkDecorator:
    """For what takes seconds: all of them in one path, and in a long family each."""
    each = (
        pytest.param(n, id=ascii(n), marks=pytest.mark.long(family)) for n in ODD_NAMES
    )
    return pytest.mark.parametrize("name", [pytest.param(NESTED, id="all"), *each])
