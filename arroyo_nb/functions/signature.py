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

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions.casts import cast
from arroyo_nb.functions.datafusion import (
    DataFusionText,
    Operand,
    datafusion_call,
    text_literal,
    type_name,
)
from arroyo_nb.functions.let_binding import once
from arroyo_nb.functions.literals import check_text
from arroyo_nb.functions.types import (
    castable,
    chosen_type,
    common_type,
    compared_type,
    element_of,
    element_type,
    fits,
    has_floats,
    is_integer,
    is_number,
    key_of,
)
from arroyo_nb.functions.user_defined import UserDefined
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    DATE,
    EPOCH,
    FLOAT,
    INT,
    JSON,
    JSON_VALUE,
    NULL,
    TEXT,
    Decimal,
    ListOf,
    Primitive,
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
    what is common to them. ``TYPED_LIST`` takes no bare NULL. A way into a document of
    JSON has names and indices. FLOAT and BIGINT take no other type, and FLOAT_OR_WHOLE
    makes a FLOAT of what it takes. A moment is a TIMESTAMP of any precision, or a DATE;
    a text is read as a TIMESTAMP. A key becomes one of the map's, which is the first
    argument. A part of a day is a whole number, or the text of one."""

    ANY = "any"
    NUMBER = "number"
    LIST = "list"
    TYPED_LIST = "list with a type"
    OTHER_LIST = "list of its own"
    ELEMENT = "element"
    AS_TEXT = "any value, as text"
    WHOLE = "whole number"
    DOCUMENT = "JSON"
    KEY = "name or index"
    STRUCT = "struct"
    DECIMAL = "DECIMAL"
    FLOAT = "FLOAT"
    FLOAT_OR_WHOLE = "FLOAT or whole number"
    BIGINT = "BIGINT"
    MOMENT = "TIMESTAMP"
    MAP_KEY = "key of the map"
    DAY_PART = "INT"


_RELATED_LISTS = (ParameterKind.LIST, ParameterKind.TYPED_LIST)
_LISTS = (*_RELATED_LISTS, ParameterKind.OTHER_LIST)
_RELATED = (*_RELATED_LISTS, ParameterKind.ELEMENT)
_WHOLE = Decimal(20, 0)
"""A decimal that holds every whole number."""


class Result(Enum):
    """A result type that depends on the argument types."""

    FIRST = "the first argument's"
    COMMON = "common to all arguments"
    COMPARED = "the one in which the arguments are compared"
    COMMON_OF_ONE_TIME = "common to all arguments, which are no different times"
    COMMON_OR_TEXT = "common to all arguments, or TEXT"
    ELEMENT = "the list's element"
    LIST_OR_NULL = "a list of what is common to all; of a bare NULL one"
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
    was_null
        Whether it is a bare NULL, which has been cast to this type.
    """

    sql: str
    type: Type
    literal: str | None = None
    number: int | None = None
    duration: timedelta | None = None
    constant: str | None = None
    has_months: bool = False
    span: Span | None = None
    was_null: bool = False


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
Guard: TypeAlias = Callable[[Sequence[Argument]], str]
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
        if not self.takes_each(types):
            return False
        return len(self._unified(types)) == 0 or self._common(types) is not None

    def takes_each(self, types: Sequence[Type]) -> bool:
        """Does each argument fit, apart from the others?"""
        most = len(self.parameters)
        if len(types) < most - self.optional or (
            len(types) > most and not self.repeats
        ):
            return False
        return all(map(_fits, types, self._parameters(len(types))))

    def result_type(self, types: Sequence[Type], literals: Literals = ()) -> Type:
        """The result for arguments that it accepts."""
        match self.result:
            case Result.FIRST:
                return types[0]
            case (
                Result.COMMON
                | Result.COMMON_OF_ONE_TIME
                | Result.COMMON_OR_TEXT
                | Result.COMPARED
            ):
                return self._common(types) or NULL
            case Result.LIST_OR_NULL if types[0] == NULL:
                return NULL
            case Result.LIST_OF_COMMON | Result.LIST_OR_NULL:
                return ListOf(self._common(types) or NULL)
            case Result.ELEMENT:
                return element_of(types[0])
            case result if callable(result):
                return result(types, literals)
            case result:
                return result

    def targets(self, types: Sequence[Type]) -> list[Type]:
        """What each argument is cast to."""
        wanted = self._parameters(len(types))
        own = [_own(g, want) for g, want in zip(types, wanted, strict=True)]
        if ParameterKind.MAP_KEY in wanted:
            place = wanted.index(ParameterKind.MAP_KEY)
            own[place] = key_of(types[0]) or types[place]
        if self.relates:
            common = self._common(types) or NULL
            related: dict[Parameter, Type] = {
                **dict.fromkeys(_RELATED_LISTS, ListOf(common)),
                ParameterKind.ELEMENT: common,
            }
            return [related.get(w, t) for w, t in zip(wanted, own, strict=True)]
        first = len(own) - len(self._unified(types))
        return own[:first] + [self._common(types) or t for t in own[first:]]

    @property
    def is_of_floats(self) -> bool:
        """Whether another signature takes the same and more, as DOUBLE."""
        kinds = (ParameterKind.FLOAT, ParameterKind.FLOAT_OR_WHOLE)
        return any(parameter in kinds for parameter in self.parameters)

    @property
    def relates(self) -> bool:
        """Whether there are lists and elements that must be of one type."""
        related = [parameter in _RELATED for parameter in self.parameters]
        return sum(related) + (self.repeats and related[-1]) > 1

    def _unified(self, types: Sequence[Type]) -> Sequence[Type]:
        """The types that must be one: of arguments, or of elements of lists."""
        wanted = self._parameters(len(types))
        if self.relates:
            return [
                element_of(given) if want in _RELATED_LISTS else given
                for given, want in zip(types, wanted, strict=True)
                if want in _RELATED
            ]
        match self.result:
            case result if result in _UNIFYING:
                return types
            case _:
                return ()

    def _common(self, types: Sequence[Type]) -> Type | None:
        unified = self._unified(types)
        if self.relates:
            wanted = [p for p in self._parameters(len(types)) if p in _RELATED]
            pairs = [*zip(unified, wanted, strict=True)]
            lists = [type_ for type_, want in pairs if want in _RELATED_LISTS]
            values = [type_ for type_, want in pairs if want is ParameterKind.ELEMENT]
            return element_type(lists, values)
        match self.result:
            case Result.COMPARED:
                return compared_type(unified)
            case Result.COMMON_OR_TEXT:
                return _common_or_text(unified)
            case Result.COMMON_OF_ONE_TIME if (
                len(set(filter(_is_day_or_time, unified))) > 1
            ):
                return None
            case _:
                return chosen_type(unified)

    def _parameters(self, n: int) -> tuple[Parameter, ...]:
        if n <= len(self.parameters):
            return self.parameters[:n]
        return self.parameters + self.parameters[-1:] * (n - len(self.parameters))

    def __str__(self) -> str:
        required = len(self.parameters) - self.optional
        words = [*map(_word, self.parameters)]
        words[required:] = [f"[{word}]" for word in words[required:]]
        return ", ".join(words + (["..."] if self.repeats else []))


