"""``kafka``: the topics of Apache Kafka, read by Spark's own connector.

Records are decoded in Arrow batches by Spark's Python workers
(:mod:`arroyo_nb.records`). The event time is the record's own where none is
declared, and a record without a value, a tombstone, is none. Where a run stands is kept
in its checkpoint. Source: arroyo-semantics b.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from arroyo_nb.connectors import Direction, TableSpec
from arroyo_nb.errors import ArroyoError
from arroyo_nb.formats import usual_format
from arroyo_nb.kafka.login import AUTH, Login, auth_problems, table_login
from arroyo_nb.kafka.table import KafkaTable
from arroyo_nb.kafka.table_options import (
    SCHEMA_REGISTRY,
    SERVERS,
    TABLE,
    table_problems,
)
from arroyo_nb.with_options import OptionValue

_CHANGES = usual_format(updating=True)
_ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("upsert-kafka", "upsert_kafka"),
            f"write connector = 'kafka', format = '{_CHANGES}', and PRIMARY KEY after "
            "the type of the key",
        ),
        **dict.fromkeys(
            ("mysql-cdc", "postgres-cdc", "mysql", "postgres", "jdbc", "debezium"),
            "let Debezium send the changes to a topic, and write connector = "
            f"'kafka', format = '{_CHANGES}'",
        ),
    }
)


class Kafka(KafkaTable):
    """Apache Kafka, with or without a login by SASL."""

    def check(
        self, spec: TableSpec, direction: Direction
    ) -> Iterator[tuple[str, ArroyoError]]:
        """What is wrong with the options."""
        yield from auth_problems(spec.options)
        yield from table_problems(spec, direction)

    def login(self, options: Mapping[str, OptionValue]) -> Login | None:
        """How a client says who it is; None: it does not."""
        return table_login(options)


CONNECTOR = Kafka(
    "kafka",
    "topics of Apache Kafka",
    (SERVERS, *AUTH, *SCHEMA_REGISTRY, *TABLE),
    _ELSEWHERE,
)
