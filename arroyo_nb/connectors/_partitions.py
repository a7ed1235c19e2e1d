"""In which folder a row of a sink lies."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from arroyo_nb.errors import RunProblem
from arroyo_nb.functions.chrono_formats import java_pattern
from arroyo_nb.schema import TIMESTAMP, quoted, quoted_text
from arroyo_nb.with_options import OptionValue

TIME_PATTERN, FIELDS = "partitioning.time_pattern", "partitioning.fields"

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What Hive, and so Spark, calls the folder of a NULL and of an empty text."""
_LONGEST_BYTES = 255
"""Of a name in a folder, on every common file system."""
_SHOWN_CHARS = 40
# What Hive writes as % and two digits.
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")


@dataclass(frozen=True)
class Partitioning:
    """Folders by time, by the values of columns, or both: the time comes first.

    Parameters
    ----------
    time_pattern
        strftime pattern of the event time; a slash in it begins another folder.
    fields
        Columns; each makes a folder ``name=value``.
    """

    time_pattern: str | None = None
    fields: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, OptionValue]) -> Partitioning:
        """What the options of a table ask for."""
        pattern, fields = options.get(TIME_PATTERN), options.get(FIELDS, ())
        assert isinstance(fields, tuple)
        return cls(None if pattern is None else str(pattern), fields)

    @property
    def timed(self) -> bool:
        """Whether a row's event time is needed."""
        return self.time_pattern is not None or TIMESTAMP in self.fields

    def sql(self) -> str:
        """A row's key, as Spark SQL; rows of one folder have one key.

        Raises
        ------
        Unsupported
            When the time pattern has a specifier that Spark has not.
        """
        parts = [f"CAST({quoted(field)} AS STRING)" for field in self.fields]
        if self.time_pattern is not None:
            java = quoted_text(java_pattern(self.time_pattern))
            parts.insert(0, f"date_format({quoted(TIMESTAMP)}, {java})")
        return f"to_json(array({', '.join(parts)}))" if parts else "'[]'"

    def folder(self, key: str) -> str:
        """The folder of a key, relative to the table's.

        >>> Partitioning("%Y/%m", ("town", "n")).folder('["2023/01", "a/b", null]')
        '2023/01/town=a%2Fb/n=__HIVE_DEFAULT_PARTITION__'

        Raises
        ------
        RunProblem
            When a value is too long for the name of a folder.
        """
        values = json.loads(key)
        folders = [] if self.time_pattern is None else [values.pop(0)]
        for field, value in zip(self.fields, values, strict=True):
            folder = f"{_escaped(field)}={_escaped(value or NOTHING)}"
            if (size := len(folder.encode())) > _LONGEST_BYTES:
                raise RunProblem(
                    f"a value of '{field}' makes a folder's name of {size} bytes, and "
                    f"there are at most {_LONGEST_BYTES}: '{value[:_SHOWN_CHARS]}...'",
                    hint="partition by a shorter column, such as one made by left()",
                )
            folders.append(folder)
        return "/".join(folders)


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)
