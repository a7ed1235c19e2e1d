"""The options of Kafka's tables, and how they depend on each other.

What is read by this program's own words beyond Arroyo's: ``source.start_timestamp`` and
``source.start_offsets``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from arroyo_nb.connectors import Direction, TableSpec
from arroyo_nb.errors import ArroyoError, CatalogProblem, Unsupported
from arroyo_nb.formats import payload_format
from arroyo_nb.kafka.config import parse_configs
from arroyo_nb.kafka.source import (
    OFFSET,
    OFFSETS,
    TIMESTAMP,
    offsets_of_pairs,
    start_offsets,
    start_timestamp_ms,
    timestamp_of_millis,
)
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import Timestamp
from arroyo_nb.schema_registry import API_KEY, API_SECRET, ENDPOINT, SUBJECT
from arroyo_nb.with_options import REFERENCE, Holds, Option, OptionKind, OptionValue

COMMIT_MODE, KEY_FIELD, TIMESTAMP_FIELD = (
    "sink.commit_mode",
    "sink.key_field",
    "sink.timestamp_field",
)

SERVERS = Option(
    "bootstrap_servers",
    OptionKind.STRING,
    "host:port of brokers, with commas between",
    required=True,
    example="localhost:9092",
    holds=Holds.ADDRESS,
    elsewhere=(
        "properties.bootstrap.servers",
        "kafka.bootstrap.servers",
        "bootstrap.servers",
        "bootstrap.server",
        "brokers",
    ),
)

# Who asks, and how, changes no record: a run may resume with another login.
SCHEMA_REGISTRY = (
    Option(
        ENDPOINT,
        OptionKind.STRING,
        "URL of the schema registry, of whose schemas the records are",
        in_identity=False,
        elsewhere=("avro-confluent.url", "schema.registry.url"),
    ),
    Option(
        API_KEY,
        OptionKind.STRING,
        "who asks the schema registry",
        in_identity=False,
    ),
    Option(
        API_SECRET,
        OptionKind.STRING,
        "the password, best as '{{ VARIABLE }}'",
        holds=Holds.SECRET,
        in_identity=False,
    ),
)

TABLE = (
    Option(
        "topic",
        OptionKind.STRING,
        "the topic that is read or written",
        required=True,
        example="events",
        holds=Holds.OBJECT,
        elsewhere=("kafka_topic", "KAFKA_TOPIC", "subscribe", "topics"),
    ),
    Option(
        OFFSET,
        OptionKind.ENUM,
        "where a new run begins: at the end, which is the default, at the beginning, "
        "or where source.group_id stands",
        choices=("latest", "earliest", "group"),
        only="source",
        elsewhere=(
            "scan.startup.mode",
            "auto.offset.reset",
            "properties.auto.offset.reset",
            "startingOffsets",
            "startingoffsets",
        ),
    ),
    Option(
        TIMESTAMP,
        OptionKind.STRING,
        "where a new run begins: at the first records that are no older, such as "
        "'2024-02-08T12:00:00Z'; not in Arroyo",
        only="source",
        elsewhere=(
            "scan.startup.mode=timestamp",
            "scan.startup.timestamp-millis",
            "scan.startup.timestamp.millis",
            "scan.startup.timestamp_millis",
            "startingTimestamp",
            "startingtimestamp",
        ),
        translated=timestamp_of_millis,
        in_arroyo=False,
        example="2024-02-08T12:00:00Z",
    ),
    Option(
        OFFSETS,
        OptionKind.STRING,
        "where a new run begins in some partitions, such as '0:1200, 1:900'; in the "
        "others it is as source.offset says; not in Arroyo",
        only="source",
        elsewhere=(
            "scan.startup.mode=specific-offsets",
            "scan.startup.specific-offsets",
        ),
        translated=offsets_of_pairs,
        in_arroyo=False,
        example="0:1200, 1:900",
    ),
    Option(
        "source.read_mode",
        OptionKind.ENUM,
        "whether records of open and aborted transactions are read",
        default="read_uncommitted",
        choices=("read_uncommitted", "read_committed"),
        only="source",
    ),
    Option(
        "source.group_id",
        OptionKind.STRING,
        "the group that the client names; a run keeps its offsets itself",
        only="source",
        elsewhere=("properties.group.id", "group.id", "group_id"),
    ),
    Option(
        "source.group_id_prefix",
        OptionKind.STRING,
        "prefix of the generated group name",
        only="source",
    ),
    Option(
        COMMIT_MODE,
        OptionKind.ENUM,
        "whether records are written in transactions",
        default="at_least_once",
        choices=("at_least_once", "exactly_once"),
        only="sink",
        elsewhere=("sink.delivery-guarantee", "sink.semantic"),
    ),
    Option(
        TIMESTAMP_FIELD,
        OptionKind.FIELD,
        "TIMESTAMP column that is the time of a record",
        only="sink",
    ),
    Option(
        KEY_FIELD,
        OptionKind.FIELD,
        "TEXT column that is the key of a record; one of another type is none",
        only="sink",
        elsewhere=("key.fields", "KEY"),
    ),
    Option(
        "client_configs",
        OptionKind.STRING,
        "further settings of the client by librdkafka's names: 'k=v,k2=v2'",
    ),
    Option(
        SUBJECT,
        OptionKind.STRING,
        "what the schema registry calls the schema of a record, to write it",
    ),
)


def table_problems(
    spec: TableSpec, direction: Direction
) -> Iterator[tuple[str, ArroyoError]]:
    """What is wrong with the options of any table of Kafka's, each with its option."""
    options = spec.options
    yield from format_problems(spec)
    if direction is Direction.SINK:
        yield from _unreadable(options, _SINK_READERS)
        yield from _transaction_problems(options)
        yield from _sink_problems(spec)
        return
    yield from _unreadable(options, _READERS)
    if TIMESTAMP in options and (OFFSET in options or OFFSETS in options):
        other = OFFSET if OFFSET in options else OFFSETS
        yield (
            TIMESTAMP,
            CatalogProblem(f"at most one of '{TIMESTAMP}' and '{other}' may be set"),
        )
    if options.get(OFFSET) == "group" and "source.group_id" not in options:
        yield (
            OFFSET,
            CatalogProblem(
                f"{OFFSET} = 'group' needs 'source.group_id'",
                hint="write 'source.group_id' = '...': a run begins at the offsets "
                "that this group has committed",
            ),
        )
    if "source.group_id" in options and "source.group_id_prefix" in options:
        yield (
            "source.group_id_prefix",
            CatalogProblem(
                "at most one of 'source.group_id' and 'source.group_id_prefix' may be "
                "set"
            ),
        )


