"""Whether a script that was changed can go on from the checkpoint of before.

A checkpoint is that of a plan: which sources are read and how far, and what each
operator remembers. Spark finds state again by the operator's place in the plan and
does not ask what it means, so this is judged before the start, from the plans (Spark's
*Structured Streaming Programming Guide*, "Recovery Semantics after Changes in a
Streaming Query"). What is not known to be safe begins afresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from itertools import zip_longest
from typing import NamedTuple

from sqlglot import exp

from arroyo_nb.connectors import TableSpec, holding, is_streamed
from arroyo_nb.plan import Plan
from arroyo_nb.plan.explain.node_lines import described
from arroyo_nb.plan.expressions.functions import has_arroyos_value
from arroyo_nb.plan.nodes import (
    Filter,
    LatestRow,
    LookupJoin,
    Node,
    Project,
    Sink,
    Source,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingRank,
    Watermark,
    WindowAggregate,
    WindowJoin,
    WindowOver,
    is_updating,
)
from arroyo_nb.plan.user_functions import functions_of, measures_of
from arroyo_nb.plan.verify import expressions
from arroyo_nb.schema import Field
from arroyo_nb.sql.syntax_tree import all_in
from arroyo_nb.state.aggregate_parts import has_its_parts
from arroyo_nb.with_options import Holds


class Outcome(Enum):
    """What becomes of the checkpoint, the better first."""

    COMPATIBLE = "compatible"
    """The job goes on from it, in its place."""
    FORK = "needs fork"
    """Another job can go on from a copy of it: the state is still what the operators
    remember, but rows of now are made otherwise than those of before."""
    FRESH = "fresh"
    """The job starts from nothing: the state means something else, or fits nowhere."""


class Ruling(NamedTuple):
    """What an edit does to a checkpoint, and why."""

    outcome: Outcome
    why: str


class Edit(Enum):
    """What can be changed in a script or a job; the value is what it is called."""

    WORDING = "wording"
    TRIGGER = "trigger"
    PARALLELISM = "parallelism"
    REAL_TIME = "real-time mode"
    TTL = "ttl"
    FIRST_TTL = "first ttl"
    MODE = "mode"
    ROWS = "rows"
    TAKEN_BACK = "rows that are taken back"
    LOOKUP = "lookup table"
    DELAY = "delay"
    SOURCE_OPTION = "source option"
    SINK = "sink"
    UDF = "function"
    AGGREGATE_UDF = "aggregate function"
    NAME = "name"
    STATE = "state folder"
    SOURCE = "source"
    ADDED_COLUMNS = "nullable source columns more"
    COLUMNS = "source columns"
    EVENT_TIME = "event time"
    OPERATOR = "operator"
    AGGREGATE_OF_KEPT = "aggregate more, of what is kept"
    AGGREGATE_OF_ROWS = "aggregate more, of earlier rows"
    AGGREGATE_OF_WINDOW = "aggregate more, of windows"
    KEPT = "what an operator keeps"
    QUERIES = "queries"
    PLAN = "plan"
    UNKNOWN = "unknown"


_COMPATIBLE, _FORK, _FRESH = Outcome.COMPATIBLE, Outcome.FORK, Outcome.FRESH

RULINGS: Mapping[Edit, Ruling] = {
    Edit.WORDING: Ruling(_COMPATIBLE, "the plan is the same"),
    Edit.TRIGGER: Ruling(_COMPATIBLE, "it is read anew at each start"),
    Edit.PARALLELISM: Ruling(
        _COMPATIBLE, "the number of state partitions stays as it was at first"
    ),
    Edit.REAL_TIME: Ruling(
        _COMPATIBLE, "both modes keep the offsets of topics in the same way"
    ),
    Edit.TTL: Ruling(_COMPATIBLE, "from now on keys are forgotten after the new time"),
    Edit.FIRST_TTL: Ruling(
        _FRESH, "a state that was kept without one cannot forget keys"
    ),
    Edit.MODE: Ruling(
        _COMPATIBLE,
        "it decides which scripts are refused; an expression whose value it changes "
        "is another edit",
    ),
    Edit.ROWS: Ruling(
        _FORK, "the state and the sink hold results of the old computation"
    ),
    Edit.TAKEN_BACK: Ruling(
        _FRESH, "a retraction would not match the row that an operator remembers"
    ),
    Edit.LOOKUP: Ruling(_FORK, "earlier rows were looked up in the old table"),
    Edit.DELAY: Ruling(_FORK, "rows were late by the old delay"),
    Edit.SOURCE_OPTION: Ruling(_FORK, "earlier rows were read in the old way"),
    Edit.SINK: Ruling(_FORK, "earlier rows are in the old sink"),
    Edit.UDF: Ruling(_FORK, "the state and the sink hold what the old one made"),
    Edit.AGGREGATE_UDF: Ruling(_FRESH, "the state holds what the old one made"),
    Edit.NAME: Ruling(_FRESH, "the checkpoint is found by the job's name"),
    Edit.STATE: Ruling(_FRESH, "the checkpoint is in the other folder"),
    Edit.SOURCE: Ruling(_FRESH, "the offsets belong to the old source"),
    Edit.ADDED_COLUMNS: Ruling(
        _FORK, "no operator keeps them; rows that were read before are without them"
    ),
    Edit.COLUMNS: Ruling(_FRESH, "rows that were read and kept have the old columns"),
    Edit.EVENT_TIME: Ruling(_FRESH, "rows that are kept have the old event time"),
    Edit.OPERATOR: Ruling(_FRESH, "state is found by the operator's place in the plan"),
    Edit.AGGREGATE_OF_KEPT: Ruling(
        _FORK,
        "the state has what it is made of; the rows in the sink are without it",
    ),
    Edit.AGGREGATE_OF_ROWS: Ruling(
        _FRESH,
        "the state has nothing of it from the earlier rows of a key; one that is made "
        "of what the others keep goes on, if it is written behind them",
    ),
    Edit.AGGREGATE_OF_WINDOW: Ruling(
        _FRESH,
        "Spark keeps a fixed list of values for each open window, and none of the new "
        "one",
    ),
    Edit.KEPT: Ruling(_FRESH, "it was kept for other keys, aggregates or windows"),
    Edit.QUERIES: Ruling(_FRESH, "each query has a checkpoint, found by its number"),
    Edit.PLAN: Ruling(_FRESH, "the plans differ in a way that is not known to be safe"),
    Edit.UNKNOWN: Ruling(_FRESH, "the state does not say which script made it"),
}
"""Which edit does what, and why."""

_WHERE_IT_LIES = frozenset((Holds.PATH, Holds.OBJECT))
"""What may not change of a source that Spark reads itself: offsets are those of a
topic, and its servers may have other addresses."""
_HOW_TO_READ = frozenset(("bad_data",))
"""What may change of a source that is recorded: anything else makes other rows, and how
many were read says nothing of them."""
_ROW_BY_ROW = (Filter, LookupJoin, Project, Unnest, WindowOver)


class Difference(NamedTuple):
    """One edit, and what was changed: as it was and as it is, where that says more."""

    edit: Edit
    what: str
    old: str = ""
    new: str = ""

    @property
    def outcome(self) -> Outcome:
        """What it does to the checkpoint."""
        return RULINGS[self.edit].outcome

    def __str__(self) -> str:
        ruling = RULINGS[self.edit]
        lines = [f"{ruling.outcome.value}: {self.what}: {ruling.why}"]
        lines += [f"  - {self.old}"] * bool(self.old)
        lines += [f"  + {self.new}"] * bool(self.new)
        return "\n".join(lines)


@dataclass(frozen=True)
class Verdict:
    """What becomes of a checkpoint, for each edit, the worst first: it decides."""

    differences: tuple[Difference, ...]

    @property
    def outcome(self) -> Outcome:
        """That of all edits together."""
        worst = next(iter(self.differences), None)
        return Outcome.COMPATIBLE if worst is None else worst.outcome


def verdict(differences: Iterable[Difference]) -> Verdict:
    """What becomes of a checkpoint by all these edits: the worst first, they decide."""
    order = list(Outcome)
    worst_first = sorted(differences, key=lambda d: -order.index(d.outcome))
    return Verdict(tuple(worst_first))


def plan_differences(
    old: Plan, new: Plan, *, is_same: bool, forgets: bool
) -> Iterator[Difference]:
    """How the plans of two scripts differ.

    Parameters
    ----------
    is_same
        Whether they have one identity (:mod:`arroyo_nb.state.identity`), by which the
        folder of a run knows its query. Then only the time to live can differ.
    forgets
        Whether the operators of the state look for idle keys.
    """
    if new.forgets_idle_keys and not forgets:
        yield Difference(Edit.FIRST_TTL, "the ttl: idle keys are forgotten from now on")
    elif old.updating_ttl != new.updating_ttl:
        yield Difference(Edit.TTL, "the time to live")
    if not is_same:
        # Each once: a view that several sinks read is compared for each of them.
        plans = dict.fromkeys(_Comparison().of_sinks(old.sinks, new.sinks))
        # What the comparison does not see is not known to be safe.
        yield from plans or (Difference(Edit.PLAN, "the plan"),)


class _Comparison:
    """Two plans, side by side from the sinks down; each pair of nodes once."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, int, bool]] = set()

    def of_sinks(
        self, old: tuple[Sink, ...], new: tuple[Sink, ...]
    ) -> Iterator[Difference]:
        """What differs between the queries of two scripts, in their order."""
        if len(old) != len(new):
            counts = f"{len(old)}", f"{len(new)}"
            yield Difference(Edit.QUERIES, "how many queries there are", *counts)
        for one, other in zip(old, new, strict=False):
            if _of_table(one) != _of_table(other):
                yield _changed(Edit.SINK, f"what '{one.name}' writes to", one, other)
            yield from self._of(one.input, other.input)

    def _of(self, old: Node, new: Node, *, kept: bool = False) -> Iterator[Difference]:
        """What differs from two nodes on; ``kept``: what they give is remembered."""
        # A view that is read many times over would be compared as often as there are
        # ways to it, which grows exponentially.
        if (id(old), id(new), kept) in self._seen:
            return
        self._seen.add((id(old), id(new), kept))
        above_old, below_old = _row_by_row(old)
        above_new, below_new = _row_by_row(new)
        # An operator above remembers these rows. When an old one is taken back, it
        # would be retracted as the new projection makes it, and nothing like it was
        # ever appended.
        taken_back = kept and (is_updating(below_old) or is_updating(below_new))
        for one, other in zip_longest(*_unlike(above_old, above_new)):
            edit = Edit.TAKEN_BACK if taken_back else _edit_of_rows(one, other)
            yield _changed(edit, "how rows are computed", one, other)
        yield from self._of_operators(below_old, below_new, kept=kept)

    def _of_operators(
        self, old: Node, new: Node, *, kept: bool
    ) -> Iterator[Difference]:
        if type(old) is not type(new) or len(old.inputs) != len(new.inputs):
            yield _changed(Edit.OPERATOR, "an operator", old, new)
            return
        if isinstance(old, Source) and isinstance(new, Source):
            yield from _of_sources(old, new)
        elif not _alike(old, new) or _remembered(old) != _remembered(new):
            yield _of_operator(old, new)
        elif _functions(old) != _functions(new):
            yield _of_functions(old, new)
        # These two pass rows on and remember none.
        kept = kept or not isinstance(old, Union | Watermark)
        for one, other in zip(old.inputs, new.inputs, strict=True):
            yield from self._of(one, other, kept=kept)


