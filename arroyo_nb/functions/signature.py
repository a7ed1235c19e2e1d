"""What a scalar function takes, gives and becomes in Spark SQL.

A function is a row of a table: its name, its signatures, a Spark SQL template and one
line of documentation. The first signature that fits the argument types wins; then
arguments are cast to the types that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from typing import TypeAlias

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.casts import cast
from arroyo_nb.functions.datafusion import Operand, datafusion_call, text_literal
from arroyo_nb.functions.let_binding import once
from arroyo_nb.functions.literals import check_text
from arroyo_nb.functions.types import common_type, fits, is_integer, is_number
from arroyo_nb.functions.user_defined import UserDefined
from arroyo_nb.schema import (
    EPOCH,
    JSON,
    JSON_VALUE,
    NULL,
    TEXT,
    Decimal,
    ListOf,
    StructOf,
    Timestamp,
    Type,
)
from arroyo_nb.source import Span


class SignatureProblem(CatalogProblem):
    """A function called with arguments that it does not take."""


class ParameterKind(Enum):
    """A parameter that takes several types. It keeps the argument's own; but lists and
    the values for them, as in ``(LIST, ELEMENT)`` and ``(LIST, LIST)``, are all cast to
    what is common to them. A way into a document of JSON has names and indices. A
    moment is a TIMESTAMP of any precision, or a DATE; a text is read as a
    TIMESTAMP."""

    ANY = "any"
    NUMBER = "number"
    LIST = "list"
    OTHER_LIST = "list of its own"
    ELEMENT = "element"
    DOCUMENT = "JSON"
    KEY = "name or index"
    STRUCT = "struct"
    DECIMAL = "DECIMAL"
    MOMENT = "TIMESTAMP"


_LISTS = (ParameterKind.LIST, ParameterKind.OTHER_LIST)
_RELATED = (ParameterKind.LIST, ParameterKind.ELEMENT)
_WHOLE = Decimal(20, 0)
"""A decimal that holds every whole number."""


class Result(Enum):
    """A result type that depends on the argument types."""

    FIRST = "the first argument's"
    COMMON = "common to all arguments"
    COMMON_OF_REST = "common to all arguments but the first"
    ELEMENT = "the list's element"
    LIST_OF_COMMON = "a list of what is common to all arguments, or to its elements"


Literals: TypeAlias = "Sequence[str | None]"
"""The values of those arguments that are text literals, None for the others."""

Parameter: TypeAlias = "Type | ParameterKind"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call.

    Parameters
    ----------
    sql
        Its Spark SQL.
    type
        Its type.
    literal
        The value of a text literal.
    number
        The value of a literal whole number.
    duration
        The value of an interval literal without months.
    constant
        SQL of DataFusion for a literal of a time or an interval.
    has_months
        Whether it is an interval that may have months in some row: DataFusion holds it.
    span
        Its place in the script.
    """

    sql: str
    type: Type
    literal: str | None = None
    number: int | None = None
    duration: timedelta | None = None
    constant: str | None = None
    has_months: bool = False
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class ClockTemplate:
    """The template of a function of the clock, which is read once, at planning.

    Parameters
    ----------
    write
        The Spark SQL for a time, which is in UTC.
    """

    write: Callable[[datetime], str]


Template: TypeAlias = str | Callable[[Sequence[Argument]], str] | ClockTemplate
"""Spark SQL with ``{0}``, ``{1}``; ``{all}`` is all arguments. Or a function."""

