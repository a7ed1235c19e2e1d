"""How often a heart beats, and what is left of its beats."""

from datetime import timedelta

import pytest

from arroyo_nb.run.heartbeat import KEPT_BEATS, Heartbeat
from arroyo_nb.run.observe.progress import read_progress


@pytest.mark.parametrize(
    ("ttl", "period_s"),
    [
        (timedelta(seconds=2), 1.0),
        (timedelta(seconds=60), 6.0),
        (timedelta(hours=24), 60.0),
    ],
)
def test_beats_some_times_in_the_life_of_a_key(tmp_path, ttl, period_s):
    assert Heartbeat(tmp_path, ttl).period_s == period_s


def test_a_new_process_counts_on_and_old_beats_go(tmp_path):
    heartbeat = Heartbeat(tmp_path, timedelta(seconds=1))
    for _ in range(3):
        heartbeat.beat()
    heartbeat = Heartbeat(tmp_path, timedelta(seconds=1))
    for _ in range(KEPT_BEATS):
        heartbeat.beat()
    numbers = sorted(int(path.stem) for path in tmp_path.iterdir())
    assert numbers == list(range(4, KEPT_BEATS + 4))


def test_beats_are_no_rows_of_the_input():
    def source(folder, rows, offset):
        return {
            "description": f"FileStreamSource[file:/home/ada/sources/{folder}]",
            "numInputRows": rows,
            "startOffset": None,
            "endOffset": {"logOffset": offset},
        }

    sources = [source("0-flights", 40, 3), source("heartbeat", 2, 9)]
    progress = read_progress({"batchId": 1, "sources": sources})
    assert progress.input_rows == 40
    assert progress.places == {"0-flights": 4}
    assert progress.first_places == {"0-flights": 0}
