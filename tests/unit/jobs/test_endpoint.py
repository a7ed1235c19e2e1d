from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs.runner.counts import Counts
from arroyo_nb.jobs.runner.endpoint import JobCollector, served
from arroyo_nb.jobs.runner.monitor import Sight
from arroyo_nb.jobs.runner.recent_late_rows import RecentShare
from arroyo_nb.jobs.runner.server import HOST
from arroyo_nb.jobs.runner.supervisor import JobState
from arroyo_nb.run.observe.snapshot import (
    LateShare,
    PartitionProgress,
    RunState,
    Snapshot,
    SourceProgress,
)
from arroyo_nb.run.observe.vitals import Took, Vitals

MONITORING = Path(__file__).parents[3] / "docs" / "monitoring"

TOPIC = SourceProgress(
    "clicks",
    rows=8,
    max_event_time=None,
    delay=timedelta(),
    bounded=False,
    partitions=(PartitionProgress(0, 5, 9), PartitionProgress(1, 7, 7)),
    late_shares=(LateShare(None, 8, 2), LateShare(0, 5, 0), LateShare(1, 3, 2)),
)
PICTURE = Snapshot(
    "job",
    RunState.RUNNING,
    rows_in=8,
    rows_out=3,
    late_rows=2,
    batch_id=4,
    batch_ms=250,
    watermark=datetime(1970, 1, 1, 0, 1),
    sources=(TOPIC,),
)


TOOK = Took()
TOOK.add(0.25)
QUERY = Vitals("out", 3.0, 0.0, 1024, tuple(TOOK.counts), TOOK.sum_s)


class Supervisor:
    """A job's supervisor, and its monitor."""

    def __init__(self):
        self.state, self.restarted = JobState.RUNNING, 1
        self.error, self.run = None, self
        self.reasons = ()

    def look(self):
        if self.run is None:
            return Sight(self.state, reasons=("the job is waiting",))
        counts = Counts(8, 3, 2, 1, 6)
        away = {"out": 0.0}
        late = (RecentShare("clicks", None, 4, 1), RecentShare("clicks", 1, 2, 1))
        return Sight(self.state, counts, self.reasons, PICTURE, (QUERY,), away, late)


def ask(port, path):
    # A proxy of the environment has nothing to say about loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{HOST}:{port}{path}", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.fixture
def job():
    return Supervisor()


@pytest.fixture
def port(job):
    with served(JobCollector('the "job"', job, job), 0) as taken:
        yield taken


def test_health_follows_the_job(job, port):
    status, body = ask(port, "/healthz")
    said = {"job": 'the "job"', "state": "running", "restarts": 1}
    assert (status, json.loads(body)) == (200, said)
    job.state, job.error = JobState.WAITING, "the broker is away"
    status, body = ask(port, "/healthz")
    assert (status, json.loads(body)["error"]) == (503, "the broker is away")


def test_readiness_is_not_liveness(job, port):
    status, body = ask(port, "/readyz")
    said = json.loads(body)
    assert (status, said["ready"], said["lag"]) == (200, True, 4)
    counts = {"source": "clicks", "partition": 1, "rows": 2, "late_rows": 1}
    assert said["late"][1] == {**counts, "share": 0.5}
    job.reasons = ("the broker of 'clicks' has not answered for 31 s",)
    status, body = ask(port, "/readyz")
    assert (status, json.loads(body)["reasons"]) == (503, list(job.reasons))
    assert ask(port, "/healthz")[0] == 200


def metrics(port):
    """Each sample, by its name and the values of its labels but the job's."""
    status, body = ask(port, "/metrics")
    assert status == 200
    return {
        (
            sample.name,
            *(v for k, v in sorted(sample.labels.items()) if k != "job"),
        ): sample.value
        for family in text_string_to_metric_families(body)
        for sample in family.samples
        if sample.labels.get("job") == 'the "job"'
    }