ElementTemplate: TypeAlias = Callable[[Sequence[Argument], int], str | None]
Guard: TypeAlias = Callable[[Sequence[str]], str]
DataFusionTemplate: TypeAlias = Callable[[Sequence[Argument]], str]
"""SQL of DataFusion with ``{0}``, ``{1}`` for a call; empty: Spark means it alike."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters in order, and the result.

    Parameters
    ----------
    parameters
        What each argument must be.
    result
        The result's type, or what it is by the types of the arguments and the literals
        among them.
    optional
        How many of the last parameters may be left out.
    repeats
        Whether the last parameter takes any number of further arguments.
    """

    parameters: tuple[Parameter, ...]
    result: Type | Result | Callable[[Sequence[Type], Literals], Type]
    optional: int = 0
    repeats: bool = False

    def accepts(self, types: Sequence[Type]) -> bool:
        """Do arguments of these types fit?"""
        most = len(self.parameters)
        if len(types) < most - self.optional or (
            len(types) > most and not self.repeats
        ):
            return False
        if not all(map(_fits, types, self._parameters(len(types)))):
            return False
        return len(self._unified(types)) == 0 or self._common(types) is not None

    def result_type(self, types: Sequence[Type], literals: Literals = ()) -> Type:
        """The result for arguments that it accepts."""
        match self.result:
            case Result.FIRST:
                return types[0]
            case Result.COMMON | Result.COMMON_OF_REST:
                return self._common(types) or NULL
            case Result.LIST_OF_COMMON:
                return ListOf(self._common(types) or NULL)
            case Result.ELEMENT:
                return _element(types[0])
            case result if callable(result):
                return result(types, literals)
            case result:
                return result

    def targets(self, types: Sequence[Type]) -> list[Type]:
        """What each argument is cast to."""
        wanted = self._parameters(len(types))
        own = [_own(g, want) for g, want in zip(types, wanted, strict=True)]
        if self._relates:
            common = self._common(types) or NULL
            related: dict[Parameter, Type] = {
                ParameterKind.LIST: ListOf(common),
                ParameterKind.ELEMENT: common,
            }
            return [related.get(w, t) for w, t in zip(wanted, own, strict=True)]
        first = len(own) - len(self._unified(types))
        return own[:first] + [self._common(types) or t for t in own[first:]]

    @property
    def _relates(self) -> bool:
        """Whether there are lists and elements that must be of one type."""
        related = [parameter in _RELATED for parameter in self.parameters]
        return sum(related) + (self.repeats and related[-1]) > 1

    def _unified(self, types: Sequence[Type]) -> Sequence[Type]:
        """The types that must be one: of arguments, or of elements of lists."""
        wanted = self._parameters(len(types))
        if self._relates:
            return [
                _element(given) if want is ParameterKind.LIST else given
                for given, want in zip(types, wanted, strict=True)
                if want in _RELATED
            ]
        match self.result:
            case Result.COMMON | Result.LIST_OF_COMMON:
                return types
            case Result.COMMON_OF_REST:
                return types[1:]
            case _:
                return ()

    def _common(self, types: Sequence[Type]) -> Type | None:
        return common_type(self._unified(types))

    def _parameters(self, n: int) -> tuple[Parameter, ...]:
        if n <= len(self.parameters):
            return self.parameters[:n]
        return self.parameters + self.parameters[-1:] * (n - len(self.parameters))

    def __str__(self) -> str:
        required = len(self.parameters) - self.optional
        words = [
            str(p.value if isinstance(p, ParameterKind) else p) for p in self.parameters
        ]
        words[required:] = [f"[{word}]" for word in words[required:]]
        return ", ".join(words + (["..."] if self.repeats else []))


def _fits(given: Type, wanted: Parameter) -> bool:
    if given == NULL:
        return True
    match wanted:
        case ParameterKind.ANY | ParameterKind.ELEMENT:
            return True
        case ParameterKind.NUMBER:
            return is_number(given)
        case ParameterKind.LIST | ParameterKind.OTHER_LIST:
            return isinstance(given, ListOf)
        case ParameterKind.DOCUMENT:
            return given in (TEXT, JSON, JSON_VALUE)
        case ParameterKind.KEY:
            return given == TEXT or is_integer(given)
        case ParameterKind.STRUCT:
            return isinstance(given, StructOf)
        case ParameterKind.DECIMAL:
            return isinstance(given, Decimal) or is_integer(given)
        case ParameterKind.MOMENT:
            return fits(given, Timestamp())
        case _:
            return fits(given, wanted)


def _own(given: Type, wanted: Parameter) -> Type:
    """What an argument is cast to, apart from the others."""
    if not isinstance(wanted, ParameterKind):
        return wanted
    if wanted is ParameterKind.DECIMAL and not isinstance(given, Decimal):
        return _WHOLE
    if wanted is ParameterKind.MOMENT and given in (TEXT, NULL):
        return Timestamp()
    return ListOf(NULL) if given == NULL and wanted in _LISTS else given


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, ListOf) else NULL


