"""What all connectors of Kafka have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from arroyo_nb.connectors import (
    ConnectorBase,
    ConnectorInfo,
    Direction,
    Offsets,
    TableSpec,
    Writer,
)
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.formats import Framing
from arroyo_nb.kafka.cluster import PATIENT_S, cluster_of
from arroyo_nb.kafka.config import Access, parse_configs, table_access
from arroyo_nb.kafka.login import Login
from arroyo_nb.kafka.source import OFFSET, OFFSETS, KafkaStream
from arroyo_nb.kafka.source_end import topic_of
from arroyo_nb.kafka.table_options import COMMIT_MODE, table_problems
from arroyo_nb.schema import (
    BIGINT,
    BYTEA,
    INT,
    TEXT,
    Schema,
    Type,
)
from arroyo_nb.tape import Recorder
from arroyo_nb.tape.records import HEADERS
from arroyo_nb.with_options import Option, OptionValue, substituted

SPARK_JARS = "spark-kafka"
"""The name of the set of jars that Spark reads and writes topics with."""

METADATA: Mapping[str, Type] = MappingProxyType(
    {
        "offset_id": BIGINT,
        "partition": INT,
        "topic": TEXT,
        "timestamp": BIGINT,
        "key": BYTEA,
        "headers": HEADERS,
    }
)
"""What METADATA FROM may name of a record."""


class KafkaTable(ConnectorBase):
    """A connector of Kafka; what differs is how a client says who it is.

    Parameters
    ----------
    name, doc
        What it is called, and what it is.
    options
        What its tables take.
    elsewhere
        What comes near to it in other systems, and what to write here.
    """

    def __init__(
        self,
        name: str,
        doc: str,
        options: tuple[Option, ...],
        elsewhere: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.info = ConnectorInfo(
            name=name,
            doc=doc,
            directions=frozenset({Direction.SOURCE, Direction.SINK}),
            options=options,
            framings=frozenset({Framing.MESSAGES}),
            elsewhere=elsewhere,
            metadata=METADATA,
            has_event_time=True,
            real_time=True,
            python_packages=("confluent-kafka",),
            jar_sets=(SPARK_JARS,),
            begins_at=OFFSET,
            begins_at_else="latest",
            start_offsets=OFFSETS,
            reading="readStream.kafka, then mapInArrow: records decoded in Python "
            "workers",
        )

    def columns(self, options: Mapping[str, OptionValue]) -> Schema | None:  # noqa: ARG002
        """None: a topic does not say its columns."""
        return None

    def check(
        self, spec: TableSpec, direction: Direction
    ) -> Iterable[tuple[str, ArroyoError]]:
        """What is wrong with the options."""
        return table_problems(spec, direction)

    def login(self, options: Mapping[str, OptionValue]) -> Login | None:  # noqa: ARG002
        """How a client says who it is, the variables resolved; None: it does not."""
        return None

    def paths(self, spec: TableSpec) -> Iterable[tuple[str, Path]]:
        """The certificates and keys that the clients read."""
        for name, value in self.access(spec).configs.items():
            if name.endswith(".location"):
                yield "client_configs", Path(value)

    def stream(self, spec: TableSpec) -> KafkaStream:
        """How a topic is read.

        Raises
        ------
        RunProblem
            When the client is not installed, or refuses its settings.
        """
        access = self.access(spec)
        return KafkaStream(spec, access, cluster_of(spec, access, "read"))

    def topic_of(self, description: str) -> str | None:
        """The topic that one of Spark's sources reads."""
        return topic_of(description)

    def offsets_of(self, logged: Mapping[str, Any]) -> Mapping[str, Offsets]:
        """How far Spark has read each topic: its offset has them by partition."""
        if not all(isinstance(offsets, Mapping) for offsets in logged.values()):
            return {}
        return {
            topic: {int(number): at for number, at in offsets.items()}
            for topic, offsets in logged.items()
        }

    def reach(self, spec: TableSpec, look: Callable[[], None]) -> None:
        """Find out whether a topic can be written.

        Raises
        ------
        RunProblem
            When it is not there, the brokers do not answer, or refuse; or when the
            client refuses its settings.
        """
        from arroyo_nb.kafka.sink import check_client

        access = self.access(spec)
        cluster_of(spec, access, "write to").require_topic(look)
        check_client(spec, access)

    def access(self, spec: TableSpec) -> Access:
        """How the clients of a table reach its brokers; its variables are resolved.

        Raises
        ------
        RunProblem
            When a variable of its client configs is not set.
        """
        declared = spec.options if spec.declared is None else spec.declared
        # Pairs first, then their variables: a password may have a comma.
        pairs = parse_configs(
            str(declared.get("client_configs", "")), writes=COMMIT_MODE in declared
        )
        configs = {name: substituted(value) for name, value in pairs.items()}
        return table_access(spec.options, self.login(spec.options), configs)

    def recorder(self, spec: TableSpec) -> Recorder:
        """Refused: Spark reads a topic itself, so nothing records it."""
        raise RunProblem(f"'{spec.name}' is a topic: Spark reads it itself")

    def writer(self, spec: TableSpec, state: Path) -> Writer:
        """Writes records, as often as ``sink.commit_mode`` says.

        Raises
        ------
        RunProblem
            As of :meth:`reach`; and when the topic is not the one that was written
            before.
        """
        from arroyo_nb.kafka.sink import topic_writer

        access = self.access(spec)
        cluster = cluster_of(spec, access, "write to", ask_s=PATIENT_S)
        return topic_writer(spec, access, cluster.describe_topic(), state)
