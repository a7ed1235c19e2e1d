"""Which columns a name may mean, and how several errors are collected.

Unquoted names are lower-cased before they are looked up, while columns keep the case
they were declared with: ``userId`` in a table is only reached as ``"userId"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from sqlglot import exp

from arroyo_nb.errors import ArroyoError, CatalogProblem, PlanProblem, raise_all
from arroyo_nb.plan.expressions.access_hints import member_hint
from arroyo_nb.plan.expressions.typing import column, type_of, typed
from arroyo_nb.registry import did_you_mean
from arroyo_nb.repairs import Repair, Replace, quoted_name, quoted_text
from arroyo_nb.schema import Field, Schema, StructOf
from arroyo_nb.source import Span
from arroyo_nb.sql.dialect import span_of

T = TypeVar("T")


class ErrorCollector(list[ArroyoError]):
    """The independent errors of a statement; go on after each, raise at the end."""

    _cascade: SuppressedError | None = None

    def attempt(self, build: Callable[[], T]) -> T | None:
        """What ``build`` returns; None, with the error kept, when it fails."""
        try:
            return build()
        # It counts as failed and says nothing: the error behind it was reported where
        # it happened.
        except SuppressedError as error:
            self._cascade = error
        except ArroyoError as error:
            self.extend(error.problems)
        return None

    def raise_all(self) -> None:
        """Raise what was collected, if anything.

        Raises
        ------
        ArroyoError
            The only one, or all as one.
        Cascade
            When something failed because of an error that is reported elsewhere.
        """
        # Real errors first; where there are none, the suppressed one still ends the
        # statement.
        raise_all(self)
        if self._cascade is not None:
            raise self._cascade


class SuppressedError(ArroyoError):
    """Something failed because of an error that is already reported."""

    @property
    def problems(self) -> tuple[ArroyoError, ...]:
        """Nothing of its own."""
        return ()


@dataclass(frozen=True)
class Relation:
    """One relation of FROM, under the name it has in the query.

    Parameters
    ----------
    name
        Table name or alias; None for an unnamed relation.
    columns
        What each of its columns is called, with the column of the input that it is:
        under a join, columns of one name have been given others.
    """

    name: str | None
    columns: Mapping[str, Field]

    @classmethod
    def of(cls, schema: Schema, name: str | None = None) -> Relation:
        """A relation whose columns are the input's."""
        return cls(name, {field.name: field for field in schema})

    def bound(self, name: str) -> exp.Expr:
        """A reference to one of its columns."""
        field = self.columns[name]
        found = column(field)
        # DataFusion shows a column with its relation in the names that it makes.
        found.meta["qualified"] = f"{self.name}.{name}" if self.name else name
        found.meta["written"] = name
        return found


@dataclass(frozen=True)
class Scope:
    """The columns that a name may mean: those of the relations of FROM.

    Parameters
    ----------
    relations
        What is read.
    over
        Whether OVER and ``unnest`` may be called here: only in the select list.
    """

    relations: tuple[Relation, ...]
    over: bool = False

    @classmethod
    def of(cls, schema: Schema, name: str | None = None) -> Scope:
        """One relation's columns."""
        return cls((Relation.of(schema, name),))

    def under_alias(self, alias: exp.TableAlias) -> Scope:
        """The relations as one, with its name and the names of columns that follow it:
        ``FROM (a JOIN b ON ...) AS name (column, ...)``.

        Raises
        ------
        PlanProblem
            When two columns have one name, or there are more or fewer names than
            columns.
        """
        for place in alias.columns:
            if not isinstance(place, exp.Identifier):
                words = "a column after an alias has a name and no type"
                raise PlanProblem(words, span=span_of(place))
        columns = [pair for r in self.relations for pair in r.columns.items()]
        places = alias.columns or [alias] * len(columns)
        if len(places) != len(columns):
            raise PlanProblem(
                f"Source table contains {len(columns)} columns but only {len(places)} "
                "names given as column alias",
                span=span_of(alias),
                hint="columns: " + ", ".join(name for name, _ in columns),
            )
        fields: dict[str, Field] = {}
        for place, (name, field) in zip(places, columns, strict=True):
            name = name if place is alias else spelled(place)
            if name in fields:
                raise PlanProblem(
                    f"the relation '{alias.name}' has two columns '{name}'",
                    span=span_of(place),
                    hint=f"name each column: {alias.name} (a, b, ...)",
                )
            fields[name] = field
        return Scope((Relation(spelled(alias.this), fields),))

    def __contains__(self, name: str) -> bool:
        return any(name in relation.columns for relation in self.relations)

    def resolve(self, parts: Sequence[exp.Expr]) -> exp.Expr:
        """The column, and the path into its structs, that a dotted name means.

        Raises
        ------
        CatalogProblem
            When there is no such column or field, or several relations have it.
        """
        names = [spelled(part) for part in parts]
        # The relation comes before a struct column of its name.
        named = self._named(names[0]) if len(parts) > 1 else None
        first = 0 if named is None else 1
        among = self.relations if named is None else (named,)
        having = [r for r in among if names[first] in r.columns]
        if not having:
            raise self._unknown(parts, names, first, among)
        if len(having) > 1:
            raise _ambiguous(names[first], having, span_of(parts[first]))
        found = having[0].bound(names[first])
        found.meta["span"] = span_of(parts[first])
        for part in parts[first + 1 :]:
            found = member(found, spelled(part), span_of(part))
        return found

    def _named(self, name: str) -> Relation | None:
        return next((r for r in self.relations if r.name == name), None)

    def _unknown(
        self,
        parts: Sequence[exp.Expr],
        names: list[str],
        first: int,
        among: Sequence[Relation],
    ) -> CatalogProblem:
        wanted, part = names[first], parts[first]
        known = list(dict.fromkeys(chain.from_iterable(r.columns for r in among)))
        if first == 0 and len(parts) > 1:
            return CatalogProblem(
                f"'{wanted}' not found: it is neither a column nor a relation",
                span=span_of(part),
                hint=_case_hint(part.name, known)
                or (ELSEWHERE.get(wanted) if wanted == "window" else None)
                or self._relations_here()
                or did_you_mean(wanted, known),
            )
        span = span_of(part)
        return CatalogProblem(
            f"column '{wanted}' not found",
            span=span,
            hint=_case_hint(part.name, known)
            or _text_hint(part)
            or ELSEWHERE.get(wanted)
            or did_you_mean(wanted, known),
            repairs=() if span is None else _quotes(part, known, span),
        )

    def _relations_here(self) -> str | None:
        names = [f"'{r.name}'" for r in self.relations if r.name]
        if len(names) > 1:
            return f"the relations here are {', '.join(names)}"
        return f"the relation here is {names[0]}" if names else None


