"""``avro``: a datum of Avro a record (arroyo-semantics c.1, c.6).

A record is read by the schema that it was written with: the one whose id it begins
with, the one that is declared, or that of the container which it is. The table's
columns are what the specification calls the reader's schema. A sink writes the record
``ArroyoAvro``. Nothing beyond this package is needed for either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.allowed_roots import current_roots
from arroyo_nb.errors import ArroyoError, CatalogProblem, RunProblem
from arroyo_nb.file_errors import refusals
from arroyo_nb.formats import (
    FRAMING,
    FileReader,
    FormatBase,
    Framing,
    ListedFile,
    PartFormat,
    PayloadDecoder,
    PayloadWriter,
    Register,
)
from arroyo_nb.schema import JSON, Field, Schema
from arroyo_nb.schema_registry import AVRO, ENDPOINT, registered_under, registry_client
from arroyo_nb.with_options import (
    REFERENCE,
    Holds,
    Option,
    OptionKind,
    OptionValue,
    resolved,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

    from arroyo_nb.codecs.sql_decoder import SqlDecoder
    from arroyo_nb.formats.avro.payloads import Columns

REGISTRY, RAW = "avro.confluent_schema_registry", "avro.raw_datums"
UNSTRUCTURED = "avro.into_unstructured_json"
COMPRESSION = "avro.compression"
SCHEMA, SCHEMA_FILE = "avro.schema", "avro.schema_file"

_CODECS = {"null": "uncompressed", "zstandard": "zstd"}
"""What Avro calls a codec, and its name in the dialect where that is another one."""

_REGISTRY_HINT = f"write format = 'avro', '{REGISTRY}' = 'true'"


class AvroFormat(FormatBase):
    """The format ``avro``: records with the id of their schema in front, bare datums,
    or containers."""

    name = "avro"
    title = "Avro"
    doc = "one datum of Avro a record"
    framings = frozenset({Framing.MESSAGES, Framing.FILES})
    not_in_arroyo = frozenset({Framing.FILES})
    by_name = True
    encoded_in_python = True
    elsewhere: Mapping[str, str] = MappingProxyType(
        dict.fromkeys(("avro-confluent", "avro_confluent"), _REGISTRY_HINT)
    )
    options = (
        Option(
            UNSTRUCTURED,
            OptionKind.BOOL,
            "whether a record that is read is one value of JSON: the table has one "
            "column, `value JSON`",
            default=False,
            only="source",
        ),
    )
    file_options = (
        Option(
            COMPRESSION,
            OptionKind.ENUM,
            "how a sink packs the blocks of a file: every reader has deflate",
            default="deflate",
            choices=("uncompressed", "deflate", "snappy", "zstd"),
            only="sink",
            elsewhere=("avro.codec",),
            translated=lambda codec: _CODECS.get(codec, codec),
            in_arroyo=False,
        ),
    )
    magic = b"Obj\x01"
    payload_options = (
        Option(
            REGISTRY,
            OptionKind.BOOL,
            "whether a record starts with the id of its schema in Confluent's "
            "registry; a sink registers the schema of its rows there",
            default=False,
        ),
        Option(
            RAW,
            OptionKind.BOOL,
            "whether a record is a datum and nothing else; else it is a container with "
            "its schema, where no registry has that",
            default=False,
        ),
        Option(
            SCHEMA,
            OptionKind.STRING,
            "the schema that records were written with, as JSON text: of bare datums, "
            "or in place of a registry; not in Arroyo",
            only="source",
            in_identity=False,
            in_arroyo=False,
            example='{"type": "record", ...}',
        ),
        Option(
            SCHEMA_FILE,
            OptionKind.STRING,
            "a file with that schema, such as 'order.avsc'; not in Arroyo",
            only="source",
            in_identity=False,
            in_arroyo=False,
            holds=Holds.PATH,
            example="order.avsc",
        ),
    )

    def columns(self, options: Mapping[str, OptionValue]) -> Schema | None:
        """The fields of the declared schema; of a whole record, its value."""
        if options.get(UNSTRUCTURED):
            return Schema((Field("value", JSON),))
        text = str(options.get(SCHEMA, ""))
        if not text or REFERENCE.search(text):
            return None
        from arroyo_nb.formats.avro.inferred import columns_of

        return columns_of(text)

    def column_problem(
        self, schema: Schema, options: Mapping[str, OptionValue]
    ) -> tuple[str, str] | None:
        """That a record that is one value has other columns, or that the declared
        schema never has them."""
        if options.get(UNSTRUCTURED):
            if [(field.name, field.type) for field in schema] == [("value", JSON)]:
                return None
            return UNSTRUCTURED, (
                f"{UNSTRUCTURED} requires a schema with a single field called `value` "
                f"of type {JSON}"
            )
        text = str(options.get(SCHEMA, ""))
        if not text or REFERENCE.search(text):
            return None
        from arroyo_nb.formats.avro.declared import misfit_of

        problem = misfit_of(text, schema)
        return None if problem is None else (SCHEMA, problem)

    def payload_option_problems(
        self, options: Mapping[str, OptionValue]
    ) -> Iterable[tuple[str, ArroyoError]]:
        """That options exclude each other."""
        if options.get(FRAMING.name):
            yield (
                FRAMING.name,
                CatalogProblem(
                    "records of Avro are not lines: they take no framing",
                    hint="remove it",
                ),
            )
        for one, other in ((REGISTRY, RAW), (SCHEMA, SCHEMA_FILE)):
            if options.get(one) and options.get(other):
                yield (
                    other,
                    CatalogProblem(f"at most one of `{one}` and `{other}` may be set"),
                )

    def reading_problems(
        self, options: Mapping[str, OptionValue]
    ) -> Iterable[tuple[str, ArroyoError]]:
        """That nothing says how the records were written, or what is never asked."""
        declared = next((o for o in (SCHEMA, SCHEMA_FILE) if o in options), None)
        if declared is None and options.get(RAW):
            yield (
                RAW,
                CatalogProblem(
                    f"required option '{SCHEMA}' not set",
                    hint="a datum does not say how it was written: give the schema as "
                    f"'{SCHEMA}', or its file as '{SCHEMA_FILE}'",
                ),
            )
        if declared is None and options.get(REGISTRY) and ENDPOINT not in options:
            yield (
                REGISTRY,
                CatalogProblem(
                    f"required option '{ENDPOINT}' not set",
                    hint="the schemas of a topic of Kafka, or of a recording of one, "
                    "are read there; a table of another connector asks no registry: "
                    f"give it '{SCHEMA}' or '{SCHEMA_FILE}'",
                ),
            )
        if declared is not None and not options.get(RAW) and not options.get(REGISTRY):
            yield (
                declared,
                CatalogProblem(
                    f"'{declared}' is only of use with '{RAW}' or '{REGISTRY}'",
                    hint="a container has its schema in it: remove the option, or say "
                    f"'{RAW}' = 'true' for bare datums",
                ),
            )

    def paths(self, options: Mapping[str, OptionValue]) -> Iterable[tuple[str, Path]]:
        """The file of the schema."""
        if SCHEMA_FILE in options:
            yield SCHEMA_FILE, Path(str(options[SCHEMA_FILE]))

    def schema_options(
        self,
        table: str,  # noqa: ARG002
        options: Mapping[str, OptionValue],
    ) -> Mapping[str, OptionValue]:
        """The text of a file with a schema."""
        if SCHEMA_FILE not in options:
            return {}
        name = str(options[SCHEMA_FILE])
        with refusals("read", name):
            current_roots().check(Path(name), name)
            text = Path(name).read_text("utf-8")
        return {SCHEMA: text}

    def may_be_empty(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> bool:
        """No: each column of a record has a byte."""
        return False

    def asks_registry(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether a reader looks the schemas of records up."""
        return bool(options.get(REGISTRY)) and SCHEMA not in options

    def registering_option(self, options: Mapping[str, OptionValue]) -> str | None:
        """The option that has a record start with the id of its schema."""
        return REGISTRY if options.get(REGISTRY) else None

    def envelope(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        register: Register,
    ) -> tuple[bytes, bytes]:
        """The id of the schema; of a container its header, and its end."""
        from arroyo_nb.formats.avro.encode import SYNC, container_head, record_schema
        from arroyo_nb.schema_registry.prefix import prefix

        if options.get(REGISTRY):
            return prefix(register(AVRO, record_schema(schema))), b""
        if options.get(RAW):
            return b"", b""
        return container_head(schema) + SYNC, SYNC

    def payload_writer(
        self,
        table: str,
        schema: Schema,
        options: Mapping[str, OptionValue],
        *,
        read: bool,  # noqa: ARG002
    ) -> PayloadWriter:
        """Writes datums, by the schema that a sink of these columns has.

        Raises
        ------
        RunProblem
            When the table declares another one, or the registry does not take it.
        """
        from arroyo_nb.formats.avro.declared import is_written_by
        from arroyo_nb.formats.avro.encode import RowEncoder
        from arroyo_nb.formats.avro.payload_writer import DeclaredDatums

        options = resolved(options, table)
        options |= self.schema_options(table, options)
        if options.get(UNSTRUCTURED):
            raise RunProblem(
                f"rows cannot be emitted to '{table}': records with '{UNSTRUCTURED}' "
                "are only read",
                hint="name a table of type = 'sink' over the same topic",
            )
        if SCHEMA in options and not is_written_by(str(options[SCHEMA]), schema):
            raise RunProblem(
                f"rows cannot be emitted to '{table}': its columns are not those of "
                f"'{SCHEMA}'",
                hint="declare the fields of the schema in their order, with NOT NULL "
                "where they are no unions with null",
            )

        def register(schema_type: str, text: str) -> int:
            client = registry_client(options, f"the schema registry of '{table}'")
            if client is None:
                raise RunProblem(
                    f"rows cannot be emitted to '{table}': it names no "
                    f"'{ENDPOINT}', where their schema is registered"
                )
            return client.register(registered_under(options), schema_type, text)

        head, tail = self.envelope(schema, options, register)
        encoder = RowEncoder(schema, embedded=_embeds(options))
        return DeclaredDatums(table, encoder, head, tail)

    def payload_decoder(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
        primary_key: tuple[str, ...] = (),  # noqa: ARG002
    ) -> PayloadDecoder:
        """A reader of datums or containers.

        Raises
        ------
        RunProblem
            When the declared schema is none.
        """
        from arroyo_nb.formats.avro.payloads import (
            Columns,
            ContainerPayloads,
            RegisteredPayloads,
        )

        columns = Columns(schema, event_time, bool(options.get(UNSTRUCTURED)))
        if SCHEMA in options:
            return _of_declared(columns, options)
        if not options.get(REGISTRY):
            return ContainerPayloads(columns)
        client = registry_client(options)
        assert client is not None, "a source without one is refused"
        return RegisteredPayloads(client, columns)

    def file_reader(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
        elsewhere: frozenset[str] = frozenset(),  # noqa: ARG002
    ) -> FileReader:
        """A reader of container files; any column that may be NULL may be missing."""
        from arroyo_nb.formats.avro.files import AvroReader
        from arroyo_nb.formats.avro.payloads import Columns

        columns = Columns(schema, event_time, bool(options.get(UNSTRUCTURED)))
        return AvroReader(columns, drop=options.get("bad_data") == "drop")

    def schema_of(self, file: ListedFile) -> Schema:
        """The columns of a file."""
        from arroyo_nb.formats.avro.files import columns_of_file

        return columns_of_file(file)

    def parts(self, schema: Schema, options: Mapping[str, OptionValue]) -> PartFormat:
        """A writer of container files."""
        from arroyo_nb.formats.avro.parts import AvroParts

        return AvroParts(schema, options)

    def sql_decoder(
        self,
        schema: Schema,  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
        event_time: str | None,  # noqa: ARG002
    ) -> SqlDecoder | str:
        """None: Spark's own reader of Avro is a jar that is not there."""
        return "they are Avro"

    def encoded(self, schema: Schema, options: Mapping[str, OptionValue]) -> Column:
        """The datum of each row; in a container, its one block."""
        from arroyo_nb.formats.avro.encode import encoded_column

        return encoded_column(schema, embedded=_embeds(options))


def _embeds(options: Mapping[str, OptionValue]) -> bool:
    """Whether a record is a container."""
    return not options.get(REGISTRY) and not options.get(RAW)


def _of_declared(
    columns: Columns, options: Mapping[str, OptionValue]
) -> PayloadDecoder:
    from arroyo_nb.formats.avro.payloads import BarePayloads
    from arroyo_nb.formats.avro.schema import SchemaFault, parse_schema
    from arroyo_nb.schema_registry.prefix import PREFIX_BYTES

    try:
        schema = parse_schema(str(options[SCHEMA]))
    except SchemaFault as fault:
        raise RunProblem(f"the text of '{SCHEMA}' is no Avro schema: {fault}") from None
    return BarePayloads(schema, columns, PREFIX_BYTES if options.get(REGISTRY) else 0)


FORMAT = AvroFormat()
