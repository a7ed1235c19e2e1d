"""Which columns a name may mean, and how several errors are collected.

Unquoted names are lower-cased before they are looked up, while columns keep the case
they were declared with: ``userId`` in a table is only reached as ``"userId"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

from arroyo_nb.errors import ArroyoError, CatalogProblem, raise_all
from arroyo_nb.plan.typing import column, type_of, typed
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import Field, Schema, StructOf
from arroyo_nb.source import Span
from arroyo_nb.sql.dialect import span_of

T = TypeVar("T")


class Collected(list[ArroyoError]):
    """The independent errors of a statement; go on after each, raise at the end."""

    _cascade: Cascade | None = None

    def attempt(self, build: Callable[[], T]) -> T | None:
        """What ``build`` returns; None, with the error kept, when it fails."""
        try:
            return build()
        except Cascade as error:
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
        raise_all(self)
        if self._cascade is not None:
            raise self._cascade


class Cascade(ArroyoError):
    """Something failed because of an error that is already reported."""

    @property
    def problems(self) -> tuple[ArroyoError, ...]:
        """Nothing of its own."""
        return ()


@dataclass(frozen=True)
class Scope:
    """The columns of one relation, under the name it has in the query.

    Parameters
    ----------
    schema
        Its columns.
    name
        Table name or alias; None for an unnamed relation.
    over
        Whether OVER may be called here: only in the select list.
    """

    schema: Schema
    name: str | None = None
    over: bool = False

    def resolve(self, parts: Sequence[exp.Expr]) -> exp.Expr:
        """The column, and the path into its structs, that a dotted name means.

        Raises
        ------
        CatalogProblem
            When there is no such column or field.
        """
        names = [spelled(part) for part in parts]
        # The relation comes before a struct column of its name.
        first = 1 if len(parts) > 1 and names[0] == self.name else 0
        field = self.schema.get(names[first])
        if field is None:
            raise self._unknown(parts, names, first)
        found: exp.Expr = column(field)
        # DataFusion shows a column with its relation in the names that it makes.
        found.meta["qualified"] = f"{self.name}.{field.name}" if self.name else None
        found.meta["span"] = span_of(parts[first])
        for part in parts[first + 1 :]:
            found = member(found, spelled(part), span_of(part))
        return found

    def _unknown(
        self, parts: Sequence[exp.Expr], names: list[str], first: int
    ) -> CatalogProblem:
        wanted = names[first]
        part = parts[first]
        if first == 0 and len(parts) > 1 and wanted not in self.schema:
            relation = f"the relation here is '{self.name}'" if self.name else None
            return CatalogProblem(
                f"'{wanted}' not found: it is neither a column nor a relation",
                span=span_of(part),
                hint=self._case_hint(part.name) or relation or self._near(wanted),
            )
        return CatalogProblem(
            f"column '{wanted}' not found",
            span=span_of(part),
            hint=self._case_hint(part.name) or self._near(wanted),
        )

    def _case_hint(self, typed_name: str) -> str | None:
        for name in self.schema.names:
            if name.lower() == typed_name.lower():
                if name == name.lower():
                    return f"write {name}: it is spelled without capitals"
                return f'write "{name}" in double quotes: it is spelled with capitals'
        return None

    def _near(self, wanted: str) -> str | None:
        return did_you_mean(wanted, self.schema.names)


def member(struct: exp.Expr, name: str, span: Span | None) -> exp.Expr:
    """A field of a struct.

    Raises
    ------
    CatalogProblem
        When the expression is no struct, or has no such field.
    """
    type_ = type_of(struct)
    if not isinstance(type_, StructOf):
        raise CatalogProblem(f"'{name}' not found: {type_} has no fields", span=span)
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