def _row_by_row(node: Node) -> tuple[list[Node], Node]:
    """The nodes that remember nothing, down to the first one that does."""
    above: list[Node] = []
    while isinstance(node, _ROW_BY_ROW):
        above.append(node)
        node = node.input
    return above, node


def _unlike(old: list[Node], new: list[Node]) -> tuple[list[Node], list[Node]]:
    """What is left of two chains without what is alike at both ends."""
    while old and new and _compute_alike(old[0], new[0]):
        old, new = old[1:], new[1:]
    # From both ends: an edit in the middle of a chain is told as that edit, and not as
    # everything behind it.
    while old and new and _compute_alike(old[-1], new[-1]):
        old, new = old[:-1], new[:-1]
    return old, new


def _alike(old: Node, new: Node) -> bool:
    """Whether two nodes are the same, whatever they read."""
    return type(old) is type(new) and _own(old) == _own(new)


def _compute_alike(old: Node, new: Node) -> bool:
    """Whether two nodes are the same, in the UDFs that they call too."""
    return _alike(old, new) and _functions(old) == _functions(new)


def _functions(node: Node) -> dict[str, str]:
    """The definitions of the UDFs that a node calls, by name."""
    return {udf.name: udf.version for udf in functions_of(node)}


def _of_functions(old: Node, new: Node) -> Difference:
    """Of an operator that is the same but for the definitions of UDFs."""
    one, other = _functions(old), _functions(new)
    names = sorted(n for n in {*one, *other} if one.get(n) != other.get(n))
    what = f"the UDF {' and '.join(names)}"
    if any(is_updating(child) for child in new.inputs):
        return _changed(Edit.TAKEN_BACK, what, old, new)
    # What an aggregate keeps may be an object of the old class.
    if any(measure.user is not None for measure in measures_of(new)):
        return _changed(Edit.AGGREGATE_UDF, what, old, new)
    return _changed(Edit.UDF, what, old, new)


