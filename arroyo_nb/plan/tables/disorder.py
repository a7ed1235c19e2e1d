"""Options by which the rows of a tape arrive in disorder, as WITH has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from arroyo_nb.connectors import Connector, Streaming
from arroyo_nb.errors import CatalogProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import BYTEA, MICROSECOND, ListOf, Schema, StructOf
from arroyo_nb.source import Span
from arroyo_nb.tape.disordered import TapeDisorder
from arroyo_nb.with_options import Option, OptionKind, OptionValue

PREFIX = "disorder."

SHUFFLE = Option(
    "disorder.shuffle",
    OptionKind.DURATION,
    "each row arrives later by a random time below this; of a tape only",
    in_arroyo=False,
    example="INTERVAL '10 seconds'",
)
DELAY = Option(
    "disorder.delay",
    OptionKind.DURATION,
    "the rows that disorder.delayed names arrive later by this",
    in_arroyo=False,
    example="INTERVAL '20 seconds'",
)
DELAYED = Option(
    "disorder.delayed",
    OptionKind.STRING,
    "a column and the value of it whose rows arrive later, such as 'origin=JFK'",
    in_arroyo=False,
    example="origin=JFK",
)
DUPLICATE = Option(
    "disorder.duplicate",
    OptionKind.DOUBLE,
    "which share of the rows arrives twice, from 0 to 1",
    in_arroyo=False,
    example="0.1",
)
GAP = Option(
    "disorder.gap",
    OptionKind.DURATION,
    "nothing arrives for so long; what would, arrives when it ends",
    in_arroyo=False,
    example="INTERVAL '1 hour'",
)
GAP_AFTER = Option(
    "disorder.gap_after",
    OptionKind.DURATION,
    "how long after the first row disorder.gap begins",
    in_arroyo=False,
    example="INTERVAL '1 day'",
)
BURST = Option(
    "disorder.burst",
    OptionKind.DURATION,
    "what arrives within so long arrives together, in one micro-batch",
    in_arroyo=False,
    example="INTERVAL '1 minute'",
)
SEED = Option(
    "disorder.seed",
    OptionKind.INT,
    "another number makes another random disorder",
    in_arroyo=False,
    example="7",
)
DISORDER_OPTIONS = (SHUFFLE, DELAY, DELAYED, DUPLICATE, GAP, GAP_AFTER, BURST, SEED)
"""What the tables of sources that are tapes take."""

_TOGETHER = ((DELAY, DELAYED), (DELAYED, DELAY), (GAP, GAP_AFTER), (GAP_AFTER, GAP))
"""Options that are nothing without another."""


def has_disorder(options: Mapping[str, OptionValue]) -> bool:
    """Whether rows come otherwise than they were recorded."""
    return any(name.startswith(PREFIX) for name in options)


def tape_disorder(options: Mapping[str, OptionValue]) -> TapeDisorder:
    """The disorder that the options of a checked table ask for."""
    column, _, value = str(options.get(DELAYED.name, "")).partition("=")
    share = options.get(DUPLICATE.name, 0.0)
    seed = options.get(SEED.name, 0)
    assert isinstance(share, (int, float)), "of its kind"
    assert isinstance(seed, int), "of its kind"
    return TapeDisorder(
        shuffle_us=_us(options, SHUFFLE),
        delay_us=_us(options, DELAY),
        column=column,
        value=value,
        duplicate=float(share),
        gap_us=_us(options, GAP),
        gap_after_us=_us(options, GAP_AFTER),
        burst_us=_us(options, BURST),
        seed=seed,
    )


def check_disorder(
    options: Mapping[str, OptionValue],
    connector: Connector,
    columns: Schema,
    span: Callable[[str], Span | None],
) -> None:
    """Refuse a disorder that a table cannot have.

    Parameters
    ----------
    options
        The table's, each of its kind.
    connector
        The table's.
    columns
        Those that the connector delivers.
    span
        Where an option stands.

    Raises
    ------
    CatalogProblem
        When its rows are no tape's, or an option lacks another, or is out of range.
    """
    given = [option for option in DISORDER_OPTIONS if option.name in options]
    if not given:
        return
    if isinstance(connector, Streaming):
        raise CatalogProblem(
            f"'{given[0].name}' is for tapes: Spark itself reads {connector.info.name}",
            span=span(given[0].name),
            hint="%arroyo record it, and set the option of the tape's table",
        )
    for option, other in _TOGETHER:
        if option in given and other not in given:
            raise CatalogProblem(
                f"'{option.name}' needs '{other.name}'",
                span=span(option.name),
                hint=f"'{other.name}' = {_written(other)}: {other.doc}",
            )
    share = options.get(DUPLICATE.name, 0.0)
    if not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise CatalogProblem(
            f"the share of '{DUPLICATE.name}' is {share}: it is from 0 to 1",
            span=span(DUPLICATE.name),
            hint="0.1 is a tenth of the rows",
        )
    column, equals, value = str(options.get(DELAYED.name, "a=b")).partition("=")
    if not (column and equals and value):
        raise CatalogProblem(
            f"'{DELAYED.name}' is not COLUMN=VALUE",
            span=span(DELAYED.name),
            hint=f"such as {_written(DELAYED)}",
        )
    if DELAYED in given and column not in columns:
        raise CatalogProblem(
            f"there is no column '{column}' for '{DELAYED.name}'",
            span=span(DELAYED.name),
            hint=did_you_mean(column, columns.names),
        )
    if DELAYED in given:
        kind = columns[column].type
        if isinstance(kind, (ListOf, StructOf)) or kind == BYTEA:
            raise CatalogProblem(
                f"the values of '{column}' cannot be written in '{DELAYED.name}': it "
                f"is {kind}",
                span=span(DELAYED.name),
                hint="name a column of texts or numbers",
            )


def _written(option: Option) -> str:
    is_text = option.kind is OptionKind.STRING
    return f"'{option.example}'" if is_text else option.example


def _us(options: Mapping[str, OptionValue], option: Option) -> int:
    length = options.get(option.name, timedelta())
    assert isinstance(length, timedelta), "of its kind"
    return length // MICROSECOND
