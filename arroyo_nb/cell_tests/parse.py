"""A test as text: lines that begin with GIVEN, WHEN and EXPECT, and what is below them.

::

    GIVEN clicks --watermark '10 seconds'
    at       | user
    10:00:00 | ann

    WHEN
    SELECT user, count(*) AS n FROM clicks GROUP BY user

    EXPECT TABLE
    user | n
    ann  | 1

The words are in capitals. WHEN may stand at the begin of a line of SQL too, so the
query ends with the first EXPECT. What is below a line is handed on as a text in which
all else is blank: a place in it is a place in the test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from arroyo_nb.cell_tests import CellTest, Expectation, Expected, Given, When
from arroyo_nb.errors import ArroyoError, SyntaxProblem, raise_all
from arroyo_nb.registry import did_you_mean
from arroyo_nb.row_tables.disorder import OPTIONS as DISORDER
from arroyo_nb.source import ScriptText, Span

GIVEN, WHEN, EXPECT, HINT = "GIVEN", "WHEN", "EXPECT", "HINT"
_HEAD = re.compile(rf"({GIVEN}|{WHEN}|{EXPECT}|{HINT})(?![\w.])(?![^\S\n]*[|,])")
_WORD = re.compile(r"""(?:"[^"]*"|'(?:[^']|'')*'|[^\s"'])+|["'].*""")
_COMMENT = re.compile(r"\s*--(\s.*)?\Z")

OPTIONS: Mapping[str, str] = {
    f"--{key.replace('_', '-')}": key
    for key in ("watermark", "event_time", "arrives", *DISORDER)
}
"""The options of GIVEN: as they are written -> the keywords of ``Session.rows``."""

SHAPE = "a test is GIVEN TABLE and its rows, WHEN and the query, EXPECT TABLE and rows"
_EXPECTED = ", ".join(kind.value for kind in Expected)


@dataclass(frozen=True)
class _Word:
    """A word of a line without its quotes, and where it stands."""

    text: str
    span: Span
    is_quoted: bool


@dataclass(frozen=True)
class _Section:
    """A line that begins with a word of the test, and the lines below it.

    Parameters
    ----------
    word
        Its first word.
    span
        Where that stands.
    rest
        From where to where the rest of its line goes.
    body
        The same of the lines below.
    """

    word: str
    span: Span
    rest: Span
    body: Span


def parse_test(source: ScriptText, name: str) -> CellTest:
    """Read a test.

    Raises
    ------
    ArroyoError
        With the place of each thing that is wrong.
    """
    found = _Reader(source)
    try:
        sections = list(_sections(source))
        problems: list[ArroyoError] = []
        for section in sections:
            try:
                found.read(section)
            except SyntaxProblem as problem:
                problems.append(problem)
        raise_all(problems)
        return found.test(name)
    except ArroyoError as problem:
        raise problem.at(source) from None


def has_expectations(text: str) -> bool:
    r"""Whether a text is a test, and not only the query that one is tried on.

    >>> has_expectations("SELECT 1"), has_expectations("WHEN SELECT 1\nEXPECT TABLE")
    (False, True)
    """
    heads = filter(None, map(_HEAD.match, text.split("\n")))
    return any(head[1] in (GIVEN, EXPECT) for head in heads)


def parse_answer(source: ScriptText) -> When:
    """Read the query that a hidden test is tried on: it may stand below WHEN.

    Raises
    ------
    ArroyoError
        With the place of what is wrong.
    """
    found = _Reader(source)
    try:
        if any(map(_HEAD.match, source.text.split("\n"))):
            for section in _sections(source):
                found.read(section)
        return found.answer(source.text)
    except ArroyoError as problem:
        raise problem.at(source) from None


def _sections(source: ScriptText) -> Iterator[_Section]:
    heads: list[Span] = []
    at, word = 0, ""
    for line in source.text.split("\n"):
        match = _HEAD.match(line)
        # The query ends with EXPECT: CASE has a WHEN, and a name may be GIVEN.
        if match and (word != WHEN or match[1] == EXPECT):
            word = match[1]
            heads.append(Span(at, at + len(line)))
        elif not heads and line.strip() and not _COMMENT.match(line):
            raise SyntaxProblem(
                "a test begins with GIVEN or WHEN",
                span=Span(at, at + len(line)),
                hint=f"{SHAPE}; the words are in capitals",
            )
        at += len(line) + 1
    ends = [*(head.start for head in heads[1:]), len(source.text)][: len(heads)]
    for head, end in zip(heads, ends, strict=True):
        match = _HEAD.match(source.text, head.start)
        assert match is not None, "it was one"
        yield _Section(
            match[1],
            Span(match.start(1), match.end(1)),
            Span(match.end(1), head.end),
            Span(min(head.end + 1, end), end),
        )


class _Reader:
    """What the sections of a test say."""

    def __init__(self, source: ScriptText) -> None:
        self._source = source
        self._given: dict[str, Given] = {}
        self._when: When | None = None
        self._expected: list[Expectation] = []

    def read(self, section: _Section) -> None:
        """Take in a section.

        Raises
        ------
        SyntaxProblem
            When it is wrong.
        """
        match section.word:
            case "GIVEN":
                self._read_given(section)
            case "WHEN":
                self._read_when(section)
            case "HINT":
                self._read_hint(section)
            case _:
                self._expected.append(self._expectation(section))

    def _read_hint(self, section: _Section) -> None:
        whole = Span(section.rest.start, section.body.end)
        text = " ".join(self._source.text[whole.start : whole.end].split())
        if not self._expected or not text:
            raise SyntaxProblem(
                "HINT has no text" if self._expected else "HINT stands below an EXPECT",
                span=section.span,
                hint="HINT Look at the row of 09:59:30.",
            )
        last = self._expected[-1]
        self._expected[-1] = replace(last, hints=(*last.hints, text))

    def answer(self, sql: str) -> When:
        """What runs, of a text that has no expectations: its WHEN, or all of it.

        Raises
        ------
        SyntaxProblem
            When there is none.
        """
        if self._given:
            raise SyntaxProblem(
                "the rows of a hidden test are given already",
                span=next(iter(self._given.values())).span,
                hint="write only the query",
            )
        if self._when is None and not sql.strip():
            raise SyntaxProblem("there is no query", hint="write it below the magic")
        return replace(self._when or When(sql), source=self._source)

    def test(self, name: str) -> CellTest:
        """The test, once all sections are read.

        Raises
        ------
        SyntaxProblem
            When something is missing.
        """
        whole = Span(0, max(1, len(self._source.text.partition("\n")[0])))
        if self._when is None:
            raise SyntaxProblem("the test has no WHEN", span=whole, hint=SHAPE)
        if not self._expected:
            raise SyntaxProblem(
                "the test expects nothing",
                span=self._when.span,
                hint=f"add a line with EXPECT and one of {_EXPECTED}",
            )
        errors = [e for e in self._expected if e.kind is Expected.ERROR]
        if errors and len(self._expected) > 1:
            raise SyntaxProblem(
                "a query with an error has no rows: EXPECT ERROR stands alone",
                span=errors[0].span,
                hint="write two tests",
            )
        given = tuple(self._given.values())
        return CellTest(name, self._source, given, self._when, tuple(self._expected))

    def _read_given(self, section: _Section) -> None:
        words = self._words(section.rest)
        if not words or words[0].text.startswith("--"):
            raise SyntaxProblem(
                "GIVEN needs the name of a table",
                span=section.span,
                hint="GIVEN clicks, and its rows from the next line on",
            )
        table, *words = words
        origin, options = None, dict[str, str]()
        if words and words[0].text == "FROM" and not words[0].is_quoted:
            if len(words) < 2:
                raise SyntaxProblem(
                    "FROM needs a file, a recording or a variable",
                    span=words[0].span,
                    hint=f"GIVEN {table.text} FROM clicks.csv",
                )
            origin, words = words[1].text, words[2:]
        while words:
            options |= _option(words)
        if self._when is not None:
            raise SyntaxProblem(
                "GIVEN stands before WHEN", span=section.span, hint=SHAPE
            )
        if table.text.lower() in self._given:
            raise SyntaxProblem(
                f"'{table.text}' is given twice",
                span=table.span,
                hint="put all its rows below one GIVEN",
            )
        body = self._body(section.body)
        if origin is not None and body is not None:
            raise SyntaxProblem(
                f"the rows of '{table.text}' are those of '{origin}', and there are "
                "rows below too",
                span=table.span,
                hint="remove the rows, or FROM",
            )
        if origin is None and body is None:
            raise SyntaxProblem(
                f"'{table.text}' has no rows",
                span=table.span,
                hint="write a line of column names below GIVEN, and a line for each "
                "row; or FROM and a file",
            )
        given = Given(table.text, body, table.span, origin, options)
        self._given[table.text.lower()] = given

    def _read_when(self, section: _Section) -> None:
        if self._when is not None:
            raise SyntaxProblem(
                "a test has one WHEN",
                span=section.span,
                hint="several statements stand below one WHEN, with ; between them",
            )
        words = self._words(section.rest, lenient=True)
        kind = words[0].text if words else ""
        if kind in ("RUN", "JOB") and not words[0].is_quoted:
            if len(words) != 2 or self._body(section.body) is not None:
                what = "the name of a run or of a view" if kind == "RUN" else "job.yaml"
                raise SyntaxProblem(
                    f"WHEN {kind} takes {what}, and no query",
                    span=words[0].span,
                    hint=f"WHEN {kind} by_hour; or WHEN alone, and the query below it",
                )
            name = words[1].text
            self._when = (
                When(span=words[1].span, run=name)
                if kind == "RUN"
                else When(span=words[1].span, job=name)
            )
            return
        sql = self._blanked(Span(section.rest.start, section.body.end))
        if not sql.strip():
            raise SyntaxProblem(
                "WHEN has no query",
                span=section.span,
                hint="write the SQL below it; or WHEN RUN and the name of a run",
            )
        self._when = When(sql, section.span)

    def _expectation(self, section: _Section) -> Expectation:
        words = self._words(section.rest)
        kinds = {kind.value: kind for kind in Expected}
        kind = kinds.get(words[0].text) if words else None
        if kind is None:
            raise SyntaxProblem(
                f"EXPECT needs one of {_EXPECTED}",
                span=words[0].span if words else section.span,
                hint=did_you_mean(words[0].text.upper(), kinds) if words else None,
            )
        body = self._body(section.body)
        head, rest = words[0], words[1:]
        found = Expectation(kind, body, Span(section.span.start, head.span.end))
        if kind is Expected.ERROR:
            return _expected_error(found, rest)
        found, is_empty = _with_words(found, rest)
        if kind is Expected.WATERMARK:
            if (found.value is None) == (body is None):
                raise SyntaxProblem(
                    "EXPECT WATERMARK takes a time, or below it lines of batch | "
                    "watermark",
                    span=head.span,
                    hint="EXPECT WATERMARK 10:00:05",
                )
        elif is_empty == (body is not None):
            raise SyntaxProblem(
                f"EXPECT {kind.value} "
                + ("is EMPTY and has rows" if is_empty else "has no rows"),
                span=head.span,
                hint="remove the rows, or EMPTY"
                if is_empty
                else f"write column names and rows below it, or EXPECT {kind.value} "
                "EMPTY",
            )
        return found

    def _words(self, span: Span, *, lenient: bool = False) -> list[_Word]:
        """The words of a line up to a comment."""
        words, text = list[_Word](), self._source.text
        for match in _WORD.finditer(text, span.start, span.end):
            if match[0] == "--":
                break
            place = Span(match.start(), match.end())
            is_quoted = match[0][0] in "\"'"
            if is_quoted and match[0].count(match[0][0]) == 1:
                if lenient:
                    break
                raise SyntaxProblem(
                    "a quote is not closed",
                    span=place,
                    hint="a text stands between two quotes, on one line",
                )
            words.append(_Word(_unquoted(match[0]), place, is_quoted))
        return words

    def _blanked(self, span: Span) -> str:
        """The text with all but a part of it blank."""
        text = self._source.text

        def blank(part: str) -> str:
            return re.sub(r"[^\n]", " ", part)

        kept = text[span.start : span.end].rstrip()
        return blank(text[: span.start]) + kept

    def _body(self, span: Span) -> ScriptText | None:
        """The rows of a part of the text, without comments around them; None: there are
        none."""
        lines = self._source.text[span.start : span.end].split("\n")
        first, last = 0, len(lines)
        at, end = span.start, span.end
        while first < last and _is_bare(lines[first]):
            at += len(lines[first]) + 1
            first += 1
        while last > first and _is_bare(lines[last - 1]):
            last -= 1
            end -= len(lines[last]) + 1
        if first == last:
            return None
        return self._source.with_text(self._blanked(Span(at, max(at, end))))


def _unquoted(word: str) -> str:
    """A word without its quotes; two of them in a quoted part are one.

    >>> _unquoted("'it''s'"), _unquoted("user='a b'")
    ("it's", 'user=a b')
    """

    def inner(part: re.Match[str]) -> str:
        quote = part[0][0]
        return part[0][1:-1].replace(2 * quote, quote)

    return re.sub(r"""\"(?:[^"]|"")*"|'(?:[^']|'')*'""", inner, word)


