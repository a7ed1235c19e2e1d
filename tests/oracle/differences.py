"""The deliberate differences from what DataFusion gives: which outcomes each explains.

Nothing else may differ, but for what ``not_yet.tsv`` lists, which is to be mended.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from arroyo_nb.schema import DOUBLE, StructOf
from oracle.cases import Case, Outcome


@dataclass(frozen=True)
class DeliberateDifference:
    """One of them.

    Parameters
    ----------
    applies
        Whether it is why the outcomes, ours and DataFusion's, of a case differ.
    """

    name: str
    applies: Callable[[Case, Outcome, Outcome], bool]


def _is_nanoseconds(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    one, other = _numbers(ours), _numbers(theirs)
    return (
        ours.type == theirs.type
        and _OF_TIMES.match(ours.type) is not None
        and [number and number // 1000 * 1000 for number in other] == one
    )


_OF_TIMES = re.compile("TIME")
_LARGEST = (1 << 63) * 1000


def _numbers(outcome: Outcome) -> list[int | None]:
    """The values, and those of a list."""
    value = outcome.value
    items = value if isinstance(value, list) else [value]
    return [item if isinstance(item, int) else None for item in items]


def _is_far(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    if not ours.failure or not _OF_TIMES.match(theirs.type):
        return False
    wraps = case.kind == "cast DECIMAL to TIMESTAMP"
    return wraps or any(abs(number or 0) >= _LARGEST for number in _numbers(theirs))


_MAP = re.compile(r"MAP<([^<>]+), ([^<>]+)>")


def _is_map(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    entries = _MAP.sub(r"STRUCT<key \1, value \2>[]", theirs.type)
    return "MAP<" in theirs.type and ours.type == entries and ours.value == theirs.value


def _is_of_months(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return "an interval with months is not supported" in ours.refusal + ours.failure


_FAR = 2**63
_KINDS_OF_TIMES = re.compile(r"to_timestamp|from_unixtime|date_bin|date_trunc|.*TIMEST")


def _is_of_far_years(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    if not _KINDS_OF_TIMES.match(case.kind):
        return False
    for one in (ours, theirs):
        if isinstance(one.value, int) and abs(one.value) >= _FAR:
            return True
    return "DATETIME_OVERFLOW" in ours.failure


def _is_of_years(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return _is_far(case, ours, theirs) or _is_of_far_years(case, ours, theirs)


def _is_date_of_null(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return "make_date(" in case.expression and ours.type != "" and ours.value is None


def _is_of_seconds(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return "to_timestamp(" in case.expression and any(
        column.type == DOUBLE for column in case.columns
    )


_SIGNS = frozenset("+-*/%")


def _operands_of(case: Case) -> tuple[str, str] | None:
    """The families of the operands of an arithmetic operator."""
    match case.kind.split(" "):
        case [one, operator, other] if operator in _SIGNS:
            return one, other
    return None


def _mixes_decimal_and_unsigned(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return set(_operands_of(case) or ()) == {"DECIMAL", "UNSIGNED"}


def _is_truncation(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return case.kind == "trunc" and ours.type == theirs.type in ("FLOAT", "DOUBLE")


def _is_nvl(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    is_nvl = case.kind in ("nvl", "nvl of other types")
    kept = ours.type if ours.type != theirs.type else ""
    return is_nvl and bool(kept) and theirs.type in ("TEXT", "FLOAT", "DOUBLE")


def _has_too_many_digits(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    digits = re.fullmatch(r"DECIMAL\((\d+), \d+\)", theirs.type)
    if digits is None or not isinstance(theirs.value, Decimal) or not ours.failure:
        return False
    return len(theirs.value.as_tuple().digits) > int(digits[1])


def _is_constant_null(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    is_null = ours.value is None and theirs.value is None and "NULL" in case.expression
    return is_null and bool(ours.type) and _operands_of(case) is not None


def _is_negated_constant(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    words = ("negative on scalar", "Overflow happened on: - ")
    return case.kind.startswith("- ") and any(w in theirs.failure for w in words)


_ACCIDENTS = (
    "could not cast array of type",
    "column types must match schema types",
    "start_from index out of bounds",
    "Incorrect number of arrays provided to RowConverter",
    "RowConverter column schema mismatch",
    "concat requires input of at least one array",
    "map requires key and value lists to have the same length",
    "concat_ws was called with 1 arguments",
    "array_except received incompatible types",
    "unsupported type for second argument to array_to_string function as Null",
)
# It is negated there, and wraps around.
_LEAST = -(1 << 63)


def _is_internal(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    panics = theirs.failure.startswith("panic")
    if case.kind == "left" and "left(" in case.expression:
        return any(column.value == _LEAST for column in case.columns)
    return panics or any(words in theirs.failure for words in _ACCIDENTS)


_BY_BATCH = re.compile(r"\b(?:array_has|array_sort|array_to_string)")


def _is_by_batch(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    """A list that is NULL, a literal list with a NULL, or a word that is no literal."""
    return _BY_BATCH.search(case.expression) is not None and (
        (None in (ours.value, theirs.value) and theirs.type == "BOOLEAN")
        or "must be a literal" in ours.refusal
    )


_OF_STRUCT = re.compile(r"\['\w+'\]|get_field\(")


def _is_field_of_null(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    is_null = any(
        c.value is None and isinstance(c.type, StructOf) for c in case.columns
    )
    return (
        is_null
        and _OF_STRUCT.search(case.expression) is not None
        and ours.type == theirs.type
        and ours.value is None
        and theirs.value in (0, "")
    )


def _is_checked(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    words = (
        *("a regular expression", "regular expression flag", "must not be negative"),
        "is not a valid",
    )
    if "nullif() compares no lists" in ours.refusal:
        return True
    return theirs.value in (None, 0) and any(one in ours.refusal for one in words)


def _is_text_beside_number(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return "does not take" in ours.refusal and "TEXT[]" in ours.refusal


def _is_overlay(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return "overlay(" in case.expression and ours.type == theirs.type


DIFFERENCES = (
    DeliberateDifference("nanoseconds", _is_nanoseconds),
    DeliberateDifference("years", _is_of_years),
    DeliberateDifference("maps", _is_map),
    DeliberateDifference("months", _is_of_months),
    DeliberateDifference("make_date of NULL", _is_date_of_null),
    DeliberateDifference("seconds with a fraction", _is_of_seconds),
    DeliberateDifference("internal failures", _is_internal),
    DeliberateDifference("DECIMAL with UNSIGNED", _mixes_decimal_and_unsigned),
    DeliberateDifference("trunc", _is_truncation),
    DeliberateDifference("nvl", _is_nvl),
    DeliberateDifference("too many digits", _has_too_many_digits),
    DeliberateDifference("constant NULL", _is_constant_null),
    DeliberateDifference("negated constant", _is_negated_constant),
    DeliberateDifference("rows of a batch", _is_by_batch),
    DeliberateDifference("fields of NULL", _is_field_of_null),
    DeliberateDifference("checked literals", _is_checked),
    DeliberateDifference("texts and numbers", _is_text_beside_number),
    DeliberateDifference("overlay", _is_overlay),
)
"""Their words are of :mod:`arroyo_nb.plan.explain.value_differences`."""


def deliberate(case: Case, ours: Outcome, theirs: Outcome) -> str:
    """The name of the difference that explains this one; empty: there is none."""
    for difference in DIFFERENCES:
        if difference.applies(case, ours, theirs):
            return difference.name
    return ""