def _own(node: Node) -> list[object]:
    inputs = {id(child) for child in node.inputs}
    values = (getattr(node, item.name) for item in fields(node) if item.compare)
    # Equal calls: in strict mode some of them have other values.
    calls = (
        (found.name, has_arroyos_value(found))
        for _, expression in expressions(node)
        for found in all_in(expression, exp.Anonymous)
    )
    return [
        *(v for v in values if id(v) not in inputs and v is not node.inputs),
        *calls,
    ]


def _remembered(node: Node) -> list[list[Field]]:
    """The columns of each input that may be in an operator's state."""
    # These keep whole rows; the others keep what their expressions name.
    whole = isinstance(node, LatestRow | UpdatingJoin | UpdatingRank | WindowJoin)
    parts = (part for _, e in expressions(node) for part in e.find_all(exp.Column))
    named = {part.name for part in parts}
    return [[f for f in i.schema if whole or f.name in named] for i in node.inputs]


def _edit_of_rows(old: Node | None, new: Node | None) -> Edit:
    return Edit.LOOKUP if isinstance(old or new, LookupJoin) else Edit.ROWS


def _of_operator(old: Node, new: Node) -> Difference:
    if isinstance(old, Watermark) and isinstance(new, Watermark):
        same_time = old.event_time == new.event_time
        edit = Edit.DELAY if same_time else Edit.EVENT_TIME
        return _changed(edit, "the watermark", old, new)
    if isinstance(old, Union):
        return _changed(Edit.OPERATOR, "a union", old, new)
    if (of_aggregates := _edit_of_aggregates(old, new)) is not None:
        return _changed(of_aggregates, "the aggregates", old, new)
    return _changed(Edit.KEPT, f"the state of {type(old).__name__}", old, new)


