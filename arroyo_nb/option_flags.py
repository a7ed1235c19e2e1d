"""Options of a line, as tables: how one is declared, read, and listed in a help.

What is wrong with a line has its place in it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import Any

from arroyo_nb.errors import SyntaxProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.repairs import rename
from arroyo_nb.source import Span


def _text(text: str) -> str:
    return text


@dataclass(frozen=True)
class Flag:
    """One option.

    Parameters
    ----------
    key
        Under which name its value is found.
    names
        Its spellings.
    doc
        One line of help.
    value
        What its value is called; None: it takes none.
    parse
        Makes the value; a ``ValueError`` ends the sentence "``name value``".
    constant
        What an option without a value stands for.
    """

    key: str
    names: tuple[str, ...]
    doc: str
    value: str | None = None
    parse: Callable[[str], Any] = _text
    constant: bool = True


def flags_by_name(flags: Iterable[Flag]) -> Mapping[str, Flag]:
    """Options by each of their spellings."""
    return {name: flag for flag in flags for name in flag.names}


def parse_words(
    line: Sequence[str],
    known: Mapping[str, Flag],
    most: int,
    meant: Collection[str] = (),
    usage: str = "SQL begins on the second line",
    pairs: str = "",
) -> tuple[list[str], dict[str, Any]]:
    """Read the words of a line: plain ones, and options by their keys.

    Parameters
    ----------
    line
        The words, see :func:`split`.
    known
        The options by each of their spellings.
    most
        How many plain words there may be.
    meant
        Plain words though they look like an option.
    usage
        What is told of a plain word too many.
    pairs
        Under which key the words ``name=value`` behind the plain ones are found; empty:
        there are none.

    Raises
    ------
    SyntaxProblem
        At the first word that is wrong, with a suggestion.
    """
    words, given, left = list[str](), dict[str, Any](), list(line)
    while left:
        word = left.pop(0)
        with placed(word):
            name, _, glued = word.partition("=")
            is_word = name in meant or not (known and name[:1] == "-")
            if name not in known and len(words) < most and is_word:
                # Without its place: YAML, for one, writes nothing but a plain text.
                words.append(f"{name}={glued}" if glued else str(name))
                continue
            if pairs and glued and is_word and name not in known:
                told = given.setdefault(pairs, {})
                if name in told:
                    raise SyntaxProblem(f"'{name}=' stands there twice")
                told[str(name)] = glued
                continue
            flag = _flag(name, known, usage)
            if flag.value is None:
                if glued:
                    raise SyntaxProblem(f"option '{name}' takes no value")
                given[flag.key] = flag.constant
                continue
            if not glued and (not left or left[0] in known):
                needs = f"option '{name}' needs its {flag.value}: {flag.doc}"
                raise SyntaxProblem(needs)
        value = glued or left.pop(0)
        with placed(word if glued else value):
            given[flag.key] = parse_value(flag, name, str(value))
    return words, given


@contextmanager
def placed(word: str) -> Iterator[None]:
    """Give what is wrong with a word of a line its place."""
    try:
        yield
    except SyntaxProblem as problem:
        if isinstance(word, Word):
            problem.span = problem.span or word.span
        raise


class Word(str):
    """A word of a line without its quotes; ``span`` is where it stands with them."""

    __slots__ = ("span",)
    span: Span

    @classmethod
    def at(cls, text: str, span: Span) -> Word:
        """A word at a place."""
        word = cls(text)
        word.span = span
        return word


def split(line: str) -> list[Word]:
    """The words of a line, quoted ones without their quotes.

    >>> split("a 'b c'")[1].span
    Span(start=2, end=7)

    Raises
    ------
    SyntaxProblem
        When a quote is not closed.
    """
    source = StringIO(line)
    reader = shlex.shlex(source, posix=True)
    reader.whitespace_split, reader.commenters = True, ""
    words: list[Word] = []
    done = 0
    while True:
        start = done + len(line[done:]) - len(line[done:].lstrip())
        try:
            text = reader.get_token()
        except ValueError as error:
            said = f"cannot read the options: {error}".lower()
            raise SyntaxProblem(said, span=Span(start, len(line))) from None
        if text is None:
            return words
        done = source.tell()
        # The reader has taken the blank behind the word too; one that a backslash
        # stands before is part of it.
        before = line[start : done - 1]
        is_escaped = (len(before) - len(before.rstrip("\\"))) % 2 == 1
        end = done - (line[done - 1].isspace() and not is_escaped)
        words.append(Word.at(text, Span(start, end)))


def _flag(name: str, known: Mapping[str, Flag], usage: str) -> Flag:
    if (flag := known.get(name)) is not None:
        return flag
    if not name.startswith("-"):
        raise SyntaxProblem(f"'{name}' is not an option: {usage}")
    near = did_you_mean(name, known)
    raise SyntaxProblem(
        f"unknown option '{name}': {near or 'see %%arroyo --help'}",
        repairs=rename(near),
    )


def parse_value(flag: Flag, name: str, text: str) -> Any:
    """The value of an option that was written as ``name``.

    Raises
    ------
    SyntaxProblem
        When it is not one of the option.
    """
    try:
        return flag.parse(text)
    except ValueError as error:
        raise SyntaxProblem(f"{name} '{text}' {error}") from None


def options_text(flags: Iterable[Flag]) -> list[str]:
    """Options, a line each."""
    return aligned((f"{', '.join(f.names)} {f.value or ''}", f.doc) for f in flags)


def aligned(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of two columns, what is written and what it does."""
    kept = [(written.rstrip(), doc) for written, doc in rows]
    width = max(len(written) for written, _ in kept)
    return [f"  {written.ljust(width)}  {doc}" for written, doc in kept]
