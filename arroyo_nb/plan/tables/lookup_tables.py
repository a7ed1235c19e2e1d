"""CREATE TEMPORARY TABLE: a table that a stream looks rows up in (arroyo-semantics a.5,
f.8).

Arroyo knows redis, which is asked by key. Here a table that can be read whole can be
one too: it says by PRIMARY KEY what it is looked up by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from arroyo_nb.catalog import LOOKUP_CACHE_BYTES, LOOKUP_CACHE_TTL, LookupTable
from arroyo_nb.connectors import Connector, Direction, TableSpec
from arroyo_nb.errors import ArroyoError, CatalogProblem, Unsupported, raise_all
from arroyo_nb.formats import tells_changes
from arroyo_nb.plan.tables.columns import Declared, definitions
from arroyo_nb.plan.tables.options import Options
from arroyo_nb.plan.tables.watermarks import EVENT_TIME_OPTIONS
from arroyo_nb.schema import ListOf, StructOf
from arroyo_nb.sql.dialect import name_span, span_of
from arroyo_nb.with_options import Option, OptionKind, OptionValue

CACHE_OPTIONS = (
    Option(
        LOOKUP_CACHE_BYTES,
        OptionKind.UINT,
        "size of the lookup cache, in bytes; 0: nothing is cached",
        default=8 * 2**20,
        in_identity=False,
    ),
    Option(
        LOOKUP_CACHE_TTL,
        OptionKind.DURATION,
        "how long what was found holds",
        in_identity=False,
    ),
)


def check_temporary(options: Options) -> None:
    """A temporary table is of the type 'lookup', whether it says so or not.

    Raises
    ------
    CatalogProblem
        When it says another.
    """
    word = options.text("type")
    if word not in (None, Direction.LOOKUP.value):
        raise CatalogProblem(
            f"Cannot have a temporary table with type '{word}'; temporary tables must "
            "be type 'lookup'",
            span=options.span("type"),
            hint="remove TEMPORARY, or the type",
        )


def lookup_table(
    create: exp.Expr,
    connector: Connector,
    spec: TableSpec,
    declared: Declared,
    options: Options,
) -> LookupTable:
    """The lookup table of a statement.

    Parameters
    ----------
    create
        The statement.
    connector
        What the table is of.
    spec
        Its name, columns, options and key.
    declared
        Its columns.
    options
        As they are written, for places.

    Raises
    ------
    ArroyoError
        For the rules that are broken, all of them.
    """
    asked = connector.info.looked_up_by_key
    problems = [*_of_time(create, options), *_generated(create, declared)]
    if asked:
        problems += _asked_keys(create, connector, declared)
    else:
        problems += _static_keys(create, declared)
        problems += _changes(spec.options, options)
    raise_all(problems)
    apart = tuple(declared.physical[name] for name in declared.metadata)
    return LookupTable(spec, connector.info.name, declared.order, apart, asked)


def _asked_keys(
    create: exp.Expr, connector: Connector, declared: Declared
) -> Sequence[ArroyoError]:
    """Keys are what a record is stored under, and nothing in it."""
    names = list(declared.metadata)
    wrong = [key for key in declared.primary_key if key not in names]
    kind = connector.info.name.capitalize()
    if wrong or not declared.primary_key:
        place = definitions(create)[wrong[0]] if wrong else None
        return [
            CatalogProblem(
                f"{kind} lookup tables must have a PRIMARY KEY field defined as "
                "`field_name TEXT METADATA FROM 'key'`",
                span=name_span(create) if place is None else span_of(place),
                hint="write field_name TEXT METADATA FROM 'key' PRIMARY KEY",
            )
        ]
    if len(names) > 1:
        place = definitions(create)[names[1]]
        return [
            Unsupported(
                "a record has one key: it is declared twice", span=span_of(place)
            )
        ]
    if not declared.record.names:
        return [
            CatalogProblem(
                "a lookup table needs columns beside its key", span=name_span(create)
            )
        ]
    return []


def _static_keys(create: exp.Expr, declared: Declared) -> Sequence[ArroyoError]:
    if not declared.primary_key:
        return [
            CatalogProblem(
                "a lookup table must have a PRIMARY KEY: it is looked up by that",
                span=name_span(create),
                hint="write PRIMARY KEY after the type of a column whose values are "
                "there once",
            )
        ]
    return [
        Unsupported(
            f"the PRIMARY KEY '{key}' of a lookup table is "
            f"{declared.physical[key].type}",
            span=span_of(definitions(create)[key]),
            hint="a key can be a number, a text, a time or a BOOLEAN",
        )
        for key in declared.primary_key
        if isinstance(declared.physical[key].type, ListOf | StructOf)
    ]


def _changes(
    values: Mapping[str, OptionValue], options: Options
) -> Sequence[ArroyoError]:
    name = str(values.get("format"))
    if not tells_changes(name):
        return []
    return [
        Unsupported(
            f"a lookup table of changes (format '{name}') is not supported",
            span=options.span("format"),
        )
    ]


def _of_time(create: exp.Expr, options: Options) -> Sequence[ArroyoError]:
    clauses = list(create.find_all(exp.WatermarkColumnConstraint))
    given = (options.span(option.name) for option in EVENT_TIME_OPTIONS)
    places = [*map(span_of, clauses), *(span for span in given if span is not None)]
    return [
        CatalogProblem(
            "a lookup table has no event time and no watermark",
            span=place,
            hint="rows of a lookup join keep those of the stream",
        )
        for place in places[:1]
    ]


def _generated(create: exp.Expr, declared: Declared) -> Sequence[ArroyoError]:
    return [
        Unsupported(
            "a generated column of a lookup table is not supported",
            span=span_of(definitions(create)[made.column.name]),
            hint=f"compute '{made.column.name}' in the query",
        )
        for made in declared.generated
    ]
