"""``protobuf``: a message of Protocol Buffers a record.

Arroyo reads them too, but its SQL cannot declare such a table (arroyo-semantics c.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.errors import ArroyoError, CatalogProblem, RunProblem
from arroyo_nb.formats import (
    FormatBase,
    Framing,
    PayloadDecoder,
    PayloadWriter,
    Register,
)
from arroyo_nb.formats.protobuf.options import (
    DESCRIPTOR_SET,
    FILE,
    INCLUDE,
    OPTIONS,
    REGISTRY,
    SOURCES,
    TEXT,
    check_sources,
    include_folders,
    source_option,
)
from arroyo_nb.schema import Schema
from arroyo_nb.schema_registry import ENDPOINT, SUBJECT, registry_client
from arroyo_nb.with_options import Option, OptionValue, resolved

if TYPE_CHECKING:
    from pyspark.sql import Column

    from arroyo_nb.codecs.sql_decoder import SqlDecoder


class ProtobufFormat(FormatBase):
    """The format ``protobuf``: a message a record."""

    name = "protobuf"
    doc = "one message of Protocol Buffers a record"
    framings = frozenset({Framing.MESSAGES})
    by_name = True
    counts = frozenset({"unknown"})
    encoded_in_python = True
    python_packages: tuple[str, ...] = ("grpcio-tools",)
    options: tuple[Option, ...] = OPTIONS
    refused_by_arroyo = "Protobuf is not yet supported in CREATE TABLE statements"

    def column_problem(
        self, schema: Schema, options: Mapping[str, OptionValue]
    ) -> tuple[str, str] | None:
        """That a column is no field of the message, or that there is no message."""
        from arroyo_nb.formats.protobuf.source import planned_schema

        try:
            check_sources(options)
            message = planned_schema(options)
            if message is not None:
                from arroyo_nb.formats.protobuf.payloads import column_record

                column_record(message, schema)
        except CatalogProblem as problem:
            hint = f"; {problem.hint}" if problem.hint else ""
            return source_option(options), f"{problem.message}{hint}"
        return None

    def payload_option_problems(
        self, options: Mapping[str, OptionValue]
    ) -> Iterable[tuple[str, ArroyoError]]:
        """That nobody can be asked for the schema."""
        has_own = any(name in options for name in SOURCES)
        if not options.get(REGISTRY) or has_own:
            return
        if ENDPOINT not in options:
            yield (
                REGISTRY,
                CatalogProblem(
                    f"required option '{ENDPOINT}' not set",
                    hint="the schema of a topic of Kafka is read there; a table of "
                    f"another connector needs '{FILE}', '{DESCRIPTOR_SET}' or '{TEXT}'",
                ),
            )
        elif not {"topic", SUBJECT} & options.keys():
            yield (
                REGISTRY,
                CatalogProblem(
                    "the table has no topic by which a schema registry knows the "
                    "schema of its records",
                    hint=f"give it '{FILE}', '{DESCRIPTOR_SET}' or '{TEXT}'",
                ),
            )

    def may_be_empty(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether no number of a schema stands before it: a message without fields has
        no byte."""
        return not self.asks_registry(options)

    def asks_registry(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether the ids of schemas are looked up."""
        return bool(options.get(REGISTRY))

    def registering_option(self, options: Mapping[str, OptionValue]) -> str | None:
        """The option that has a record start with the id of its schema."""
        return REGISTRY if options.get(REGISTRY) else None

    def paths(self, options: Mapping[str, OptionValue]) -> Iterable[tuple[str, Path]]:
        """The files of the schema, and the folders of its imports."""
        yield from self.needed_files(options)
        yield from ((INCLUDE, folder) for folder in include_folders(options))

    def needed_files(
        self, options: Mapping[str, OptionValue]
    ) -> Iterable[tuple[str, Path]]:
        """The files of the schema."""
        for name in (FILE, DESCRIPTOR_SET):
            if name in options:
                yield name, Path(str(options[name]))

    def schema_options(
        self, table: str, options: Mapping[str, OptionValue]
    ) -> Mapping[str, OptionValue]:
        """The compiled schema, and the full name of the message."""
        from arroyo_nb.formats.protobuf.source import schema_options

        return schema_options(table, options)

    def envelope(
        self,
        schema: Schema,  # noqa: ARG002
        options: Mapping[str, OptionValue],
        register: Register,  # noqa: ARG002
    ) -> tuple[bytes, bytes]:
        """The id of the schema and the place of the message, where they are wanted."""
        if not options.get(REGISTRY):
            return b"", b""
        from arroyo_nb.formats.protobuf.confluent import head
        from arroyo_nb.formats.protobuf.registry import written_id
        from arroyo_nb.formats.protobuf.source import read_schema

        message = read_schema("", options)
        return head(written_id(options, message.descriptor.file), message), b""

    def payload_writer(
        self,
        table: str,
        schema: Schema,
        options: Mapping[str, OptionValue],
        *,
        read: bool,  # noqa: ARG002
    ) -> PayloadWriter:
        """Writes messages."""
        from arroyo_nb.formats.protobuf.encode import RowEncoder, RowWriter
        from arroyo_nb.formats.protobuf.source import read_schema

        if options.get(REGISTRY):
            raise RunProblem(
                f"rows cannot be emitted to '{table}': records with '{REGISTRY}' are "
                "only read"
            )
        message = read_schema(table, resolved(options, table))
        return RowWriter(table, RowEncoder(message, schema, table))

    def payload_decoder(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
        primary_key: tuple[str, ...] = (),  # noqa: ARG002
    ) -> PayloadDecoder:
        """A reader of messages."""
        from arroyo_nb.formats.protobuf.compile import has_protoc
        from arroyo_nb.formats.protobuf.confluent import ConfluentPayloads
        from arroyo_nb.formats.protobuf.payloads import MessagePayloads
        from arroyo_nb.formats.protobuf.source import read_schema

        message = read_schema("", options)
        made = MessagePayloads(message, schema, event_time)
        if not options.get(REGISTRY):
            return made
        client = registry_client(options) if has_protoc() else None
        return ConfluentPayloads(made, message, client)

    def sql_decoder(
        self,
        schema: Schema,  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
        event_time: str | None,  # noqa: ARG002
    ) -> SqlDecoder | str:
        """None: no expression of Spark reads messages as this format does."""
        return "they are messages of Protocol Buffers"

    def encoded(self, schema: Schema, options: Mapping[str, OptionValue]) -> Column:
        """One message a row."""
        from arroyo_nb.formats.protobuf.encode import RowEncoder, payload_column
        from arroyo_nb.formats.protobuf.source import TABLE, read_schema

        table = str(options.get(TABLE, ""))
        return payload_column(RowEncoder(read_schema("", options), schema, table))


FORMAT = ProtobufFormat()
