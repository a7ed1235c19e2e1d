"""A row of a micro-batch's sample: its event time, and its key and first values.

The values come as one line of JSON (:mod:`arroyo_nb.spark.sampled_values`), and stay so
until somebody looks at them: few of the rows are told one by one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

MOST_VALUES_CHARS = 8 * 2**20
"""Characters of values that the trace of an output keeps; a longer run goes on, and its
later rows have their times only."""


class SampledRow(NamedTuple):
    """A row by its event time. ``line`` has its values; empty: they are not known."""

    time: datetime
    line: str = ""

    @property
    def values(self) -> Mapping[str, str | None]:
        """The values by column, as text.

        >>> SampledRow(datetime(2013, 1, 1), '{"user":"ann","fare":null}').values
        {'user': 'ann', 'fare': None}
        """
        return read_values(self.line) if self.line else {}


def read_values(line: str) -> dict[str, str | None]:
    """The values of a row by column.

    Raises
    ------
    ValueError
        When the line is not an object of texts.
    """
    found: object = json.loads(line)
    if not isinstance(found, dict) or not all(
        isinstance(value, str | None) for value in found.values()
    ):
        raise ValueError(line)
    return found


class ValuesBudget:
    """Bounds the values that the trace of an output keeps."""

    def __init__(self) -> None:
        self._left = MOST_VALUES_CHARS

    def kept(self, lines: Sequence[str]) -> Sequence[str]:
        """The lines of a micro-batch, or none where there is no room for them."""
        self._left -= sum(map(len, lines))
        return lines if self._left >= 0 else ()
