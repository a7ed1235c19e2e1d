"""The situations that the doctor knows, the nearest cause first.

A check is a function of an examination that gives a finding or nothing. A new one is
put into the list of its module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from arroyo_nb.doctor.checks import filters, inputs, joins, lifecycle, results, times
from arroyo_nb.doctor.examination import Examination
from arroyo_nb.run.observe.findings import Finding

Check: TypeAlias = Callable[[Examination], Finding | None]

CHECKS: tuple[Check, ...] = (
    *lifecycle.CHECKS,
    *filters.FIRST_CHECKS,
    *inputs.CHECKS,
    *filters.CHECKS,
    *joins.CHECKS,
    *filters.LATER_CHECKS,
    *times.CHECKS,
    *results.CHECKS,
    *lifecycle.LATER_CHECKS,
    *times.LATER_CHECKS,
)
"""Why there is no row."""

ODD_CHECKS: tuple[Check, ...] = (
    *inputs.ODD_CHECKS,
    *times.ODD_CHECKS,
    *results.ODD_CHECKS,
)
"""What is odd where there are rows."""
