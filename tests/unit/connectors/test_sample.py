"""The shipped tapes: their facts, not how they were made."""

import pyarrow.compute as pc
import pytest

from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.connectors.sample import DATASETS, FOLDER
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.schema import Schema, arrow_schema
from arroyo_nb.tape import ARRIVAL
from arroyo_nb.tape.format import Tape
from arroyo_nb.tape.writer import stored

SAMPLE = CONNECTORS.get("sample")


def play(name):
    options = {"dataset": name}
    spec = TableSpec(name, SAMPLE.columns(options), options)
    return list(SAMPLE.recorder(spec).chunks(None))


def table(name):
    return Tape.open(FOLDER / name).table()


@pytest.mark.parametrize("name", DATASETS)
def test_a_tape_has_the_columns_that_it_promises(name):
    tape = Tape.open(FOLDER / name)
    assert tape.header.schema == str(DATASETS[name])
    rows = tape.table()
    promised = stored(arrow_schema(DATASETS[name]).empty_table()).schema
    assert rows.drop_columns([ARRIVAL, "_timestamp"]).schema == promised
    for field in DATASETS[name]:
        assert field.nullable or rows[field.name].null_count == 0
    arrival = rows[ARRIVAL].to_pylist()
    assert arrival == sorted(arrival)
    assert rows["_timestamp"].null_count == 0


def test_flights_are_late_in_earnest():
    rows = table("flights")
    cancelled = pc.is_null(rows["dep"])
    assert (rows.num_rows, pc.sum(cancelled).as_py()) == (6546, 519)
    assert rows["_timestamp"] == rows["sched_dep"]
    assert rows[ARRIVAL] == pc.coalesce(rows["dep"], rows["sched_dep"])
    flown = rows.filter(pc.invert(cancelled))
    seconds = pc.subtract(flown["dep"], flown["sched_dep"]).cast("int64")
    minutes = pc.divide(seconds, 60_000_000)
    assert minutes.cast("int32") == flown["dep_delay"]
    assert pc.min_max(minutes).as_py() == {"min": -18, "max": 470}
    assert pc.mean(pc.greater(minutes, 60)).as_py() > 0.12
    first_and_last = pc.min_max(rows["sched_dep"]).as_py().values()
    assert [str(t) for t in first_and_last] == [
        "2013-03-04 10:00:00+00:00",
        "2013-03-11 03:59:00+00:00",
    ]


def test_the_tapes_belong_together():
    flights, weather = table("flights"), table("weather")
    codes = {
        "carrier": table("airlines")["carrier"],
        "origin": table("airports")["faa"],
    }
    for column, known in codes.items():
        assert pc.all(pc.is_in(flights[column], known.combine_chunks())).as_py()
    assert set(weather["origin"].to_pylist()) == {"EWR", "JFK", "LGA"}
    assert 3 * 24 * 7 - 10 < weather.num_rows <= 3 * 24 * 7
    assert table("airlines").num_rows == 16
    assert table("airports").num_rows == 1458


def test_flights_make_a_run_of_instructive_length():
    assert 25 <= len(play("flights")) <= 40
    assert [len(play(name)) for name in ("weather", "airlines", "airports")] == [
        7,
        1,
        1,
    ]


def test_the_tapes_are_small_and_whole():
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".parquet"}
    assert sum(path.stat().st_size for path in files) < 1_000_000


def test_an_unknown_dataset_names_the_nearest():
    with pytest.raises(CatalogProblem) as failed:
        SAMPLE.columns({"dataset": "flihgts"})
    assert "unknown dataset 'flihgts'" in str(failed.value)
    assert "did you mean 'flights'?" in str(failed.value)
    with pytest.raises(RunProblem, match="not those of the dataset 'airlines'"):
        SAMPLE.recorder(TableSpec("t", Schema(), {"dataset": "airlines"}))
