"""A batch that comes again is written once, whatever part of it was there."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from types import SimpleNamespace

import pytest
from seeds import of_the_day

from arroyo_nb.kafka.sink import TransactionWriter
from arroyo_nb.kafka.source import KafkaStream

HOUR = 3_600_000
COLUMNS = """k TEXT, n INT, at TIMESTAMP(3) NOT NULL, x DOUBLE,
    WATERMARK FOR at AS at - INTERVAL '1 minute'"""
QUERIES = {
    "stateless": "SELECT k, n, uuid() AS name FROM t",
    "windowed": """SELECT tumble(INTERVAL '1 hour') AS w, k, count(*) AS n,
        avg(x) AS x FROM t GROUP BY w, k""",
    "updating": "SELECT k, count(*) AS n, sum(x) AS x FROM t GROUP BY k",
}


class Crash(Exception):
    """What ends the run."""


def rows(first, last):
    return [
        {"k": f"k{n % 23}", "n": n, "at": 1_700_000_000_000 + n * 60_000, "x": n / 7}
        for n in range(first, last)
    ]


def script(source, made, query):
    kind = "debezium_json" if query == "updating" else "json"
    sink = made.sink("", format=kind, sink__commit_mode="exactly_once")
    return f"{source.declared(COLUMNS)}{sink}INSERT INTO out {QUERIES[query]};"


def told(made, query):
    """What the topic tells, but for what is another each time."""
    found = Counter()
    for record in made.records():
        row = json.loads(record.value())
        if query == "stateless":
            found[row["k"], row["n"]] += 1
        elif query == "windowed":
            found[row["w"]["start"], row["k"], row["n"], round(row["x"], 6)] += 1
        else:
            for image, weight in (("before", -1), ("after", 1)):
                if row[image]:
                    found[tuple(row[image].values())] += weight
    return Counter({row: n for row, n in found.items() if n})


def answer(count, query):
    """The same of the first rows, of which the last two close all windows."""
    known, groups = rows(0, count), {}
    if query == "stateless":
        return Counter((row["k"], row["n"]) for row in known)
    for row in known:
        start = row["at"] // HOUR if query == "windowed" else 0
        groups.setdefault((start, row["k"]), []).append(row["x"])
    if query == "updating":
        return Counter((k, len(xs), math.fsum(xs)) for (_, k), xs in groups.items())
    return Counter(
        (
            time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(start * 3600)),
            *(k, len(xs), round(sum(xs) / len(xs), 6)),
        )
        for (start, k), xs in groups.items()
    )


def whole(self, batch, sender, tasks):
    """All tasks commit."""
    _SEND(self, batch, sender, tasks)


def first(self, batch, sender, tasks):
    """The first task commits, the others have not begun."""

    def some(given):
        return lambda *args: given(*args).filter("spark_partition_id() = 0")

    rows = SimpleNamespace(
        appended=some(self._rows.appended),
        changed=some(self._rows.changed),
        merged=self._rows.merged,
    )
    _SEND(SimpleNamespace(_rows=rows, _watch=self._watch), batch, sender, tasks)


_SEND = TransactionWriter._send


CASES = [pytest.param(query, part) for query in QUERIES for part in (whole, first)]


@pytest.mark.parametrize(("query", "committed"), of_the_day(CASES, "topics"))
def test_a_batch_that_comes_again_is_written_once(
    new_topic, session, monkeypatch, tmp_path, eventually, engine, query, committed
):
    source, made = new_topic(2), new_topic(3)
    for part in (0, 1):
        source.send(*rows(0, 1200)[part::2], partition=part)
    fails = []

    def send(self, batch, sender, tasks):
        if sender.transaction.batch_id != 1 or fails:
            return _SEND(self, batch, sender, tasks)
        committed(self, batch, sender, tasks)
        fails.append(batch.count())
        raise Crash

    monkeypatch.setattr(TransactionWriter, "_send", send)
    monkeypatch.setattr("arroyo_nb.kafka.source.BATCH_RECORDS", 500)
    text = script(source, made, query)
    run = session.run(text, name="job", state_dir=tmp_path)
    eventually(lambda: run.state.ended, 60)
    assert fails[0] > 0
    monkeypatch.setattr(KafkaStream, "options", _split(KafkaStream.options))
    slots = "spark.sql.shuffle.partitions"
    before = engine.worker.call(lambda: engine.session.conf.get(slots))
    engine.worker.call(lambda: engine.session.conf.set(slots, "5"))
    try:
        run = session.run(text, name="job", state_dir=tmp_path)
        eventually(lambda: run.state.ended or run.rows_in >= 700, 60)
        # Closes all windows, and is in no answer.
        late = {**rows(0, 1)[0], "k": "end", "at": 1_800_000_000_000}
        source.send(late, partition=0)
        source.send(late, partition=1)
        ends = {"stateless": 2, "windowed": 0, "updating": 1}[query]
        expected = answer(1200, query)
        eventually(
            lambda: (
                run.state.ended or told(made, query).total() >= expected.total() + ends
            ),
            60,
        )
        assert run.error is None
        found = told(made, query)
        assert {row: n for row, n in found.items() if "end" not in row} == expected
    finally:
        engine.worker.call(lambda: engine.session.conf.set(slots, before))


def _split(options):
    """Of Spark's source, so that it reads in other pieces."""
    return lambda self, begin, **how: {
        **options(self, begin, **how),
        "minPartitions": "7",
    }
