"""What a page of a run has around the panel: a hand-out for a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MOST_GIVEN = 60
"""Rows of a table that a hand-out shows at most."""


@dataclass(frozen=True)
class GivenRows:
    """The first ``rows`` that a table has; ``whole``: it has no others."""

    table: str
    rows: pa.Table
    whole: bool


@dataclass(frozen=True)
class HandOut:
    """What stands around the panel.

    Parameters
    ----------
    title, text
        What its author wrote; in the text a blank line ends a paragraph.
    sql
        The script of the run.
    given
        What its tables hold, of those that have an end.
    """

    title: str = ""
    text: str = ""
    sql: str = ""
    given: tuple[GivenRows, ...] = ()


BARE = HandOut()
