"""Texts with places where a line may end, and the lines that they become.

A group stands on one line where it fits; else all its own breaks end lines, and the
groups in it are tried again (Wadler, "A prettier printer").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 88
"""Columns of a line."""

INDENT = 4


@dataclass(frozen=True)
class Break:
    """Where a line may end; on one line a blank, or nothing.

    Parameters
    ----------
    flat
        What it is where the line goes on.
    is_hard
        Whether a line always ends here.
    is_fresh
        Whether a line that has just begun stays as it is.
    keeps
        Whether the next line begins where this one does.
    """

    flat: str = " "
    is_hard: bool = False
    is_fresh: bool = False
    keeps: bool = False


@dataclass(frozen=True)
class Group:
    """What stands on one line where it fits."""

    parts: Sequence[Layout]


@dataclass(frozen=True)
class Indented:
    """What begins further right, on the lines after its first one."""

    parts: Sequence[Layout]


@dataclass(frozen=True)
class Blank:
    """A blank, left out at the begin of a line."""


@dataclass(frozen=True)
class EndComment:
    """A comment at the end of a line, which it makes no longer: it stays where it was.
    A hard break follows."""

    text: str


Layout: TypeAlias = "str | EndComment | Blank | Break | Group | Indented"

LINE, SOFT, HARD, BLANK = Break(), Break(""), Break(is_hard=True), Blank()
FRESH = Break(is_hard=True, is_fresh=True)
KEPT = Break(is_hard=True, keeps=True)


def laid_out(parts: Sequence[Layout]) -> str:
    """The lines of a text.

    >>> print(laid_out([Group(["f(", Indented([SOFT, "a,", LINE, "b"]), SOFT, ")"])]))
    f(a, b)
    """
    written: list[str] = []
    column, is_start = 0, True
    # Where this line begins, or will begin.
    begin = 0
    # What is to come, the next one last: its indentation, and whether it is flat.
    stack: list[tuple[int, bool, Layout]] = [
        (0, False, part) for part in reversed(parts)
    ]
    while stack:
        indent, is_flat, part = stack.pop()
        match part:
            case str():
                if is_start and part:
                    written.append(" " * begin)
                    column, is_start = begin, False
                written.append(part)
                _, newline, last = part.rpartition("\n")
                column = len(last) if newline else column + len(part)
            case Blank():
                if not is_start and written[-1] != " ":
                    stack.append((indent, is_flat, " "))
            case EndComment(text=text):
                stack += [(indent, is_flat, text), (indent, is_flat, BLANK)]
            case Break() if is_flat and not part.is_hard:
                if not is_start:
                    blank = BLANK if part.flat == " " else part.flat
                    stack.append((indent, is_flat, blank))
            case Break():
                if not (is_start and part.is_fresh) and not part.keeps:
                    begin = indent
                if not is_start:
                    _strip(written)
                    written.append("\n")
                    is_start = True
            case Indented(parts=inner):
                deeper = indent + INDENT
                stack.extend((deeper, is_flat, one) for one in reversed(inner))
            case Group(parts=inner):
                room = WIDTH - (begin if is_start else column)
                is_flat = is_flat or _fits(inner, room, stack)
                stack.extend((indent, is_flat, one) for one in reversed(inner))
    return "".join(written).strip()


def _strip(written: list[str]) -> None:
    while written and written[-1] == " ":
        written.pop()


def _fits(
    parts: Sequence[Layout],
    room: int,
    rest: Sequence[tuple[int, bool, Layout]],
) -> bool:
    """Whether parts stand on one line, with what follows up to the next line's end."""
    todo: list[tuple[bool, Layout]] = [(True, one) for one in reversed(parts)]
    behind = len(rest)
    while room >= 0:
        if not todo:
            if behind == 0:
                return True
            behind -= 1
            todo.append((rest[behind][1], rest[behind][2]))
        is_flat, part = todo.pop()
        match part:
            case str():
                first, newline, _ = part.partition("\n")
                room -= len(first)
                if newline:
                    return room >= 0
            case Blank():
                room -= 1
            case EndComment():
                # The comment of an inner line ends it; one behind ends this one.
                return behind < len(rest)
            case Break(flat=text, is_hard=is_hard):
                if is_hard:
                    # A comment in the group itself ends its line; one behind it ends
                    # the line that the group is on.
                    return behind < len(rest)
                if not is_flat:
                    return True
                room -= len(text)
            case Group(parts=inner):
                todo.extend((is_flat, one) for one in reversed(inner))
            case Indented(parts=inner):
                todo.extend((is_flat, one) for one in reversed(inner))
    return False
