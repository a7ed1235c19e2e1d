"""``raw_string``: a record is a text, the table's one column ``value``."""

from arroyo_nb.formats._raw import RawFormat
from arroyo_nb.schema import TEXT

FORMAT = RawFormat("raw_string", "a record is a text, in the column value", TEXT)
