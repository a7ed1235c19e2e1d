"""What tables of all feeds have in common in their options."""

from __future__ import annotations

from collections.abc import Iterator

from arroyo_nb.connectors import Direction, TableSpec
from arroyo_nb.errors import ArroyoError, Unsupported
from arroyo_nb.formats import payload_format


def message_problems(
    spec: TableSpec, direction: Direction
) -> Iterator[tuple[str, ArroyoError]]:
    """What is wrong with the options of a table's messages, each with the option."""
    format_ = payload_format(str(spec.options["format"]))
    yield from format_.payload_option_problems(spec.options)
    if direction is not Direction.SINK:
        return
    registering = format_.registering_option(spec.options)
    if registering is not None:
        yield (
            registering,
            Unsupported(
                "only a sink of a topic of Kafka registers the schema of its records",
                hint=f"remove '{registering}'",
            ),
        )
    yield from metadata_problems(spec)


def metadata_problems(spec: TableSpec) -> Iterator[tuple[str, ArroyoError]]:
    """That a sink has columns that only what is read has."""
    for column, key in spec.metadata.items():
        yield (
            "type",
            Unsupported(
                f"'{column}' is METADATA FROM '{key}', which only a record that is "
                "read has",
                hint=f"declare '{column}' without METADATA",
            ),
        )