_READERS: Mapping[str, Callable[[str], object]] = {
    TIMESTAMP: start_timestamp_ms,
    OFFSETS: start_offsets,
    "client_configs": parse_configs,
}


_SINK_READERS: Mapping[str, Callable[[str], object]] = {
    "client_configs": partial(parse_configs, writes=True),
}


def _unreadable(
    options: Mapping[str, OptionValue], readers: Mapping[str, Callable[[str], object]]
) -> Iterator[tuple[str, ArroyoError]]:
    for name, read in readers.items():
        text = str(options.get(name, ""))
        # A variable is read when the run starts, but for the names beside it.
        if not text or (name != "client_configs" and REFERENCE.search(text)):
            continue
        try:
            read(text)
        except CatalogProblem as problem:
            yield name, problem


_ALL, _TRUE, _FIVE, _SOME = r"all|-1", r"(?i:true|t|1)", "[1-5]", r"0*[1-9]\d*"
_IN_TRANSACTIONS: Mapping[str, str] = {
    "acks": _ALL,
    "enable.idempotence": _TRUE,
    "max.in.flight": _FIVE,
    "max.in.flight.requests.per.connection": _FIVE,
    "message.send.max.retries": _SOME,
    "request.required.acks": _ALL,
    "retries": _SOME,
}
"""What a client that writes in transactions takes, of settings that it does not all
take."""


def _transaction_problems(
    options: Mapping[str, OptionValue],
) -> Iterator[tuple[str, ArroyoError]]:
    """Settings of the client that would give up what transactions rest on."""
    if options.get(COMMIT_MODE) != "exactly_once":
        return
    try:
        configs = parse_configs(str(options.get("client_configs", "")), writes=True)
    except CatalogProblem:  # reported where the option itself is checked
        return
    for name, value in configs.items():
        allowed = _IN_TRANSACTIONS.get(name)
        if allowed and not REFERENCE.search(value) and not re.fullmatch(allowed, value):
            yield (
                "client_configs",
                CatalogProblem(
                    f"with '{COMMIT_MODE}' = 'exactly_once' the client config '{name}' "
                    f"cannot be '{value}'",
                    hint=f"remove '{name}': a transaction needs a client that retries, "
                    "keeps the order and waits for all replicas",
                ),
            )


def format_problems(spec: TableSpec) -> Iterable[tuple[str, ArroyoError]]:
    """What is wrong with the options of the format of a table's records."""
    format_ = payload_format(str(spec.options["format"]))
    return format_.payload_option_problems(spec.options)


def _sink_problems(spec: TableSpec) -> Iterator[tuple[str, ArroyoError]]:
    format_ = payload_format(str(spec.options["format"]))
    registering = format_.registering_option(spec.options)
    if registering is not None and ENDPOINT not in spec.options:
        yield (
            registering,
            CatalogProblem(
                f"required option '{ENDPOINT}' not set",
                hint="a sink registers the schema of its records there",
            ),
        )
    for column, key in spec.metadata.items():
        yield (
            "type",
            Unsupported(
                f"'{column}' is METADATA FROM '{key}', which only a record that is "
                "read has",
                hint=f"a sink has '{KEY_FIELD}' and '{TIMESTAMP_FIELD}'",
            ),
        )
    types = {field.name: field.type for field in spec.physical}
    for option, condition in (
        (KEY_FIELD, ""),
        (TIMESTAMP_FIELD, " or not a timestamp"),
    ):
        name = str(spec.options.get(option, ""))
        if not name or not types:
            continue
        fits = not condition or isinstance(types.get(name), Timestamp)
        if name not in types or not fits:
            yield (
                option,
                CatalogProblem(
                    f"field {name} not found{condition}",
                    hint=None if name in types else did_you_mean(name, types),
                ),
            )