def _edit_of_aggregates(old: Node, new: Node) -> Edit | None:
    """Which edit aggregates more are; None: something else differs too."""
    if not isinstance(old, UpdatingAggregate | WindowAggregate):
        return None
    if type(old) is not type(new) or len(new.measures) <= len(old.measures):
        return None
    before = replace(new, measures=old.measures)
    is_same = _compute_alike(old, before) and _remembered(old) == _remembered(before)
    if not is_same or not all(measure in new.measures for measure in old.measures):
        return None
    if isinstance(old, WindowAggregate) or isinstance(new, WindowAggregate):
        return Edit.AGGREGATE_OF_WINDOW
    has_parts = has_its_parts(old, new)
    return Edit.AGGREGATE_OF_KEPT if has_parts else Edit.AGGREGATE_OF_ROWS


def _of_sources(old: Source, new: Source) -> Iterator[Difference]:
    one, other = old.table.spec, new.table.spec
    what = f"the source '{one.name}'"
    if (one.name, old.table.connector) != (other.name, new.table.connector):
        yield _changed(Edit.SOURCE, what, old, new)
        return
    if _columns(one) != _columns(other):
        # A recorded source has its rows on a tape, with the columns of then.
        are_added = is_streamed(new.table.connector) and _has_more(one, other)
        edit = Edit.ADDED_COLUMNS if are_added else Edit.COLUMNS
        yield _changed(edit, f"the columns of '{one.name}'", old, new)
    for name in sorted(one.options.keys() | other.options.keys()):
        if one.options.get(name) != other.options.get(name):
            edit = Edit.SOURCE_OPTION if _is_free(name, new) else Edit.SOURCE
            yield Difference(edit, f"the option '{name}' of '{one.name}'")


def _is_free(option: str, source: Source) -> bool:
    """Whether a place in a source is the same place with another value of it."""
    # Offsets mean the same with any option but those that name another topic. A
    # recorded source counts what it read, and any option may change that count.
    if is_streamed(source.table.connector):
        return option not in holding(source.table.connector, _WHERE_IT_LIES)
    return option in _HOW_TO_READ


def _columns(spec: TableSpec) -> tuple[object, ...]:
    return spec.physical, dict(spec.metadata), spec.primary_key, spec.event_time


def _has_more(old: TableSpec, new: TableSpec) -> bool:
    """Whether a table has the columns that it had, as they were, and others that may be
    NULL. What an operator above keeps of them is compared with the operator."""
    before, now = list(old.physical), list(new.physical)
    metadata = {name: new.metadata.get(name) for name in old.metadata}
    return (
        [field for field in now if field in before] == before
        and all(field.nullable for field in now if field not in before)
        and metadata == dict(old.metadata)
        and (old.primary_key, old.event_time) == (new.primary_key, new.event_time)
    )


def _of_table(sink: Sink) -> tuple[object, ...] | None:
    table = sink.table
    if table is None:
        return None
    return table.name, table.connector, table.physical, dict(table.spec.options)


def _changed(edit: Edit, what: str, old: Node | None, new: Node | None) -> Difference:
    one, other = ("" if node is None else described(node) for node in (old, new))
    # Two that read the same say more by what is said of them.
    return Difference(edit, what, *((one, other) if one != other else ("", "")))
