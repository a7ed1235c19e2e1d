from __future__ import annotations

import json
import urllib.error
import urllib.request
from datetime import datetime, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from arroyo_nb.errors import RunProblem
from arroyo_nb.job.endpoint import HOST, Told, served
from arroyo_nb.job.supervisor import JobState
from arroyo_nb.run.snapshot import PartitionProgress, RunState, Snapshot, SourceProgress

TOPIC = SourceProgress(
    "clicks",
    rows=8,
    max_event_time=None,
    delay=timedelta(),
    bounded=False,
    partitions=(PartitionProgress(0, 5, 9), PartitionProgress(1, 7, 7)),
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


class Supervisor:
    def __init__(self):
        self.state, self.restarted = JobState.RUNNING, 1
        self.error, self.run = None, self

    def snapshot(self, _):
        return PICTURE


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
    with served(Told('the "job"', job), 0) as taken:
        yield taken


def test_health_follows_the_job(job, port):
    status, body = ask(port, "/healthz")
    said = {"job": 'the "job"', "state": "running", "restarts": 1}
    assert (status, json.loads(body)) == (200, said)
    job.state, job.error = JobState.WAITING, "the broker is away"
    status, body = ask(port, "/healthz")
    assert (status, json.loads(body)["error"]) == (503, "the broker is away")


def metrics(port):
    status, body = ask(port, "/metrics")
    assert status == 200
    return {
        (sample.name, sample.labels.get("partition")): sample.value
        for family in text_string_to_metric_families(body)
        for sample in family.samples
        if sample.labels.get("job") == 'the "job"'
    }


def test_metrics_are_those_of_the_present_run(job, port):
    assert metrics(port) == {
        ("arroyo_nb_up", None): 1,
        ("arroyo_nb_restarts_total", None): 1,
        ("arroyo_nb_rows_in_total", None): 8,
        ("arroyo_nb_rows_out_total", None): 3,
        ("arroyo_nb_late_rows_total", None): 2,
        ("arroyo_nb_batch", None): 4,
        ("arroyo_nb_batch_seconds", None): 0.25,
        ("arroyo_nb_watermark_timestamp_seconds", None): 60,
        ("arroyo_nb_lag_records", "0"): 4,
        ("arroyo_nb_lag_records", "1"): 0,
    }
    job.run, job.state = None, JobState.WAITING
    up = ("arroyo_nb_up", None)
    assert metrics(port) == {up: 0, ("arroyo_nb_restarts_total", None): 1}


def test_nothing_else_is_served(port):
    assert ask(port, "/")[0] == 404


def test_a_port_that_is_taken_is_told(job, port):
    with (
        pytest.raises(RunProblem, match=f"nothing can be served at port {port}"),
        served(Told('the "job"', job), port),
    ):
        pass
