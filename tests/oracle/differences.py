"""The deliberate differences from what DataFusion gives: each has a name and a reason.

Nothing else may differ, but for what ``not_yet.tsv`` lists, which is to be mended.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from arroyo_nb.schema import StructOf
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
    one, other = ours.value, theirs.value
    return (
        ours.type == theirs.type
        and ours.type.startswith("TIMESTAMP")
        and isinstance(one, int)
        and isinstance(other, int)
        and one == other // 1000 * 1000
    )


_MAP = re.compile(r"MAP<([^<>]+), ([^<>]+)>")


def _is_map(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    entries = _MAP.sub(r"STRUCT<key \1, value \2>[]", theirs.type)
    return "MAP<" in theirs.type and ours.type == entries and ours.value == theirs.value


def _is_panic(case: Case, ours: Outcome, theirs: Outcome) -> bool:
    return theirs.failure.startswith("panic")


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
        "Spark keeps microseconds: a TIMESTAMP loses its nanoseconds",
        _is_nanoseconds,
    ),
    DeliberateDifference(
        "maps", "a map is a list of its entries, as Arrow holds one", _is_map
    ),
    DeliberateDifference(
        "panics", "DataFusion panics: there is nothing to imitate", _is_panic
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
