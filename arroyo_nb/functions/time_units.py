"""How many microseconds, which Spark counts times in, are a day and a unit of a
TIMESTAMP."""

from __future__ import annotations

SECOND_US = 10**6
DAY_US = 86_400 * SECOND_US

UNIT_US = {0: SECOND_US, 3: 10**3}
"""By the digits of a TIMESTAMP; those with more digits have all microseconds."""
