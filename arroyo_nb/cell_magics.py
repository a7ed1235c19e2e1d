"""The cell magics, and what their cells hold: each editor asks this table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from arroyo_nb import magic_options
from arroyo_nb.option_flags import Flag
from arroyo_nb.test_commands import TEST_FLAGS_BY_NAME


class Content(Enum):
    """What the lines below the first one are."""

    SQL = "sql"
    TEST = "test"
    ROWS = "rows"
    PYTHON = "python"


@dataclass(frozen=True)
class CellMagic:
    """A cell magic.

    Parameters
    ----------
    name
        Without its percent signs.
    content
        What its cell holds.
    flags
        The options of its first line, by spelling.
    """

    name: str
    content: Content
    flags: Mapping[str, Flag]


def _by_name(magics: Iterable[CellMagic]) -> Mapping[str, CellMagic]:
    return {magic.name: magic for magic in magics}


CELL_MAGICS = _by_name(
    (
        CellMagic("arroyo", Content.SQL, magic_options.FLAGS_BY_NAME),
        CellMagic("arroyo_test", Content.TEST, TEST_FLAGS_BY_NAME),
        CellMagic("arroyo_rows", Content.ROWS, magic_options.ROWS_FLAGS_BY_NAME),
        CellMagic("arroyo_udf", Content.PYTHON, {}),
    )
)
