"""A topic recorded onto a tape: what is kept; a query gets the same of both."""

from __future__ import annotations

import errno
import threading
import time
from collections import Counter
from datetime import UTC

import pytest
from odd_names import any_name
from topics import PASSWORD, USER

from arroyo_nb.cli import main
from arroyo_nb.connectors import TopicOffsets
from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.kafka.source import KafkaStream
from arroyo_nb.tape.records import RecordTape
from arroyo_nb.tape.writer import TapeWriter

HOUR = 3_600_000
NOW = int(time.time() * 1000)
"""Older records are deleted while a test runs."""
FIRST = NOW // HOUR * HOUR - 200 * HOUR


@pytest.fixture
def record(broker, session, tmp_path):
    """Records what a topic has, so many records, and gives the recording."""
    session.broker = broker

    def make(topic, most, **options):
        options = {"begin": "earliest", "stop_after": "60s", **options}
        return session.record(topic, tmp_path / "a.tape", most=most, **options)

    return make


@pytest.fixture
def recorded(session, tmp_path, eventually):
    """Records live, on a thread, beside what a test does."""
    threads = []

    def start(broker, topic, most, path):
        done = []

        def work():
            done.append(
                session.record(
                    topic,
                    path,
                    most=most,
                    stop_after="60s",
                    servers=broker.bootstrap_servers,
                )
            )

        thread = threading.Thread(target=work)
        threads.append(thread)
        thread.start()
        return done

    yield start
    for thread in threads:
        thread.join()


def table(rows, ignore=()):
    return Counter(
        tuple((name, str(value)) for name, value in row.items() if name not in ignore)
        for row in rows.to_pylist()
    )


def as_tape(script, made):
    """The same script with the tape in place of the topic."""
    _, columns_and_more = script.split("CREATE TABLE t (", 1)
    columns, rest = columns_and_more.split(") WITH (", 1)
    options, query = rest.split(");\n", 1)
    kept = [
        pair
        for pair in options.split(", ")
        if not pair.startswith(("'connector'", "'bootstrap", "'topic'", "'source."))
    ]
    path = str(made.path).replace("'", "''")
    options = ", ".join(["connector = 'tape'", f"path = '{path}'", *kept])
    return f"CREATE TABLE t ({columns}) WITH ({options});\n{query}"


def test_a_stateless_query_gets_the_same(new_topic, session, record, eventually):
    made = new_topic(3)
    made.send({"id": 1}, b"{no", {"id": 2}, partition=0, key=b"k", timestamp=NOW)
    made.send(None, {"id": "x"}, {"id": 3}, partition=1, headers=[("h", b"\x01")])
    made.send({"id": 4}, b"", partition=2)
    columns = """id INT, part INT METADATA FROM 'partition',
        at BIGINT METADATA FROM 'offset_id', name TEXT METADATA FROM 'topic',
        ms BIGINT METADATA FROM 'timestamp', key BYTEA METADATA FROM 'key',
        headers STRUCT<key TEXT, value BYTEA>[] METADATA FROM 'headers'"""
    script = made.declared(columns, bad_data="drop")
    script += "SELECT *, row_time() AS t FROM t"
    live = session.run(script)
    eventually(lambda: live.state.ended or live.table().num_rows == 4, 60)
    eventually(lambda: live.snapshot().sources[0].dropped_rows == 2)
    replay = session.run(as_tape(script, record(made.name, 8)), wait=True)
    assert table(replay.table()) == table(live.table())
    (of_topic,), (of_tape,) = live.snapshot().sources, replay.snapshot().sources
    assert of_tape.dropped_rows == 2
    assert set(of_topic.bad) <= set(of_tape.bad)


COUNTS = """SELECT tumble(INTERVAL '1 hour') AS w, kind, count(*) AS n, sum(id) AS ids
FROM t GROUP BY w, kind"""
TIMED = "id INT, kind TEXT, at TIMESTAMP(3) NOT NULL, WATERMARK FOR at"
END = {"id": 0, "kind": "a", "at": FIRST + 100 * HOUR}


def closed(run):
    """The windows that the last row closed: its own is closed where a tape ends."""
    found = table(run.table())
    return Counter({row: n for row, n in found.items() if ("kind", "a") not in row})


