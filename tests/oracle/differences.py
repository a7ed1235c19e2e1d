"""The deliberate differences from what DataFusion gives: each has a name and a reason.

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
    reason: str
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


def _is_of_seconds(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return "to_timestamp(" in case.expression and any(
        column.type == DOUBLE for column in case.columns
    )


def _is_panic(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return theirs.failure.startswith("panic")


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
)


def _is_accident(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return any(words in theirs.failure for words in _ACCIDENTS)


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
    words = ("a regular expression", "regular expression flag", "must not be negative")
    return theirs.value in (None, 0) and any(one in ours.refusal for one in words)


def _is_text_beside_number(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return "does not take" in ours.refusal and "TEXT[]" in ours.refusal


def _is_overlay(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return "overlay(" in case.expression and ours.type == theirs.type


DIFFERENCES = (
    DeliberateDifference(
        "nanoseconds",
        "Spark keeps microseconds: a TIMESTAMP or TIME loses its nanoseconds",
        _is_nanoseconds,
    ),
    DeliberateDifference(
        "far instants",
        "Spark counts microseconds in 64 bits: one beyond the year 294,247 fails; so "
        "does a constant DECIMAL that DataFusion lets wrap around",
        _is_far,
    ),
    DeliberateDifference(
        "maps", "a map is a list of its entries, as Arrow holds one", _is_map
    ),
    DeliberateDifference(
        "months",
        "an interval with months has no length, so it is no column of Spark: it may be "
        "added, compared and read, and not be a value of its own",
        _is_of_months,
    ),
    DeliberateDifference(
        "years of a TIMESTAMP",
        "nanoseconds in 64 bits end in 1677 and 2262, and microseconds in the year "
        "294247: DataFusion wraps around or fails, where the value here is right, and "
        "holds seconds that Spark does not",
        _is_of_far_years,
    ),
    DeliberateDifference(
        "make_date of NULL",
        "DataFusion takes a NULL for the number 0, or fails",
        lambda case, ours, theirs: (
            "make_date(" in case.expression
            and ours.value is None
            and not ours.refusal + ours.failure
        ),
    ),
    DeliberateDifference(
        "seconds with a fraction",
        "to_timestamp of a DOUBLE counts seconds, as of a literal; DataFusion counts "
        "nanoseconds where it is a column",
        _is_of_seconds,
    ),
    DeliberateDifference(
        "panics", "DataFusion panics: there is nothing to imitate", _is_panic
    ),
    DeliberateDifference(
        "DECIMAL with UNSIGNED",
        "the digits stay: DataFusion makes the DECIMAL an UNSIGNED, which loses what "
        "is behind the point and fails on negative numbers",
        _mixes_decimal_and_unsigned,
    ),
    DeliberateDifference(
        "trunc", "trunc(x, n) cuts off: DataFusion rounds to n places", _is_truncation
    ),
    DeliberateDifference(
        "nvl",
        "nvl keeps the type as coalesce does: DataFusion's makes a text of a time or a "
        "list, a DOUBLE of a DECIMAL and a FLOAT of large whole numbers",
        _is_nvl,
    ),
    DeliberateDifference(
        "too many digits",
        "DataFusion's sums and products have more digits than their DECIMAL, which "
        "Spark cannot hold: the run fails",
        _has_too_many_digits,
    ),
    DeliberateDifference(
        "constant NULL",
        "the result has the type that columns have: DataFusion folds an operation with "
        "a constant NULL to NULL of the operand's type",
        _is_constant_null,
    ),
    DeliberateDifference(
        "negated constant",
        "a constant is negated as a column is: DataFusion refuses a constant NULL of "
        "DECIMAL, and the least integer, which it wraps around in columns",
        _is_negated_constant,
    ),
    DeliberateDifference(
        "accidents",
        "DataFusion fails on values that it does not expect, such as a list that is "
        "NULL, or a literal beside a column",
        _is_accident,
    ),
    DeliberateDifference(
        "rows of a batch",
        "DataFusion's value depends on the rows that are evaluated together: of a list "
        "that is NULL array_has and its like are NULL here, and the order of "
        "array_sort and the text for NULLs of array_to_string are literals",
        _is_by_batch,
    ),
    DeliberateDifference(
        "fields of NULL",
        "DataFusion reads beneath a struct that is NULL: a field of it is NULL here",
        _is_field_of_null,
    ),
    DeliberateDifference(
        "checked literals",
        "DataFusion looks at a pattern, a flag or a length where there is a text: a "
        "literal that no text can have is refused here also where all texts are NULL",
        _is_checked,
    ),
    DeliberateDifference(
        "texts and numbers",
        "DataFusion reads the texts of a list as numbers beside a number, and fails at "
        "the first that is none: this is refused here",
        _is_text_beside_number,
    ),
    DeliberateDifference(
        "overlay",
        "DataFusion counts bytes, and loses the text that ends before the start: "
        "overlay() keeps it here",
        _is_overlay,
    ),
)


def deliberate(case: Case, ours: Outcome, theirs: Outcome) -> str:
    """The name of the difference that explains this one; empty: there is none."""
    for difference in DIFFERENCES:
        if difference.applies(case, ours, theirs):
            return difference.name
    return ""
