"""Rows that cannot be used: they fail the query, or are counted and left out.

Those whose computed event time is none, those that met a record of a lookup table that
cannot be read, and records of a topic that cannot be. (A recorder's own event time is
looked at while it is recorded: :mod:`arroyo_nb.tape.window_times`; that of a record
while it is decoded: :mod:`arroyo_nb.records`.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from arroyo_nb.connectors import is_streamed
from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.typing import is_nullable
from arroyo_nb.schema import EPOCH, MICROSECOND, TIMESTAMP, quoted, quoted_text
from arroyo_nb.spark.observe import observed_fit
from arroyo_nb.spark.windows import END_OF_TIME
from arroyo_nb.tape import (
    CUT,
    KEPT_BAD_ROWS,
    LAST_WINDOW,
    SHOWN_CHARS,
    UNREAD,
    BadRow,
    outside_windows,
)
from arroyo_nb.tape.fit import COUNTED, SEEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame

    from arroyo_nb.catalog import ConnectorTable

DROPPED = "dropped:"
"""Observation of a table's rows whose event time cannot be used, of those that met a
record of it that cannot be read, or of its records that cannot be: a number, the
table's name."""


def bad_row(*, text: str, **fields: str) -> str:
    """A :class:`~arroyo_nb.tape.BadRow` as JSON, in Spark's SQL; of each field the
    expression."""
    fields["text"] = cut_text(text)
    columns = (f"{quoted_text(name)}, {value}" for name, value in fields.items())
    return f"to_json(named_struct({', '.join(columns)}))"


def cut_text(text: str) -> str:
    """A text, cut as :func:`~arroyo_nb.tape.shown_text` does it, in Spark's SQL."""
    cut = f"concat(left({text}, {SHOWN_CHARS - 1}), {quoted_text(CUT)})"
    return f"IF(char_length({text}) > {SHOWN_CHARS}, {cut}, {text})"


def read_bad_rows(observed: Sequence[str]) -> list[BadRow]:
    """The sample of a micro-batch, in the order of their places."""
    found = map(BadRow.from_json, observed)
    return sorted(found, key=_order)


def _order(bad: BadRow) -> tuple[str, int, int, str]:
    return bad.origin, bad.partition or 0, bad.offset or 0, bad.text


def drops_records(table: ConnectorTable) -> bool:
    """Whether the rows that are read of a source have
    :data:`~arroyo_nb.tape.UNREAD`: Spark reads it itself, and its bad records are left
    out."""
    dropped = table.spec.options.get("bad_data") == "drop"
    return dropped and is_streamed(table.connector)


_Counted: TypeAlias = "ConnectorTable | nodes.LookupJoin | nodes.Source"


@dataclass(frozen=True)
class BadRows:
    """What becomes of the bad rows of one plan.

    ``windowed`` is whether its rows get windows. ``again`` is whether they have been
    read before: none is counted once more. ``counted`` has the tables, sources and
    lookups that are counted already, ``fitted`` the tables of whose columns it is
    observed what they had: an observation has one name.
    """

    windowed: bool
    again: bool
    counted: list[_Counted] = field(default_factory=list)
    fitted: list[ConnectorTable] = field(default_factory=list)

    def of_usable_time(self, frame: DataFrame, node: nodes.Watermark) -> DataFrame:
        """The rows whose computed event time can be used."""
        from pyspark.sql import functions as F  # noqa: N812

        problems = list(self._problems(node))
        if not problems:
            return frame
        # `event_time` puts a watermark right over its source.
        assert isinstance(node.input, nodes.Source)
        table = node.input.table
        if table.spec.options.get("bad_data") == "drop":
            bad = f"coalesce({' OR '.join(test for test, _ in problems)}, FALSE)"
            columns = ", ".join(quoted(field.name) for field in node.input.schema)
            row = bad_row(
                place="''",
                text=f"to_json(struct({columns}))",
                reason=quoted_text("its event time cannot be used"),
            )
            row = f"IF({bad}, {row}, NULL)"
            frame = self._observed(frame, table, f"count_if({bad})", row)
            return frame.filter(f"NOT {bad}")
        failures = (
            f"WHEN {test} THEN raise_error("
            + quoted_text(f"the event time of '{table.name}' {what}")
            + ")"
            for test, what in problems
        )
        checked = f"CASE {' '.join(failures)} ELSE {quoted(TIMESTAMP)} END"
        return frame.withColumn(TIMESTAMP, F.expr(checked))

    def _problems(self, node: nodes.Watermark) -> Iterator[tuple[str, str]]:
        """What may be wrong with an event time: how to find it, what to say. What
        windows cannot hold is told in :mod:`arroyo_nb.tape.window_times`."""
        if node.event_time is None:
            return
        time = quoted(TIMESTAMP)
        # Greater than, not equal: the row that ends the stream has that very time.
        yield f"{time} > {END_OF_TIME}", "lies after the year 9998"
        if is_nullable(node.event_time):
            yield f"{time} IS NULL", "is NULL in a row"
        if self.windowed:
            before = f"{time} < timestamp_seconds(0)"
            yield before, f"lies {outside_windows(early=True)}, where windows cannot be"
            last_us = (LAST_WINDOW - EPOCH) // MICROSECOND
            after = f"{time} >= timestamp_micros({last_us}L) AND {time} < {END_OF_TIME}"
            yield after, f"lies {outside_windows(early=False)}, where windows cannot be"

    def readable(self, frame: DataFrame, node: nodes.LookupJoin) -> DataFrame:
        """What was asked for, less what an inner join finds no record for because it
        cannot be read."""
        if node.table.spec.options.get("bad_data") == "drop":
            frame = self._observed(frame, node, f"count({UNREAD})", UNREAD)
            if node.how == "inner":
                frame = frame.filter(f"{UNREAD} IS NULL")
        return frame.drop(UNREAD)

    def of_records(self, frame: DataFrame, node: nodes.Source) -> DataFrame:
        """A source's rows, less those that stand for bad records; what their columns
        had is observed too."""
        frame = self._fitted(frame, node.table)
        if not drops_records(node.table):
            return frame
        frame = self._observed(frame, node, f"count({UNREAD})", UNREAD)
        return frame.filter(f"{UNREAD} IS NULL").drop(UNREAD)

    def _fitted(self, frame: DataFrame, table: ConnectorTable) -> DataFrame:
        # Formats without named fields, such as raw_string, have nothing to observe.
        if SEEN not in frame.columns:
            return frame
        if not self.again and table not in self.fitted:
            frame = observed_fit(frame, table.name, len(self.fitted))
            self.fitted.append(table)
        # A row may stand for what was counted, or for a bad record.
        others = f"OR {UNREAD} IS NOT NULL" if UNREAD in frame.columns else ""
        return frame.filter(f"{SEEN} IS NOT NULL {others}").drop(SEEN, *COUNTED)

    def _observed(
        self,
        frame: DataFrame,
        of: _Counted,
        rows: str,
        bad: str,
    ) -> DataFrame:
        """With each batch, how many rows are bad, and a bounded sample of them."""
        from pyspark.sql import functions as F  # noqa: N812

        if self.again or of in self.counted:
            return frame
        table = of.table if isinstance(of, nodes.Node) else of
        name = f"{DROPPED}{len(self.counted)}:{table.name}"
        self.counted.append(of)
        # Where few are kept of many they are the least texts: the same in each run.
        # They come with the progress, of which Spark keeps 100: 40 MB at the worst.
        sample = F.expr(f"min_by({bad}, {bad}, {KEPT_BAD_ROWS})")
        return frame.observe(name, F.expr(rows).alias("rows"), sample.alias("bad"))
