"""What the command tells of jobs that run here: ``jobs``, ``status`` and ``logs``.

All of it is read from files that a job writes (:mod:`arroyo_nb.jobs.runner.counts`,
:mod:`arroyo_nb.jobs.runner.log`, :mod:`arroyo_nb.jobs.owner`), so that a job is asked
without a port, and one that has ended too.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs import JOBS, SPEC, SUFFIXES, registry, spec_file
from arroyo_nb.jobs.owner import JobProcess, job_in
from arroyo_nb.jobs.runner.counts import read_progress
from arroyo_nb.jobs.runner.log import log_path, read_events, sentence
from arroyo_nb.jobs.runner.supervisor import JobState
from arroyo_nb.jobs.status import status as spec_status
from arroyo_nb.run.names import safe_name
from arroyo_nb.run.option_values import state_folder
from arroyo_nb.state.lock import holder

Say: TypeAlias = Callable[[str], None]
_Event: TypeAlias = dict[str, Any]
GOOD, BAD = 0, 1
FRESH_S = 10.0
"""How old what a job noted may be: it notes once a second, unless the process hangs."""

KILLED = "killed"
"""The state of a job whose process is gone, and has told of no end."""

LOOK_S = 0.5
_COLUMNS = ("NAME", "STATE", "PID", "SINCE", "ROWS IN", "ROWS OUT", "SPEC")


def run_folder(spec: Path, state: Path | None, name: str | None) -> Path:
    """The folder of a job's run: its state and name as it was run with, where they are
    not those of its spec."""
    job = spec_file.load(spec)
    return state_folder(state or job.state) / safe_name(name or job.spec.name)


def folder_of(name: str) -> Path | None:
    """The folder of the run of a job that runs, by the job's name; None where no job,
    or more than one, has it, or it is the path of a file."""
    if Path(name).exists():
        return None
    found = {job.folder for job in registry.running() if job.name == name}
    return Path(found.pop()) if len(found) == 1 else None


def specs_of(file: str) -> list[Path]:
    """The ``job.yaml`` that a path is, or has in it; else those of the jobs that run or
    lie below this folder and have that name."""
    path = Path(file)
    if path.is_dir() and (path / SPEC).exists():
        return [path / SPEC]
    if path.exists() or path.suffix in SUFFIXES:
        return [path]  # one that is missing is told with its path
    specs = (Path(row["spec"]) for row in _rows(Path()) if row["name"] == file)
    return list(dict.fromkeys(specs))


def names() -> list[str]:
    """The names of the jobs that run, and of those below this folder."""
    return [row["name"] for row in _rows(Path())]


def jobs(here: Path, *, as_json: bool, say: Say) -> int:
    """Tell which jobs run on this machine, and which are at rest below a folder."""
    rows = list(_rows(here))
    if as_json:
        for row in rows:
            say(json.dumps(row))
        return GOOD
    if not rows:
        say(f"no job runs here, and there is no {SPEC} in {here.absolute()}")
        return GOOD
    table = [_COLUMNS, *(tuple(map(_cell, row.values())) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        say("  ".join(cells).rstrip())
    return GOOD


def _rows(here: Path) -> Iterator[dict[str, Any]]:
    going = registry.running()
    for job in going:
        folder = Path(job.folder)
        noted, counts = JobProcess.of(folder), _counts(folder)
        is_its = noted is not None and noted.pid == job.pid
        state = noted.state if noted is not None and is_its else "starting"
        since = noted.state_since if noted is not None and is_its else ""
        yield _row(job.name, state, job.pid, since, counts, Path(job.spec))
    known = {job.spec for job in going}
    patterns = (SPEC, f"*/{SPEC}", f"{JOBS}/*/{SPEC}")
    found = {path.absolute() for pattern in patterns for path in here.glob(pattern)}
    for path in sorted(found):
        if str(path) not in known:
            told = spec_status(path)
            counts = _counts_of(path)
            yield _row(told.name, told.state, told.pid, told.since, counts, path)


def _row(
    name: str,
    state: str,
    pid: int | None,
    since: str,
    counts: Mapping[str, Any],
    spec: Path,
) -> dict[str, Any]:
    rows_in, rows_out = counts.get("rows_in"), counts.get("rows_out")
    values = (name, state, pid, since, rows_in, rows_out, str(spec))
    keys = (column.lower().replace(" ", "_") for column in _COLUMNS)
    return dict(zip(keys, values, strict=True))


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    return f"{value:,}" if isinstance(value, int) and value > 99_999 else str(value)


def _counts_of(spec: Path) -> Mapping[str, Any]:
    try:
        return _counts(run_folder(spec, None, None))
    except Exception:  # a spec that cannot be read is told as such
        return {}


def _counts(folder: Path) -> Mapping[str, Any]:
    counts = read_progress(folder).get("counts")
    return counts if isinstance(counts, dict) else {}


def status(folder: Path, *, probe: str, as_json: bool, say: Say) -> int:
    """Tell what a job does now.

    Parameters
    ----------
    folder
        Of its run.
    probe
        ``"ready"`` or ``"live"``: the result is whether it is; empty: it is told only.
    as_json
        Whether it is told as one line of JSON.

    Returns
    -------
    int
        0, or 1 where it is not as the probe asks.
    """
    found = _now(folder)
    say(json.dumps(found) if as_json else "\n".join(_sentences(found)))
    if not probe:
        return GOOD
    return GOOD if found[probe] else BAD


def _now(folder: Path) -> dict[str, Any]:
    """Where a job stands, by its files."""
    job, noted = job_in(folder), read_progress(folder)
    held = holder(folder)
    if job is None:
        state = "not run yet" if held is None else f"in use by {held}"
        return {"state": state, "live": held is not None, "ready": False}
    going = job.is_running
    state = job.state if going or not job.was_running else KILLED
    starts = state == JobState.STARTING.value
    silent_s = 0.0 if starts else _age_s(folder)  # until it runs it notes nothing
    works = going and not starts
    reasons = list(noted.get("reasons", ())) if works else [f"the job is {state}"]
    hangs = going and silent_s > FRESH_S
    if hangs:
        reasons = [f"its process has noted nothing for {silent_s:.0f} s"]
    return {
        "name": job.name,
        "state": state,
        "live": going and not hangs,
        "ready": going and not reasons,
        "reasons": reasons,
        "pid": job.pid if going else None,
        "since": job.state_since if state != KILLED else job.since,
        "error": job.error or None,
        "restarts": job.restarts,
        "address": f"http://127.0.0.1:{job.port}" if going and job.port else None,
        **{
            key: noted.get(key)
            for key in ("at", "counts", "batch", "watermark", "lag", "late")
        },
        # Until it runs it is what the process before has noted.
        "activity": noted.get("activity") if works else None,
        "folder": str(folder),
    }


def _age_s(folder: Path) -> float:
    from arroyo_nb.jobs.runner.counts import PROGRESS

    try:
        return max(0.0, time.time() - (folder / PROGRESS).stat().st_mtime)
    except OSError:
        return 0.0


def _sentences(found: Mapping[str, Any]) -> Iterator[str]:
    if "name" not in found:
        yield str(found["state"])
        return
    pid = f", process {found['pid']}" if found["pid"] else ""
    when = "begun" if found["state"] == KILLED else "since"
    yield f"{found['name']}: {found['state']}{pid}, {when} {found['since']}"
    if found["error"]:
        yield f"error: {found['error']}"
    if found["pid"]:
        why = "; ".join(found["reasons"])
        yield f"ready: {'yes' if found['ready'] else f'no: {why}'}"
        if found["activity"]:
            yield f"now: {found['activity']}"
    yield f"restarts: {found['restarts']}"
    counts = found["counts"]
    if isinstance(counts, dict):
        yield "rows: " + ", ".join(
            f"{counts.get(key, 0):,} {word}"
            for key, word in (
                ("rows_in", "in"),
                ("rows_out", "out"),
                ("late_rows", "late"),
                ("dropped_rows", "dropped"),
            )
        )
        if unknown := counts.get("unknown_records"):
            yield f"records with fields that their table lacks: {unknown:,}"
        yield (
            f"batch {_cell(found['batch'])}, watermark {_cell(found['watermark'])}, "
            f"lag {_cell(found['lag'])}; noted at {found['at']}"
        )
        yield from map(_late_sentence, found["late"] or ())
    if found["address"]:
        yield f"served at {found['address']}: /healthz, /readyz, /metrics"
    yield f"state: {found['folder']}"


def _late_sentence(late: Mapping[str, Any]) -> str:
    part = late.get("partition")
    place = f"'{late['source']}'" + ("" if part is None else f", partition {part}")
    return (
        f"late rows of {place} in the last 5 minutes: {late['late_rows']:,} of "
        f"{late['rows']:,} ({late['share']:.1%})"
    )


def logs(folder: Path, *, lines: int, follow: bool, as_json: bool, say: Say) -> int:
    """Tell the events of a job, oldest first.

    Parameters
    ----------
    folder
        Of its run.
    lines
        How many of the newest.
    follow
        Whether to go on with those to come, until interrupted.

    Raises
    ------
    RunProblem
        When there is no log.
    """
    path = log_path(folder)
    if not path.exists() and not follow:
        raise RunProblem(
            f"there is no log at '{path}'",
            hint="the job was not run yet, or with another --state-dir or --name",
        )
    told = list(read_events(folder))
    for event in deque(told, maxlen=max(lines, 0)):
        _say_event(event, as_json=as_json, say=say)
    while follow:
        time.sleep(LOOK_S)
        found = list(read_events(folder))
        for event in _added(told, found):
            _say_event(event, as_json=as_json, say=say)
        told = found
    return GOOD


def _added(before: Sequence[_Event], now: Sequence[_Event]) -> Sequence[_Event]:
    """What has come to a log, whose oldest part may be gone by now. It does not go by
    the times of events: the clock may have been set back."""
    for first in range(len(before)):
        still = before[first:]
        if now[: len(still)] == still:
            return now[len(still) :]
    return now


def _say_event(event: Mapping[str, Any], *, as_json: bool, say: Say) -> None:
    if as_json:
        say(json.dumps(event, ensure_ascii=False))
        return
    text = sentence(str(event.get("event")), event)
    if text is None:
        return
    # Who runs a job is told its error after its end; a log is read alone.
    ended = event.get("event") == "job_ended"
    why = f": {event['error']}" if ended and event.get("error") else ""
    say(f"{event.get('time', '')} {text}{why}")
