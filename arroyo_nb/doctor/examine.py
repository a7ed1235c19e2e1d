"""A run as an examination: its picture, the time, and what reads its rows again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from arroyo_nb.doctor import diagnose
from arroyo_nb.doctor.examination import Examination
from arroyo_nb.doctor.probe import Probe
from arroyo_nb.run.observe.build_snapshot import data_notes
from arroyo_nb.run.observe.findings import Report
from arroyo_nb.run.sources.fit_notes import WAIT_S

if TYPE_CHECKING:
    from arroyo_nb.engine import Engine
    from arroyo_nb.run.run import Run


_PROBES: WeakKeyDictionary[Run, Probe] = WeakKeyDictionary()
"""What was counted for a run: who asks again goes on with it."""


def examine(run: Run, engine: Engine) -> Report:
    """What is found of a run. Waits for Spark, for some seconds at most.

    Parameters
    ----------
    run
        Its first output is examined, and of the others what they gave.
    engine
        What it runs on.
    """
    data_notes(run, WAIT_S)
    probe = _PROBES.get(run)
    if probe is None:
        probe = Probe(engine, run.outputs[0], run.sources, run.plan.source)
        _PROBES[run] = probe
    now = datetime.now(UTC).replace(tzinfo=None)
    # What its author has overlooked matters here whatever came out meanwhile.
    snapshot = replace(run.snapshot(), hints=run.hints)
    return diagnose(Examination(snapshot, probe, now))