def _word(parameter: Parameter) -> str:
    if parameter in _RELATED_LISTS:
        return ParameterKind.LIST.value
    return str(parameter.value if isinstance(parameter, ParameterKind) else parameter)


def _fits(given: Type, wanted: Parameter) -> bool:
    if wanted is ParameterKind.FLOAT:
        return given == FLOAT
    if wanted is ParameterKind.BIGINT:
        return given == BIGINT
    if given == NULL:
        return wanted is not ParameterKind.TYPED_LIST
    match wanted:
        case ParameterKind.FLOAT_OR_WHOLE:
            return given == FLOAT or is_integer(given)
        case ParameterKind.ANY | ParameterKind.ELEMENT | ParameterKind.MAP_KEY:
            return True
        case ParameterKind.NUMBER:
            return is_number(given)
        case ParameterKind.LIST | ParameterKind.TYPED_LIST | ParameterKind.OTHER_LIST:
            return isinstance(given, ListOf)
        case ParameterKind.AS_TEXT:
            return castable(given, TEXT)
        case ParameterKind.DAY_PART:
            return is_integer(given) or given == TEXT
        case ParameterKind.WHOLE:
            return is_integer(given) and given != BIGINT_UNSIGNED
        case ParameterKind.DOCUMENT:
            return given in (TEXT, JSON, JSON_VALUE)
        case ParameterKind.KEY:
            return given == TEXT or is_integer(given)
        case ParameterKind.STRUCT:
            return isinstance(given, StructOf)
        case ParameterKind.DECIMAL:
            return isinstance(given, Decimal) or is_integer(given)
        case Primitive() if given == BIGINT_UNSIGNED and is_integer(wanted):
            # No other whole number has all of its values.
            return wanted == given
        case ParameterKind.MOMENT:
            return fits(given, Timestamp())
        case _:
            return fits(given, wanted)