def test_metrics_are_those_of_the_present_run(job, port):
    found = metrics(port)
    buckets = {key[1]: found.pop(key) for key in list(found) if "bucket" in key[0]}
    assert (buckets["0.1"], buckets["0.25"], buckets["+Inf"]) == (0, 1, 1)
    assert found.pop(("arroyo_nb_watermark_lag_seconds",)) > 1e9
    assert found == {
        ("arroyo_nb_up",): 1,
        ("arroyo_nb_ready",): 1,
        ("arroyo_nb_restarts_total",): 1,
        ("arroyo_nb_rows_in_total",): 8,
        ("arroyo_nb_rows_out_total",): 3,
        ("arroyo_nb_late_rows_total",): 2,
        ("arroyo_nb_dropped_rows_total",): 1,
        ("arroyo_nb_unknown_field_records_total",): 6,
        ("arroyo_nb_batch",): 4,
        ("arroyo_nb_batch_seconds",): 0.25,
        ("arroyo_nb_watermark_timestamp_seconds",): 60,
        ("arroyo_nb_lag_records", "0", "clicks"): 4,
        ("arroyo_nb_lag_records", "1", "clicks"): 0,
        ("arroyo_nb_windowed_rows_total", "0", "clicks"): 5,
        ("arroyo_nb_windowed_rows_total", "1", "clicks"): 3,
        ("arroyo_nb_source_late_rows_total", "0", "clicks"): 0,
        ("arroyo_nb_source_late_rows_total", "1", "clicks"): 2,
        ("arroyo_nb_late_share", "1", "clicks"): 0.5,
        ("arroyo_nb_broker_reachable", "clicks"): 1,
        ("arroyo_nb_broker_reachable", "out"): 1,
        ("arroyo_nb_since_batch_seconds", "0", "out"): 3,
        ("arroyo_nb_busy_seconds", "0", "out"): 0,
        ("arroyo_nb_state_bytes", "0", "out"): 1024,
        ("arroyo_nb_batch_duration_seconds_count", "0", "out"): 1,
        ("arroyo_nb_batch_duration_seconds_sum", "0", "out"): 0.25,
    }
    job.run, job.state = None, JobState.WAITING
    assert metrics(port) == {
        ("arroyo_nb_up",): 0,
        ("arroyo_nb_ready",): 0,
        ("arroyo_nb_restarts_total",): 1,
    }


def test_the_alerts_and_the_dashboard_name_metrics_that_there_are(port):
    served_names = {name for name, *_ in metrics(port)}
    for file in ("alerts.yaml", "dashboard.json"):
        text = (MONITORING / file).read_text()
        named = set(re.findall(r"\barroyo_nb_[a-z_]+", text))
        assert len(named) >= 5
        assert named <= served_names, f"{file}: {named - served_names}"
    rules = yaml.safe_load((MONITORING / "alerts.yaml").read_text())
    assert all(rule["expr"] for group in rules["groups"] for rule in group["rules"])
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    assert all(target["expr"] for panel in panels for target in panel["targets"])


def test_alerts_fire_of_a_dead_process_and_of_late_rows():
    promtool = shutil.which("promtool") or os.environ.get("PROMTOOL")
    if promtool is None:
        pytest.skip("no promtool, which is part of Prometheus")
    cases = Path(__file__).with_name("alerts_test.yaml")
    subprocess.run([promtool, "test", "rules", cases], check=True)


@pytest.mark.parametrize("alert", ["JobDown", "RowsLate", "PartitionLate"])
def test_an_alert_is_tested(alert):
    cases = yaml.safe_load(Path(__file__).with_name("alerts_test.yaml").read_text())
    tested = [case for test in cases["tests"] for case in test["alert_rule_test"]]
    assert any(c["alertname"] == alert and c.get("exp_alerts") for c in tested)
    rules = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"][0]
    (found,) = (rule for rule in rules["rules"] if rule["alert"] == alert)
    assert alert != "JobDown" or "absent(" in found["expr"]


@pytest.mark.parametrize("unknown", [{"ends_known": False}, {"partitions": ()}])
def test_a_lag_that_nobody_knows_is_null(job, port, monkeypatch, unknown):
    sources = (replace(TOPIC, **unknown),)
    monkeypatch.setattr(f"{__name__}.PICTURE", replace(PICTURE, sources=sources))
    assert json.loads(ask(port, "/readyz")[1])["lag"] is None
    assert not any(name == "arroyo_nb_lag_records" for name, *_ in metrics(port))


def test_nothing_else_is_served(port):
    assert ask(port, "/")[0] == 404


def test_a_port_that_is_taken_is_told(job, port):
    with (
        pytest.raises(RunProblem, match=f"nothing can be served at {HOST}:{port}"),
        served(JobCollector('the "job"', job, job), port),
    ):
        pass


def test_a_feed_has_its_connection_and_what_it_may_have_missed(job, port, monkeypatch):
    feed = SourceProgress(
        *("prices", 8, None, timedelta()),
        bounded=False,
        is_feed=True,
        away_s=3.0,
        gaps=2,
        lost_messages=7,
    )
    monkeypatch.setattr(f"{__name__}.PICTURE", replace(PICTURE, sources=(feed,)))
    found = metrics(port)
    assert found["arroyo_nb_broker_reachable", "prices"] == 0
    assert found["arroyo_nb_feed_gaps_total", "prices"] == 2
    assert found["arroyo_nb_feed_lost_messages_total", "prices"] == 7
