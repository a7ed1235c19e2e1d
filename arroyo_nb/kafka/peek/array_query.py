"""A query for records that are JSON arrays: a row for each of their elements.

No format reads an array, as a record is one row: it is a text, which SQL takes apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from arroyo_nb.kafka.peek.column_types import GuessedColumn, guess_columns
from arroyo_nb.plan.tables.render_ddl import written_name, written_text
from arroyo_nb.schema import BIGINT, BOOLEAN, DOUBLE

_CAST = (BIGINT, DOUBLE, BOOLEAN)


def array_query(table: str, values: Sequence[bytes | None]) -> str:
    """A query over a table of raw texts; empty where most of them are no arrays.

    Parameters
    ----------
    table
        Its name, as it is written.
    values
        The texts; what was deleted is None.

    >>> print(array_query("answers", [b'[{"name": "a", "bikes": 2}]']))
    SELECT
        extract_json_string(item, '$["name"]') AS name,
        TRY_CAST(extract_json(item, '$["bikes"]')[1] AS BIGINT) AS bikes
    FROM (SELECT unnest(extract_json(value, '$[*]')) AS item FROM answers)
    """
    arrays = list(_arrays(values))
    if 2 * len(arrays) <= len(values):
        return ""
    items = f"SELECT unnest(extract_json(value, '$[*]')) AS item FROM {table}"
    elements = [one for array in arrays for one in array if isinstance(one, dict)]
    guessed, _ = guess_columns(list(enumerate(elements)))
    found = [column for column in guessed if _is_text(column.name)]
    if not found:
        return items
    columns = ",\n    ".join(map(_column, found))
    return f"SELECT\n    {columns}\nFROM ({items})"


def _arrays(values: Sequence[bytes | None]) -> Iterator[list[object]]:
    for value in values:
        try:
            found = json.loads(value or b"")
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list):
            yield found


def _is_text(name: str) -> bool:
    """Whether a name can be written: JSON may escape half a character."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _column(column: GuessedColumn) -> str:
    """A field of the elements; what is no text, number or truth value is JSON."""
    path = written_text(f"$[{json.dumps(column.name, ensure_ascii=False)}]")
    first = f"extract_json(item, {path})[1]"
    if isinstance(column.least, str):
        first = f"extract_json_string(item, {path})"
    elif column.type in _CAST:
        first = f"TRY_CAST({first} AS {column.type})"
    return f"{first} AS {written_name(column.name)}"
