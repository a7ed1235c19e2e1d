"""The parts of kafka's sinks that need neither a broker nor Spark."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from arroyo_nb.connectors import TableSpec
from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import Envelope
from arroyo_nb.kafka.cluster import Described
from arroyo_nb.kafka.config import (
    JAVA_WRITER_NAMES,
    LIBRDKAFKA_WRITER_ONLY,
    Access,
    parse_configs,
    table_access,
)
from arroyo_nb.kafka.errors import ErrorSubject, problem
from arroyo_nb.kafka.sink import (
    SinkManifest,
    SparkWriter,
    TransactionWriter,
    check_client,
    topic_writer,
)
from arroyo_nb.kafka.sink_records import Merged
from arroyo_nb.kafka.sink_task import (
    SETTINGS,
    Sender,
    Transaction,
    _insist,
)
from arroyo_nb.sink_notes import Notes

BAD_KEY = {"security.protocol": "ssl", "ssl.key.pem": "canary"}


def ENDS(numbers):  # noqa: N802
    return {number: 7 + number for number in numbers}


SENDER = Sender(
    ErrorSubject("h:1", "t", "out", "write to"),
    Access("h:1", configs={"sasl.password": "hush"}),
)


def changes(*rows):
    """Rows of text, weight and id; the key is the text's first letter."""
    texts, weights, ids = zip(*rows, strict=True)
    return pa.table(
        {
            "row": pa.array([json.dumps({"v": text}) for text in texts]),
            "key": pa.array([text[0] for text in texts]),
            "at_ms": pa.array([None] * len(texts), pa.int64()),
            "partition": pa.array([len(text) for text in texts], pa.int32()),
            "_weight": pa.array(weights, pa.int64()),
            "_row_id": pa.array(ids, pa.int64()),
        }
    )


def test_changes_become_documents_the_deletes_first():
    merged = Merged("debezium_json", Envelope(b"<", b">"))
    table = merged.records(
        changes(("a", 1, 1), ("bb", -1, 2), ("b", 1, 2), ("ccc", -1, 3), ("d", 1, None))
    )
    told = [
        (json.loads(value[1:-1]), key, partition)
        for value, key, partition in zip(
            *(table[n].to_pylist() for n in ("value", "key", "partition")), strict=True
        )
    ]
    assert told == [
        ({"before": {"v": "ccc"}, "after": None, "op": "d"}, "c", 3),
        ({"before": None, "after": {"v": "a"}, "op": "c"}, "a", 1),
        ({"before": {"v": "bb"}, "after": {"v": "b"}, "op": "u"}, "b", 1),
        ({"before": None, "after": {"v": "d"}, "op": "c"}, "d", 1),
    ]
    assert table["value"].type == pa.binary()


def test_no_changes_are_no_records():
    assert list(Merged("debezium_json", Envelope())(iter(()))) == []


def test_what_is_begun_stays_as_it_was_begun(tmp_path):
    notes = Notes(tmp_path / "topic.json")
    begun = SinkManifest.noted(notes, Described("a", (0, 1, 2)), ENDS)
    assert begun.prefix.startswith("arroyo-")
    assert begun.ends == (7, 8, 9)
    assert SinkManifest.noted(notes, Described("a", tuple(range(5))), ENDS) == begun
    first = begun.with_batch(0, slots=2, now_s=10.0)
    assert (first.tasks, first.batch_id, first.at_s) == (2, 0, 10.0)
    assert first.with_batch(0, slots=9, now_s=99.0) is first
    second = first.with_batch(1, slots=9, now_s=20.0)
    assert (second.tasks, second.batch_id, second.at_s) == (2, 1, 20.0)


def test_there_are_no_more_tasks_than_partitions():
    assert SinkManifest("p", "a", 1).with_batch(0, slots=8, now_s=0.0).tasks == 1


@pytest.mark.parametrize("found", [None, Described("b", (0,))])
def test_a_topic_that_was_deleted_is_another(tmp_path, found):
    SinkManifest.noted(Notes(tmp_path / "topic.json"), Described("a", (0,)), ENDS)
    spec = TableSpec("out", None, {"topic": "t", "bootstrap_servers": "h:1"})
    reached = table_access({"bootstrap_servers": "h:1"}, None, {})
    with pytest.raises(
        RunProblem, match="the topic 't' of the table 'out' was deleted"
    ):
        topic_writer(spec, reached, found, tmp_path)


@pytest.mark.parametrize(
    ("options", "shared"), [({}, False), ({"kafka.client.id": "mine"}, True)]
)
def test_sinks_share_a_producer_only_where_the_author_named_it(options, shared):
    # Spark keeps one for all queries of the same options. Rows of a topic that was
    # deleted wait in it for ten minutes, and the next sink's rows behind them.
    ids = set()

    def take(**options):
        ids.add(options["kafka.client.id"])
        return Mock()

    for _ in range(2):
        batch = MagicMock(columns=[])
        batch.select.return_value.write.format.return_value.options = take
        rows = Mock(appended=lambda frame: frame)
        SparkWriter(rows, options, Mock(over=lambda _: nullcontext())).write(batch, 0)
    assert (len(ids) == 1) is shared


