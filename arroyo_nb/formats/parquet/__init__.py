"""``parquet``: files of columns (arroyo-semantics c.1, c.6)."""

from __future__ import annotations

from collections.abc import Mapping

from arroyo_nb.formats.parquet.columns import ColumnDecoder
from arroyo_nb.schema import Schema
from arroyo_nb.with_options import Option, OptionKind, OptionValue

COMPRESSION, ROW_GROUP_SIZE = "parquet.compression", "parquet.row_group_size"


class ParquetFormat:
    """The format."""

    name = "parquet"
    doc = "files of columns"
    updating = False
    by_name = False
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

    def decoder(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
    ) -> ColumnDecoder:
        """A reader of tables."""
        return ColumnDecoder(schema, event_time, drop=options.get("bad_data") == "drop")


FORMAT = ParquetFormat()
