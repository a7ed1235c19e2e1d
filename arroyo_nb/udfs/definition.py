"""What is known of a function that a user has defined: its signature and its source.

A definition is read from source text, in Python or Rust; nothing is run or compiled
for it. What it becomes in the dialect is a row like that of any other function.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

from arroyo_nb.functions.aggregates import AggregateFunction
from arroyo_nb.functions.signature import (
    Nulls,
    Parameter,
    ParameterKind,
    ScalarFunction,
    Signature,
)
from arroyo_nb.schema import Decimal, Type, arrow_type, quoted

if TYPE_CHECKING:
    import pyarrow as pa


class Kind(Enum):
    """How a function is called."""

    ROWS = "once for each row"
    BATCHES = "with a batch of rows"
    ASYNC = "once for each row, many at a time"
    VALUES = "with all values of a group"
    ACCUMULATOR = "with one value of a group after the other"


NOT_DEFINED = "which is not defined above it"
"""How the words of a :attr:`Udf.not_portable` end that names what is not there yet."""

_PROCESS = os.urandom(8).hex()
AGGREGATES = (Kind.VALUES, Kind.ACCUMULATOR)


@dataclass(frozen=True)
class UdfParameter:
    """A parameter of a function.

    Parameters
    ----------
    name
        Its name.
    type
        Of one value: of an aggregate, too.
    optional
        Whether the function is called with NULL; else a NULL is no value to an
        aggregate, and makes the result of another function NULL without a call.
    """

    name: str
    type: Type
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@dataclass(frozen=True)
class UdfOptions:
    """What the author of a function says of it beside its types.

    Parameters
    ----------
    on_error
        ``"fail"``; or ``"null"``: a call that raises gives NULL.
    redact
        Leave the arguments of a call that failed out of its error.
    volatile
        Whether equal arguments may give another result.
    ordered
        Async: results come in the order of the rows.
    allowed_in_flight
        Async: calls at a time.
    timeout
        Async: how long a call may take.
    on_timeout
        Async: ``"fail"``; or ``"null"``: a call that takes longer gives NULL.
    """

    on_error: str = "fail"
    redact: bool = False
    volatile: bool = False
    ordered: bool = False
    allowed_in_flight: int = 1000
    timeout: timedelta = timedelta(seconds=5)
    on_timeout: str = "fail"


@dataclass(frozen=True, eq=False)
class Udf:
    """A UDF.

    Parameters
    ----------
    name
        What SQL calls it, in lower case.
    language
        ``python`` or ``rust``.
    kind
        How it is called.
    parameters
        In order.
    result
        The type of the result.
    optional
        Whether the function may give NULL.
    text
        Source that defines it, and needs nothing else of a notebook.
    line
        Where in the source its definition begins, from 1.
    load
        Makes of the definition what a worker calls (:meth:`batch_call`).
    doc
        What it gives, in one line; empty where its author does not say.
    options
        What else its author says.
    arroyo_refusal
        Why Arroyo would refuse it, in its words; empty: it would not.
    not_portable
        Why the source does not stand for itself, in words; empty: it does.
    written
        What its source calls it.
    cell_line
        Where in its cell the definition begins, whose source has other lines before it,
        or which stands below a magic; 0: the source is the cell.
    serial
        Which definition of this process it is: a later one has a larger number.
    """

    name: str
    language: str
    kind: Kind
    parameters: tuple[UdfParameter, ...]
    result: Type
    optional: bool
    text: str = field(repr=False)
    line: int
    load: Callable[[Udf], Any] = field(repr=False)
    doc: str = ""
    options: UdfOptions = UdfOptions()
    arroyo_refusal: str = ""
    not_portable: str = ""
    written: str = ""
    cell_line: int = 0
    serial: int = field(default_factory=count().__next__)

    def __deepcopy__(self, _: object) -> Udf:
        return self  # it does not change, and expressions are copied with it

    @cached_property
    def sha256(self) -> str:
        """Of the source, in hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def version(self) -> str:
        """What tells this definition from others of its name. What its text does not
        say may be another thing each time that it is defined."""
        more = f" {self.serial} of {_PROCESS}" if self.not_portable else ""
        return self.sha256 + more

    @property
    def arrow_types(self) -> tuple[pa.DataType, ...]:
        """The Arrow types of its parameters."""
        return tuple(arrow_type(parameter.type) for parameter in self.parameters)

    @property
    def takes_nulls(self) -> tuple[bool, ...]:
        """Which of its parameters are optional."""
        return tuple(parameter.optional for parameter in self.parameters)

    @property
    def is_aggregate(self) -> bool:
        """Whether it gives one result of a group of rows."""
        return self.kind in AGGREGATES

    @property
    def is_async(self) -> bool:
        """Whether its calls wait for each other's answers."""
        return self.kind is Kind.ASYNC

    @property
    def may_be_null(self) -> bool:
        """Whether a call without a NULL may give one."""
        fails = (self.options.on_error, self.options.on_timeout)
        return self.optional or "null" in fails

    @property
    def spark_name(self) -> str:
        """What Spark calls it: two definitions of one name are two functions."""
        # What its text does not say may be another thing each time that it is defined.
        more = f"_{self.serial}" if self.not_portable else ""
        return f"udf_{self.name}_{self.sha256[:16]}{more}"

    @property
    def guarded_name(self) -> str:
        """What Spark calls it where it is told for which rows to call it."""
        return f"{self.spark_name}_if"

    @property
    def signature(self) -> str:
        """As it is listed: ``name(a BIGINT, b TEXT) -> DOUBLE``."""
        inner = ", ".join(map(str, self.parameters))
        return f"{self.name}({inner}) -> {self.result}"

    @property
    def called(self) -> str:
        """How it is called, such as ``once for each row``."""
        return self.kind.value

    def batch_call(self) -> Any:
        """What a worker calls with a batch.

        Returns
        -------
        callable
            Of a class its methods (:mod:`arroyo_nb.udfs.accumulators`). Of others it
            takes an Arrow array for each parameter, all of one length and of the types
            of :func:`arroyo_nb.schema.arrow_type`: of an aggregate lists, one for each
            group. Only those of optional parameters hold NULLs. Gives an array of that
            length. It can be pickled.
        """
        return self.load(self)

    def scalar(self) -> ScalarFunction:
        """The row of a function that is no aggregate."""
        assert not self.is_aggregate
        wanted = tuple(_wanted(parameter.type) for parameter in self.parameters)
        return ScalarFunction(
            self.name,
            (Signature(wanted, self.result),),
            "",  # it writes its calls itself
            self.doc or "a UDF",
            nulls=Nulls.ALWAYS if self.may_be_null else self._is_null,
            volatile="another value" if self.options.volatile else "",
            example="",
            udf=self,
        )

    def aggregate(self) -> AggregateFunction:
        """The row of an aggregate."""
        assert self.is_aggregate
        from arroyo_nb.udfs import accumulators, groups

        keeps_objects = self.kind is Kind.ACCUMULATOR
        make = accumulators.kernel if keeps_objects else groups.kernel
        wanted = tuple(_wanted(parameter.type) for parameter in self.parameters)
        return AggregateFunction(
            name=self.name,
            doc=self.doc or "an aggregate of the user's",
            example="",
            result=lambda _: self.result,
            kernel=make(self),
            arguments=len(wanted),
            ordered=not keeps_objects,
            signature=Signature(wanted, self.result),
            udf=self,
        )

    def _is_null(self, nullables: Sequence[bool]) -> bool:
        pairs = zip(nullables, self.parameters, strict=True)
        return any(null and not parameter.optional for null, parameter in pairs)

    def spark_call(self, arguments: Sequence[str], only_where: str) -> str:
        """A call as Spark SQL text; with a condition one of the function that is given
        it before its arguments."""
        name = self.guarded_name if only_where else self.spark_name
        given = [only_where] if only_where else []
        return f"{quoted(name)}({', '.join((*given, *arguments))})"


def _wanted(type_: Type) -> Parameter:
    """A decimal is taken with the digits that it has."""
    return ParameterKind.DECIMAL if isinstance(type_, Decimal) else type_
