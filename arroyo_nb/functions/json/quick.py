"""Values of JSON by Spark's ``get_json_object``, where that is what the document has.

It is several times faster than looking at tokens, but writes a value anew and without
its type. What it gives is taken where the document's text proves it: a search for what
follows the last name of the path tells a text from a number, and a name that stands in
the document once is found with what is written behind it. Wherever there is a doubt,
the exact way is taken: it is the last part of each of these texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from arroyo_nb.functions.json.find import CONTROL, STRING, parsed
from arroyo_nb.functions.let_binding import let
from arroyo_nb.schema import quoted_text

# Names that have one form in JSON but for \u, and mean themselves in Spark's path.
_NAME = re.compile(r"[A-Za-z0-9_@. -]+\Z")

# A name that is written with \u.
_ESCAPED_NAME = r'\\u[^"]*+"\s*+:'
# What Spark takes for a quote, where a name or a value begins.
_SINGLE_QUOTE = r"[\[{,:\s]'"
# How what may be a number, a list, an object, true or false begins; any other text that
# Spark gives is one to JSON too.
_AMBIGUOUS = r'^(?:-?[0-9]|[\[{]|true$|false$|"-?Infinity"$)'


@dataclass(frozen=True)
class Path:
    """A path of names and indices that are literals, in a document.

    Parameters
    ----------
    document
        Its SQL.
    steps
        The way to the value; the last one is a name.
    """

    document: str
    steps: tuple[str | int, ...]

    @property
    def found(self) -> str:
        """What Spark finds, in the body of :meth:`once_found`."""
        return "__g"

    def once_found(self, body: str) -> str:
        """SQL over what Spark finds, which it looks for once."""
        written = (f"[{s}]" if isinstance(s, int) else f"['{s}']" for s in self.steps)
        return let("__g", parsed(self.document, f"${''.join(written)}"), body)

    @property
    def _last(self) -> str:
        return f'"{self.steps[-1]}"'

    def followed_by(self, pattern: str) -> str:
        """Whether the last name stands anywhere with such a value."""
        pattern = rf"{re.escape(self._last)}\s*+:\s*+{pattern}"
        return f"({self.document} RLIKE {quoted_text(pattern)})"

    def once(self, name: str) -> str:
        """Whether a name stands in the text no more than once."""
        return f"(substring_index({self.document}, '\"{name}\"', 2) = {self.document})"

    @property
    def doubtful(self) -> str:
        """Whether Spark may have found another value, or one where there is none."""
        v = self.document
        # Of two members of a name it takes the first that leads to a value.
        others = {s for s in self.steps[:-1] if isinstance(s, str)}
        parts = [
            f"(contains({v}, '\\\\u') AND {v} RLIKE {quoted_text(_ESCAPED_NAME)})",
            f"(contains({v}, '\\'') AND {v} RLIKE {quoted_text(_SINGLE_QUOTE)})",
            f"{v} RLIKE {CONTROL}",
            f"(contains({v}, 'null') AND {self.followed_by('null')})",
            # It reads a document to the end, which may be broken behind the value.
            f"({self.found} IS NULL AND contains({v}, {quoted_text(self._last)}))",
            *(f"NOT {self.once(name)}" for name in sorted(others)),
        ]
        return f"({' OR '.join(parts)})"

    @property
    def written(self) -> str:
        """What is written behind the only one of the last name: a text, a number, true
        or false; empty: a list or an object."""
        scalar = rf'({STRING}|[^\s"\[\]{{}},]++)'
        pattern = rf"{re.escape(self._last)}\s*+:\s*+{scalar}"
        return f"regexp_extract({self.document}, {quoted_text(pattern)}, 1)"

    @property
    def is_as_found(self) -> str:
        """Whether the list or object behind the last name is written as Spark does."""
        starts = (quoted_text(f"{self._last}:{blank}") for blank in ("", " "))
        tests = (
            f"contains({self.document}, concat({start}, {self.found}))"
            for start in starts
        )
        return f"({' OR '.join(tests)})"


Quick: TypeAlias = Callable[[Path, str], str]
"""Makes SQL of a path and of the exact way to its value."""


def path(document: str, steps: Sequence[str | int | None]) -> Path | None:
    """The path, where Spark's function may take it.

    Parameters
    ----------
    document
        The SQL of a document.
    steps
        The names and indices; None for what is no literal.
    """
    known = tuple(step for step in steps if step is not None)
    if len(known) < len(steps) or not known or not isinstance(known[-1], str):
        return None
    fit = (s >= 0 if isinstance(s, int) else _NAME.match(s) for s in known)
    return Path(document, known) if all(fit) else None


def string(at: Path, exact: str) -> str:
    """A text."""
    other = at.followed_by(r'[^"\s]')
    ambiguous = f"{at.found} RLIKE {quoted_text(_AMBIGUOUS)} AND {other}"
    return f"IF({at.doubtful} OR {ambiguous}, {exact}, {at.found})"


def whole(at: Path, exact: str) -> str:
    """A whole number."""
    value = f"TRY_CAST({at.found} AS BIGINT)"
    return _unquoted(at, exact, f"{at.found} RLIKE '^-?[0-9]+$'", value)


def real(at: Path, exact: str) -> str:
    """A number."""
    value = f"TRY_CAST({at.found} AS DOUBLE)"
    # What Spark has for a number that is too large for it.
    huge = f"{at.found} IN ('\"Infinity\"', '\"-Infinity\"')"
    return _unquoted(at, exact, f"{at.found} RLIKE '^-?[0-9]'", value, or_if=huge)


def boolean(at: Path, exact: str) -> str:
    """True or false."""
    value = f"({at.found} = 'true')"
    return _unquoted(at, exact, f"{at.found} IN ('true', 'false')", value)


def _unquoted(
    at: Path, exact: str, test: str, value: str, *, or_if: str = "FALSE"
) -> str:
    """A value that a text may look like."""
    in_text = at.followed_by('"')
    quick = f"IF({test}, {value}, NULL)"
    return f"IF({at.doubtful} OR {or_if} OR {test} AND {in_text}, {exact}, {quick})"


def text(at: Path, exact: str) -> str:
    """A value as text: a number with the digits that are written."""
    # So it is written, be it a value or a text of one.
    plain = f"{at.found} RLIKE '^(?:-?[1-9][0-9]*|true|false)$'"
    number = f"regexp_extract({at.written}, '^-?[0-9].*', 0)"
    is_known = (
        f"{at.once(str(at.steps[-1]))} AND "
        f"({at.found} RLIKE '^[-0-9]' OR {at.is_as_found})"
    )
    ambiguous = f"{at.found} RLIKE {quoted_text(_AMBIGUOUS)} AND NOT {plain}"
    quick = (
        f"IF(NOT {plain} AND {at.found} RLIKE '^-?[0-9]', "
        f"coalesce(nullif({number}, ''), {at.found}), {at.found})"
    )
    return f"IF({at.doubtful} OR {ambiguous} AND NOT ({is_known}), {exact}, {quick})"


def raw(at: Path, exact: str) -> str:
    """The JSON text of a value that is not null."""
    last = str(at.steps[-1])
    unknown = f"{at.found} IS NOT NULL AND {at.written} = '' AND NOT {at.is_as_found}"
    quick = f"coalesce(nullif({at.written}, ''), {at.found})"
    return (
        f"IF({at.doubtful} OR NOT {at.once(last)} OR {unknown}, {exact}, "
        f"IF({at.found} IS NULL, NULL, {quick}))"
    )


def exists(at: Path, exact: str) -> str:
    """Whether there is a value, null being one; ``exact`` says whether."""
    v, name = at.document, quoted_text(f'"{at.steps[-1]}"')
    # Without a backslash a name can be written in one way.
    missing = f"NOT contains({v}, {name}) AND NOT contains({v}, '\\\\')"
    return (
        f"CASE WHEN {v} IS NULL OR {missing} THEN FALSE "
        f"WHEN {at.found} IS NOT NULL AND NOT {at.doubtful} THEN TRUE ELSE {exact} END"
    )
