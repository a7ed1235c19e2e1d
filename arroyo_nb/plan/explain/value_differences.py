"""Where the value of an expression differs from Arroyo's on purpose.

Arroyo evaluates expressions with Apache DataFusion 48. What is not in this table gives
the value that DataFusion gives; random expressions are compared with it, and what
differs must be explained by a row of this table. ``EXPLAIN`` prints those of a query in
its notes, hover tells those of a function, and the documentation has a page of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from arroyo_nb.functions import aggregates, scalar
from arroyo_nb.functions.types import is_unsigned
from arroyo_nb.plan.expressions.functions import called
from arroyo_nb.plan.expressions.operators import ARITHMETIC
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.schema import DOUBLE, Decimal


@dataclass(frozen=True)
class ValueDifference:
    """One of them.

    Parameters
    ----------
    name
        Its name on a page.
    text
        What is given here, and what in Arroyo.
    functions
        The functions whose calls it is of; empty: other expressions.
    applies
        Whether it holds of a bound expression, its parts apart; None: what decides is
        not in the text of the query but in its rows.
    """

    name: str
    text: str
    functions: tuple[str, ...] = ()
    applies: Callable[[exp.Expr], bool] | None = None

    @property
    def note(self) -> str:
        """The line of EXPLAIN."""
        return f"differs from Arroyo: {self.text}"


def _calls(*names: str) -> Callable[[exp.Expr], bool]:
    """Of calls of our own functions: strict mode may have bound Arroyo's."""
    return lambda part: (
        isinstance(part, exp.Anonymous)
        and part.name in names
        and called(part) is scalar(part.name)
    )


def _mixes_decimal_and_unsigned(part: exp.Expr) -> bool:
    if not isinstance(part, ARITHMETIC) or not isinstance(type_of(part), Decimal):
        return False
    # The operand is a decimal by now: what it was cast from tells.
    sides = [s.this if isinstance(s, exp.Cast) else s for s in (part.left, part.right)]
    types = [type_of(side) for side in sides if "arroyo_type" in side.meta]
    return any(map(is_unsigned, types))


def _counts_seconds(part: exp.Expr) -> bool:
    return (
        isinstance(part, exp.Anonymous)
        and part.name == "to_timestamp"
        and type_of(part.expressions[0]) == DOUBLE
        and not isinstance(part.expressions[0], exp.Literal)
    )


