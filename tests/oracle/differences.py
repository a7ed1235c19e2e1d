"""The deliberate differences from what DataFusion gives: which outcomes each explains.

A difference explains an outcome of ours only where it is the one that its published
sentence tells: what DataFusion itself gives for an expression that says so in another
way, or what Python computes. Nothing else may differ, but for what ``not_yet.tsv``
lists, which is to be mended.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from arroyo_nb.schema import StructOf
from oracle import theirs
from oracle.cases import Case, Outcome
from oracle.comparison import close, compare
from oracle.generator import literal


@dataclass(frozen=True)
class Pair:
    """A case, and both outcomes."""

    case: Case
    ours: Outcome
    theirs: Outcome

    @property
    def text(self) -> str:
        return self.case.expression

    @property
    def function(self) -> str:
        """The function that is called, where it is a call."""
        return self.case.kind.partition(" of ")[0]

    @property
    def gives_value(self) -> bool:
        """Whether we give a value."""
        return not (self.ours.refusal or self.ours.failure)

    def asked(self, expression: str) -> Outcome:
        """What DataFusion gives for another expression over the same row."""
        return theirs.evaluate(replace(self.case, expression=expression))

    def gives(self, expression: str) -> bool:
        """Whether ours is what DataFusion gives for another expression."""
        return compare(self.ours, self.asked(expression)).agrees

    def operands(self) -> Iterator[Outcome]:
        """What DataFusion gives for each operand."""
        return map(self.asked, self.case.operands)

    def with_operands(self, write: Callable[[str], str]) -> str:
        """The expression with its operands written otherwise."""
        text = self.text
        # Not in the name of the function.
        start = len(self.function) if text.startswith(self.function) else 0
        for operand in self.case.operands:
            found = text.find(operand, start)
            assert found >= 0, (text, operand)
            new = write(operand)
            text = text[:found] + new + text[found + len(operand) :]
            start = found + len(new)
        return text


@dataclass(frozen=True)
class DeliberateDifference:
    """One of them.

    Parameters
    ----------
    applies
        Whether it is why the outcomes differ.
    """

    name: str
    applies: Callable[[Pair], bool]


def _fails(outcome: Outcome) -> bool:
    return bool(outcome.refusal or outcome.failure)


def _of_row(operand: str) -> str:
    """An operand whose value is known only with the row: ``_`` is 0 in each."""
    return f"(CASE WHEN _ = 0 THEN {operand} END)"


# Times

_TIMES = re.compile(r"TIME")
_NANOS_PER_US = 1000
_WRAPS = 1 << 64
_FAR = 1 << 63
"""Beyond this many nanoseconds DataFusion has no time."""

_FARTHEST = _FAR * _NANOS_PER_US
"""Beyond this many Spark has none."""


def _is_nanoseconds(pair: Pair) -> bool:
    if pair.ours.type != pair.theirs.type or not _TIMES.match(pair.ours.type):
        return False
    return bool(pair.ours.value == _in_microseconds(pair.theirs.value))


def _in_microseconds(value: Any) -> Any:
    """Nanoseconds, cut off towards the past; those of a list too."""
    if isinstance(value, list):
        return [_in_microseconds(item) for item in value]
    return value // _NANOS_PER_US * _NANOS_PER_US if isinstance(value, int) else value


_TOO_FAR_HERE = ("DATETIME_OVERFLOW", "ARITHMETIC_OVERFLOW", "long overflow")
_TOO_FAR_THERE = re.compile("overflow|out of range|Overflow|cannot be represented")


def _is_of_years(pair: Pair) -> bool:
    here, there = pair.ours.value, pair.theirs.value
    if pair.ours.failure:
        # What it computes with, or gives, is in no year of Spark's.
        if not any(words in pair.ours.failure for words in _TOO_FAR_HERE):
            return False
        return bool(_TIMES.match(pair.theirs.type)) and any(
            _is_beyond(outcome.value, _FARTHEST // 2)
            for outcome in (pair.theirs, *map(_as_nanos, pair.operands()))
        )
    if not (pair.gives_value and _TIMES.match(pair.ours.type) and _is_beyond(here)):
        return False
    if _fails(pair.theirs):
        words = pair.theirs.refusal + pair.theirs.failure
        return _TOO_FAR_THERE.search(words) is not None
    assert isinstance(here, int)
    wraps = isinstance(there, int) and 0 <= (there - here) % _WRAPS < _NANOS_PER_US
    return pair.ours.type == pair.theirs.type and wraps


def _is_beyond(value: object, least: int = _FAR) -> bool:
    return isinstance(value, int | Decimal) and abs(value) >= least


def _as_nanos(outcome: Outcome) -> Outcome:
    """A number as nanoseconds, where it counts seconds."""
    if isinstance(outcome.value, int | Decimal) and not _TIMES.match(outcome.type):
        return replace(outcome, value=int(outcome.value) * 10**9)
    return outcome


def _is_date_of_null(pair: Pair) -> bool:
    is_null = pair.gives_value and pair.ours.value is None and pair.ours.type == "DATE"
    if pair.function != "make_date" or not is_null:
        return False
    return any(operand.value is None and operand.type for operand in pair.operands())


def _is_of_seconds(pair: Pair) -> bool:
    if pair.function != "to_timestamp" or len(pair.case.operands) != 1:
        return False
    (given,) = pair.operands()
    if given.type != "DOUBLE" or not isinstance(given.value, float):
        return False
    # A literal counts seconds there, too.
    seconds = pair.asked(f"to_timestamp({given.value!r})")
    if math.isfinite(given.value) and isinstance(seconds.value, int):
        return bool(pair.ours.value == _in_microseconds(seconds.value))
    return _fails(pair.ours) or _is_beyond(pair.ours.value)


# Types

_MAP = re.compile(r"MAP<([^<>]+), ([^<>]+)>")


def _is_map(pair: Pair) -> bool:
    entries = _MAP.sub(r"STRUCT<key \1, value \2>[]", pair.theirs.type)
    is_map = "MAP<" in pair.theirs.type and pair.ours.type == entries
    return is_map and pair.ours.value == pair.theirs.value


_OF_MONTHS = "an interval with months is not supported"


def _is_of_months(pair: Pair) -> bool:
    if _OF_MONTHS in pair.ours.refusal:
        return "INTERVAL" in pair.theirs.type
    value = pair.theirs.value
    has_months = isinstance(value, tuple) and value[0] != 0
    return (
        has_months
        and "INTERVAL" in pair.ours.failure + pair.theirs.type
        and (_OF_MONTHS in pair.ours.failure)
    )


def _is_nvl(pair: Pair) -> bool:
    if pair.function not in ("nvl", "ifnull"):
        return False
    return pair.gives(f"coalesce({', '.join(pair.case.operands)})")


# Numbers

_SIGNS = frozenset("+-*/%")
_UNSIGNED_DIGITS = {
    "TINYINT UNSIGNED": 3,
    "SMALLINT UNSIGNED": 5,
    "INT UNSIGNED": 10,
    "BIGINT UNSIGNED": 20,
}


def _operands_of(case: Case) -> tuple[str, str] | None:
    """The families of the operands of an arithmetic operator."""
    match case.kind.split(" "):
        case [one, operator, other] if operator in _SIGNS:
            return one, other
    return None


def _mixes_decimal_and_unsigned(pair: Pair) -> bool:
    if set(_operands_of(pair.case) or ()) != {"DECIMAL", "UNSIGNED"}:
        return False
    digits = {
        operand: _UNSIGNED_DIGITS.get(outcome.type, 0)
        for operand, outcome in zip(pair.case.operands, pair.operands(), strict=True)
    }

    def exact(operand: str) -> str:
        count = digits[operand]
        return _of_row(f"CAST({operand} AS DECIMAL({count}, 0))" if count else operand)

    wanted = pair.asked(pair.with_operands(exact))
    if compare(pair.ours, wanted).agrees:
        return True
    return _has_too_many_digits(replace(pair, theirs=wanted))


def _is_truncation(pair: Pair) -> bool:
    if pair.function != "trunc" or pair.ours.type != pair.theirs.type:
        return False
    value, *places = (operand.value for operand in pair.operands())
    if not (places and isinstance(value, int | float) and isinstance(places[0], int)):
        return False
    if not math.isfinite(value):
        return close(pair.ours.value, float(value))
    unit = Fraction(10) ** -places[0]
    # The number that is written: 0.29 has two places, though it lies below.
    exact = Fraction(str(value))
    cut = int(exact / unit) * unit
    ours = pair.ours.value
    return isinstance(ours, float) and math.isclose(
        ours, float(cut), rel_tol=1e-6 if pair.ours.type == "FLOAT" else 1e-12
    )


def _has_too_many_digits(pair: Pair) -> bool:
    digits = re.fullmatch(r"DECIMAL\((\d+), \d+\)", pair.theirs.type)
    value = pair.theirs.value
    if digits is None or not isinstance(value, Decimal):
        return False
    is_refused = "NUMERIC_VALUE_OUT_OF_RANGE" in pair.ours.failure
    return is_refused and len(value.as_tuple().digits) > int(digits[1])


def _is_constant_null(pair: Pair) -> bool:
    """Ours is what DataFusion gives where the NULL is known with the row only."""
    is_cast = any(words in pair.ours.failure for words in _FAILED_CAST)
    if _fails(pair.ours) and not is_cast:
        return False
    outcomes = dict(zip(pair.case.operands, pair.operands(), strict=True))
    nulls = {
        operand
        for operand, outcome in outcomes.items()
        if outcome.type and outcome.value is None and not _COLUMN.search(operand)
    }
    is_operator = _operands_of(pair.case) is not None or "bit" in pair.case.kind
    wanted = [o.type for o in outcomes.values() if o.type not in ("", "NULL")]

    def of_row(operand: str) -> str:
        if operand not in nulls:
            # An operator on two constants is computed before there is a row.
            return _of_row(operand) if is_operator else operand
        is_bare = outcomes[operand].type == "NULL" and wanted
        return _of_row(f"CAST(NULL AS {wanted[0]})" if is_bare else operand)

    return bool(nulls) and pair.gives(pair.with_operands(of_row))


_FAILED_CAST = ("[CAST_", "cannot be cast", "PythonException")
_COLUMN = re.compile(r"\b(?!')(?:x\d+|[a-z])\b(?!')")


_NEGATED = ("negative on scalar", "Overflow happened on: - ")


def _is_negated_constant(pair: Pair) -> bool:
    is_so = any(words in pair.theirs.failure for words in _NEGATED)
    is_minus = pair.case.kind.startswith("- ")
    return is_so and is_minus and pair.gives(pair.with_operands(_of_row))


# Where DataFusion fails

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
    "Data type Null not supported for",
    "a should not be None",
)
# It is negated there, and wraps around.
_LEAST = -(1 << 63)


def _is_internal(pair: Pair) -> bool:
    if pair.function == "left" and not _fails(pair.theirs):
        # All but that many characters, which no text has.
        is_least = any(operand.value == _LEAST for operand in pair.operands())
        return is_least and pair.ours.value == ""
    panics = pair.theirs.failure.startswith("panic")
    if not pair.gives_value or not (
        panics or any(words in pair.theirs.failure for words in _ACCIDENTS)
    ):
        return False
    if pair.ours.value is None and _is_natural_null(pair):
        return True
    return any(pair.gives(text) for text in _other_forms(pair))


def _is_natural_null(pair: Pair) -> bool:
    """Of a place that is not found, and of NULL."""
    if "start_from index" in pair.theirs.failure:
        return True
    return any(operand.value is None and operand.type for operand in pair.operands())


def _other_forms(pair: Pair) -> Iterator[str]:
    """The same values as DataFusion's function expects them: literals, NULLs that have
    a type, whole numbers that are BIGINT."""
    columns = {
        column.name: literal(column.value, column.type) for column in pair.case.columns
    }
    types = {operand: pair.asked(operand).type for operand in pair.case.operands}

    def of_literals(text: str) -> str:
        return re.sub(r"\bx\d+\b", lambda found: columns[found[0]], text)

    def wide(operand: str) -> str:
        is_whole = re.fullmatch("(TINY|SMALL|BIG)?INT( UNSIGNED)?", types[operand])
        return f"CAST({operand} AS BIGINT)" if is_whole else operand

    yield of_literals(pair.text)
    yield of_literals(pair.with_operands(wide))
    bare_null = re.compile(r"(?<![\w(])NULL(?! AS)|(?<=\()NULL(?! AS)")
    for type_ in ("BIGINT", "TEXT", "DOUBLE"):
        yield bare_null.sub(f"CAST(NULL AS {type_})", of_literals(pair.text))


def _is_unneeded(pair: Pair) -> bool:
    """Ours is what DataFusion gives whatever stands in place of a part that fails."""
    if not pair.gives_value or not pair.theirs.failure:
        return False
    for operand, outcome in zip(pair.case.operands, pair.operands(), strict=True):
        is_failing = _fails(outcome) or "CastError" in pair.theirs.failure
        if is_failing and any(
            all(pair.gives(_with(pair, operand, value)) for value in values)
            for values in _OTHER_VALUES
        ):
            return True
    return False


_OTHER_VALUES = (
    ("1", "2"),
    ("1.5", "2.5"),
    ("'1'", "'2'"),
    ("true", "false"),
    ("TIMESTAMP '2024-01-01'", "TIMESTAMP '2023-01-01'"),
    ("CAST('10:00:00' AS TIME)", "CAST('11:00:00' AS TIME)"),
    ("INTERVAL '1 day'", "INTERVAL '2 days'"),
    ("make_array(1)", "make_array(2)"),
    ("make_array('a')", "make_array('b')"),
)
"""Two of each type: where both give the same, neither is needed."""


def _with(pair: Pair, operand: str, value: str) -> str:
    return pair.with_operands(lambda o: value if o == operand else o)


# Which parts are looked at

_LISTS = re.compile(r"array_(?:has|sort|to_string)")
_LITERALS_ONLY = {"array_sort": 1, "array_to_string": 2}
"""The first argument that must be a literal here."""


def _is_by_batch(pair: Pair) -> bool:
    if _LISTS.match(pair.function) is None:
        return False
    if "must be a literal" in pair.ours.refusal:
        first = _LITERALS_ONLY.get(pair.function)
        words = () if first is None else pair.case.operands[first:]
        return any(not word.startswith("'") for word in words)
    if any(
        operand.type.endswith("[]") and operand.value is None
        for operand in pair.operands()
    ):
        return pair.gives_value and pair.ours.value is None
    return pair.gives(pair.with_operands(_of_row))


def _is_field_of_null(pair: Pair) -> bool:
    is_field = pair.case.kind in ("struct[]", "get_field")
    is_null = any(
        c.value is None and isinstance(c.type, StructOf) for c in pair.case.columns
    )
    return (
        is_field
        and is_null
        and pair.ours.type == pair.theirs.type
        and pair.ours.value is None
        and pair.theirs.value in (0, "")
    )


_SOME_VALUES = {
    "TEXT": "'a'",
    "BOOLEAN": "true",
    "TEXT[]": "make_array('a')",
    "BIGINT[]": "make_array(1)",
    "DOUBLE[]": "make_array(1.5)",
}


def _is_checked(pair: Pair) -> bool:
    is_of_types = "does not take" in pair.ours.refusal
    if not pair.ours.refusal or is_of_types or _fails(pair.theirs):
        return False
    if any(_fails(operand) for operand in pair.operands()):
        return True

    def some(operand: str) -> str:
        outcome = pair.asked(operand)
        if outcome.value is not None:
            return _of_row(operand) if "nullif" in pair.function else operand
        known = _SOME_VALUES.get(outcome.type)
        return known or f"CAST('1' AS {outcome.type})"

    # It fails in the first row that has a value.
    return pair.theirs.value in (None, 0) and _fails(
        pair.asked(pair.with_operands(some))
    )


def _is_text_beside_number(pair: Pair) -> bool:
    """Of a text that is no number it fails."""
    if "does not take" not in pair.ours.refusal:
        return False
    outcomes = dict(zip(pair.case.operands, pair.operands(), strict=True))
    if "TEXT[]" not in {outcome.type for outcome in outcomes.values()}:
        return False

    def no_number(operand: str) -> str:
        is_texts = outcomes[operand].type == "TEXT[]"
        return "make_array('no number')" if is_texts else operand

    failure = pair.asked(pair.with_operands(no_number)).failure
    return "Cannot cast string 'no number'" in failure


def _is_overlay(pair: Pair) -> bool:
    if pair.function != "overlay" or not isinstance(pair.ours.value, str):
        return False
    text, new, start, *count = (operand.value for operand in pair.operands())
    if not (isinstance(text, str) and isinstance(new, str) and isinstance(start, int)):
        return False
    length = count[0] if count else len(new)
    if not isinstance(length, int) or length < 0:
        length = len(new)
    before, after = max(start - 1, 0), max(start - 1 + length, 0)
    return pair.ours.value == text[:before] + new + text[after:]


DIFFERENCES = (
    DeliberateDifference("nanoseconds", _is_nanoseconds),
    DeliberateDifference("years", _is_of_years),
    DeliberateDifference("maps", _is_map),
    DeliberateDifference("months", _is_of_months),
    DeliberateDifference("make_date of NULL", _is_date_of_null),
    DeliberateDifference("seconds with a fraction", _is_of_seconds),
    DeliberateDifference("DECIMAL with UNSIGNED", _mixes_decimal_and_unsigned),
    DeliberateDifference("trunc", _is_truncation),
    DeliberateDifference("nvl", _is_nvl),
    DeliberateDifference("too many digits", _has_too_many_digits),
    DeliberateDifference("checked literals", _is_checked),
    DeliberateDifference("constant NULL", _is_constant_null),
    DeliberateDifference("negated constant", _is_negated_constant),
    DeliberateDifference("rows of a batch", _is_by_batch),
    DeliberateDifference("fields of NULL", _is_field_of_null),
    DeliberateDifference("texts and numbers", _is_text_beside_number),
    DeliberateDifference("overlay", _is_overlay),
    DeliberateDifference("internal failures", _is_internal),
    DeliberateDifference("parts without need", _is_unneeded),
)
"""Their words are of :mod:`arroyo_nb.plan.explain.value_differences`."""


def deliberate(case: Case, ours: Outcome, theirs: Outcome) -> str:
    """The name of the difference that explains this one; empty: there is none."""
    pair = Pair(case, ours, theirs)
    for difference in DIFFERENCES:
        if difference.applies(pair):
            return difference.name
    return ""