class Nulls(Enum):
    """When a function's result may be NULL."""

    STRICT = "when an argument is"
    NEVER = "never"
    ALWAYS = "whatever the arguments are"
    ALL = "when all arguments are"


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A function of the dialect.

    Parameters
    ----------
    name, aliases
        What it is called, and other names that are accepted.
    signatures
        What it takes and gives; the first that fits counts.
    template
        What it is in Spark SQL.
    doc
        What it gives, in one line.
    nulls
        When its result may be NULL.
    volatile
        What it gives that is not the same when it is computed again, in words, such as
        'another number'; empty: its arguments decide.
    example
        A call with literals and its result, as in ``upper('abc') -> 'ABC'``, which a
        test computes; of a volatile function the call alone.
    differs
        How its result differs from Arroyo's, where it does; in words.
    element
        Of a function that gives a list: what one element is in Spark SQL, by its place,
        where it needs less than the list; None where it does not.
    only_where
        Of a function that does not look at each argument of each row: the condition
        under which it looks at one, as Spark SQL text, made of the texts of those
        before it; empty: always. None: it looks at all.
    datafusion
        Which calls DataFusion evaluates, and how they are written in its SQL; None:
        Spark evaluates all.
    udf
        The UDF; None: it is one of the dialect's.
    """

    name: str
    signatures: tuple[Signature, ...]
    template: Template
    doc: str
    nulls: Nulls | Callable[[Sequence[bool]], bool] = Nulls.STRICT
    aliases: tuple[str, ...] = ()
    volatile: str = ""
    example: str = field(kw_only=True)
    differs: str = field(default="", kw_only=True)
    element: ElementTemplate | None = field(default=None, kw_only=True)
    only_where: Guard | None = field(default=None, kw_only=True)
    datafusion: DataFusionTemplate | None = field(default=None, kw_only=True)
    udf: UserDefined | None = field(default=None, kw_only=True)

    def __deepcopy__(self, _: object) -> ScalarFunction:
        return self  # it does not change, and bound calls are copied with it

    def check(self, types: Sequence[Type], literals: Literals = ()) -> Type:
        """The type of the result.

        Parameters
        ----------
        types
            Of the arguments.
        literals
            Where given, the values of text literals among them:
            ``date_part('epoch', t)`` is a DOUBLE, other parts are whole numbers.

        Raises
        ------
        SignatureProblem
            When no signature takes arguments of these types.
        """
        return self._signature(types).result_type(types, literals)

    def nullable(self, nullables: Sequence[bool]) -> bool:
        """May the result be NULL, given which arguments may be?"""
        match self.nulls:
            case Nulls.STRICT:
                return any(nullables)
            case Nulls.ALL:
                return all(nullables)
            case Nulls.ALWAYS:
                return True
            case Nulls.NEVER:
                return False
            case decide:
                return decide(nullables)

    def spark(
        self,
        arguments: Sequence[Argument],
        *,
        planned_at: datetime = EPOCH,
        only_where: str = "",
    ) -> str:
        """The Spark SQL of a call.

        Parameters
        ----------
        arguments
            As they are given.
        planned_at
            When the script was planned, for functions of the clock.
        only_where
            Spark SQL of a condition: a UDF is called for the rows
            alone for which it is true, and NULL for others. DataFusion is given NULL
            for others. Empty: for all.

        Raises
        ------
        ArroyoError
            When an argument is a literal that the function does not know, or that is
            no value of the parameter's type, or is none where it must be one; at the
            argument's place.
        """
        ready = self._cast(arguments)
        if self.udf is not None:
            return self.udf.spark_call([a.sql for a in ready], only_where)
        if isinstance(self.template, ClockTemplate):
            return self.template.write(planned_at)
        if self.datafusion is not None and (template := self.datafusion(ready)):
            result = self.check(
                [a.type for a in arguments], [a.literal for a in arguments]
            )
            operands = [operand(a) for a in ready]
            return datafusion_call(template, operands, result, only_where=only_where)
        return once(partial(self._written, ready), [a.sql for a in ready])

    def spark_element(self, arguments: Sequence[Argument], place: int) -> str | None:
        """The Spark SQL of one element of the list that a call gives, by its place from
        1; None where it is best taken from the list.

        Raises
        ------
        ArroyoError
            As :meth:`spark`.
        """
        ready = self._cast(arguments)
        if self.element is None or (self.datafusion and self.datafusion(ready)):
            return None
        return self.element(ready, place)

    def evaluates_in_datafusion(self, arguments: Sequence[Argument]) -> bool:
        """Whether DataFusion evaluates a call with these arguments."""
        return self.datafusion is not None and bool(
            self.datafusion(self._cast(arguments))
        )

    def _cast(self, arguments: Sequence[Argument]) -> list[Argument]:
        """The arguments, of the types of the parameters."""
        types = [a.type for a in arguments]
        targets = self._signature(types).targets(types)
        for argument, target in zip(arguments, targets, strict=True):
            if argument.literal is not None:
                check_text(argument.literal, target, argument.span)
        return [
            replace(a, sql=cast(a.sql, a.type, target, literal=a.literal), type=target)
            for a, target in zip(arguments, targets, strict=True)
        ]

    def _written(self, arguments: Sequence[Argument], texts: Sequence[str]) -> str:
        """The template over other texts of the arguments."""
        assert not isinstance(self.template, ClockTemplate)
        if isinstance(self.template, str):
            return self.template.format(*texts, all=", ".join(texts))
        pairs = zip(arguments, texts, strict=True)
        return self.template([replace(a, sql=text) for a, text in pairs])

    def _signature(self, types: Sequence[Type]) -> Signature:
        for signature in self.signatures:
            if signature.accepts(types):
                return signature
        given = ", ".join(map(str, types))
        if self.udf is not None and not any(
            len(types) == len(s.parameters) for s in self.signatures
        ):
            counted = ", ".join(str(len(s.parameters)) for s in self.signatures)
            raise SignatureProblem(
                f"{self.name}() takes {counted} arguments, not {len(types)}",
                hint=f"it is {self.udf.signature}",
            )
        known = " or ".join(f"{self.name}({s})" for s in self.signatures)
        raise SignatureProblem(
            f"{self.name}() does not take ({given})",
            hint=f"it is {self.udf.signature}" if self.udf else f"write {known}",
        )


def operand(argument: Argument) -> Operand:
    """An argument as an operand of a call of DataFusion."""
    constant = argument.constant
    if argument.literal is not None and argument.type == TEXT:
        constant = text_literal(argument.literal)
    elif argument.literal is not None and isinstance(argument.type, Timestamp):
        constant = f"CAST({text_literal(argument.literal)} AS {argument.type})"
    elif argument.number is not None:
        constant = str(argument.number)
    return Operand(argument.sql, argument.type, constant)


def text_of(argument: Argument) -> str:
    """An argument as text, whatever its type is."""
    return cast(argument.sql, argument.type, TEXT)
