from datetime import UTC, datetime

import pytest

from arroyo_nb.run.observe.progress import (
    LoggedBatch,
    TriggerProgress,
    logged_watermark,
    new_batches,
    read_progress,
)

RAW = {
    "batchId": 7,
    "numInputRows": 180,
    "durationMs": {"triggerExecution": 181, "addBatch": 120},
    "eventTime": {
        "max": "2013-02-08T12:21:00.000Z",
        "watermark": "2013-02-08T11:12:00.000Z",
    },
    "stateOperators": [
        {"numRowsTotal": 4, "numRowsDroppedByWatermark": 2},
        {"numRowsTotal": 3, "numRowsDroppedByWatermark": 0},
    ],
    "sources": [
        {
            "description": "FileStreamSource[file:/tmp/run/sources/flights]",
            "startOffset": {"logOffset": 4},
            "endOffset": {"logOffset": 6},
            "numInputRows": 100,
        },
        {
            "description": "FileStreamSource[file:/tmp/run/sources/flights]",
            "startOffset": {"logOffset": 4},
            "endOffset": {"logOffset": 5},
            "numInputRows": 60,
        },
        {
            "description": "FileStreamSource[file:/x/weather]",
            "endOffset": None,
            "numInputRows": 20,
        },
    ],
    "observedMetrics": {"window:0": {"rows": 120}},
}


def test_a_trigger_is_read_as_plain_numbers():
    progress = read_progress(RAW)
    assert (progress.batch_id, progress.input_rows) == (7, 120)
    assert (progress.batch_ms, progress.state_rows) == (181.0, 7)
    assert progress.watermark == datetime(2013, 2, 8, 11, 12, tzinfo=UTC)
    assert progress.max_event_time == datetime(2013, 2, 8, 12, 21, tzinfo=UTC)
    # The slower of two readers of a folder; its rows count once.
    assert progress.places == {"flights": 6, "weather": 0}
    assert progress.first_places == {"flights": 5, "weather": 0}
    assert progress.observed == {"window:0": {"rows": 120}}


def test_the_epoch_is_no_watermark():
    raw = RAW | {"eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}
    assert read_progress(raw).watermark is None


def test_a_trigger_without_rows_is_read():
    assert read_progress({"batchId": 0}).places == {}


def test_the_watermark_of_before_a_restart_is_in_the_offset_log(tmp_path):
    log = tmp_path / "offsets"
    log.mkdir()
    (log / "3").write_text('v1\n{"batchWatermarkMs":1362399000000}\n{"logOffset":3}')
    (log / "0").write_text('v1\n{"batchWatermarkMs":0}\n{"logOffset":0}')
    assert logged_watermark(tmp_path, 3) == datetime(2013, 3, 4, 12, 10, tzinfo=UTC)
    assert logged_watermark(tmp_path, 0) is None
    assert logged_watermark(tmp_path, 9) is None


def batch(number):
    return TriggerProgress(number, 0.0, None)


def idle(next_number):
    return TriggerProgress(next_number, 0.0, None, ran=False)


@pytest.mark.parametrize(
    ("recent", "first", "new"),
    [
        ([idle(0)], 0, []),
        ([idle(0), batch(0)], 0, [0]),
        ([idle(0), batch(0), idle(1)], 0, [0]),
        ([batch(0), idle(1), idle(1)], 1, []),
        ([batch(0), batch(1), idle(2), batch(2)], 1, [1, 2]),
        ([batch(6), batch(7)], 0, [6, 7]),
        ([batch(6)], 7, []),
    ],
)
def test_batches_are_told_once_and_idleness_never(recent, first, new):
    got = new_batches(recent[-1], lambda: recent, first)
    assert [progress.batch_id for progress in got] == new


def test_a_trigger_without_a_batch_is_idle():
    assert not read_progress({"batchId": 3, "durationMs": {"latestOffset": 1}}).ran
    assert read_progress(RAW).ran


OFFSETS = """v1
{"batchWatermarkMs":1360321920000,"batchTimestampMs":0,"conf":{}}
{"orders":{"0":20000,"1":5}}
{"orders":{"0":19000,"1":7}}
{"logOffset":3}"""


def test_the_newest_committed_batch_of_a_checkpoint_says_where_a_query_goes_on(
    tmp_path,
):
    assert LoggedBatch.newest(tmp_path) is None
    for log, names in (("offsets", (0, 1, 2)), ("commits", (0, 1))):
        (tmp_path / log).mkdir()
        for name in names:  # batch 2 is planned, and comes again
            (tmp_path / log / str(name)).write_text(OFFSETS if name == 1 else "v1\n{}")
    (tmp_path / "commits" / ".2.crc").write_text("")
    assert LoggedBatch.newest(tmp_path) == LoggedBatch(
        1,
        datetime(2013, 2, 8, 11, 12, tzinfo=UTC),
        {"topic orders": {0: 19000, 1: 5}},
    )
    (tmp_path / "offsets" / "1").write_text("v1\n")
    assert LoggedBatch.newest(tmp_path) is None
