"""A test's result as text and as HTML; values are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from arroyo_nb.cell_tests.compare import Difference, DiffLine, Mark, Row
from arroyo_nb.views.formatting import escaped, plain

if TYPE_CHECKING:
    from arroyo_nb.cell_tests import Check, TestResult

MOST_LINES = 60
"""Rows of a difference that are shown; those that differ first."""

NEAR = 2
"""Rows without a difference that are shown around one with."""

ARROW = "→"
SIGNS = {
    Mark.MISSING: "−",
    Mark.UNEXPECTED: "+",
    Mark.CHANGED: "~",
    Mark.SAME: " ",
}
LEGEND = f"− missing   + unexpected   ~ expected {ARROW} found"
SUMMARY_CHARS = 400

_CELL = "padding:1px 12px 1px 0;text-align:left"
_STYLES = {
    Mark.MISSING: "background:rgba(207,34,46,.16)",
    Mark.UNEXPECTED: "background:rgba(26,127,55,.16)",
    Mark.CHANGED: "",
    Mark.SAME: "opacity:.65",
}


def result_text(result: TestResult) -> str:
    """A line where all is as expected; else each difference."""
    name, points = plain(result.name), _points(result)
    if result.passed:
        return (
            f"✓ {name}: passed, {_checks(len(result.checks))}{points}, "
            f"{result.took_s:.1f} s"
        )
    failed = [check for check in result.checks if check.difference is not None]
    lines = [
        f"✗ {name}: {len(failed)} of {_checks(len(result.checks))} failed{points}, "
        f"{result.took_s:.1f} s"
    ]
    for check in failed:
        lines += ["", *_check_lines(check)]
    return "\n".join(lines)


def _points(result: TestResult) -> str:
    """How many points were earned, where they are counted."""
    of = sum(check.points for check in result.checks)
    got = sum(check.points for check in result.checks if check.difference is None)
    return f", {got} of {of} {'point' if of == 1 else 'points'}" if of else ""


def _checks(number: int) -> str:
    return f"{number} {'expectation' if number == 1 else 'expectations'}"


def _check_lines(check: Check) -> Iterator[str]:
    found = check.difference
    assert found is not None, "it failed"
    yield f"{_title(check)}: {plain(found.summary, SUMMARY_CHARS)}"
    if found.lines:
        yield from _table(found)
        yield f"  {LEGEND}"


def _title(check: Check) -> str:
    at = "" if check.line is None else f" (line {check.line})"
    return f"{plain(check.title)}{at}"


def _table(found: Difference) -> Iterator[str]:
    shown, note = _shown(found.lines)
    rows = [[_cell_text(line, n) for n in range(len(found.columns))] for line in shown]
    heads = [plain(name) for name in found.columns]
    widths = [max(map(len, cells)) for cells in zip(heads, *rows, strict=True)]
    yield _aligned(" ", heads, widths)
    for line, cells in zip(shown, rows, strict=True):
        yield _aligned(SIGNS[line.mark], cells, widths)
    if note:
        yield f"    {note}"


def _aligned(sign: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"  {sign} {' | '.join(padded)}".rstrip()


def _shown(lines: Sequence[DiffLine]) -> tuple[list[DiffLine], str]:
    """The lines that are shown, and what is said of the others."""
    odd = [n for n, line in enumerate(lines) if line.mark is not Mark.SAME]
    near = {m for n in odd for m in range(n - NEAR, n + NEAR + 1)}
    kept = [line for n, line in enumerate(lines) if n in near]
    if len(kept) > MOST_LINES:
        kept = [lines[n] for n in odd[:MOST_LINES]]
    left = len(odd) - sum(line.mark is not Mark.SAME for line in kept)
    equal = sum(line.mark is Mark.SAME for line in lines)
    equal -= sum(line.mark is Mark.SAME for line in kept)
    said = [f"{left:,} more that differ"] if left else []
    said += [f"{equal:,} more as expected"] if equal else []
    return kept, f"… {', '.join(said)}" if said else ""


def _cell_text(line: DiffLine, place: int) -> str:
    expected, found = _values(line, place)
    if place in line.changed:
        return f"{value_text(expected)} {ARROW} {value_text(found)}"
    return value_text(found if line.expected is None else expected)


def _values(line: DiffLine, place: int) -> tuple[Any, Any]:
    def of(row: Row | None) -> Any:
        return None if row is None else row[place]

    return of(line.expected), of(line.found)


def value_text(value: Any) -> str:
    """A value as a cell of an expectation has it.

    >>> value_text(datetime(2026, 1, 1, 10)), value_text(None), value_text("")
    ('2026-01-01 10:00:00', 'NULL', '""')
    """
    return plain(_text(value))


def _text(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str():
            # As it must be written: these would be something else without quotes.
            is_odd = value.strip() != value or value.upper() in ("", "NULL")
            return f'"{value}"' if is_odd or "|" in value else value
        case bytes():
            return f"0x{value.hex()}"
        case datetime():
            return value.isoformat(" ")
        case date() | time() | Decimal():
            return str(value)
        case timedelta():
            return _length(value)
        case float():
            return repr(value)
        case {"start": datetime() as start, "end": datetime() as end, **rest} if (
            not rest
        ):
            return f"{_text(start)} – {_text(end)}"
        case dict():
            parts = (f'"{key}": {_inner(part)}' for key, part in value.items())
            return f"{{{', '.join(parts)}}}"
        case list() | tuple():
            return f"[{', '.join(map(_inner, value))}]"
        case _:
            return str(value)


def _inner(value: Any) -> str:
    if value is None:
        return "null"
    is_plain = isinstance(value, bool | int | float | dict | list | tuple)
    return _text(value) if is_plain else f'"{_text(value)}"'


def _length(value: timedelta) -> str:
    sign = "-" if value < timedelta() else ""
    seconds, micros = divmod(abs(value) // timedelta(microseconds=1), 1_000_000)
    fraction = f".{micros:06}".rstrip("0") if micros else ""
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return f"{sign}{hours:02}:{minutes:02}:{seconds % 60:02}{fraction}"


def result_html(result: TestResult) -> str:
    """The same as HTML."""
    first, _, _ = result_text(result).partition("\n")
    parts = [f"<p><b>{escaped(first, SUMMARY_CHARS)}</b></p>"]
    for check in result.checks:
        found = check.difference
        if found is None:
            continue
        summary = escaped(found.summary, SUMMARY_CHARS)
        parts.append(f"<p>{escaped(_title(check))}: {summary}</p>")
        if found.lines:
            parts.append(_html_table(found))
            parts.append(f"<p>{escaped(LEGEND)}</p>")
    return "".join(parts)


def _html_table(found: Difference) -> str:
    shown, note = _shown(found.lines)
    heads = "".join(
        f'<th scope="col" style="{_CELL}">{escaped(name)}</th>'
        for name in ("", *found.columns)
    )
    rows = "".join(_html_row(line, len(found.columns)) for line in shown)
    said = f"<p>{escaped(note)}</p>" if note else ""
    style = "color:inherit"
    return (
        f'<table style="{style}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>{said}"
    )


def _html_row(line: DiffLine, width: int) -> str:
    cells: Iterable[str] = (_html_cell(line, n) for n in range(width))
    sign = f'<td style="{_CELL}"><b>{SIGNS[line.mark]}</b></td>'
    return f'<tr style="{_STYLES[line.mark]}">{sign}{"".join(cells)}</tr>'


def _html_cell(line: DiffLine, place: int) -> str:
    if place not in line.changed:
        return f'<td style="{_CELL}">{escaped(_cell_text(line, place))}</td>'
    old, new = (escaped(value_text(v)) for v in _values(line, place))
    missing, unexpected = _STYLES[Mark.MISSING], _STYLES[Mark.UNEXPECTED]
    return (
        f'<td style="{_CELL}"><b style="{missing}">{old}</b> {ARROW} '
        f'<b style="{unexpected}">{new}</b></td>'
    )