def rounds():
    """Rows that come together: each time some are on time, and some late."""
    for number in range(4):
        first = FIRST + number * 10 * HOUR
        on_time = [
            {"id": 100 * number + n, "kind": "b", "at": first + n * HOUR // 3}
            for n in range(20)
        ]
        yield on_time
        yield [{**row, "id": 1000 + row["id"]} for row in on_time[:number]]


def _watermark_ms(run):
    mark = run.snapshot().watermark
    return -1 if mark is None else mark.replace(tzinfo=UTC).timestamp() * 1000


def test_the_same_rows_are_late(
    new_topic, broker, session, recorded, eventually, tmp_path
):
    made, path = new_topic(2), tmp_path / "a.tape"
    sent = [*rounds(), [END]]
    done = recorded(broker, made.name, sum(map(len, sent)), path)
    script = made.declared(TIMED) + COUNTS
    live = session.run(script)
    draft = f".{path.name}.*.part"
    # It knows then where it begins.
    eventually(lambda: [*tmp_path.glob(draft)])
    rows = chunks = newest = 0
    for number, part in enumerate(filter(None, sent)):
        made.send(*part, partition=number % 2)
        rows, chunks = rows + len(part), chunks + 1
        newest = max(newest, *(row["at"] for row in part))
        eventually(lambda n=rows: live.state.ended or live.rows_in == n, 60)
        # Spark drops as late what is below the watermark of the batch before.
        eventually(lambda at=newest: live.state.ended or _watermark_ms(live) >= at, 60)
        eventually(
            lambda n=chunks: done or len([*tmp_path.glob(f"{draft}/chunk-*")]) == n
        )
    eventually(lambda: done)
    eventually(lambda: live.state.ended or live.snapshot().late_rows == 6)
    assert live.error is None
    late = sorted(live.late()["id"].to_pylist())
    expected = closed(live)
    live.stop()
    for options in ({}, {"speed": 30}):
        replay = session.run(as_tape(script, done[0]), wait=True, **options)
        assert sorted(replay.late()["id"].to_pylist()) == late
        assert closed(replay) == expected
    assert replay.outputs[0].observation.progress.batch_id + 1 >= chunks


def test_changes_are_the_same(new_topic, session, record, eventually):
    def change(op, before=None, after=None):
        return {"before": before, "after": after, "op": op}

    made = new_topic(3)
    state = {}
    for number in range(300):
        key, row = number % 7, {"id": number % 7, "n": number % 5}
        before, state[key] = state.get(key), row
        op = "c" if before is None else "u"
        gone = number % 11 == 10
        send = [change(op, before, row), *([change("d", row), None] if gone else [])]
        if gone:
            del state[key]
        made.send(*send, partition=key % 3)
    made.send(b"[]", partition=1)
    script = made.declared(
        "id INT PRIMARY KEY, n BIGINT", format="debezium_json", bad_data="drop"
    )
    script += "SELECT n, count(*) AS ids, sum(id) AS s FROM t GROUP BY n"
    live = session.run(script)
    records = made.end()
    eventually(lambda: live.rows_in and live.snapshot().sources[0].lag == 0, 60)
    replay = session.run(as_tape(script, record(made.name, records)), wait=True)
    eventually(lambda: table(live.table()) == table(replay.table()))
    assert live.table().num_rows
    assert replay.snapshot().sources[0].dropped_rows == 1


def test_a_tape_is_played_on_from_a_checkpoint(
    new_topic, session, record, eventually, monkeypatch, tmp_path
):
    made = new_topic(2)
    made.send(*({"id": n} for n in range(50)), partition=0)
    made.send(*({"id": n} for n in range(50, 80)), partition=1)
    # Chunks of ten records: the run is stopped between them.
    monkeypatch.setattr("arroyo_nb.tape.records.CHUNK_RECORDS", 10)
    tape = record(made.name, 80)
    script = as_tape(made.declared("id INT") + "SELECT id FROM t", tape)
    options = {"name": "on", "state_dir": tmp_path / "state", "keep": True}
    run = session.run(script, step=True, **options)
    run.step()
    run.step()
    eventually(lambda: run.state.ended or run.table().num_rows == 20, 60)
    run.stop().wait_quietly(30)
    first = run.table()["id"].to_pylist()
    again = session.run(script, wait=True, **options)
    assert again.resumed
    both = again.table()["id"].to_pylist()
    assert sorted(both) == list(range(80))
    assert both[: len(first)] == first
    assert len(first) < 80


def test_a_table_is_recorded_with_its_access_and_declared_again(
    new_topic, broker, session, monkeypatch, tmp_path
):
    monkeypatch.setenv("WORD", PASSWORD)
    made = new_topic(2)
    made.send({"id": 1, "n": "1.50"}, partition=1)
    columns = (
        "id INT NOT NULL, n DECIMAL(9, 2), \"AT\" BIGINT METADATA FROM 'offset_id'"
    )
    login = {
        "auth__type": "sasl",
        "auth__mechanism": "PLAIN",
        "auth__protocol": "SASL_PLAINTEXT",
        "auth__username": USER,
        "auth__password": "{{ WORD }}",
        "bootstrap_servers": broker.sasl_servers,
    }
    script = made.declared(columns, json__decimal_encoding="string", **login)
    session.run(script)
    path = tmp_path / "a.tape"
    tape = session.record("t", path, most=1, stop_after="60s")
    assert (tape.records, tape.partitions) == (1, 1)
    kept = b"".join(file.read_bytes() for file in path.iterdir())
    assert PASSWORD.encode() not in kept + tape.statement.encode()
    run = session.run(tape.statement + ' SELECT id, n, "AT" FROM t;', wait=True)
    (row,) = run.table().to_pylist()
    assert (row["id"], str(row["n"]), row["AT"]) == (1, "1.50", 0)
    session.run(script)
    monkeypatch.setenv("WORD", "canary-word")
    with pytest.raises(RunProblem, match="wrong credentials") as told:
        session.record("t", tmp_path / "b.tape")
    assert "canary" not in str(told.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.tape"]


def test_a_recording_ends_with_its_time_and_may_be_empty(new_topic, session, record):
    made = new_topic()
    made.send({"id": 1})
    tape = record(made.name, 5, begin="latest", stop_after="300ms")
    assert (tape.records, tape.partitions) == (0, 0)
    assert str(tape).startswith(f"0 records of 0 partitions of '{made.name}' in 0.")
    script = as_tape(made.declared("id INT") + "SELECT id FROM t", tape)
    assert session.run(script, wait=True).table().num_rows == 0


def test_a_name_that_may_be_misspelt_is_told(new_topic, record):
    made = new_topic()
    made.send({"email": "canary"})
    with pytest.warns(UserWarning, match="no record has a field 'emial'"):
        tape = record(made.name, 1, redact=["emial", "email"])
    assert tape.unmet == ("emial",)


def test_a_partition_that_is_added_is_recorded_from_its_beginning(
    new_topic, broker, recorded, eventually, tmp_path
):
    made, path = new_topic(), tmp_path / "a.tape"
    done = recorded(broker, made.name, 5, path)
    draft = f".{path.name}.*.part"
    eventually(lambda: [*tmp_path.glob(draft)])
    made.send({"id": 1})
    eventually(lambda: [*tmp_path.glob(f"{draft}/chunk-*")])
    made.add_partitions(3)
    for part in (1, 2):
        made.send({"id": 2}, {"id": 3}, partition=part)
    eventually(lambda: done, 60)
    assert (done[0].records, done[0].partitions) == (5, 3)
    kept = [
        row for _, rows in RecordTape(path, "a").chunks() for row in rows.to_pylist()
    ]
    places = [(row["partition"], row["offset"]) for row in kept]
    assert sorted(places) == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)]


