"""What is offered where, and that it is quick."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from IPython.core.completer import CompletionContext

from arroyo_nb.catalog import Catalog, ConnectorTable
from arroyo_nb.connectors import Direction, TableSpec
from arroyo_nb.editor import matcher
from arroyo_nb.editor.completion import complete
from arroyo_nb.schema import BIGINT, TEXT, Field, Schema


def table(name: str, *columns: str) -> ConnectorTable:
    schema = Schema(tuple(Field(column, TEXT) for column in columns))
    return ConnectorTable(TableSpec(name, schema), "sample", Direction.SOURCE, columns)


FLIGHTS = table("flights", "carrier", "origin", "tailNum")
AIRPORTS = table("airports", "faa", "name")
CATALOG = Catalog({"flights": FLIGHTS, "airports": AIRPORTS})
SESSION = SimpleNamespace(catalog=CATALOG, runs={"delays": None}, function_rows=dict)


def offered(text: str) -> list[str]:
    """Completions at the ``|`` of a cell."""
    before, _, after = text.partition("|")
    lines = before.split("\n")
    context = CompletionContext(
        token="",
        full_text=before + after,
        cursor_position=len(lines[-1]),
        cursor_line=len(lines) - 1,
        limit=None,
    )
    return [c.text for c in complete(SESSION, context)["completions"]]  # type: ignore[arg-type]


CREATE = "%%arroyo\nCREATE TABLE t (a TEXT) WITH (\n  "


@pytest.mark.parametrize(
    ("cell", "some", "none"),
    [
        ("%%arroyo --st|", {"--step", "--strict"}, {"--ttl"}),
        ("%%arroyo --view w|", {"windows", "watermark"}, {"table", "changelog"}),
        ("%arroyo |", {"ps", "stop", "resume", "doctor", "explain"}, {"select"}),
        ("%arroyo stop |", {"delays", "--all"}, {"ps"}),
        ("%arroyo promote delays --target k|", {"kubernetes"}, {"local", "delays"}),
        ("x = 1\n%arroyo explain d|", {"delays"}, {"--all"}),
        ("%%arroyo\nsel|", {"select"}, {"SELECT"}),
        ("%%arroyo\nSEL|", {"SELECT"}, {"select"}),
        ("%%arroyo\nSELECT tum|", {"tumble"}, set()),
        ("%%arroyo\nSELECT tumble(|", {"INTERVAL '1 hour'"}, {"carrier"}),
        ("%%arroyo\nSELECT hop(interval '1 minute', i|", {"interval '1 hour'"}, set()),
        ("%%arroyo\nSELECT TUM|", {"TUMBLE"}, set()),
        ("%%arroyo\nSELECT * FROM |", {"flights", "airports"}, {"carrier", "WHERE"}),
        ("%%arroyo\nWITH late AS (SELECT 1) SELECT 1 FROM l|", {"late"}, {"LIKE"}),
        ("%%arroyo\nSELECT c|\nFROM flights", {"carrier", "count", "case"}, {"faa"}),
        ("%%arroyo\nSELECT |", {"carrier", "faa"}, set()),
        ("%%arroyo\nSELECT f.| FROM flights AS f", {"carrier"}, {"faa", "SELECT"}),
        ("%%arroyo\nSELECT f.t| FROM flights f", {'"tailNum"'}, {"tailNum"}),
        ("%%arroyo\nSELECT window.|", {"start", "end"}, {"carrier"}),
        (CREATE + "con|", {"connector"}, {"format"}),
        (CREATE + "connector = 's|", {"sample", "single_file"}, {"impulse"}),
        (CREATE + "connector = 'sample',\n  d|", {"dataset"}, {"format"}),
        (CREATE + "connector = 'single_file', |", {"path", "type", "format"}, set()),
        (CREATE + "connector = 'single_file', type = '|", {"source", "sink"}, set()),
        (CREATE + "connector = 'single_file', format = '|", {"json"}, {"raw"}),
        (
            CREATE
            + "connector = 'filesystem', format = 'avro', 'avro.compression' = '|",
            {"deflate", "zstd"},
            {"gzip"},
        ),
        (
            CREATE + "connector = 'filesystem', format = 'avro', 'avro.|",
            {"avro.compression"},
            {"avro.raw_datums"},
        ),
        (CREATE + "-- connector = 'x'\n bad|", set(), {"bad_data"}),
        ("%%arroyo\nSELECT 'sel|", set(), {"select"}),
        ("%%arroyo\n-- sel|", set(), {"select"}),
        ("%%arroyo\n/* sel|", set(), {"select"}),
        ("%%arroyo\n/* a */ sel|", {"select"}, set()),
        ("sel|", set(), {"select"}),
        ("%%time\nsel|", set(), {"select"}),
    ],
)
def test_offers_what_fits_the_place(cell: str, some: set[str], none: set[str]) -> None:
    found = set(offered(cell))
    assert some <= found
    assert not none & found


def test_speaks_alone_in_a_cell_and_not_at_all_outside() -> None:
    inside = CompletionContext("", "%%arroyo\nsel", 3, 1, None)
    outside = CompletionContext("", "sel", 3, 0, None)
    complete_here = matcher(SESSION)  # type: ignore[arg-type]
    assert complete_here(inside)["suppress"] is True
    assert "suppress" not in complete_here(outside)


def test_is_quick_with_many_tables() -> None:
    many = {
        f"t{n}": table(f"t{n}", *(f"column_{n}_{i}" for i in range(50)))
        for n in range(200)
    }
    session = SimpleNamespace(catalog=Catalog(many), runs={}, function_rows=dict)
    text = "%%arroyo\n" + "SELECT a, b FROM t1 -- words\n" * 200 + "SELECT c"
    context = CompletionContext("", text, len("SELECT c"), text.count("\n"), None)
    complete(session, context)  # type: ignore[arg-type]
    took_s = []
    for _ in range(5):
        begun = time.perf_counter()
        complete(session, context)  # type: ignore[arg-type]
        took_s.append(time.perf_counter() - begun)
    assert min(took_s) <= 0.020


def test_types_are_kept_apart_from_names() -> None:
    assert BIGINT.name in offered("%%arroyo\nCREATE TABLE t (a BIG|")


def test_tables_are_offered_where_one_is_described_or_dropped() -> None:
    assert offered("%%arroyo\nDESCRIBE fl|") == ["flights"]
    assert offered("%%arroyo\nDROP TABLE a|") == ["airports"]
    assert "SHOW" in offered("%%arroyo\nSH|")
