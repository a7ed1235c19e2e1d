"""The types of cells, and their values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal as Number10
from decimal import localcontext
from typing import NamedTuple

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.row_tables import FIXED_DAY
from arroyo_nb.row_tables.grid import Cell
from arroyo_nb.row_tables.notations import is_other_number, is_other_time
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    JSON,
    TEXT,
    Decimal,
    Primitive,
    Timestamp,
    Type,
)

_INTEGER = re.compile(r"[+-]?\d+\Z", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
_PLAIN = re.compile(
    r"-?(0|[1-9]\d*)?(?<=\d)([eE][+-]\d+)?\Z"
    r"|-?(0|[1-9]\d*)?(\.\d+|(?<=\d)\.)([eE][+-]?\d+)?\Z",
    re.ASCII,
)
"""A number that is no code: without a plus or zeros in front; its exponent has a sign,
or there is a point before it."""
_KEPT_DIGITS = 17
"""A DOUBLE may lose some beyond those."""
_CLOCK = r"\d{1,2}:\d\d(:\d\d(\.\d+)?)?"
_TIME_OF_DAY = re.compile(rf"{_CLOCK}\Z", re.ASCII)
_TIME = re.compile(
    rf"({_CLOCK}|\d{{4}}-\d\d-\d\d([T ]{_CLOCK} ?(Z|[+-]\d\d(:?\d\d)?)?)?)\Z",
    re.ASCII,
)
_TRUTH = {"true": True, "false": False}

_BITS = {"INT": 32, "BIGINT": 64}
_MOST_DIGITS = 20
"""Those of the largest BIGINT UNSIGNED."""


def inferred_type(cells: Iterable[Cell], *, is_csv: bool) -> Type:
    """The type that fits all cells of a column which names none.

    What looks like a time is one, also where there is no such time: that is an error
    with its place then, and the column does not become TEXT by a slip. What may be a
    code is no number: one in quotes, with a plus, with zeros in front, with digits that
    a DOUBLE would lose, or like 12E34. Between bars any quoted cell is a text.
    """
    present = [cell for cell in cells if not cell.is_null]
    is_quoted = any(cell.is_quoted for cell in present)
    if not present or (is_quoted and not is_csv):
        return TEXT
    for type_, fits in _INFERRED:
        if is_quoted and fits in _NUMBERS:
            continue
        if all(fits(cell.text) for cell in present):
            return type_
    return TEXT


class WhyText(NamedTuple):
    """Which cell makes a column TEXT, and why.

    Attributes
    ----------
    cell, reason
        The cell, and the end of the sentence that begins with it.
    meant
        The type that all cells of the column can be read as; None: there is none.
    others
        The texts of its cells that are numbers or times of another notation.
    """

    cell: Cell
    reason: str
    meant: Type | None = None
    others: tuple[str, ...] = ()


def why_text(cells: Iterable[Cell], *, is_csv: bool) -> WhyText | None:
    """Why a column is TEXT though most of its cells are numbers, times or truth values;
    None: it is a column of texts."""
    present = [cell for cell in cells if not cell.is_null]
    if not is_csv and any(cell.is_quoted for cell in present):
        return None
    for what, looks, looks_other in _KINDS:
        strange = [cell for cell in present if looks_other(cell.text)]
        others = [c for c in present if not looks(c.text) and not looks_other(c.text)]
        if 2 * len(others) > len(present):
            continue
        if others:
            return WhyText(others[0], f"is no {what}")
        if strange:
            return WhyText(strange[0], "", others=tuple(c.text for c in strange))
        # Each is a number, and some are no number of a column.
        are_whole = all(_is_bigint(cell.text) for cell in present)
        meant = BIGINT if are_whole else DOUBLE
        reasons = (WhyText(cell, _why_no_number(cell), meant) for cell in present)
        return next((found for found in reasons if found.reason), None)
    return None


def _why_no_number(cell: Cell) -> str:
    if cell.is_quoted:
        return "stands in quotes"
    if _PLAIN.match(cell.text) is None:
        return "may be a code"
    if not _looks_like_bigint(cell.text) and not _looks_like_double(cell.text):
        return "has more digits than a number keeps"
    return ""


def looks_like_time(text: str) -> bool:
    """Whether a text has the form of a time, with a day or without."""
    return _TIME.match(text) is not None


def _is_bigint(text: str) -> bool:
    return _is_whole(text, -(2**63), 2**63 - 1)


def _is_whole(text: str, first: int, last: int) -> bool:
    """Whether a text is a whole number within bounds of at most 64 bits."""
    # Python makes no number of thousands of digits.
    has_few_digits = len(text.lstrip("+-0")) <= _MOST_DIGITS
    return (
        _INTEGER.match(text) is not None
        and has_few_digits
        and first <= _whole(text) <= last
    )


def _whole(text: str) -> int:
    number = int(text.lstrip("+-0") or "0")
    return -number if text.startswith("-") else number


def _looks_like_bigint(text: str) -> bool:
    return _PLAIN.match(text) is not None and _is_bigint(text)


def _looks_like_double(text: str) -> bool:
    # A whole number that is too large for BIGINT would lose digits.
    is_whole = _INTEGER.match(text) is not None
    if _PLAIN.match(text) is None or (is_whole and not _is_bigint(text)):
        return False
    digits = re.split("[eE]", text)[0].replace(".", "").lstrip("-0")
    return len(digits) <= _KEPT_DIGITS


def _is_boolean(text: str) -> bool:
    return text.lower() in _TRUTH


_INFERRED: tuple[tuple[Type, Callable[[str], bool]], ...] = (
    (BIGINT, _looks_like_bigint),
    (DOUBLE, _looks_like_double),
    (BOOLEAN, _is_boolean),
    (Timestamp(), looks_like_time),
)
_NUMBERS = (_looks_like_bigint, _looks_like_double)
_KINDS: tuple[tuple[str, Callable[[str], bool], Callable[[str], bool]], ...] = (
    ("number", lambda text: _NUMBER.match(text) is not None, is_other_number),
    ("time", looks_like_time, is_other_time),
    ("truth value", _is_boolean, lambda _: False),
)
"""What most cells of a column may be: its name, what a cell has of it, and what a cell
has not, though it is written so elsewhere."""


def reader(type_: Type) -> Callable[[str], object] | None:
    """What makes the values of a type from the texts of cells: it raises ValueError
    where it cannot, whose text says what the type takes. None: a cell cannot hold such
    a value."""
    match type_:
        case Timestamp():
            return time_of
        case Decimal(precision, scale):
            return lambda text: _decimal(text, precision, scale)
        case Primitive("TEXT"):
            return str
        case Primitive("BOOLEAN"):
            return _boolean
        case Primitive("FLOAT" | "DOUBLE"):
            return _float
        case Primitive("JSON"):
            return _json
        case Primitive(name) if name.removesuffix(" UNSIGNED") in _BITS:
            bits = _BITS[name.removesuffix(" UNSIGNED")]
            is_signed = not name.endswith("UNSIGNED")
            first = -(2 ** (bits - 1)) if is_signed else 0
            last = 2 ** (bits - is_signed) - 1
            return lambda text: _integer(text, first, last)
        case _:
            return None


def unreadable(type_: Type, name: str) -> CatalogProblem:
    """That no cell can hold values of a type."""
    return CatalogProblem(
        f"the column '{name}' is {type_}, which no cell can hold",
        hint=f"declare it {JSON} and write JSON, or hand in a DataFrame with --from",
    )


def time_of(text: str) -> datetime:
    """A time of a cell, UTC without a zone; one without a day is of :data:`FIXED_DAY`.

    >>> time_of("9:59:30")
    datetime.datetime(2026, 1, 1, 9, 59, 30)
    >>> time_of("2013-02-08T10:00:00+01:00")
    datetime.datetime(2013, 2, 8, 9, 0)

    Raises
    ------
    ValueError
        When it is none.
    """
    wanted = f"write 2026-01-31 10:00:00, or 10:00:00, which is of {FIXED_DAY}"
    if not looks_like_time(text):
        raise ValueError(wanted)
    if _TIME_OF_DAY.match(text):
        hour, _, rest = text.partition(":")
        text = f"{FIXED_DAY}T{hour.zfill(2)}:{rest}"
    day, clock = text[:10], text[11:].replace(" ", "")
    if clock[1:2] == ":":
        clock = f"0{clock}"
    try:
        found = datetime.fromisoformat(f"{day}T{clock}" if clock else day)
        if found.tzinfo is not None:
            found = found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise ValueError(f"there is no such time; {wanted}") from None
    return found


def _integer(text: str, first: int, last: int) -> int:
    if not _is_whole(text, first, last):
        raise ValueError(f"write a whole number from {first} to {last}")
    return _whole(text)


def _float(text: str) -> float:
    if _NUMBER.match(text) is None or abs(float(text)) == float("inf"):
        raise ValueError("write a number such as 1.5 or 2e-3")
    return float(text)


def _decimal(text: str, precision: int, scale: int) -> Number10:
    whole = precision - scale
    wanted = (
        f"write a number of at most {whole} digits before the point, {scale} behind"
    )
    if _NUMBER.match(text) is None:
        raise ValueError(wanted)
    with localcontext(prec=100):
        try:
            number = Number10(text)
            rounded = round(number, scale)
            fits = abs(number) < Number10(10) ** whole and number == rounded
        except ArithmeticError:
            # The exponent is beyond those of Python's numbers.
            raise ValueError(wanted) from None
        if not fits:
            raise ValueError(wanted)
        return rounded


def _boolean(text: str) -> bool:
    try:
        return _TRUTH[text.lower()]
    except KeyError:
        raise ValueError("write true or false") from None


def _json(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    return text
