"""The bad records that a run left out, as a table."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from arroyo_nb.formats import ANY_TEXT
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.tape import KEPT_BAD_ROWS

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.run.output import Output
    from arroyo_nb.run.sources.sources import Sources
    from arroyo_nb.tape import BadRow


def dropped_records(feeds: Sources, output: Output) -> pa.Table:
    """A row for each bad record of the tables that an output reads; a warning says how
    many there were when not all of them are kept."""
    import pyarrow as pa

    schema = pa.schema(
        {
            "source": pa.string(),
            "origin": pa.string(),
            "partition": pa.int32(),
            "offset": pa.int64(),
            "line": pa.int64(),
            "record": pa.string(),
            "reason": pa.string(),
        }
    )
    seen = output.observation
    with seen.lock:  # the counts and the records of one micro-batch
        rows, dropped_rows = [], 0
        for name in dict.fromkeys(_table_names(output.sink)):
            dropped_rows += seen.dropped_rows[name] + feeds.dropped_rows(name)
            bad = (*feeds.bad_rows(name), *seen.bad.get(name, ()))
            rows += [_row(name, one) for one in bad]
    if dropped_rows > len(rows):
        warnings.warn(
            f"{len(rows):,} of {dropped_rows:,} dropped records: of a table at most "
            f"{KEPT_BAD_ROWS:,} are kept; to get all those of a topic, "
            "declare it once more with one column, value TEXT, and format = "
            f"'{ANY_TEXT}', and select them with WHERE",
            stacklevel=3,
        )
    return pa.Table.from_pylist(rows, schema)


def _table_names(sink: nodes.Sink) -> Iterator[str]:
    for node in walk(sink):
        if isinstance(node, nodes.Source | nodes.LookupJoin):
            yield node.table.name


def _row(source: str, bad: BadRow) -> dict[str, str | int | None]:
    return {
        "source": source,
        "origin": bad.origin or None,
        "partition": bad.partition,
        "offset": bad.offset,
        "line": bad.line,
        "record": bad.text,
        "reason": bad.reason,
    }
