"""The rows of each value of a call, apart: those of a group, or of a frame of OVER,
that its FILTER and its DISTINCT leave.

DataFusion, asked for the call over them, forgets no clause, keeps no value that has
left a frame, and has nothing to take back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from oracle import theirs
from oracle.aggregates.outcomes import OVER, Form, evaluate_there
from oracle.aggregates.rows import Rows
from oracle.cases import Case, Outcome
from oracle.results import plain, type_name

_FILTER = re.compile(r" FILTER \(WHERE (.*?)\)(?=$| OVER| IGNORE)")
_OVER = re.compile(r" OVER \((.*)\)$")
_FRAME = re.compile(r"(ROWS|RANGE|GROUPS) BETWEEN (.*) AND (.*)$")
_QUERY = (
    "SELECT slot, count(*) AS c, {call} AS value FROM data GROUP BY slot ORDER BY slot"
)


@dataclass(frozen=True)
class Apart:
    """The rows of each value of a call."""

    form: Form
    case: Case
    rows: Rows

    @cached_property
    def call(self) -> str:
        """The call, without its clauses that choose rows."""
        text = _OVER.sub("", self.case.expression)
        return _FILTER.sub("", text).replace("DISTINCT ", "")

    def asked(self, call: str) -> Outcome:
        """What DataFusion gives for another call over the same rows."""
        text = f"{call} FILTER (WHERE kept)"
        if call.endswith(" IGNORE NULLS"):
            text = f"{call[: -len(' IGNORE NULLS')]} FILTER (WHERE kept) IGNORE NULLS"

        def read(found: list[pa.RecordBatch]) -> Outcome:
            column = pa.Table.from_batches(found)["value"]
            return Outcome(
                type=type_name(column.type), value=[plain(v) for v in column]
            )

        return theirs.outcome(_QUERY.format(call=text), self._batch, read)

    def values(self, *arguments: str) -> list[list[Any]]:
        """The values of expressions in the rows of each, those with a NULL left out; of
        several a value is a list."""
        found = []
        listed = [self.asked(f"array_agg({a})").value for a in arguments]
        for columns in zip(*listed, strict=True):  # type: ignore[arg-type]
            rows = zip(*(column or [] for column in columns), strict=True)
            kept = [list(row) for row in rows if None not in row]
            found.append(kept if len(arguments) > 1 else [row[0] for row in kept])
        return found

    @cached_property
    def _batch(self) -> pa.RecordBatch:
        kept = set(self._kept())
        table = self.rows.table(theirs.arrow_type)
        places = list(range(len(table)))
        slots = range(len(self._frames))
        rows = [(slot, place) for slot in slots for place in places]
        wide = table.take([place for _, place in rows])
        wide = wide.append_column("slot", pa.array([slot for slot, _ in rows]))
        wide = wide.append_column("kept", pa.array([row in kept for row in rows]))
        (batch,) = wide.combine_chunks().to_batches()
        return batch

    def _kept(self) -> Iterator[tuple[int, int]]:
        found = _FILTER.search(self.case.expression)
        chosen = None if found is None else self._each(found[1])
        is_distinct = "DISTINCT " in self.case.expression
        arguments = [self._each(argument) for argument in self.case.operands]
        for slot, members in enumerate(self._frames):
            seen = set()
            for place in members:
                if chosen is not None and chosen[place] is not True:
                    continue
                value = repr([values[place] for values in arguments])
                if is_distinct and value in seen:
                    continue
                seen.add(value)
                yield slot, place

    def _each(self, expression: str) -> Sequence[Any]:
        """The value of an expression in each row."""
        case = replace(self.case, expression=expression)
        (outcome,) = evaluate_there(OVER, [case], self.rows)
        assert isinstance(outcome.value, list), outcome
        return outcome.value

    @cached_property
    def _frames(self) -> list[list[int]]:
        """The places of the rows that each value is of."""
        groups: dict[int, list[int]] = {}
        for place, row in enumerate(self.rows.rows):
            groups.setdefault(row["k"], []).append(place)
        over = _OVER.search(self.case.expression)
        if over is None:
            return [groups[key] for key in sorted(groups)]
        down = "ORDER BY n DESC" in over[1]
        frames = {}
        for group in groups.values():
            ordered = group[::-1] if down else group
            for position, place in enumerate(ordered):
                first, last = self._ends(over[1], ordered, position)
                frames[place] = ordered[first:last]
        return [frames[place] for place in sorted(frames)]

    def _ends(self, over: str, ordered: list[int], position: int) -> tuple[int, int]:
        """Where the frame of a row begins and ends among those of its group."""
        found = _FRAME.search(over)
        if found is None:
            return 0, position + 1
        unit, start, end = found.groups()
        first, last = 0, len(ordered)
        for word, is_end in ((start, False), (end, True)):
            if word.startswith("UNBOUNDED"):
                continue
            steps = 0 if word == "CURRENT ROW" else int(word.split()[0])
            steps = -steps if word.endswith("PRECEDING") else steps
            if unit == "RANGE":
                # The number of a row is its place in the table.
                here = ordered[position]
                away = [
                    abs(p - here) * (1 if q >= position else -1)
                    for q, p in enumerate(ordered)
                ]
                reached = sum(a <= steps if is_end else a < steps for a in away)
            else:
                reached = min(max(position + steps + is_end, 0), len(ordered))
            first, last = (first, reached) if is_end else (reached, last)
        return first, last