def test_settings_of_a_writer_are_translated():
    configs = parse_configs(
        "compression.codec=lz4,message.max.bytes=9,queue.buffering.max.kbytes=7",
        writes=True,
    )
    reached = table_access({"bootstrap_servers": "h:1"}, None, configs)
    assert reached.for_spark(writes=True) == {
        "kafka.bootstrap.servers": "h:1",
        "kafka.security.protocol": "PLAINTEXT",
        "kafka.compression.type": "lz4",
        "kafka.max.request.size": "9",
    }


@pytest.mark.parametrize(
    "name", sorted({*JAVA_WRITER_NAMES, *LIBRDKAFKA_WRITER_ONLY} - {"debug"})
)
def test_librdkafka_knows_each_name_of_a_writer(name):
    said = ""
    try:
        Producer({name: "no-such-value"})
    except KafkaException as problem:
        said = str(problem)
    assert "No such configuration" not in said


def test_the_settings_of_a_writer_are_taken():
    Producer({**SETTINGS, "transactional.id": "t", "message.timeout.ms": 600_000})
    asked = {"enable.sparse.connections": False, "group.id": "g"}
    Consumer({**asked, "isolation.level": "read_committed"}).close()


@pytest.mark.parametrize(
    ("mode", "configs", "blamed"),
    [
        ("exactly_once", {"acks": "1"}, "refuses its settings: acks"),
        ("exactly_once", {"enable.idempotence": "false"}, ": enable.idempotence"),
        ("exactly_once", {"message.timeout.ms": "700000"}, ": message.timeout.ms"),
        ("at_least_once", {"retries": "0"}, "refuses its settings: retries"),
        ("exactly_once", BAD_KEY, "refuses its settings"),
    ],
)
def test_settings_that_a_task_would_refuse_are_told_before(mode, configs, blamed):
    options = {"topic": "t", "sink.commit_mode": mode, "sink.timestamp_field": "at"}
    spec = TableSpec("out", None, {"bootstrap_servers": "h:1", **options})
    with pytest.raises(
        RunProblem, match=f"the client of the table 'out' .*{blamed}"
    ) as told:
        check_client(spec, table_access(spec.options, None, configs))
    assert "canary" not in str(told.value)
    check_client(spec, table_access(spec.options, None, {"acks": "all"}))


def test_secrets_of_a_sender_are_in_no_picture():
    assert "hush" not in repr(SENDER)


class Past:
    """What brokers would know."""

    def __init__(self, *, is_empty=False, newest=-1001):
        self._is_empty, self._newest = is_empty, newest
        self.asked = []

    def is_empty(self, ends):
        assert ends == (7,)
        return self._is_empty

    def check_newest(self, groups, batch_id):
        self.asked.append((list(groups), batch_id))


@pytest.fixture
def written(tmp_path):
    """The transaction of each batch that is written, begun so long ago."""

    def write(past, *batch_ids, age_s=0.0, master="local[2]"):
        notes = Notes(tmp_path / "topic.json")
        begun = SinkManifest.noted(notes, Described("a", (0,)), ENDS)
        made, found = TransactionWriter(None, SENDER, None, begun, notes, past), []
        made._send = lambda _, sender, tasks: found.append(sender.transaction)
        conf = {"spark.sql.shuffle.partitions": "2", "spark.master": master}
        batch = SimpleNamespace(sparkSession=SimpleNamespace(conf=conf))
        for batch_id in batch_ids:
            made.write(batch, batch_id)
        noted = notes.read()
        notes.write({**noted, "at_s": noted["at_s"] - age_s})
        return found

    return write


@pytest.mark.parametrize(
    ("master", "may_rerun"),
    [
        ("local", False),
        ("local[2]", False),
        ("local-cluster[2,1,1024]", True),
        ("spark://h:7077", True),
        ("k8s://https://h", True),
    ],
)
def test_where_executors_may_be_lost_a_stage_may_run_again(written, master, may_rerun):
    (transaction,) = written(Past(), 0, master=master)
    assert transaction.may_rerun is may_rerun


DAYS_S = 3 * 24 * 3600


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_sink_that_never_wrote_anything_has_nothing_to_be_forgotten(
    written, is_empty
):
    past = Past(is_empty=is_empty)
    written(past, 0, age_s=DAYS_S)
    again, new = written(past, 0, 1)
    assert again.forgotten is not is_empty
    assert not new.forgotten


def test_the_first_new_batch_is_compared_with_what_brokers_know(written):
    past = Past()
    prefix = written(past, 0, 1)[0].prefix
    assert past.asked == [([f"{prefix}-0"], 0)]
    written(past, 1)
    assert len(past.asked) == 1
    written(past, 1, 2, 3)
    assert past.asked[1:] == [([f"{prefix}-0"], 2)]


class Places:
    """A group, as the client would ask for it."""

    def __init__(self, offset, error=None):
        self.offset = offset
        self.error = error

    def committed(self, place, timeout_s):
        (asked,) = place
        assert (asked.topic, asked.partition) == ("t", 0)
        return [self]

    def consumer_group_metadata(self):
        return self