def test_what_came_before_the_disk_was_full_is_kept(
    new_topic, record, monkeypatch, tmp_path
):
    made = new_topic()
    made.send(*({"id": n} for n in range(5)))
    writes = []
    write = TapeWriter.append

    def append(self, chunk):
        writes.append(chunk)
        if len(writes) == 3:
            raise OSError(errno.ENOSPC, "no space")
        return write(self, chunk)

    monkeypatch.setattr(TapeWriter, "append", append)
    monkeypatch.setattr("arroyo_nb.tape.records.CHUNK_RECORDS", 2)
    with pytest.raises(RunProblem) as told:
        record(made.name, 5)
    path = tmp_path / "a.tape"
    expected = f"the tape '{path}' cannot be written: the disk is full; recorded 4 rec"
    assert str(told.value).startswith(expected)
    assert sum(len(rows) for _, rows in RecordTape(path, "a").chunks()) == 4


def test_records_that_are_gone_are_told_and_the_others_kept(
    new_topic, session, record, tmp_path, monkeypatch
):
    made = new_topic(2)
    made.send({"id": 1}, {"id": 2}, partition=0)
    made.send({"id": 3}, partition=1)
    made.delete_records(0, 1)
    # Retention has its way between the question and the reading.
    begin = TopicOffsets("", {0: 0, 1: 0})
    monkeypatch.setattr(KafkaStream, "begin", lambda _: begin)
    with pytest.raises(
        RunProblem, match=r"were deleted before they were read; recorded "
    ):
        record(made.name, 5)
    kept = RecordTape(tmp_path / "a.tape", "a")
    assert sum(len(rows) for _, rows in kept.chunks()) <= 2


def test_what_cannot_be_recorded_is_told_before(new_topic, session, record, tmp_path):
    made = new_topic()
    with pytest.raises(RunProblem, match="the topic 'not-there' does not exist at"):
        record("not-there", 1)
    (tmp_path / "a.tape").mkdir()
    with pytest.raises(RunProblem, match=r"there is something at .*a\.tape' already"):
        record(made.name, 1)
    session.broker = None
    with pytest.raises(RunProblem, match="there is no local broker to ask"):
        session.record(made.name, tmp_path / "b.tape")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.tape"]


@any_name("paths")
def test_a_tape_may_have_any_name(new_topic, broker, session, tmp_path, capsys, name):
    made, path = new_topic(), tmp_path / name / "a tape"
    made.send(*({"id": n, "status": "open"} for n in range(20)))
    tape = session.record(
        made.name,
        path,
        begin="earliest",
        most=20,
        stop_after="60s",
        servers=broker.bootstrap_servers,
    )
    session.run(tape.statement)
    table_of = made.name.replace("-", "_")
    counted = session.run(f"SELECT count(*) AS n FROM {table_of}", wait=True)
    assert counted.table().to_pylist()[-1] == {"n": 20}
    misspelt = (
        made.declared("id INT, statuss TEXT")
        + """
        CREATE TABLE nothing WITH (connector = 'blackhole');
        INSERT INTO nothing SELECT statuss FROM t"""
    )
    (spec := tmp_path / name / "job.yaml").write_text(
        JobSpec("reads", as_tape(misspelt, tape)).text
    )
    assert main(["check", str(spec)]) == 0
    assert "no record of 20 had 'statuss'" in capsys.readouterr().out
