"""Topics to topics in Spark's real-time mode: record by record, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter

import pytest
from machine import allowed

from arroyo_nb.cli import main
from arroyo_nb.errors import ArroyoError, DataProblem, RunProblem
from arroyo_nb.jobs import spec_file
from arroyo_nb.jobs.spec import JobSpec, TableDefinition
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.option_values import CHECKPOINT, LEAST_CHECKPOINT, duration
from arroyo_nb.run.options import RunOptions
from arroyo_nb.source import ScriptText

COLUMNS = "id BIGINT NOT NULL, town TEXT, price DECIMAL(8, 2), at TIMESTAMP(3)"
QUERY = """INSERT INTO out
SELECT id + 1 AS id, upper(town) AS town, price * 2 AS price, at FROM t WHERE id % 3 > 0
"""
WINDOWED = "INSERT INTO out SELECT id FROM t GROUP BY tumble(INTERVAL '1 s'), id"
SOON_S = 60.0
REAL_TIME = {"real_time": True, "trigger": LEAST_CHECKPOINT}


def order(number):
    at = 1_700_000_000_000 + number
    return {"id": number, "town": f"t{number % 5}", "price": number / 4, "at": at}


@pytest.fixture
def source(new_topic):
    return new_topic(partitions=2)


@pytest.fixture
def made(new_topic):
    return new_topic(partitions=2)


@pytest.fixture
def script(source, made):
    sink = made.sink("", sink__key_field="town")
    return source.declared(COLUMNS) + sink + QUERY


def send(source, numbers):
    for partition in (0, 1):
        mine = (order(n) for n in numbers if n % 2 == partition)
        source.send(*mine, partition=partition)


def values(topic):
    return Counter((message.key(), message.value()) for message in topic.records())


def test_records_are_those_of_micro_batches(
    session, source, made, script, new_topic, eventually
):
    dropping = source.declared(COLUMNS, bad_data="drop")
    script = script.replace(source.declared(COLUMNS), dropping)
    send(source, range(50))
    # What keeps state may have run before.
    counted = f"{dropping}SELECT count(*) AS n FROM t"
    session.run(counted, until="end", wait=True)
    run = session.run(script, name="real", **REAL_TIME)
    eventually(lambda: run.error or made.end() == 33, SOON_S)
    send(source, range(50, 80))  # in a batch that has begun long before
    # The last of two members of one name counts.
    twice = b'{"id": 7, "id": 100, "town": "x"}'
    source.send(b"no", None, b"\xff", twice, partition=1)
    eventually(lambda: run.error or made.end() == 54, SOON_S)
    assert run.error is None
    batches = new_topic(partitions=2)
    other = script.replace(made.name, batches.name)
    session.run(other, until="end", wait=True)
    assert values(made) == values(batches)
    assert 101 in [json.loads(message.value())["id"] for message in made.records()]
    # Told with the checkpoint.
    eventually(lambda: run.outputs[0].observation.dropped_rows["t"] == 2, SOON_S)
    found = [(row["origin"], row["offset"]) for row in run.bad().to_pylist()]
    assert found == [(source.name, 40), (source.name, 42)]
    run.stop()


def test_it_goes_on_from_a_checkpoint_in_either_mode(
    session, source, made, script, eventually, tmp_path
):
    def run_until(numbers, there, **options):
        run = session.run(script, name="job", state_dir=tmp_path, **options)
        send(source, numbers)
        eventually(lambda: run.error or made.end() == there, SOON_S)
        assert run.error is None
        run.stop(mode="checkpoint")
        assert run.wait(SOON_S)
        assert run.state is RunState.STOPPED

    run_until(range(30), 20, **REAL_TIME)
    run_until(range(30, 60), 40)
    run_until(range(60, 90), 60, **REAL_TIME)
    ids = [json.loads(message.value())["id"] for message in made.records()]
    assert sorted(ids) == [n + 1 for n in range(90) if n % 3]


def test_what_was_not_in_a_checkpoint_is_written_again_and_a_job_runs_as_it_ran(
    session, source, made, script, eventually, tmp_path
):
    run = session.run(script, name="job", state_dir=tmp_path, real_time=True)
    send(source, range(30))
    eventually(lambda: run.error or made.end() == 20, SOON_S)
    run.stop(mode="immediate").wait(SOON_S)
    run = session.run(script, name="job", state_dir=tmp_path, real_time=True)
    eventually(lambda: run.error or made.end() == 40, SOON_S)
    run.stop(mode="immediate").wait(SOON_S)
    assert set(values(made).values()) == {2}
    promoted = session.promote("job", tmp_path / "promoted")
    assert promoted.spec.options.real_time
    assert promoted.spec.options.trigger == CHECKPOINT


def test_the_first_bad_record_fails_it_with_its_place(
    session, source, made, script, eventually
):
    # What it quotes is no error of Spark.
    bad = '{"id": "[FAILED_READ_FILE] [DIVIDE_BY_ZERO]"}'
    source.send(order(1), bad.encode())
    run = session.run(script.replace("id % 3 > 0", "town = 'x'"), real_time=True)
    eventually(lambda: run.state.ended, SOON_S)
    said = f"{source.name}[0] offset 1: JSON does not match schema: 'id' is BIGINT"
    assert isinstance(run.error, DataProblem)
    assert run.error.message.startswith(said)
    assert f", in the record {bad}" in run.error.message
    assert "declare the column" in run.error.hint
    assert "bad_data = 'drop'" in run.error.hint
    assert run.error.lasting


def test_a_sink_that_is_deleted_ends_its_run_and_holds_up_no_other(
    session, source, made, script, new_topic, eventually
):
    send(source, range(3))
    run = session.run(script, name="one", **REAL_TIME)
    eventually(lambda: run.error or made.end() == 2, SOON_S)
    made.delete()
    send(source, range(3, 6))
    eventually(lambda: run.state.ended, SOON_S)
    assert (
        f"the topic '{made.name}' of the table 'out' was deleted" in run.error.message
    )
    other = new_topic(partitions=2)
    after = session.run(script.replace(made.name, other.name), name="two", **REAL_TIME)
    eventually(lambda: after.error or other.end() == 4, SOON_S)
    eventually(lambda: after.error or after.rows_in == 6, SOON_S)
    after.stop()


def test_texts_and_metadata(session, source, made, eventually):
    source.send(b"caf\xc3\xa9", b"b", key=b"k")
    script = source.declared(
        "value TEXT NOT NULL, n BIGINT METADATA FROM 'offset_id'", format="raw_string"
    )
    script += made.sink("value TEXT", format="raw_string")
    query = "INSERT INTO out SELECT concat(value, '@', n) FROM t"
    run = session.run(script + query, **REAL_TIME)
    eventually(lambda: run.error or made.end() == 2, SOON_S)
    assert sorted(m.value().decode() for m in made.records()) == ["b@1", "café@0"]
    run.stop()


def test_more_partitions_than_slots_are_refused(
    session, new_topic, script, source, eventually
):
    wide = new_topic(partitions=7)
    run = session.run(script.replace(source.name, wide.name), real_time=True)
    eventually(lambda: run.state.ended, SOON_S)
    assert "7 partitions" in run.error.message


def test_partitions_that_come_later_and_find_no_slot_are_told(
    session, source, made, script, eventually
):
    send(source, range(3))
    run = session.run(script, **REAL_TIME)
    eventually(lambda: run.error or made.end() == 2, SOON_S)
    source.add_partitions(7)
    eventually(lambda: run.state.ended, SOON_S)
    assert "7 partitions" in run.error.message


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT id FROM t", "its rows are previewed"),
        (
            WINDOWED,
            "WindowAggregate keeps state",
        ),
    ],
)
def test_what_cannot_run_so_is_refused(session, source, made, query, why):
    script = source.declared(COLUMNS) + made.sink("")
    with pytest.raises(RunProblem, match=f"in Spark's real-time mode: .*{why}"):
        session.run(script + query, real_time=True)


def test_a_run_in_real_time_has_no_end_and_no_preview(session, script):
    for given in ({"until": "end"}, {"sinks": False}):
        with pytest.raises(RunProblem, match="until it is stopped"):
            session.run(script, real_time=True, **given)
    for trigger in ("1s", "5m"):
        with pytest.raises(RunProblem, match="from 5s to 100s"):
            session.run(script, real_time=True, trigger=trigger)


def test_a_job_asks_for_it(engine, source, made, tmp_path):
    """On the Spark that is there already."""
    spec = spec_of(source, made, trigger="5s")
    path = tmp_path / "job.yaml"
    path.write_text(spec.text)
    assert spec_file.load(path).spec == spec
    send(source, range(30))
    engine.worker.call(lambda: engine.session)
    ended = threading.Event()

    def stop_once_written():
        until_s = time.monotonic() + allowed(SOON_S)
        while made.end() < 20 and time.monotonic() < until_s:
            if ended.wait(0.1):
                return
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    stopping = threading.Thread(target=stop_once_written)
    stopping.start()
    try:
        status = main(["run", str(path)])
    finally:
        ended.set()
        stopping.join()
        signal.signal(signal.SIGTERM, before)
    assert status == 128 + signal.SIGTERM
    assert made.end() == 20
    (folder,) = tmp_path.glob("state/*/outputs/0/checkpoint/commits")
    assert (folder / "0").exists()


def test_a_job_that_cannot_run_so_is_refused_with_the_line(source, made):
    spec = spec_of(source, made, query=WINDOWED)
    file = spec_file.read(ScriptText(spec.text, "job.yaml"))
    with pytest.raises(ArroyoError, match="cannot run in Spark's real-time mode") as it:
        file.check_runs_here()
    assert it.value.span is not None
    spec = spec_of(source, made, trigger="1s")
    file = spec_file.read(ScriptText(spec.text, "job.yaml"))
    with pytest.raises(ArroyoError, match="from 5s to 100s") as it:
        file.check_runs_here()
    assert spec.text[it.value.span.start :].startswith("1s")


def spec_of(source, made, trigger=None, query=QUERY):
    table = TableDefinition("t", source.declared(COLUMNS).strip().rstrip(";"))
    options = RunOptions(real_time=True, trigger=duration(trigger))
    return JobSpec("job", made.sink("") + query, (table,), options=options)
