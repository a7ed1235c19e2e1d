"""Completion in ``%%arroyo`` cells and ``%arroyo`` lines.

An IPython matcher (API version 2): it speaks only there, and then alone. What fits
depends on the place: an option of the first line, a WITH option or its value, a table
after FROM, a column after a dot, else columns, functions and keywords. It reads the
catalog of the session; the cell is scanned, not parsed, as it is not finished.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, TypeAlias

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
)

from arroyo_nb import magic_options as flags
from arroyo_nb.catalog import Catalog, Relation
from arroyo_nb.cell_magics import Content
from arroyo_nb.editor.answers import EditorContext
from arroyo_nb.editor.cell_text import CellText, read_short_cell
from arroyo_nb.editor.completion_of_tests import around_query
from arroyo_nb.editor.explanations import shortened
from arroyo_nb.editor.given_tables import with_given
from arroyo_nb.editor.snippets import HEAD, table_snippets
from arroyo_nb.editor.sql_parts import sql_span
from arroyo_nb.jobs.targets import TARGETS
from arroyo_nb.plan.show_statements import kind as kind_of

if TYPE_CHECKING:
    from arroyo_nb.session import Session

KEYWORDS = """
ALL ALWAYS AND AS BETWEEN BY CASE CAST CREATE DESC DESCRIBE DISTINCT DROP ELSE END
EXPLAIN FALSE FILTER FOR FROM GENERATED GROUP HAVING IN INSERT INTERVAL INTO IS JOIN KEY
LIKE LIMIT NOT NULL NULLS ON OR ORDER OVER PARTITION PRIMARY RANGE ROWS SELECT SET SHOW
STORED TABLE TABLES THEN TRUE UNION VIEW WATERMARK WHEN WHERE WITH WITHIN
""".split()  # noqa: SIM905
TYPES = """
BIGINT BOOLEAN BYTEA DECIMAL DOUBLE FLOAT INT JSON STRUCT TEXT TIMESTAMP
""".split()  # noqa: SIM905
WINDOWS = ("tumble", "hop", "session")
FLAG_VALUES = {
    "--view": flags.VIEWS,
    "--speed": ("max", "1", "60", "600", "3600"),
    "--target": TARGETS.names,
}
STATEMENTS = """
CREATE DESCRIBE DROP EXPLAIN INSERT SELECT SET SHOW WITH
""".split()  # noqa: SIM905
AFTER_CREATE = ("TABLE", "TEMPORARY", "VIEW")
TYPE_CHARS = 48
"""Longest type or signature beside an item."""

NONE: SimpleMatcherResult = {"completions": []}

NOT_CODE = re.compile(
    r"--[^\n]*|/\*.*?(?:\*/|\Z)|(?P<string>'(?:[^']|'')*(?P<closed>'|\Z))", re.DOTALL
)
WITH = re.compile(r"\bWITH\s*\((?P<options>[^()]*)\Z", re.IGNORECASE)
# Behind a lookbehind a long word is tried once, not at each of its characters.
VALUE = re.compile(r"(?<![\w.])(?P<key>[\w.]+)'?\s*=\s*'(?P<value>[^']*)\Z")
OPTION = re.compile(r"(?<![\w.])([\w.]+)'?\s*=\s*'([^']*)'")
AFTER_TABLE = re.compile(
    r"\b(?:FROM|JOIN|INTO|DESCRIBE|DROP\s+(?:TABLE|VIEW))\s+\"?\w*\Z", re.IGNORECASE
)
QUALIFIED = re.compile(r"(?<!\w)(?P<owner>\w+)\.\"?\w*\Z")
ALIAS = re.compile(r"(?:\b(?:FROM|JOIN)|,)\s+(\w+)\s+(?:AS\s+)?(\w+)\b", re.IGNORECASE)
DECLARED = re.compile(
    r"(?<!DROP )\b(?:TABLE|VIEW)\s+(\w+)|(?:\bWITH|,)\s+(\w+)\s+AS\s*\(", re.IGNORECASE
)
BEGUN = re.compile(
    r"(?:\A|;)\s*(?P<typed>[A-Z]+|CREATE\s+(?:T[ABLE]*\s*|TABLE\s+\w+)?)\Z",
    re.IGNORECASE,
)
WINDOW_ARGUMENT = re.compile(
    rf"\b(?:{'|'.join(WINDOWS)})\s*\(\s*(?:[^(),;]*,\s*)?\w*\Z", re.IGNORECASE
)
WIDTHS = ("10 seconds", "1 minute", "5 minutes", "1 hour", "1 day")
WORD = re.compile(r"\"?(?<!\w)\w*\Z")
SHELL_WORD = re.compile(r"(?<!\S)\S*\Z")

Found: TypeAlias = Iterable[tuple[str, str]]
"""Completions: text and kind."""


@dataclass(frozen=True)
class CursorPlace:
    """Where the cursor is in a cell's body.

    Parameters
    ----------
    before
        The body up to the cursor; comments and finished strings are blanked out.
    raw
        The same as typed.
    whole
        The whole body.
    """

    before: str
    raw: str
    whole: str

    @cached_property
    def word(self) -> str:
        """What is being typed, an opening quote included."""
        found = WORD.search(self.before)
        return found[0] if found else ""


def complete(session: Session, context: CompletionContext) -> SimpleMatcherResult:
    """What fits at the cursor; nothing outside of our cells and lines."""
    lines = context.full_text.split("\n")
    row, column = context.cursor_line, context.cursor_position
    line = lines[row][:column]
    if re.match(r"\s*%arroyo\s", line):
        return _result(_line_word(line), _command(session, line))
    cell = read_short_cell(context.full_text)
    if cell is None or cell.magic.content is Content.PYTHON:
        return {"completions": []}
    if row == 0:
        is_behind = line.startswith(f"%%{cell.magic.name} ")
        return _result(_line_word(line), _flags(cell, line)) if is_behind else NONE
    known = session.catalog.with_functions(session.function_rows())
    catalog = with_given(cell, EditorContext(known)).catalog
    at = sum(len(one) + 1 for one in lines[:row]) + column
    span = sql_span(cell)
    if span is None or not span.start <= at <= span.end:
        found = around_query(cell, at, line, catalog)
        return NONE if found is None else _result(_line_word(line), found)
    return _body(catalog, cell.text[span.start : at], cell.text[span.start : span.end])


def _result(word: str, found: Found) -> SimpleMatcherResult:
    start = word.lower().lstrip('"')
    fitting = {
        text: SimpleCompletion(text, type=kind)
        for text, kind in found
        if text.lower().lstrip('"').startswith(start)
    }
    return {
        "completions": list(fitting.values()),
        "matched_fragment": word,
        # Columns of what the statement names come before functions and keywords.
        "ordered": True,
        "suppress": True,
    }


def _line_word(line: str) -> str:
    found = SHELL_WORD.search(line)
    return found[0] if found else ""


def _flags(cell: CellText, line: str) -> Found:
    return _flag_values(line) or [(name, "option") for name in cell.magic.flags]


def _flag_values(line: str) -> Sequence[tuple[str, str]]:
    """The values of the option before the word that is being typed."""
    words = line.split()
    before = words[-1] if line.endswith(" ") else words[-2]
    return [(value, "value") for value in FLAG_VALUES.get(before, ())]


def _command(session: Session, line: str) -> Iterator[tuple[str, str]]:
    words = line.split()
    if len(words) + line.endswith(" ") <= 2:
        yield from ((name, "command") for name in flags.COMMANDS)
    elif values := _flag_values(line):
        yield from values
    elif (command := flags.COMMANDS.get(words[1])) is not None:
        if command.runs:
            yield from ((name, "run") for name in session.runs)
        yield from ((word, "option") for word in command.words)
        yield from ((name, "option") for flag in command.flags for name in flag.names)


def _body(catalog: Catalog, raw: str, whole: str) -> SimpleMatcherResult:
    place = CursorPlace(_blanked(raw), raw, whole)
    if (inside := WITH.search(without_comments(raw))) is not None:
        return _with(inside["options"])
    if _in_string_or_comment(raw):
        return {"completions": [], "suppress": True}
    if (begun := BEGUN.search(place.before)) is not None:
        return _begun(place, begun["typed"])
    for applies, find in RULES:
        if applies.search(place.before):
            return _sql(place, find(catalog, place))
    return _sql(place, _anything(catalog, place))


def _begun(place: CursorPlace, typed: str) -> SimpleMatcherResult:
    """At the begin of a statement: the words that begin one, and whole CREATE TABLEs,
    of which what is typed is left out; those of a name that is being typed."""
    plain = " ".join(typed.upper().split()) + " " * typed[-1:].isspace()
    behind = len(plain) - len(place.word)
    is_named = behind > len("CREATE ")
    words = STATEMENTS if typed.isalpha() else () if is_named else AFTER_CREATE
    found = [(_like(place.word, word, "keyword"), "keyword") for word in words]
    if HEAD.startswith(plain) or plain.startswith(HEAD):
        # The name of a table begins with that of its connector.
        found += [(s.text[behind:], f"snippet {s.label}") for s in table_snippets()]
    return _result(place.word, found)


def _sql(place: CursorPlace, found: Found) -> SimpleMatcherResult:
    return _result(place.word, ((_like(place.word, t, k), k) for t, k in found))


def _like(word: str, text: str, kind: str) -> str:
    """Keywords and functions in the case that is being typed; names as declared."""
    if kind.startswith(("keyword", "function")) and word:
        return text.lower() if word.islower() else text.upper()
    if kind.startswith("column") and (word.startswith('"') or text != text.lower()):
        return f'"{text}"'
    return text


def _tables_only(catalog: Catalog, place: CursorPlace) -> Iterator[tuple[str, str]]:
    for table in catalog.tables.values():
        yield table.name, f"table {kind_of(table)}"
    for match in DECLARED.finditer(_blanked(place.whole)):
        yield match[1] or match[2], "table"


def _columns_of_owner(
    catalog: Catalog, place: CursorPlace
) -> Iterator[tuple[str, str]]:
    found = QUALIFIED.search(place.before)
    owner = found["owner"].lower() if found else ""
    alias = {a[2].lower(): a[1].lower() for a in ALIAS.finditer(_blanked(place.whole))}
    if owner == "window":
        yield from (("start", "column"), ("end", "column"))
    yield from _columns(_named(catalog, {owner, alias.get(owner, "")}))


def _anything(catalog: Catalog, place: CursorPlace) -> Iterator[tuple[str, str]]:
    words = set(re.findall(r"\w+", _blanked(place.whole).lower()))
    named = _named(catalog, words) or list(catalog.tables.values())
    yield from _columns(named)
    # Beside the name of a UDF an editor shows what it takes and gives.
    for name, row in catalog.functions.items():
        signature = row.udf.signature if row.udf else ""
        yield name, f"function {signature.removeprefix(name)}".rstrip()
    yield from _functions()
    yield from ((word, "keyword") for word in (*KEYWORDS, *TYPES))
    yield from _tables_only(catalog, place)


def _named(catalog: Catalog, words: set[str]) -> list[Relation]:
    return [table for table in catalog.tables.values() if table.name.lower() in words]


def _columns(tables: Iterable[Relation]) -> Iterator[tuple[str, str]]:
    for table in tables:
        for field in table.schema:
            yield field.name, f"column {shortened(str(field.type), TYPE_CHARS)}"


@cache
def _functions() -> tuple[tuple[str, str], ...]:
    """The functions of the dialect, each with what it takes and gives."""
    from arroyo_nb import functions
    from arroyo_nb.editor.explanations.functions import function_named
    from arroyo_nb.editor.explanations.windows import window_named
    from arroyo_nb.functions import aggregates, over

    primary = {aggregates.primary(name) or name for name in aggregates.names()}
    names = (*WINDOWS, *sorted(primary | {*over.names()}), *functions.names())
    found = []
    for name in names:
        made = window_named(name) or function_named(name, {})
        title = "" if made is None else made.title.removeprefix(name)
        found.append((name, f"function {shortened(title, TYPE_CHARS)}".rstrip()))
    return tuple(found)


def _widths(_: Catalog, place: CursorPlace) -> Iterator[tuple[str, str]]:
    interval = _like(place.word, "INTERVAL", "keyword")
    yield from ((f"{interval} '{width}'", "width of a window") for width in WIDTHS)


RULES: tuple[tuple[re.Pattern[str], Callable[[Catalog, CursorPlace], Found]], ...] = (
    (AFTER_TABLE, _tables_only),
    (WINDOW_ARGUMENT, _widths),
    (QUALIFIED, _columns_of_owner),
)


def _with(written: str) -> SimpleMatcherResult:
    """An option of a connector, or one of its values."""
    from arroyo_nb.editor.table_options import choices_of, options_for

    given = dict(OPTION.findall(written))
    if (value := VALUE.search(written)) is not None:
        choices = choices_of(value["key"], given)
        return _result(value["value"], ((choice, "value") for choice in choices))
    word = re.search(r"(?<![\w.])[\w.]*\Z", written)
    left = [
        (option.name, "option, required" if option.required else "option")
        for option in options_for(given)
        if option.name not in given
    ]
    return _result(word[0] if word else "", left)


def _blanked(text: str) -> str:
    """The text with comments and strings replaced by spaces."""
    return NOT_CODE.sub(lambda match: " " * len(match[0]), text)


def without_comments(text: str) -> str:
    """The text with comments replaced by spaces."""
    return NOT_CODE.sub(lambda m: m[0] if m["string"] else " " * len(m[0]), text)


def _in_string_or_comment(before: str) -> bool:
    *_, last = [None, *NOT_CODE.finditer(before)]
    if last is None or last.end() != len(before):
        return False
    if last["string"]:
        return not last["closed"]
    return not last[0].endswith("*/") or last[0] == "/*/"
