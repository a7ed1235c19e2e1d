"""The rows of micro-batches from the job that computes them, against ``toArrow``."""

import errno

import pytest
from pyspark.errors import StreamingQueryException

from arroyo_nb.engine.arrow_sink import ArrowSink, has_arrow_sink
from arroyo_nb.errors import RunProblem

COLUMNS = [
    "id AS n",
    "CAST(id AS INT) AS i",
    "CAST(id % 999 AS SMALLINT) AS s",
    "CAST(id % 99 AS TINYINT) AS t",
    "id / 7 AS d",
    "CAST(id / 7 AS FLOAT) AS f",
    "CAST(id AS DECIMAL(20, 3)) AS m",
    "id % 2 = 0 AS b",
    "if(id % 3 = 0, NULL, concat('é', id)) AS text",
    "encode(id, 'utf-8') AS bin",
    "timestamp_seconds(id) AS ts",
    "date_add(DATE '2024-01-01', CAST(id % 9 AS INT)) AS day",
    "INTERVAL '1' SECOND * id AS wait",
    "array(id, NULL) AS list",
    "slice(array(id), 1, 0) AS nothing",
    "map(id, 'v') AS map",
    "named_struct('start', timestamp_seconds(id), 'x', array(id)) AS win",
    "if(id % 2 = 0, NULL, named_struct('a', id)) AS maybe",
    "NULL AS void",
]


@pytest.fixture
def query(engine, tmp_path):
    """Runs a stream over numbered rows to its end, a file a batch, by a function that
    makes its writer."""

    def on_worker(counts, make):
        spark = engine.session
        for number, rows in enumerate(counts):
            path = tmp_path / "in" / f"n={number}"
            spark.range(rows).repartition(1).write.parquet(str(path))
        stream = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1)
        rows = stream.parquet(str(tmp_path / "in" / "*")).repartition(3, "id")
        made = make(rows.selectExpr(*COLUMNS))
        checkpoint = str(tmp_path / f"checkpoint-{make.__name__}")
        started = made.option("checkpointLocation", checkpoint).trigger(
            availableNow=True
        )
        running = started.start()
        running.awaitTermination()
        return running

    def run(counts, make):
        return engine.worker.call(lambda: on_worker(counts, make))

    return run


def test_every_type_comes_as_spark_itself_gives_it(query):
    """More rows than one Arrow batch has, and batches without rows."""
    ours, theirs = [], []

    def taken(rows):
        take = lambda receive, n: ours.append((n, receive()))  # noqa: E731
        return ArrowSink(lambda: None, take).stream(rows)

    def collected(rows):
        return rows.writeStream.foreachBatch(
            lambda batch, n: theirs.append((n, batch.toArrow()))
        )

    query((50, 0, 35_000), taken)
    query((), collected)
    assert [n for n, _ in ours] == [n for n, _ in theirs]
    assert sum(table.num_rows for _, table in ours) == 35_050
    for (_, table), (_, expected) in zip(ours, theirs, strict=True):
        table.validate(full=True)
        assert table.schema.equals(expected.schema)
        assert table.equals(expected)


@pytest.mark.parametrize("when", ["begin", "take"])
def test_what_is_raised_ends_the_query_and_commits_nothing(query, when, tmp_path):
    def fail(*_):
        raise RunProblem("no room for them")

    def failing(rows):
        begin, take = (fail, print) if when == "begin" else (lambda: None, fail)
        return ArrowSink(begin, take).stream(rows)

    with pytest.raises(StreamingQueryException):
        query((5,), failing)
    assert not list((tmp_path / "checkpoint-failing/commits").glob("[0-9]*"))


def test_a_sink_that_is_closed_takes_no_more(query):
    def closed(rows):
        sink = ArrowSink(lambda: None, print)
        stream = sink.stream(rows)
        sink.close()
        sink.close()
        return stream

    with pytest.raises(StreamingQueryException):
        query((5,), closed)


def test_rows_that_cannot_be_received_are_not_offered_for_ever(
    query, engine, monkeypatch, eventually
):
    """A server that waits for its client holds a thread, a socket and the batch."""

    def connect(*_):
        offered.append(len(serving()))
        raise OSError(errno.EMFILE, "Too many open files")

    def serving():
        threads = jvm.Thread.getAllStackTraces().keySet().toArray()
        return [t for t in threads if t.getName() == "serve rows"]

    def unconnected(rows):
        return ArrowSink(lambda: None, lambda receive, _: receive()).stream(rows)

    offered = []
    jvm = engine.worker.call(lambda: engine.session._jvm)
    monkeypatch.setattr("pyspark.util.local_connect_and_auth", connect)
    with pytest.raises(StreamingQueryException):
        query((5,), unconnected)
    assert offered == [1]
    eventually(lambda: not serving())


def test_a_session_of_the_engine_has_the_sink(engine):
    assert engine.worker.call(lambda: has_arrow_sink(engine.session))
