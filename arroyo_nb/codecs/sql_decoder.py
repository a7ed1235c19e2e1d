"""Payloads that Spark's own expressions read, without a Python worker.

Where records come by the thousand, decoding them in Arrow batches is faster, and takes
columns of every type. But a batch has to be full first; here a record is read as it
comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PAYLOAD = "value"
"""The column that has the payload; it is not NULL."""

TEXT = "_text"
AS_TEXT: Mapping[str, str] = {TEXT: f"try_validate_utf8(CAST({PAYLOAD} AS STRING))"}
"""A step: the payload as a text, NULL where it is not UTF-8."""

AS_MARKED_TEXT: Mapping[str, str] = {
    TEXT: f"regexp_replace({AS_TEXT[TEXT]}, '^\\uFEFF', '')"
}
"""The same without the mark of UTF-8 that it may begin with."""

HOLDS_TEXT = f"coalesce({TEXT} RLIKE r'[^ \\t\\r\\n]', TRUE)"
"""Whether it has more than blanks, behind that step."""


@dataclass(frozen=True)
class SqlDecoder:
    """A reader of payloads, as texts of Spark SQL.

    Parameters
    ----------
    steps
        Columns that each record gets on the way, one step after the other: each sees
        :data:`PAYLOAD` and the steps before it. Their names begin with ``_``.
    values
        Each column of the record, over those; NULL where it cannot be read.
    problem
        Why the record cannot be read, as a text; NULL where it can.
    is_record
        Whether the payload is a record at all: others are left out.
    """

    steps: tuple[Mapping[str, str], ...]
    values: tuple[str, ...]
    problem: str
    is_record: str = "TRUE"

    def over(self, records: DataFrame) -> DataFrame:
        """The records with the columns of all steps beside their own."""
        for step in self.steps:
            columns = (f"{text} AS {name}" for name, text in step.items())
            records = records.selectExpr("*", *columns)
        return records.where(self.is_record)
