"""Tables that are read whole, without an engine."""

from __future__ import annotations

from dataclasses import replace

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.sources import lookups
from arroyo_nb.run.sources.lookups import StaticTables

SCRIPT = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1);
CREATE TEMPORARY TABLE prices (id BIGINT PRIMARY KEY, price DOUBLE) WITH (
    connector = 'single_file', path = '{path}', format = 'json', bad_data = 'drop'
);
SELECT counter, price FROM ticks JOIN prices ON CAST(counter AS BIGINT) = id;
"""


def test_records_that_are_left_out_are_counted_also_for_who_goes_on(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text('{"id": 1, "price": 1.5}\n{"id": "x"}\n{"id": 2}\n{"id"')
    sinks = plan_script(SCRIPT.format(path=path), Catalog()).sinks
    first, again = StaticTables(sinks), StaticTables(sinks)
    assert [source.dropped_rows for source in first.sources()] == [0]
    first.start(tmp_path)
    path.unlink()
    again.start(tmp_path)
    (source,) = first.sources()
    assert (source.name, source.rows, source.dropped_rows) == ("prices", 2, 2)
    assert source.looked_up
    assert len(source.bad) == 2
    assert source.bad[0].startswith(f"{path}:2: ")
    assert source.bad[0].endswith(': {"id": "x"}')
    assert source.dropped_before == 0
    assert list(again.sources()) == [replace(source, dropped_before=2)]


def test_who_asks_while_the_tables_are_read_is_answered(tmp_path, monkeypatch):
    path = tmp_path / "prices.json"
    path.write_text('{"id": 1, "price": 1.5}')
    tables = StaticTables(plan_script(SCRIPT.format(path=path), Catalog()).sinks)
    read, told = lookups._kept, []

    def asked_meanwhile(*given):
        told.extend(source.rows for source in tables.sources())
        return read(*given)

    monkeypatch.setattr(lookups, "_kept", asked_meanwhile)
    tables.start(tmp_path)
    told.extend(source.rows for source in tables.sources())
    assert told == [0, 1]
