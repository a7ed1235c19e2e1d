"""What a run says that ends because of a record that cannot be read."""

from __future__ import annotations

from arroyo_nb.errors import DataProblem
from arroyo_nb.tape import BadRow

MISMATCH = "JSON does not match schema: "
"""What the reason begins with where a record is JSON, and not as it is declared."""

IN_RECORD = ", in the record "
"""What stands between the reason and the record."""

DROP_HINT = "bad_data = 'drop' leaves such records out and counts them"
"""What can be done about a record that cannot be read."""

MISMATCH_HINT = f"declare the column as the records have it; {DROP_HINT}"
"""What can be done about one that is not as declared."""

LINES_HINT = (
    "a file has one object a line: jq -c '.[]' FILE > FILE.jsonl, or in Python "
    "pandas.read_json('FILE', convert_dates=False).to_json('FILE.jsonl', "
    "orient='records', lines=True)"
)
"""What can be done about a file that is one JSON document."""

CSV_HINT = (
    "convert it: pandas.read_csv('FILE').to_json('FILE.jsonl', orient='records', "
    "lines=True, date_format='iso'), and read that with format = 'json'; or send the "
    "rows to a tape: session.emit('FILE.tape', pandas.read_csv('FILE'))"
)
"""What can be done about a file that is CSV."""

CSV = ("csv", "tsv")
"""Names of that format, and endings of such files."""


def refusal(bad: BadRow) -> DataProblem:
    """That a record cannot be read, and is not to be left out."""
    return DataProblem(
        f"{bad.place}: {bad.reason}{in_record(bad.text)}",
        hint=_hint(bad),
    )


def _hint(bad: BadRow) -> str:
    # Dropping what is no record would leave out the whole file.
    if bad.origin.lower().endswith(tuple(f".{ending}" for ending in CSV)):
        return CSV_HINT
    if bad.line == 1 and (bad.text.startswith("[") or bad.text == "{"):
        return LINES_HINT
    return MISMATCH_HINT if bad.reason.startswith(MISMATCH) else DROP_HINT


def in_record(text: str) -> str:
    """The end of the sentence: the record on one line, as a worker's error has one.

    >>> in_record('{"id":\\n 1}')
    ', in the record {"id": 1}'
    """
    return f"{IN_RECORD}{' '.join(text.split())}" if text.strip() else ""
