"""The families of long tests: which ones there are, and which one a test belongs to.

A test names its family in a marker, ``@pytest.mark.long("kills")``. The Makefile has
the list of families, and a target for each: ``make long-kills`` is
``pytest --long kills``.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[1] / "Makefile"
MARKERS = ("long", "of_the_day")
"""Those that name a family: of tests that are only long, and of the cases that
:mod:`seeds` chooses for ``make test``, which are in their family all the same."""

NOTEBOOKS = "notebooks"
"""The family that runs every notebook; a notebook has no marker."""


@cache
def families() -> tuple[str, ...]:
    """The names in the Makefile, in their order."""
    text = MAKEFILE.read_text().replace("\\\n", " ")
    (names,) = re.findall(r"^LONG := (.*)$", text, re.MULTILINE)
    return tuple(names.split())


@cache
def names_family(path: Path, family: str) -> bool:
    """Whether a file may have tests of a family. Each file names the families of its
    tests, so that the others need not be imported to run one family."""
    return f'"{family}"' in path.read_text()


def family_of(item: pytest.Item) -> str | None:
    """The family of a test, if it has one.

    Raises
    ------
    pytest.UsageError
        A marker names no family, one that does not exist, or another one than a marker
        beside it; or its file does not have the name.
    """
    if item.path.suffix == ".ipynb":
        return NOTEBOOKS
    named = set()
    for name in MARKERS:
        for mark in item.iter_markers(name):
            if len(mark.args) != 1 or mark.kwargs or mark.args[0] not in families():
                raise pytest.UsageError(
                    f"{item.nodeid}: the marker '{name}' has to name one family: "
                    f'write @pytest.mark.{name}("...") with one of '
                    f"{', '.join(families())}"
                )
            named.add(mark.args[0])
    if len(named) > 1:
        raise pytest.UsageError(
            f"{item.nodeid} is in {len(named)} families: {', '.join(sorted(named))}"
        )
    for family in named:
        if not names_family(item.path, family):
            raise pytest.UsageError(
                f'{item.nodeid}: its file has to name the family "{family}"'
            )
        return family
    return None
