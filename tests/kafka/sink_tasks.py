"""A sink's task, run in this process."""

from __future__ import annotations

import pyarrow as pa
from topics import Topic

from arroyo_nb.kafka.config import Access
from arroyo_nb.kafka.errors import ErrorSubject
from arroyo_nb.kafka.sink_records import AT, KEY, PARTITION, VALUE
from arroyo_nb.kafka.sink_task import Sender, Transaction


def send_batch(topic: Topic, transaction: Transaction, *values: bytes) -> int:
    """Write values to a topic, an Arrow batch each; returns how many were sent."""
    servers = topic.broker.bootstrap_servers
    subject = ErrorSubject(servers, topic.name, "out", "write to")
    sender = Sender(subject, Access(servers), transaction=transaction)
    (sent,) = sender(map(_record, values))
    return sent["rows"][0].as_py()


def _record(value: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            VALUE: [value],
            KEY: pa.nulls(1, pa.binary()),
            PARTITION: pa.nulls(1, pa.int32()),
            AT: pa.nulls(1, pa.int64()),
        }
    )
