"""What a run says that ends because of a record that cannot be read."""

from __future__ import annotations

from arroyo_nb.errors import DataProblem
from arroyo_nb.tape import BadRow

DOES_NOT_MATCH = " does not match schema: "
"""What stands behind the format in a reason where a record is of it, and not as it is
declared."""

MISMATCH = f"JSON{DOES_NOT_MATCH}"
"""What the reason begins with where a record is JSON, and not as it is declared."""

TO_READ_IT = "; to read it, "
"""What stands between why a record is bad and what to type, where a reason says so."""

IN_RECORD = ", in the record "
"""What stands between the reason and the record."""

DROP_HINT = "bad_data = 'drop' leaves such records out and counts them"
"""What can be done about a record that cannot be read."""

MISMATCH_HINT = f"declare the column as the records have it; {DROP_HINT}"
"""What can be done about one that is not as declared."""


def refusal(bad: BadRow, hint: str | None = None) -> DataProblem:
    """That a record cannot be read, and is not to be left out.

    Parameters
    ----------
    bad
        The record.
    hint
        What its format says can be done; None: the column can be declared otherwise, or
        such records be dropped.
    """
    reason, _, advice = bad.reason.partition(TO_READ_IT)
    usual = MISMATCH_HINT if DOES_NOT_MATCH in reason else DROP_HINT
    if advice:
        usual = f"{advice}; {DROP_HINT}"
    return DataProblem(
        f"{bad.place}: {reason}{in_record(bad.text)}", hint=hint or usual
    )


def in_record(text: str) -> str:
    """The end of the sentence: the record on one line, as a worker's error has one.

    >>> in_record('{"id":\\n 1}')
    ', in the record {"id": 1}'
    """
    return f"{IN_RECORD}{' '.join(text.split())}" if text.strip() else ""
