"""``parquet``: files of columns (arroyo-semantics c.1, c.6)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from arroyo_nb.formats import (
    FileReader,
    FormatBase,
    Framing,
    ListedFile,
    PartFormat,
)
from arroyo_nb.formats.parquet.parts import COMPRESSION, ROW_GROUP_SIZE
from arroyo_nb.schema import Schema
from arroyo_nb.with_options import Option, OptionKind, OptionValue

MISSING_COLUMNS = "parquet.missing_columns"


class ParquetFormat(FormatBase):
    """The format ``parquet``: files of Apache Parquet."""

    name = "parquet"
    title = "Parquet"
    doc = "files of columns"
    framings = frozenset({Framing.FILES, Framing.LAKE_FILES})
    options = (
        Option(
            COMPRESSION,
            OptionKind.ENUM,
            "how a sink packs columns; both kinds of lz4 are lz4_raw",
            default="zstd",
            choices=("uncompressed", "snappy", "gzip", "zstd", "lz4", "lz4_raw"),
        ),
        Option(
            ROW_GROUP_SIZE,
            OptionKind.SIZE,
            "how much of a table, before it is packed, a sink puts into a row group",
            default=128 * 2**20,
        ),
    )

    file_options = (
        Option(
            MISSING_COLUMNS,
            OptionKind.ENUM,
            "a column that may be NULL and is missing in a file: 'fail' ends the run, "
            "'null' reads NULL, as from files that are older than the column",
            default="fail",
            choices=("fail", "null"),
            only="source",
            in_arroyo=False,
        ),
    )
    magic = b"PAR1"
    lacking_options = MappingProxyType({MISSING_COLUMNS: "null"})

    def file_reader(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
        elsewhere: frozenset[str] = frozenset(),
    ) -> FileReader:
        """A reader of row groups."""
        from arroyo_nb.formats.parquet.columns import ColumnDecoder
        from arroyo_nb.formats.parquet.files import ParquetReader

        decoder = ColumnDecoder(
            schema,
            event_time,
            drop=options.get("bad_data") == "drop",
            may_lack=options.get(MISSING_COLUMNS) == "null",
            elsewhere=elsewhere,
        )
        return ParquetReader(decoder)

    def schema_of(self, file: ListedFile) -> Schema:
        """The columns of a file."""
        from arroyo_nb.formats.parquet.files import columns_of

        return columns_of(file)

    def parts(self, schema: Schema, options: Mapping[str, OptionValue]) -> PartFormat:
        """A writer of row groups."""
        from arroyo_nb.formats.parquet.parts import ParquetParts

        return ParquetParts(schema, options)


FORMAT = ParquetFormat()
