"""The example of every function and aggregate gives the result that its row says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path

import pytest

from arroyo_nb import functions
from arroyo_nb.functions import aggregates, over
from arroyo_nb.functions.examples import TRIP_COLUMNS, TRIPS, split_example
from arroyo_nb.session import Session

SCALARS = [row for family in functions.FAMILIES for row in family.FUNCTIONS]
OVER = [row for family in over.FAMILIES for row in family.FUNCTIONS]
AGGREGATES = [row for family in aggregates.FAMILIES for row in family.AGGREGATES]


@pytest.fixture
def trips(tmp_path: Path) -> str:
    path = tmp_path / "trips.json"
    rows = [{**trip, "at": f"2024-03-01T{trip['at']}:00Z"} for trip in TRIPS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return (
        f"CREATE TABLE trips ({TRIP_COLUMNS}, WATERMARK FOR at) WITH (connector = "
        f"'single_file', path = '{path}', type = 'source', format = 'json');\n"
    )


def shown(value: object) -> str:
    """A value as an example writes it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return f"'{value}'"
        case bytes():
            return "0x" + value.hex()
        case datetime():
            return value.replace(tzinfo=None).isoformat(" ")
        case date():
            return value.isoformat()
        case list():
            return f"[{', '.join(map(shown, value))}]"
    return str(value)


def computed(
    session: Session, trips: str, examples: Iterable[str], group: str = ""
) -> tuple[list[str], list[str]]:
    """What the calls give in one query, and what their examples say."""
    calls, results = zip(*map(split_example, examples), strict=True)
    listed = ", ".join(f"{call} AS c{n}" for n, call in enumerate(calls))
    run = session.run(f"{trips} SELECT {listed} FROM trips {group}", wait=True)
    row = run.table().to_pylist()[-1]
    values = [shown(row[f"c{n}"]) for n in range(len(calls))]
    return (
        [f"{call} -> {value}" for call, value in zip(calls, values, strict=True)],
        [f"{call} -> {said}" for call, said in zip(calls, results, strict=True)],
    )


def test_scalar_functions(session: Session, trips: str) -> None:
    examples = [row.example for row in SCALARS if not row.volatile]
    got, said = computed(session, trips, examples)
    assert got == said


def test_volatile_functions(session: Session, trips: str) -> None:
    examples = [row.example for row in SCALARS if row.volatile]
    got, _ = computed(session, trips, examples)
    assert not [value for value in got if value.endswith("-> NULL")]


def test_aggregates_of_an_updating_query(session: Session, trips: str) -> None:
    got, said = computed(session, trips, [row.example for row in AGGREGATES])
    assert got == said


def test_aggregates_over_a_window(session: Session, trips: str) -> None:
    examples = [row.example for row in AGGREGATES]
    got, said = computed(session, trips, examples, "GROUP BY tumble('1 hour')")
    assert got == said


def test_functions_of_over(session: Session, trips: str) -> None:
    """In one window, whose only order is that of the trips."""
    calls, results = zip(*(split_example(row.example) for row in OVER), strict=True)
    order = "OVER (PARTITION BY window ORDER BY at)"
    listed = ", ".join(f"{call} {order} AS c{n}" for n, call in enumerate(calls))
    grouped = (
        "SELECT tumble('1 hour') AS window, at, name, seats FROM trips "
        "GROUP BY window, at, name, seats"
    )
    run = session.run(f"{trips} SELECT {listed}, at FROM ({grouped})", wait=True)
    rows = sorted(run.table().to_pylist(), key=lambda row: row["at"])
    got = [", ".join(shown(row[f"c{n}"]) for row in rows) for n in range(len(calls))]
    assert dict(zip(calls, got, strict=True)) == dict(zip(calls, results, strict=True))
