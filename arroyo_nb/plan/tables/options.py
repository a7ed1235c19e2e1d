"""WITH options: raw ``key = value`` pairs -> typed values, checked against tables.

Each reader takes the options it knows; what is left over at the end is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import chain

from sqlglot import exp

from arroyo_nb.errors import ArroyoError, CatalogProblem
from arroyo_nb.plan.expressions.intervals import Interval, parse_interval
from arroyo_nb.plan.expressions.scope import ErrorCollector, spelled
from arroyo_nb.registry import did_you_mean, nearest_name
from arroyo_nb.repairs import RemoveOption, Repair, Replace, Together
from arroyo_nb.secrets_in_text import is_secret
from arroyo_nb.source import Span
from arroyo_nb.sql.dialect import span_of
from arroyo_nb.with_options import Option, OptionKind, OptionValue

_TRUE, _FALSE = {"true", "yes"}, {"false", "no"}
_SIZES = {unit: 1024**power for power, unit in enumerate("bkmgtpe")}


def read_interval(value: exp.Expr) -> timedelta:
    """A duration: ``INTERVAL '..'``, or its text alone (deprecated).

    Raises
    ------
    CatalogProblem
        When it is no interval, is negative, or has months.
    """
    span = span_of(value)
    if isinstance(value, exp.Interval):
        unit = value.args.get("unit")
        interval = _parsed(value.this.name, unit.name if unit else None, span)
    elif isinstance(value, exp.Literal) and value.is_string:
        interval = _parsed(value.name, None, span)
    else:
        raise CatalogProblem(
            f"expected an interval, but found {value.sql()}", span=span
        )
    if interval.months:
        raise CatalogProblem(
            "months are not supported in this interval",
            span=span,
            hint="write days, as in INTERVAL '30 days'",
        )
    if interval.duration < timedelta():
        raise CatalogProblem("interval must not be negative", span=span)
    return interval.duration


def _parsed(text: str, unit: str | None, span: Span | None) -> Interval:
    try:
        return parse_interval(text, unit)
    except CatalogProblem as problem:
        problem.span = span
        raise


@dataclass
class Options:
    """The options of one table that nobody has taken yet."""

    given: dict[str, exp.Property] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    elsewhere: dict[str, Option] = field(default_factory=dict)
    malformed: set[str] = field(default_factory=set)
    only: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, properties: Iterable[exp.Expr], problems: ErrorCollector) -> Options:
        """The pairs of a WITH clause; of two with one key the last counts."""
        options = cls()
        for item in properties:
            if isinstance(item, exp.Property) and item.args.get("value"):
                options.given[item.this.name] = item
            else:
                options.malformed.add(item.name)
                problems.append(
                    CatalogProblem(
                        f"invalid with option: '{item.sql()}'; expected an `=` "
                        "delimited key-value pair",
                        span=span_of(item),
                    )
                )
        return options

    def span(self, name: str) -> Span | None:
        """Where an option stands, taken or not."""
        item = self.given.get(name)
        return span_of(item) if item is not None else None

    def text(self, name: str, *, required: bool = False) -> str | None:
        """Take a string option."""
        value = self.take(Option(name, OptionKind.STRING, "", required=required))
        return None if value is None else str(value)

    def take(self, option: Option) -> OptionValue | None:
        """The typed value of an option, its default where it is not given, but one
        that is not filled in.

        Raises
        ------
        CatalogProblem
            When it is required and missing, or is not of its kind.
        """
        self.known.add(option.name)
        self.elsewhere.update(dict.fromkeys(option.elsewhere, option))
        item = self.given.get(option.name)
        if item is None:
            if option.required and option.name not in self.malformed:
                raise self._missing(option)
            return option.default if option.fills_in else None
        return _READERS[option.kind](option, item.args["value"])

    def take_all(
        self, options: Iterable[Option], problems: ErrorCollector
    ) -> dict[str, OptionValue]:
        """The values of a table of options; None stands for not given, and is left
        out. An option ``a.*`` stands for all whose names begin with ``a.``."""
        values = {}
        for option in chain.from_iterable(map(self._given_as, options)):
            try:
                value = self.take(option)
            except ArroyoError as problem:
                problems.append(problem)
                continue
            if value is not None:
                values[option.name] = value
        return values

    def _given_as(self, option: Option) -> Iterable[Option]:
        if not option.name.endswith(".*"):
            return [option]
        names = (name for name in self.given if name.startswith(option.name[:-1]))
        return [replace(option, name=name) for name in names]

    def holding(self, message: str) -> Span | None:
        """Where the option stands whose value a message quotes."""
        for name, item in self.given.items():
            if f"'{item.args['value'].name}'" in message:
                return self.span(name)
        return None

    def unknown(self, *, but: str = "") -> CatalogProblem | None:
        """The error for what nobody took, but for names of that kind."""
        left = [n for n in self.given if n not in self.known and not (but and but in n)]
        if not left:
            return None
        names = ", ".join(f"'{name}'" for name in left)
        return CatalogProblem(
            f"unknown options provided in WITH clause: {names}",
            span=self.span(left[0]),
            hint=self._translated(left) or self._hint_of_unknown(left),
            repairs=self._repairs_of_translated(left) or self._repairs(left),
        )

    def _hint_of_unknown(self, names: Sequence[str]) -> str | None:
        """What to do about options that the table does not have."""
        elsewhere = [name for name in names if name in self.only]
        if elsewhere:
            name = elsewhere[0]
            return f"remove it: only a {self.only[name]} has '{name}'"
        if len(names) == 1:
            return did_you_mean(names[0], self.known)
        near = {name: nearest_name(name, self.known) for name in names}
        written = [f"'{n}' in place of '{name}'" for name, n in near.items() if n]
        return f"write {' and '.join(written)}" if written else None

    def _missing(self, option: Option) -> CatalogProblem:
        """The error for a required option. Where it is given by the name that another
        system has for it, that is the place, and no second error."""
        others = [name for name in option.elsewhere if name in self.given]
        self.known.update(others)
        return CatalogProblem(
            f"required option '{option.name}' not set",
            span=self.span(others[0]) if others else None,
            hint=self._translated(others),
            repairs=self._repairs_of_translated(others),
        )

    def _repairs(self, names: Sequence[str]) -> list[Repair]:
        """What becomes of options that the table does not have: other names, or they
        are removed."""
        found: list[Repair] = []
        for name in names:
            near, place = nearest_name(name, self.known), self.span(name)
            if place is None:
                continue
            if near is not None and name not in self.only:
                key = near if near.isidentifier() else f"'{near}'"
                value = span_of(self.given[name].args["value"])
                if value is not None:
                    before = Span(place.start, value.start)
                    title = f"change to {near}"
                    found.append(Replace(before, f"{key} = ", title))
            else:
                found.append(RemoveOption(place, name))
        return found

    def _repairs_of_translated(self, names: Iterable[str]) -> list[Repair]:
        """Options of other systems as they are written here."""
        found: list[Replace | RemoveOption] = []
        for text, others in self._written_here(names):
            first, *left = (self.span(name) for name in others)
            # Of several values who writes it chooses.
            if first is None or " or " in text:
                continue
            found.append(Replace(first, text))
            found += (
                RemoveOption(place, name)
                for name, place in zip(others[1:], left, strict=True)
                if place is not None
            )
        return [Together("write them as here", tuple(found))] if found else []

    def _translated(self, names: Iterable[str]) -> str | None:
        """What to write for options of other systems."""
        pairs = [
            f"{text} in place of " + " and ".join(f"'{name}'" for name in others)
            for text, others in self._written_here(names)
        ]
        return f"write {', '.join(pairs)}" if pairs else None

    def _written_here(self, names: Iterable[str]) -> list[tuple[str, list[str]]]:
        """Options of other systems as they are written here, each with the names that
        it stands for."""
        found: dict[str, tuple[Option, dict[str, str]]] = {}
        for name in names:
            value = self.given[name].args["value"].name
            special = self.elsewhere.get(f"{name}={value}")
            if (option := special or self.elsewhere.get(name)) is not None:
                _, values = found.setdefault(option.name, (option, {}))
                values[name] = "" if special else value
        return [
            (option.written(next(filter(None, values.values()), "")), [*values])
            for option, values in found.values()
        ]


def _string(option: Option, value: exp.Expr) -> str:
    if not (isinstance(value, exp.Literal) and value.is_string):
        raise _not_a(option, "a single-quoted string", value)
    if "\0" in value.name:  # no path, host or name has one
        raise _not_a(option, "a text without NUL", value)
    return value.name


def _bool(option: Option, value: exp.Expr) -> bool:
    word = value.sql().strip("'").lower()
    if word in _TRUE | _FALSE and isinstance(value, exp.Boolean | exp.Literal):
        return word in _TRUE
    raise _not_a(option, "a boolean", value)


def _number(
    words: str, convert: Callable[[str], int | float], least: float
) -> Callable[[Option, exp.Expr], OptionValue]:
    def reader(option: Option, value: exp.Expr) -> OptionValue:
        # -5 is an operator before a literal.
        text = value.name if isinstance(value, exp.Literal) else value.sql()
        try:
            number = convert(text.replace("_", ""))
        except ValueError:
            raise _not_a(option, words, value) from None
        if number < least:
            raise _not_a(option, words, value)
        return number

    return reader


def _duration(option: Option, value: exp.Expr) -> timedelta:
    del option
    return read_interval(value)


def _size(option: Option, value: exp.Expr) -> int:
    text = _string(option, value).strip().lower()
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(digits) :].strip() or "b"
    if unit not in _SIZES and unit.removesuffix("b") not in _SIZES:
        raise CatalogProblem(
            f"invalid data size unit '{unit}'",
            span=span_of(value),
            hint="units are b, kb, mb, gb, tb, pb and eb",
        )
    try:
        return int(float(digits) * _SIZES[unit[0]])
    except (ValueError, OverflowError):
        raise _not_a(option, "a data size", value) from None


def _field(option: Option, value: exp.Expr) -> str:
    if isinstance(value, exp.Column) and len(value.parts) == 1:
        return spelled(value.this)
    if isinstance(value, exp.Literal) and value.is_string:
        return value.name
    raise _not_a(option, "a field", value)


def _array(option: Option, value: exp.Expr) -> tuple[str, ...]:
    items = value.expressions if isinstance(value, exp.Array) else [value]
    return tuple(_field(option, item) for item in items)


def _enum(option: Option, value: exp.Expr) -> str:
    word = _string(option, value)
    if word in option.choices:
        return word
    choices = " or ".join(f"'{choice}'" for choice in option.choices)
    raise CatalogProblem(
        f"invalid value for '{option.name}': `{word}`; expected one of {choices}",
        span=span_of(value),
        hint=did_you_mean(word, option.choices),
    )


def _not_a(option: Option, words: str, value: exp.Expr) -> CatalogProblem:
    found = "" if is_secret(option.name) else f", but it was `{value.sql()}`"
    return CatalogProblem(
        f"expected with option '{option.name}' to be {words}{found}",
        span=span_of(value),
    )


_READERS: Mapping[OptionKind, Callable[[Option, exp.Expr], OptionValue]] = {
    OptionKind.STRING: _string,
    OptionKind.BOOL: _bool,
    OptionKind.UINT: _number("an unsigned integer", int, 0),
    OptionKind.INT: _number("an integer", int, float("-inf")),
    OptionKind.DOUBLE: _number("a double", float, float("-inf")),
    OptionKind.DURATION: _duration,
    OptionKind.SIZE: _size,
    OptionKind.FIELD: _field,
    OptionKind.ARRAY: _array,
    OptionKind.ENUM: _enum,
}
