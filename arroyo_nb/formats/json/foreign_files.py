"""What can be done about a file that has no JSON object on each line.

To drop what is no record would leave out the whole file: it is converted instead.
"""

from __future__ import annotations

from arroyo_nb.tape import BadRow

LINES_HINT = (
    "a file has one object a line: jq -c '.[]' FILE > FILE.jsonl, or in Python "
    "pandas.read_json('FILE', convert_dates=False).to_json('FILE.jsonl', "
    "orient='records', lines=True)"
)
"""What can be done about a file that is one JSON document."""

CSV_HINT = (
    "in a notebook %%arroyo_rows NAME --from FILE makes a table of it; or convert it: "
    "pandas.read_csv('FILE').to_json('FILE.jsonl', orient='records', "
    "lines=True, date_format='iso'), and read that with format = 'json'; or send the "
    "rows to a tape: session.emit('FILE.tape', pandas.read_csv('FILE'))"
)
"""What can be done about a file that is CSV."""

CSV = ("csv", "tsv")
"""Names of that format, and endings of such files."""


def conversion_hint(bad: BadRow) -> str | None:
    """How a file is converted that has such a record; None: it is one of JSON lines."""
    if bad.origin.lower().endswith(tuple(f".{ending}" for ending in CSV)):
        return CSV_HINT
    if bad.line == 1 and (bad.text.startswith("[") or bad.text == "{"):
        return LINES_HINT
    return None
