"""Make a state folder ready for a script that was changed, or refuse to.

A change is judged before there is a JVM (:mod:`arroyo_nb.state.compatibility`), and
never passed over: what is not compatible is refused, with every reason and the command
that goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arroyo_nb.connectors import holding
from arroyo_nb.errors import PromoteProblem
from arroyo_nb.plan.nodes import LookupJoin, Sink
from arroyo_nb.plan.tree import walk
from arroyo_nb.state import copies, header
from arroyo_nb.state.compatibility import Outcome, Verdict
from arroyo_nb.with_options import Holds

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan

_PLACE = frozenset((Holds.PATH, Holds.ADDRESS, Holds.OBJECT))
_LOOKUPS = "lookups"


class OnIncompatible(Enum):
    """What is to become of the state of a job that was changed."""

    GO_ON = ""
    """It is gone on with in its place, or the start is refused."""
    FORK = "--fork"
    """A copy of it is gone on with."""
    FRESH = "--fresh"
    """It is set aside, and the job starts from nothing."""


class Prepared(NamedTuple):
    """What was done before a job is started.

    Parameters
    ----------
    notes
        Sentences.
    aside
        Where the state is that was set aside; None: none was.
    """

    notes: tuple[str, ...] = ()
    aside: Path | None = None


def begin_anew(folder: Path, name: str) -> Prepared:
    """Set the state in a folder aside, also what this version cannot read.

    Raises
    ------
    RunProblem
        When a run holds it.
    """
    if not header.is_there(folder):
        return Prepared()
    aside = copies.set_aside(folder, name)
    note = f"'{name}' starts from nothing; its old state is in '{aside}'"
    return Prepared((note,), aside)


def fork(folder: Path, name: str, *, old: Plan, new: Plan, identity: str) -> Prepared:
    """Have a new plan go on from a copy of the state of an old one.

    Parameters
    ----------
    identity
        Of the new plan.

    Raises
    ------
    RunProblem
        When a run holds the folder, or the state cannot be copied.
    """
    left_out = [*_begun_anew(old, new)]
    aside = copies.fork(folder, name, identity=identity, left_out=left_out)
    note = f"'{name}' goes on from a copy of its state; the original is in '{aside}'"
    return Prepared((note,), aside)


def refuse(
    verdict: Verdict,
    name: str,
    wish: OnIncompatible,
    command: str,
    when_fresh: Callable[[], Iterable[str]] = tuple,
) -> None:
    """Refuse what is not compatible in the way that is wished.

    Parameters
    ----------
    when_fresh
        Gives what a start from nothing does, in sentences.

    Raises
    ------
    PromoteProblem
        With every reason, and the commands that go on.
    """
    if verdict.outcome is Outcome.COMPATIBLE:
        return
    can_fork = verdict.outcome is Outcome.FORK
    if can_fork and wish is OnIncompatible.FORK:
        return
    ways = f"'{command} --fork' goes on from a copy of it, " * can_fork
    reasons = "\n".join(map(str, verdict.differences))
    raise PromoteProblem(
        f"'{name}' was changed since its state was made, which it cannot go on from"
        f"{' in its place' * can_fork}:\n{reasons}",
        hint="\n".join(
            (
                f"{ways}'{command} --fresh' starts from nothing; the old state is kept",
                *(() if can_fork else when_fresh()),
            )
        ),
    )


def _begun_anew(old: Plan, new: Plan) -> Iterator[str]:
    """What a fork does not take from the state: rows of other lookup tables, and the
    notes of sinks that are at another place."""
    if _looked_up(old) != _looked_up(new):
        yield _LOOKUPS
    for number, pair in enumerate(zip(old.sinks, new.sinks, strict=True)):
        if len(set(map(_place, pair))) > 1:
            yield f"outputs/{number}/sink"


def _looked_up(plan: Plan) -> list[object]:
    nodes = (node for sink in plan.sinks for node in walk(sink))
    return [node.table for node in nodes if isinstance(node, LookupJoin)]


def _place(sink: Sink) -> tuple[object, ...]:
    if sink.table is None:
        return ()
    options = sink.table.spec.options
    names = sorted(holding(sink.table.connector, _PLACE))
    return sink.table.connector, *(options.get(name) for name in names)
