"""Whether a job goes on from the state in its folder, and what to do where it cannot.

The folder keeps the spec that its state was made by; its plan is compared with that of
the job which is about to be started (:mod:`arroyo_nb.state.resume`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.errors import ArroyoError
from arroyo_nb.jobs import spec_file
from arroyo_nb.jobs.fresh_start import fresh_start_notes
from arroyo_nb.jobs.promotion import promoted
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_changes import JobVersion, judge
from arroyo_nb.source import ScriptText
from arroyo_nb.state import header
from arroyo_nb.state.compatibility import Difference, Edit, Outcome, Verdict
from arroyo_nb.state.identity import fingerprint
from arroyo_nb.state.resume import OnIncompatible, Prepared, begin_anew, fork, refuse

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan
    from arroyo_nb.run.options import RunOptions


def state_spec(plan: Plan, options: RunOptions) -> header.StateSpec:
    """What the state folder of a run says of what is run."""
    spec = spec_of_plan(plan, options)
    return header.StateSpec(spec, partial(differences, plan, spec))


def spec_of_plan(plan: Plan, options: RunOptions) -> str:
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
        As :func:`spec_of_plan` gives it for the plan.
    """
    old = _version(found) if spec else None
    if old is None:
        return ""
    new = JobVersion(spec_file.read(ScriptText(spec)).spec, plan)
    verdict = judge(old, new, new_spec=_found_as(old.spec, new.spec))
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
    found = header.find_header(folder)
    return None if found is None else _verdict(found, _version(found), new)


def _verdict(
    found: header.StateHeader, old: JobVersion | None, new: JobVersion
) -> Verdict:
    """What becomes of the state of a header, which was made by an old version; None:
    only its plan is known, by its fingerprint."""
    if old is not None:
        spec = _found_as(old.spec, new.spec)
        return judge(old, new, new_spec=spec, forgets=found.forgets)
    if found.query == fingerprint(new.identity):
        return Verdict(())
    return Verdict((Difference(Edit.UNKNOWN, "what was run before"),))


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
        begun = begin_anew(folder, name)
        if begun.aside is None:
            return begun
        notes = fresh_start_notes(new.plan, begun.aside)
        return begun._replace(notes=(*begun.notes, *notes))
    found = header.find_header(folder)
    if found is None:
        return Prepared()
    old = _version(found)
    verdict = _verdict(found, old, new)
    notes_of = partial(fresh_start_notes, new.plan, folder)
    refuse(verdict, name, wish, command, notes_of)
    notes = tuple(map(str, verdict.differences))
    if verdict.outcome is not Outcome.FORK:
        return Prepared(notes)
    assert old is not None, "it was judged"
    forked = fork(folder, name, old=old.plan, new=new.plan, identity=new.identity)
    return Prepared((*notes, *forked.notes), forked.aside)


def _found_as(old: JobSpec, new: JobSpec) -> JobSpec:
    """A spec with what its state does not know: what it is called and where it lies,
    which is how it was found, and how many tasks run."""
    options = replace(new.options, parallelism=old.options.parallelism)
    return replace(new, name=old.name, state=old.state, options=options)


def _version(found: header.StateHeader) -> JobVersion | None:
    """What was run, where the stamp says so and it is indeed whose state this is."""
    if not found.spec:
        return None
    try:
        file = spec_file.read(ScriptText(found.spec, "the spec of before"))
        plan = file.plan()
    except ArroyoError:  # that of another version
        return None
    version = JobVersion(file.spec, plan)
    return version if fingerprint(version.identity) == found.query else None