def _is_bare(line: str) -> bool:
    return not line.strip() or _COMMENT.match(line) is not None


def _option(words: list[_Word]) -> dict[str, str]:
    """Take an option and its value from the begin of a line's words."""
    word = words.pop(0)
    name, equals, value = word.text.partition("=")
    if name not in OPTIONS:
        raise SyntaxProblem(
            f"'{name}' is not an option of GIVEN",
            span=word.span,
            hint=did_you_mean(name, OPTIONS) or f"known: {', '.join(OPTIONS)}",
        )
    if not equals:
        if not words:
            raise SyntaxProblem(
                f"the option '{name}' needs a value",
                span=word.span,
                hint=f"{name} '10 seconds'",
            )
        value = words.pop(0).text
    return {OPTIONS[name]: value}


def _with_words(found: Expectation, words: Sequence[_Word]) -> tuple[Expectation, bool]:
    """With what follows the kind on its line; and whether EMPTY does."""
    left, is_empty = [*words], False
    is_table = found.kind in (Expected.TABLE, Expected.CHANGELOG)
    while left:
        word = left.pop(0)
        if word.text == "EMPTY" and found.kind is not Expected.WATERMARK:
            is_empty = True
        elif word.text == "POINTS" and left:
            found = replace(found, points=_points(left.pop(0)))
        elif word.text == "ORDERED" and is_table:
            found = replace(found, ordered=True)
        elif word.text == "OF" and left:
            found = replace(found, output=left.pop(0).text)
        elif word.text == "WITHIN" and left and found.kind is not Expected.WATERMARK:
            found = replace(found, tolerance=_tolerance(left.pop(0)))
        elif found.kind is Expected.WATERMARK and found.value is None:
            # A day and a time of day are two words.
            text, span = word.text, word.span
            if left and re.match(r"\d{1,2}:", left[0].text):
                text, span = f"{text} {left[0].text}", span | left.pop(0).span
            found = replace(found, value=_moment(text, span))
        else:
            known = ["OF NAME", "POINTS 2"]
            known += ["ORDERED"] if is_table else []
            if found.kind is not Expected.WATERMARK:
                known += ["EMPTY", "WITHIN 0.01"]
            raise SyntaxProblem(
                f"'{word.text}' has no meaning behind EXPECT {found.kind.value}",
                span=word.span,
                hint=did_you_mean(word.text.upper(), [k.split()[0] for k in known])
                or f"known: {', '.join(known)}",
            )
    return found, is_empty


