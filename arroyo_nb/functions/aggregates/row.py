"""What one aggregate is: to the planner, to Spark and to the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from arroyo_nb.changelog.measures import Kernel
from arroyo_nb.functions.signature import Signature
from arroyo_nb.functions.types import is_number
from arroyo_nb.functions.user_defined import UserDefined
from arroyo_nb.schema import DOUBLE, NULL, Type

if TYPE_CHECKING:
    from sqlglot import exp

Constant = str | int | float


class SparkCall(Protocol):
    """A call over a window, as what Spark SQL says of it is put together."""

    @property
    def type(self) -> Type:
        """The type of the result."""

    def call(self, function: str) -> str:
        """A function of Spark over the rows of the call."""

    def of_bits(self, function: str) -> str:
        """A function of Spark over the bits of the whole numbers."""

    @property
    def count(self) -> str:
        """How many values there are."""

    @property
    def total(self) -> str:
        """Their sum; one of whole numbers wraps around."""

    @property
    def mean(self) -> str:
        """The mean of the values, as Spark SQL text."""


SparkTemplate = str | Callable[[SparkCall], str]
"""A function of Spark, or what makes the text of a call."""


@dataclass(frozen=True, kw_only=True)
class AggregateFunction:
    """An aggregate of the dialect.

    Parameters
    ----------
    name, aliases
        What it is called, and other names that are accepted.
    doc
        What it gives, in one line.
    example
        A call over the columns of :data:`arroyo_nb.functions.examples.TRIPS` and its
        result, as in ``sum(seats) -> 15``, which a test computes.
    result
        Type of the result for the type of each argument; None where it is refused.
    kernel
        How it is computed in an updating query, and of lists of rows.
    spark
        What it is over a window in Spark; None: the kernel computes it from the rows.
    spark_distinct
        Whether that holds with DISTINCT too.
    spark_reads
        Whether it holds for arguments of a type.
    wants
        What an argument must be, in words.
    arguments
        How many it takes, the constant one left out.
    of_rows
        Whether it may be called with ``*``, and is never NULL.
    constant
        Reads the constant argument, which comes last; None where it is not one.
    constant_words
        What the constant must be, in words.
    ordered
        Whether the order of the rows changes the result.
    within
        Whether WITHIN GROUP (ORDER BY x) gives its first argument.
    reads
        The type that an argument of a type is cast to.
    alike
        Whether its arguments are first cast to what is common to them.
    deterministic
        Whether Spark computes the same of the same rows in any order.
    rounds
        Whether it rounds on the way, where it is of floats: then it is not.
    wraps
        Whether it wraps around at the width of a whole number.
    slides
        Whether Arroyo can compute it over a frame that rows leave.
    never_distinct
        What Arroyo calls it where it refuses DISTINCT; empty: it takes it.
    signature
        What it takes, where each argument is of a type of its own.
    differs
        How its result differs from Arroyo's deliberately, in words; empty: it does not.
    udf
        The UDF; None: it is one of the dialect's.
    """

    name: str
    doc: str
    example: str
    result: Callable[[Type], Type | None]
    kernel: Kernel
    aliases: tuple[str, ...] = ()
    spark: SparkTemplate | None = None
    spark_distinct: bool = False
    spark_reads: Callable[[Type], bool] = lambda _: True
    wants: str = "a number"
    arguments: int = 1
    of_rows: bool = False
    constant: Callable[[exp.Expr], Constant | None] | None = None
    constant_words: str = ""
    ordered: bool = False
    within: bool = False
    reads: Callable[[Type], Type] = lambda type_: type_
    alike: bool = False
    deterministic: bool = False
    rounds: bool = False
    wraps: bool = False
    slides: bool = False
    never_distinct: str = ""
    signature: Signature | None = None
    differs: str = ""
    udf: UserDefined | None = None

    def __deepcopy__(self, _: object) -> AggregateFunction:
        return self  # it does not change, and bound calls are copied with it


def any_value(type_: Type) -> Type | None:
    """The argument's type; a NULL has none."""
    return None if type_ == NULL else type_


def numeric(type_: Type) -> Type | None:
    """The argument's type where it is a number."""
    return type_ if is_number(type_) else None


def real(type_: Type) -> Type | None:
    """DOUBLE of any number, or of NULL."""
    return DOUBLE if is_number(type_) or type_ == NULL else None


def always(type_: Type) -> Callable[[Type], Type]:
    """That type, whatever the argument's is."""
    return lambda _: type_
