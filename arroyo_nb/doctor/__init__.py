"""Why a run gives no rows, and what is odd where it does.

::

    run --examine--> Examination --checks, in order--> findings --> Report

Each situation is one small function of :mod:`arroyo_nb.doctor.checks`. It looks at
values alone: a snapshot, and what was counted in rows that are read again, which is
only done for who asks. So a panel asks the same checks, without that.
"""

from __future__ import annotations

from arroyo_nb.doctor.checks import CHECKS, ODD_CHECKS
from arroyo_nb.doctor.examination import Examination
from arroyo_nb.run.observe.findings import Finding, Report
from arroyo_nb.run.observe.snapshot import Snapshot

__all__ = ["Examination", "Finding", "Report", "diagnose", "quick_findings"]


def diagnose(examination: Examination) -> Report:
    """What is found of a run, the nearest cause first.

    Parameters
    ----------
    examination
        What is known of it.
    """
    found = [check(examination) for check in (*CHECKS, *ODD_CHECKS)]
    snapshot = examination.snapshot
    return Report(
        snapshot.name,
        snapshot.rows_in,
        snapshot.rows_out,
        tuple(finding for finding in found if finding is not None),
        examination.looked_at,
    )


def quick_findings(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Why a run has no row, as far as a picture of it says: no row is read again."""
    examination = Examination(snapshot)
    found = (check(examination) for check in CHECKS)
    return tuple(finding for finding in found if finding is not None)