@pytest.mark.parametrize(
    ("offset", "is_written"), [(7, False), (8, True), (-1001, False)]
)
def test_a_batch_is_written_when_the_next_is_waited_for(offset, is_written):
    assert SENDER._is_written(Places(offset), Transaction("p", 7)) is is_written


def test_an_older_copy_of_a_run_s_state_is_told():
    with pytest.raises(
        RunProblem, match="batch 7 of the table 'out', or a later one, is al"
    ):
        SENDER._is_written(Places(9), Transaction("p", 7))


def test_a_group_that_a_broker_fails_to_tell_is_not_one_without_an_offset():
    from confluent_kafka import KafkaError, KafkaException

    refused = Places(-1001, KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    with pytest.raises(KafkaException):
        SENDER._is_written(refused, Transaction("p", 7))


def test_what_a_broker_may_have_forgotten_is_told():
    old = Transaction("p", 7, forgotten=True)
    assert SENDER._is_written(Places(8), old)
    assert not SENDER._is_written(Places(7), old)
    with pytest.raises(
        RunProblem, match="batch 7 of the table 'out' was written before can"
    ):
        SENDER._is_written(Places(-1001), old)


def failing(*codes):
    left = list(codes)

    def call():
        if left:
            raise KafkaException(KafkaError(left.pop(0)))
        return "done"

    return call


def test_who_is_on_the_way_up_is_asked_again():
    passing = (KafkaError._TIMED_OUT, KafkaError.NOT_COORDINATOR)
    assert _insist(failing(*passing)) == "done"
    with pytest.raises(KafkaException, match="MSG_SIZE_TOO_LARGE"):
        _insist(failing(KafkaError.MSG_SIZE_TOO_LARGE))


def test_a_transaction_that_must_be_aborted_is_asked_for_nothing_more():
    lost = KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS, txn_requires_abort=True)
    with pytest.raises(KafkaException, match="COORDINATOR_LOAD_IN_PROGRESS"):
        _insist(Mock(side_effect=[KafkaException(lost), "done"]))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (KafkaError._FENCED, "in the name of this run"),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "write in transactions"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "write to the topic 't'"),
        (KafkaError.INVALID_TRANSACTION_TIMEOUT, "to be open for so long"),
        (
            KafkaError.MSG_SIZE_TOO_LARGE,
            "is larger than the topic 't' of the table 'out' takes",
        ),
        (
            KafkaError._UNKNOWN_TOPIC,
            "the topic 't' of the table 'out' was deleted, or has lost",
        ),
        (
            KafkaError._MSG_TIMED_OUT,
            "did not take the records for the topic 't' of the table 'out'",
        ),
        (
            KafkaError.INVALID_CONFIG,
            "cannot write to the topic 't' of the table 'out': INVALID_CONFIG",
        ),
    ],
)
def test_what_the_client_says_is_told(code, words):
    assert words in problem(KafkaError(code), SENDER.subject).message


class Purging:
    """A producer whose records all fail, for another reason once it aborts."""

    def __init__(self, failed, code):
        self._failed = failed
        self._code = code

    def init_transactions(self, timeout_s):
        pass

    begin_transaction = poll = lambda self, *_: None

    def produce(self, *args, **kwargs):
        if self._code is not None:
            self._failed.append(KafkaError(self._code))
            raise KafkaException(KafkaError(KafkaError._STATE))

    def send_offsets_to_transaction(self, *_):
        raise KafkaException(KafkaError(self._code, txn_requires_abort=True))

    def abort_transaction(self, timeout_s):
        self._failed.append(KafkaError(KafkaError._PURGE_QUEUE))


@pytest.fixture
def purging(monkeypatch):
    """Lets a task have such a producer, and no group."""

    def use(code=None):
        monkeypatch.setattr(Sender, "_producer", lambda _, f, __: Purging(f, code))
        task = SimpleNamespace(partitionId=lambda: 0, attemptNumber=lambda: 0)
        monkeypatch.setattr("pyspark.TaskContext.get", lambda: task)
        monkeypatch.setattr(Sender, "_group", lambda *_: nullcontext(Places(-1001)))

    return use


def batch(at_ms=None):
    columns = {
        "value": pa.array([b"v"]),
        "key": pa.array([None], pa.binary()),
        "partition": pa.array([None], pa.int32()),
        "at_ms": pa.array([at_ms], pa.int64()),
    }
    return pa.RecordBatch.from_pydict(columns)


def test_what_aborting_does_to_records_hides_no_reason(purging):
    sender = replace(SENDER, transaction=Transaction("p", 7))
    purging()
    with pytest.raises(RunProblem, match="not after the beginning of 1970"):
        list(sender(iter([batch(), batch(at_ms=-1)])))
    purging(KafkaError.MSG_SIZE_TOO_LARGE)
    with pytest.raises(
        RunProblem, match="is larger than the topic 't' of the table 'out' takes"
    ):
        list(sender(iter([batch()])))


def test_a_time_that_no_record_has_is_told():
    with pytest.raises(RunProblem, match="not after the beginning of 1970"):
        SENDER._fields(batch(at_ms=0))