def _ambiguous(
    name: str, relations: Sequence[Relation], span: Span | None
) -> CatalogProblem:
    owners = [f"'{r.name}'" if r.name else "a query without a name" for r in relations]
    written = [f"{r.name}.{name}" for r in relations if r.name]
    quoted = [f"{quoted_name(r.name)}.{quoted_name(name)}" for r in relations if r.name]
    return CatalogProblem(
        f"Ambiguous reference to unqualified field '{name}': it is a column of "
        + " and of ".join(owners),
        span=span,
        hint=f"write {' or '.join(written)}" if written else "name the queries with AS",
        repairs=[Replace(span, text) for text in quoted] if span else (),
    )


def _quotes(part: exp.Expr, known: Iterable[str], span: Span) -> Iterator[Repair]:
    """The name in the quotes that it needs, or the text in those of a text."""
    for name in known:
        if name.lower() == part.name.lower():
            yield Replace(span, quoted_name(name))
            return
    if part.args.get("quoted"):
        yield Replace(span, quoted_text(part.name))


def _case_hint(typed_name: str, known: Iterable[str]) -> str | None:
    # The most common mistake: unquoted names are lower-cased, columns are not.
    for name in known:
        if name.lower() == typed_name.lower():
            if name == name.lower():
                return f"write {name}: it is spelled without capitals"
            return f'write "{name}" in double quotes: it is spelled with capitals'
    return None


CLOCK = (
    "the time of a row is row_time(), which the connector gives where the table has no "
    "WATERMARK; a fixed time is a parameter, as in at > :since"
)
"""What to write for the time of day."""

ELSEWHERE = {
    **dict.fromkeys(
        ("window_start", "windowstart", "window_end", "windowend", "window_time"),
        "name the window and read its fields: SELECT window.start, window.end ... FROM "
        "(SELECT tumble(INTERVAL '1 minute') AS window, ... GROUP BY window)",
    ),
    "window": "name the window call: SELECT tumble(INTERVAL '1 minute') AS window, ... "
    "GROUP BY window; read window.start in a query around it",
    **dict.fromkeys(
        ("rowtime", "event_timestamp", "_timestamp"),
        "the event time of a row is row_time()",
    ),
    **dict.fromkeys(
        ("rowpartition", "rowoffset", "kafka_partition", "kafka_offset"),
        "declare it in CREATE TABLE: name INT METADATA FROM 'partition', name "
        "BIGINT METADATA FROM 'offset_id'",
    ),
    **dict.fromkeys(("localtimestamp", "localtime", "sysdate", "systimestamp"), CLOCK),
    "stream": "leave STREAM out: a query reads what comes",
    "proctime": "rows have an event time, row_time(); without a WATERMARK it is their "
    "arrival",
}
"""Columns that other dialects have of themselves, and what is written here."""


def _text_hint(part: exp.Expr) -> str | None:
    """Double quotes are for names."""
    if not part.args.get("quoted"):
        return None
    return f"a text takes single quotes: write '{part.name}'"


def member(struct: exp.Expr, name: str, span: Span | None) -> exp.Expr:
    """A field of a struct.

    Raises
    ------
    CatalogProblem
        When the expression is no struct, or has no such field.
    """
    type_ = type_of(struct)
    if not isinstance(type_, StructOf):
        raise CatalogProblem(
            f"'{name}' not found: {type_} has no fields",
            span=span,
            hint=member_hint(struct, type_, name),
        )
    field = type_.field(name)
    if field is None:
        hint = did_you_mean(name, (f.name for f in type_.fields))
        raise CatalogProblem(f"field '{name}' not found", span=span, hint=hint)
    identifier = exp.Identifier(this=name, quoted=True)
    made = exp.Dot(this=struct, expression=identifier)
    made.meta["span"] = span
    nullable = field.nullable or bool(struct.meta["nullable"])
    return typed(made, field.type, nullable=nullable)


def spelled(identifier: exp.Expr) -> str:
    """A name as it is looked up: lower-cased unless it is quoted."""
    quoted = bool(identifier.args.get("quoted"))
    return identifier.name if quoted else identifier.name.lower()


def unique(
    fields: Iterable[Field], problem: Callable[[int, int, str], ArroyoError]
) -> None:
    """Check that column names differ.

    Raises
    ------
    ArroyoError
        What ``problem`` makes of two positions and their name.
    """
    seen: dict[str, int] = {}
    for position, field in enumerate(fields):
        if field.name in seen:
            raise problem(seen[field.name], position, field.name)
        seen[field.name] = position