_UNIFYING = (
    Result.COMMON,
    Result.COMMON_OF_ONE_TIME,
    Result.COMMON_OR_TEXT,
    Result.COMPARED,
    Result.LIST_OF_COMMON,
)


def _is_day_or_time(type_: Type) -> bool:
    return isinstance(type_, Timestamp) or type_ == DATE


def _common_or_text(types: Sequence[Type]) -> Type | None:
    common = None if TEXT in types else common_type(types)
    if common is None and not any(isinstance(t, ListOf | StructOf) for t in types):
        return TEXT
    return common


def _own(given: Type, wanted: Parameter) -> Type:
    """What an argument is cast to, apart from the others."""
    if not isinstance(wanted, ParameterKind):
        return wanted
    if wanted is ParameterKind.DECIMAL and not isinstance(given, Decimal):
        return _WHOLE
    if wanted is ParameterKind.FLOAT_OR_WHOLE:
        return FLOAT
    if wanted is ParameterKind.AS_TEXT:
        return TEXT
    if wanted is ParameterKind.DAY_PART:
        return INT
    if wanted is ParameterKind.MOMENT and given in (TEXT, NULL):
        return Timestamp()
    return ListOf(NULL) if given == NULL and wanted in _LISTS else given


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
        What it is in Spark SQL; None: DataFusion evaluates every call.
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
        under which it looks at one, as Spark SQL text, made of those before it; empty:
        always. None: it looks at all.
    datafusion
        Which calls DataFusion evaluates, and how they are written in its SQL; None:
        Spark evaluates all.
    arroyos
        What gives Arroyo's value, where this one differs from it deliberately; None:
        it does not.
    udf
        The UDF; None: it is one of the dialect's.
    """

    name: str
    signatures: tuple[Signature, ...]
    template: Template | None
    doc: str
    nulls: Nulls | Callable[[Sequence[bool]], bool] = Nulls.STRICT
    aliases: tuple[str, ...] = ()
    volatile: str = ""
    example: str = field(kw_only=True)
    differs: str = field(default="", kw_only=True)
    element: ElementTemplate | None = field(default=None, kw_only=True)
    only_where: Guard | None = field(default=None, kw_only=True)
    datafusion: DataFusionTemplate | None = field(default=None, kw_only=True)
    arroyos: ScalarFunction | None = field(default=None, kw_only=True)
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
        ready = self._cast(arguments, only_where)
        if self.udf is not None:
            return self.udf.spark_call([a.sql for a in ready], only_where)
        if isinstance(self.template, ClockTemplate):
            return self.template.write(planned_at)
        if self.datafusion is not None and (template := self.datafusion(ready)):
            result = self.check(
                [a.type for a in arguments], [a.literal for a in arguments]
            )
            operands = [*map(operand, ready)]
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
        ready = self._cast(arguments)
        # A text that is given for a time is read there, too.
        if any(isinstance(argument.sql, DataFusionText) for argument in ready):
            return True
        return self.datafusion is not None and bool(self.datafusion(ready))

    def _cast(
        self, arguments: Sequence[Argument], only_where: str = ""
    ) -> list[Argument]:
        """The arguments, of the types of the parameters."""
        types = [a.type for a in arguments]
        targets = self._signature(types).targets(types)
        for argument, target in zip(arguments, targets, strict=True):
            if argument.literal is not None:
                check_text(argument.literal, target, argument.span)
        return [
            replace(
                a,
                sql=cast(
                    a.sql,
                    a.type,
                    target,
                    literal=a.literal,
                    constant=a.constant,
                    only_where=only_where,
                ),
                type=target,
                constant=_constant_as(target, a),
                was_null=a.type == NULL,
            )
            for a, target in zip(arguments, targets, strict=True)
        ]

    def _written(self, arguments: Sequence[Argument], texts: Sequence[str]) -> str:
        """The template over other texts of the arguments."""
        assert not isinstance(self.template, ClockTemplate | None)
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
        if any(s.takes_each(types) and not s.relates for s in self.signatures):
            raise SignatureProblem(
                f"{self.name}() does not take ({given})",
                hint="write CAST(... AS TYPE), so that they have one type",
            )
        known = " or ".join(
            f"{self.name}({s})" for s in self.signatures if not s.is_of_floats
        )
        raise SignatureProblem(
            f"{self.name}() does not take ({given})",
            hint=f"it is {self.udf.signature}" if self.udf else f"write {known}",
        )


def always(template: str) -> DataFusionTemplate:
    """That DataFusion evaluates every call, and how it is written."""
    return lambda _: template


def same_call(name: str) -> DataFusionTemplate:
    """That DataFusion evaluates every call, by a function of that name."""

    def template(arguments: Sequence[Argument]) -> str:
        return f"{name}({', '.join(f'{{{n}}}' for n in range(len(arguments)))})"

    return template


def of_float_lists(template: str) -> DataFusionTemplate:
    """What DataFusion evaluates for lists with floats: -0.0 is not 0.0 to it."""
    return lambda arguments: template if has_floats(arguments[0].type) else ""


def literal_word(
    argument: Argument,
    known: Sequence[str],
    what: str,
    *,
    fold: Callable[[str], str] = str.lower,
    written: Callable[[str], str] = str,
) -> str:
    """The word of a text literal, such as a unit; its case does not count.

    Parameters
    ----------
    fold
        Brings it to the case of those that are known.
    written
        How a hint writes one.

    Raises
    ------
    Unsupported
        When it is no literal.
    CatalogProblem
        When it is not known.
    """
    every = "known: " + ", ".join(map(written, known))
    if argument.literal is None:
        raise Unsupported(f"{what} must be a literal", span=argument.span, hint=every)
    word = fold(argument.literal)
    if word not in known:
        raise CatalogProblem(
            f"{what} '{argument.literal}' is not known",
            span=argument.span,
            hint=did_you_mean(word, known) or every,
        )
    return word


def _constant_as(target: Type, argument: Argument) -> str | None:
    if argument.constant is None or argument.type == target:
        return argument.constant
    return f"CAST({argument.constant} AS {type_name(target)})"


def operand(argument: Argument) -> Operand:
    """An argument as an operand of a call of DataFusion."""
    if argument.was_null:
        # DataFusion does not take a bare NULL for that of a type.
        return Operand(argument.sql, NULL)
    constant = argument.constant
    if argument.literal is not None and argument.type == TEXT:
        constant = text_literal(argument.literal)
    elif argument.literal is not None and isinstance(argument.type, Timestamp):
        constant = f"CAST({text_literal(argument.literal)} AS {argument.type})"
    elif argument.number is not None and is_number(argument.type):
        constant = str(argument.number)
    return Operand(argument.sql, argument.type, constant)
