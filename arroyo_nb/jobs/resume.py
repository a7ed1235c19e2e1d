"""Whether a job goes on from the state in its folder, and what to do where it cannot.

The folder keeps the spec that its state was made by. A change is judged before there
is a JVM (:mod:`arroyo_nb.jobs.compatibility`), and never passed over: what is not
compatible is refused, with every reason and the command that goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arroyo_nb.connectors import holding
from arroyo_nb.errors import ArroyoError, PromoteProblem
from arroyo_nb.jobs import spec_file
from arroyo_nb.jobs.compatibility import (
    Difference,
    Edit,
    JobVersion,
    Outcome,
    Verdict,
    judge,
)
from arroyo_nb.jobs.promotion import promoted
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.options import Holds
from arroyo_nb.plan.nodes import LookupJoin, Sink
from arroyo_nb.plan.tree import walk
from arroyo_nb.source import ScriptText
from arroyo_nb.state import copies, header
from arroyo_nb.state.identity import fingerprint, plan_identity

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan
    from arroyo_nb.run.options import RunOptions

_PLACE = frozenset((Holds.PATH, Holds.ADDRESS, Holds.OBJECT))
_LOOKUPS = "lookups"


class OnIncompatible(Enum):
    """What is to become of the state of a job that was changed."""

    GO_ON = ""
    """It is gone on with in its place, or the start is refused."""
    FORK = "--fork"
    """A copy of it is gone on with."""
    FRESH = "--fresh"
    """It is set aside, and the job begins anew."""


def state_spec(plan: Plan, options: RunOptions) -> header.StateSpec:
    """What the state folder of a run says of what is run."""
    spec = kept(plan, options)
    return header.StateSpec(spec, partial(differences, plan, spec))


def kept(plan: Plan, options: RunOptions) -> str:
    """The spec of a plan, by which a change of it can be judged; empty where there is
    none, such as of a script with a password in it. It has no name of its own."""
    try:
        return promoted(
            plan, "run", trigger=options.trigger, real_time=options.real_time
        ).spec.text
    except ArroyoError:
        return ""


def differences(plan: Plan, spec: str, found: header.StateHeader) -> str:
    """How a plan is another one than that whose state was found, in lines; empty where
    one of them is not known.

    Parameters
    ----------
    spec
        As :func:`kept` gives it for the plan.
    """
    old = _version(found) if spec else None
    if old is None:
        return ""
    new = spec_file.read(ScriptText(spec)).spec
    verdict = judge(old, JobVersion(_found_as(old.spec, new), plan))
    return "\n".join(map(str, verdict.differences))


def judged(folder: Path, new: JobVersion) -> Verdict | None:
    """What becomes of the state in a folder.

    Parameters
    ----------
    folder
        The run's.
    new
        The job that is about to be started on it.

    Returns
    -------
    Verdict or None
        None: there is no state.

    Raises
    ------
    RunProblem
        When it cannot be used by this version.
    """
    found = header.found(folder)
    if found is None:
        return None
    old = _version(found)
    if old is not None:
        return judge(old, JobVersion(_found_as(old.spec, new.spec), new.plan))
    same = found.query == fingerprint(plan_identity(new.plan))
    return Verdict(() if same else (Difference(Edit.UNKNOWN, "what was run before"),))


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


def prepare(
    folder: Path, new: JobVersion, wish: OnIncompatible, command: str
) -> Prepared:
    """Have a folder ready for the start of a job.

    Parameters
    ----------
    folder, new
        As :func:`judged` takes them.
    wish
        What is to become of the state where it was changed.
    command
        The one that starts the job, for hints.

    Raises
    ------
    ArroyoError
        When the job cannot go on as is wished; nothing was done.
    """
    name = new.spec.name
    if wish is OnIncompatible.FRESH:
        # Not judged: also what this version cannot read is set aside.
        if header.is_there(folder):
            aside = copies.set_aside(folder, name)
            note = f"'{name}' begins anew; the state of before is in '{aside}'"
            return Prepared((note,), aside)
        return Prepared()
    verdict = judged(folder, new)
    if verdict is None:
        return Prepared()
    refuse(verdict, name, wish, command)
    notes = tuple(map(str, verdict.differences))
    if verdict.outcome is not Outcome.FORK:
        return Prepared(notes)
    aside = copies.fork(
        folder,
        name,
        identity=plan_identity(new.plan),
        left_out=[*_begun_anew(folder, new.plan)],
    )
    note = f"'{name}' goes on from a copy of its state; the original is in '{aside}'"
    return Prepared((*notes, note), aside)


def _found_as(old: JobSpec, new: JobSpec) -> JobSpec:
    """A spec with what its state does not know: what it is called and where it lies,
    which is how it was found, and how many tasks run."""
    options = replace(new.options, parallelism=old.options.parallelism)
    return replace(new, name=old.name, state=old.state, options=options)


def refuse(verdict: Verdict, name: str, wish: OnIncompatible, command: str) -> None:
    """Refuse what is not as is wished (see :func:`prepare`).

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
        hint=f"{ways}'{command} --fresh' begins anew; the state of before is kept",
    )


def _version(found: header.StateHeader) -> JobVersion | None:
    """What was run, where the stamp says so and it is indeed whose state this is."""
    if not found.spec:
        return None
    try:
        file = spec_file.read(ScriptText(found.spec, "the spec of before"))
        plan = file.plan()
    except ArroyoError:  # that of another version
        return None
    same = fingerprint(plan_identity(plan)) == found.query
    return JobVersion(file.spec, plan) if same else None


def _begun_anew(folder: Path, new: Plan) -> Iterator[str]:
    """What a fork does not take from the state: rows of other lookup tables, and the
    notes of sinks that are at another place."""
    found = header.found(folder)
    old = None if found is None else _version(found)
    assert old is not None, "it was judged"
    if _looked_up(old.plan) != _looked_up(new):
        yield _LOOKUPS
    for number, pair in enumerate(zip(old.plan.sinks, new.sinks, strict=True)):
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
