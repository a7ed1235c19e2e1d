"""``raw_bytes``: a record is bytes, the table's one column ``value``."""

from arroyo_nb.formats._raw import RawFormat
from arroyo_nb.schema import BYTEA

FORMAT = RawFormat("raw_bytes", "a record is bytes, in the column value", BYTEA)