_OF_EXPRESSIONS = (
    ValueDifference(
        "nanoseconds",
        "a TIMESTAMP and a TIME keep microseconds; in Arroyo they keep nanoseconds",
    ),
    ValueDifference(
        "years",
        "what Spark evaluates of a TIMESTAMP holds all years to 294,247, and what "
        "DataFusion evaluates fails outside 1677 to 2262; in Arroyo values outside "
        "those wrap around or fail",
    ),
    ValueDifference(
        "maps",
        "a map is a list of its entries, as Arrow holds one; Arroyo has a type MAP",
        ("map", "make_map"),
        _calls("map", "make_map"),
    ),
    ValueDifference(
        "months",
        "an interval with months has no length: it may be added, compared and read, "
        "and is no value of a column; in Arroyo it is one",
    ),
    ValueDifference(
        "make_date of NULL",
        "make_date() of a NULL is NULL; Arroyo takes a NULL for the number 0, or fails",
        ("make_date",),
    ),
    ValueDifference(
        "seconds with a fraction",
        "to_timestamp() of a DOUBLE counts seconds; Arroyo counts nanoseconds where it "
        "is a column, and seconds where it is a literal",
        ("to_timestamp",),
        _counts_seconds,
    ),
    ValueDifference(
        "DECIMAL with UNSIGNED",
        "a DECIMAL keeps its digits beside an UNSIGNED; Arroyo makes an UNSIGNED of "
        "it, which loses those behind the point, and fails on negative numbers",
        applies=_mixes_decimal_and_unsigned,
    ),
    ValueDifference(
        "trunc",
        "trunc(x, n) cuts off behind n places; Arroyo rounds to n places",
        ("trunc",),
        lambda part: _calls("trunc")(part) and len(part.expressions) > 1,
    ),
    ValueDifference(
        "nvl",
        "nvl() keeps the type, as coalesce() does; Arroyo makes a TEXT of a time or a "
        "list, a DOUBLE of a DECIMAL and a FLOAT of large whole numbers",
        ("nvl",),
        _calls("nvl", "ifnull"),
    ),
    ValueDifference(
        "too many digits",
        "a sum or product of DECIMALs with more digits than its type has ends the run; "
        "Arroyo gives a number that its type cannot hold",
    ),
    ValueDifference(
        "constant NULL",
        "an operation with a constant NULL has the type that it has with a column, "
        "and fails where that does; Arroyo gives a NULL at once, of the other "
        "operand's type",
    ),
    ValueDifference(
        "negated constant",
        "a constant is negated as a column is; Arroyo refuses a constant NULL of "
        "DECIMAL and the least whole number, which wraps around in a column",
    ),
    ValueDifference(
        "internal failures",
        "the natural value is given, often NULL, where Arroyo panics, fails or wraps "
        "around on a value that its function does not expect, such as a list that is "
        "NULL, or the least whole number as a length",
    ),
    ValueDifference(
        "parts without need",
        "a part of an expression whose value is not needed, as the second argument "
        "of coalesce() where the first is no NULL, does not end the run; in Arroyo the "
        "run fails where it cannot be computed",
    ),
    ValueDifference(
        "rows of a batch",
        "a list that is NULL gives NULL, and the order of array_sort() and the text "
        "for NULLs of array_to_string() are literals; in Arroyo the value depends on "
        "the rows that are evaluated together",
        ("array_has", "array_has_all", "array_has_any", "array_sort"),
    ),
    ValueDifference(
        "fields of NULL",
        "a field of a struct that is NULL is NULL; Arroyo reads what lies beneath, "
        "such as 0",
    ),
    ValueDifference(
        "checked literals",
        "a literal pattern, flag, unit or number that no call takes is refused, and "
        "nullif() of lists or structs; Arroyo looks at the first where no argument is "
        "NULL, and compares the others where all are literals",
    ),
    ValueDifference(
        "texts and numbers",
        "a list of texts beside a number is refused; Arroyo reads the texts as "
        "numbers, and fails at the first that is none",
    ),
    ValueDifference(
        "overlay",
        "overlay() counts characters and keeps the rest of the text; Arroyo counts "
        "bytes, and loses what ends before the start",
        ("overlay",),
    ),
    ValueDifference(
        "lost clauses",
        "DISTINCT, FILTER and the frame of OVER hold in every aggregate; Arroyo "
        "forgets DISTINCT in some, DISTINCT and FILTER before OVER, and keeps values "
        "in min() and max() that have left the frame",
    ),
    ValueDifference(
        "exact sums",
        "sums and moments of FLOAT and DOUBLE are exact to the last digits; Arroyo "
        "rounds at each row, and loses all digits where large numbers cancel. The "
        "corr() of what does not vary is NULL; in Arroyo it is 0 before OVER",
    ),
    ValueDifference(
        "zeros and NaN",
        "-0.0 and 0.0 are one value to GROUP BY, DISTINCT, PARTITION BY, aggregates "
        "and the equal columns of a join, and all NaN are one, the greatest number; in "
        "Arroyo they differ by their bits: a NaN that was computed, as by 0.0 / 0.0, "
        "is the least number, and in min() and max() the order of the rows decides",
    ),
    ValueDifference(
        "overflows",
        "median() of whole numbers does not overflow, and a sum of DECIMALs beyond 38 "
        "digits ends the run; in Arroyo both give another number",
    ),
)


def _of_aggregates() -> Iterator[ValueDifference]:
    """What the aggregates tell of themselves; those that tell the same are one."""
    names: dict[str, list[str]] = {}
    for row in dict.fromkeys(map(aggregates.aggregate, aggregates.names())):
        if row.differs:
            names.setdefault(row.differs, []).append(row.name)
    for text, alike in names.items():
        yield ValueDifference(", ".join(alike), text, tuple(alike))


VALUE_DIFFERENCES = (*_OF_EXPRESSIONS, *_of_aggregates())
"""All of them."""


def value_differences(part: exp.Expr) -> Iterator[ValueDifference]:
    """Those that hold of a bound expression, its parts apart."""
    for row in VALUE_DIFFERENCES:
        if row.applies is not None and row.applies(part):
            yield row


def differences_of_function(name: str) -> Iterator[ValueDifference]:
    """Those of the calls of a function, by its primary name."""
    return (row for row in VALUE_DIFFERENCES if name in row.functions)