def _expected_error(found: Expectation, words: Sequence[_Word]) -> Expectation:
    if found.rows is not None:
        raise SyntaxProblem(
            "EXPECT ERROR has no rows",
            span=found.span,
            hint="write a part of the message behind it: EXPECT ERROR 'not found'",
        )
    left = [*words]
    while left:
        word = left.pop(0)
        if word.text == "LINE" and not word.is_quoted and left:
            number = left.pop(0)
            if not number.text.isdecimal() or number.text == "0":
                raise SyntaxProblem(
                    f"'{number.text}' is no number of a line",
                    span=number.span,
                    hint="the first line of the query is LINE 1",
                )
            found = replace(found, line=int(number.text))
        elif word.text == "POINTS" and not word.is_quoted and left:
            found = replace(found, points=_points(left.pop(0)))
        elif word.is_quoted and found.value is None:
            found = replace(found, value=word.text)
        else:
            raise SyntaxProblem(
                f"'{word.text}' has no meaning behind EXPECT ERROR",
                span=word.span,
                hint="EXPECT ERROR 'part of the message' LINE 2",
            )
    return found


def _points(word: _Word) -> int:
    if not word.text.isdecimal() or not 0 < int(word.text[:6]) <= 1000:
        raise SyntaxProblem(
            f"'{word.text}' is no number of points, from 1 to 1000",
            span=word.span,
            hint="EXPECT TABLE POINTS 2",
        )
    return int(word.text)


def _tolerance(word: _Word) -> float:
    try:
        value = float(word.text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise SyntaxProblem(
            f"'{word.text}' is no distance of numbers",
            span=word.span,
            hint="WITHIN 0.01 lets a number be off by a hundredth",
        )
    return value


def _moment(text: str, span: Span) -> object:
    from arroyo_nb.row_tables.values import time_of

    try:
        return time_of(text)
    except ValueError as error:
        raise SyntaxProblem(
            f"'{text}' is no time", span=span, hint=str(error)
        ) from None
