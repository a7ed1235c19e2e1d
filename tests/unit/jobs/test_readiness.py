from __future__ import annotations

from datetime import timedelta

import pytest

from arroyo_nb.jobs.runner.readiness import unready_reasons
from arroyo_nb.jobs.runner.recent_late_rows import RecentLateRows, RecentShare
from arroyo_nb.jobs.runner.supervisor import JobState
from arroyo_nb.run.observe.snapshot import (
    LateShare,
    PartitionProgress,
    SourceProgress,
)
from arroyo_nb.run.observe.vitals import Vitals


def topic(*, lag=0, away_s=0.0):
    part = PartitionProgress(0, 5, 5 + lag)
    return SourceProgress(
        "clicks", 5, None, timedelta(), bounded=False, partitions=(part,), away_s=away_s
    )


def feed(away_s):
    return SourceProgress(
        "prices", 5, None, timedelta(), bounded=False, is_feed=True, away_s=away_s
    )


def query(since_batch_s, busy_s=0.0, longest_s=1.0):
    return Vitals("out", since_batch_s, busy_s, longest_batch_s=longest_s)


@pytest.mark.parametrize(
    ("source", "queried", "sinks", "reason"),
    [
        (topic(), query(3600), {}, None),  # an idle topic
        (topic(lag=9), query(5), {}, None),
        (topic(away_s=5), query(5), {}, None),  # a broker that takes its time
        (topic(away_s=12), query(5), {}, "the broker of 'clicks' has not answered"),
        (feed(5), query(5), {}, None),
        (
            feed(12),
            query(5),
            {},
            "there has been no connection to the server of 'prices' for 12 s",
        ),
        (topic(lag=9), query(40), {}, "no batch of 'out' has ended for 40 s"),
        (topic(), query(40, busy_s=35), {}, "no batch of 'out' has ended for 35 s"),
        (topic(), query(40, busy_s=35, longest_s=20), {}, None),
        (topic(), query(5), {"out": 11.0}, "the server of 'out' has not answered"),
    ],
)
def test_it_is_ready_while_what_is_due_is_done(source, queried, sinks, reason):
    found = list(unready_reasons(JobState.RUNNING, [source], [queried], sinks))
    assert [text.startswith(reason or "") for text in found] == [True] * bool(reason)


def test_a_job_that_does_not_run_is_not_ready():
    reasons = unready_reasons(JobState.WAITING, (), (), {})
    assert list(reasons) == ["the job is waiting"]


@pytest.mark.parametrize(("behind_s", "is_ready"), [(1.0, True), (31.0, False)])
def test_the_clock_of_an_idle_query_starts_with_its_work(behind_s, is_ready):
    reasons = unready_reasons(
        JobState.RUNNING, [topic(lag=600)], [query(36)], {}, behind_s=behind_s
    )
    assert (not list(reasons)) == is_ready


@pytest.mark.parametrize(
    ("late", "reason"),
    [
        (RecentShare("clicks", None, 1000, 400), None),
        (RecentShare("clicks", None, 60, 60), None),  # too few to say much
        (
            RecentShare("clicks", 3, 1000, 900),
            "900 of 1,000 rows of 'clicks', partition 3 in the last 5 minutes were "
            "late: their windows had closed, and no result has them",
        ),
    ],
)
def test_a_job_whose_rows_are_mostly_late_is_not_ready(late, reason):
    reasons = unready_reasons(JobState.RUNNING, [topic()], [query(5)], {}, late=[late])
    assert list(reasons) == ([reason] if reason else [])


def counted(*shares):
    return [
        SourceProgress(
            "clicks", 5, None, timedelta(), bounded=False, late_shares=tuple(shares)
        )
    ]


def test_the_share_is_of_the_last_minutes():
    recent = RecentLateRows()

    def share(now_s, rows, late):
        (found,) = recent.take(counted(LateShare(None, rows, late)), now_s)
        return found.rows, found.late_rows

    assert share(0, 100, 0) == (100, 0)
    assert share(290, 1000, 0) == (1000, 0)
    assert share(400, 1100, 90) == (1100, 90)  # nothing older to compare with
    assert share(1000, 1200, 180) == (100, 90)


def test_a_run_that_began_again_counts_from_zero():
    recent = RecentLateRows()
    recent.take(counted(LateShare(0, 500, 400)), 0)
    (found,) = recent.take(counted(LateShare(0, 10, 1)), 10)
    assert (found.rows, found.late_rows) == (10, 1)
