"""Joins of windows over random tapes, against DuckDB on the rows that the watermark
admits: the rows, and the batch in which each is sent.

A tape has rows out of order, late, doubled, with NULLs and in empty batches.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from datetime import UTC, timedelta
from functools import cache
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from microbatches import EPOCH, micros, reader, run_to_end, sampled, write_chunks

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.spark.lower import lower, visible

MS = 1_000
S = 1_000 * MS
DELAYS = {"l": 5 * S, "r": 2 * S}
SCHEMA = pa.schema(
    {
        "k": pa.string(),
        "g": pa.float64(),
        "v": pa.int64(),
        "t": pa.timestamp("us", tz="UTC"),
    }
)
COLUMNS = "k TEXT, g DOUBLE, v BIGINT, t TIMESTAMP NOT NULL"
WIDTH, SLIDE, HOP_WIDTH = 10 * S, 4 * S, 12 * S
WINDOWS = {"w": ("tumble(INTERVAL '10 seconds')", WIDTH, WIDTH)}
WINDOWS["h"] = ("hop(INTERVAL '4 seconds', INTERVAL '12 seconds')", SLIDE, HOP_WIDTH)

QUERIES = {
    "inner": "SELECT a.w, a.k, a.n, b.n AS m FROM lw a JOIN rw b ON {b} AND a.k = b.k",
    "left": "SELECT a.w, a.k, b.n, b.w AS bw FROM lw a LEFT JOIN rw b ON {b} "
    "AND a.k = b.k AND a.n <= b.n AND b.s > 0 AND a.s < 9",
    "right": "SELECT b.w, a.n, b.k FROM lw a RIGHT JOIN rw b ON {b} AND b.k = a.k "
    "AND b.n + 1 = a.n + 1 AND a.s > 0",
    "full": "SELECT a.w, b.w AS bw, a.k, b.k AS bk, a.n, b.s FROM lw a FULL JOIN rw b "
    "ON a.k = b.k AND a.n < b.n AND {b}",
    "full by floats": "SELECT a.w, b.w AS bw, a.g, b.g AS bg FROM lg a "
    "FULL JOIN rg b ON {b} AND a.g = b.g",
    "no equality": "SELECT a.w, a.k, b.k AS bk FROM lw a JOIN rw b ON {b} "
    "AND a.n < b.n",
    "no condition": "SELECT a.w, a.s, b.s AS bs FROM lw a CROSS JOIN rw b "
    "WHERE {b} AND a.w.start > TIMESTAMP '1970-01-01 00:01:45'",
    "hops": "SELECT a.w, a.n, b.n AS m FROM lh a LEFT JOIN rh b ON a.k = b.k AND {b} "
    "WHERE a.n > 1 OR b.n IS NULL",
    "with its own top": "SELECT a.w, a.k, a.n FROM lw a JOIN (SELECT w, max(n) AS m "
    "FROM lw GROUP BY w) b ON {b} AND a.n = b.m",
    "with its own groups": "SELECT a.w, a.k, a.n, b.m, b.o FROM lw a JOIN (SELECT w, "
    "k, max(n) AS m, sum(s) AS o FROM lw GROUP BY w, k) b ON a.k = b.k AND {b}",
    "with its own groups by floats": "SELECT b.w, a.g, b.o FROM (SELECT w, g, "
    "count(*) AS o FROM rg GROUP BY w, g) b JOIN rg a ON {b} AND a.g = b.g",
    "with the sum of all": "SELECT a.w, a.k, a.n * 100 - b.m AS p FROM lh a JOIN "
    "(SELECT w, sum(n)::BIGINT AS m FROM lh GROUP BY w) b ON {b} WHERE b.m > 1",
    "three ways": "SELECT a.w, a.k, b.n, c.n AS m FROM lw a LEFT JOIN rw b "
    "ON a.k = b.k AND {b} LEFT JOIN lw c ON b.n = c.n AND {c}",
    "three full": "SELECT a.w, b.w AS bw, c.w AS cw, a.n, b.n AS m, c.n AS o FROM lw a "
    "FULL JOIN rw b ON a.k = b.k AND {b} FULL JOIN lw c ON b.n = c.n AND {d}",
    "aggregated": "SELECT a.w, b.k, count(*) AS n, sum(a.n) AS s, max(b.w.start) AS e "
    "FROM lw a JOIN rw b ON (a.k = b.k OR a.n = b.n) AND {b} GROUP BY a.w, b.k",
    "aggregated by a call": "SELECT {window} AS w, count(*) AS n, count(a.k) AS s "
    "FROM lw a FULL JOIN rw b ON {b} AND a.k = b.k GROUP BY 1",
}
DUCKDB = {
    "b": "a.w = b.w",
    "c": "a.w = c.w",
    "d": "coalesce(a.w, b.w) = c.w",
    "window": "coalesce(a.w, b.w)",
}
UNSAID = {**dict.fromkeys("bcd", "true"), "window": WINDOWS["w"][0]}
"""Here rows are of one window, whether or not a condition says so."""
SAID = UNSAID | {name: DUCKDB[name] for name in "bc"}
OFTEN = ("left", "full", "aggregated")

moments = st.integers(0, 4 * 45).map(lambda quarter: 100 * S + quarter * 250 * MS)
row = st.tuples(
    st.sampled_from([*"abcd", None]),
    st.sampled_from([0.0, -0.0, 1.5, float("nan"), None]),
    st.none() | st.integers(-9, 9),
    moments,
)
tapes = st.fixed_dictionaries(
    {
        name: st.lists(st.lists(row, max_size=40), min_size=4, max_size=4)
        for name in DELAYS
    }
)


def examples(number):
    """So many; to shrink one that fails would cost a stream for each attempt."""
    return settings(
        max_examples=number,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
        print_blob=True,
    )


@cache
def tables():
    script = "".join(
        f"CREATE TABLE {name} ({COLUMNS}, WATERMARK FOR t AS t - INTERVAL "
        f"'{delay // S} seconds') WITH (connector = 'single_file', path = '/{name}', "
        "type = 'source', format = 'json');"
        for name, delay in DELAYS.items()
    )
    for name in DELAYS:
        for suffix, key, window in (("w", "k", "w"), ("h", "k", "h"), ("g", "g", "w")):
            script += (
                f"CREATE VIEW {name}{suffix} AS SELECT {WINDOWS[window][0]} AS w, "
                f"{key}, count(*) AS n, sum(v) AS s FROM {name} GROUP BY w, {key};"
            )
    return plan_script(script, Catalog()).catalog


def watermarks(tape):
    """What each batch is late by, and what closes its windows: the least of the
    tables' watermarks, which the batches before have moved."""
    marks, newest = [0], dict.fromkeys(tape, 0)
    for batches in zip(*tape.values(), strict=True):
        for name, batch in zip(tape, batches, strict=True):
            newest[name] = max([newest[name], *(row[-1] for row in batch)])
        ends = (newest[name] // MS * MS - DELAYS[name] for name in tape)
        marks.append(max(marks[-1], min(ends)))
    return marks


def admitted(batches, marks, slide, width):
    """(start, end, row) for each window that took a row."""
    for number, batch in enumerate(batches):
        late = marks[max(0, number - 1)]
        for found in batch:
            t = found[-1]
            newest = t - t % slide
            for start in range(newest, newest - width, -slide):
                if start + width > max(t, late):
                    yield start, start + width, found


def database(tape):
    """DuckDB with the windows of both tables; each window has its batch."""
    db, marks = duckdb.connect(), watermarks(tape)
    db.execute("SET TimeZone = 'UTC'")
    for name, batches in tape.items():
        for suffix, key, window in (("w", "k", "w"), ("h", "k", "h"), ("g", "g", "w")):
            _, slide, width = WINDOWS[window]
            rows = list(admitted(batches, marks, slide, width))
            rows_of = pa.table(
                {
                    "w": pa.array(
                        [{"start": s, "end": e} for s, e, _ in rows],
                        pa.struct(dict.fromkeys(("start", "end"), pa.timestamp("us"))),
                    ),
                    "k": pa.array([r[0] for *_, r in rows], pa.string()),
                    # DuckDB tells -0.0 from 0.0 in no way either.
                    "g": pa.array([r[1] for *_, r in rows], pa.float64()),
                    "v": pa.array([r[2] for *_, r in rows], pa.int64()),
                }
            )
            db.register("rows_of", rows_of)
            db.execute(
                f"CREATE TABLE {name}{suffix} AS SELECT w, {key}, count(*) AS n, "
                f"sum(v)::BIGINT AS s FROM rows_of GROUP BY w, {key}"
            )
            db.unregister("rows_of")
    return db


def instant(value):
    return EPOCH + timedelta(microseconds=value)


def answer(tape, query):
    """The rows that DuckDB gives, each with the batch that closes its window."""
    # Of one table the other has no part in the watermark.
    read = {
        name: rows for name, rows in tape.items() if re.search(f"{name}[whg]", query)
    }
    marks = [*watermarks(read), 2**62]
    with database(read) as db:
        rows = db.execute(query.format(**DUCKDB)).fetchall()
    return Counter((closed_in(row, marks), comparable(row)) for row in rows)


def closed_in(row, marks):
    window = next(value for value in row if isinstance(value, dict))
    end = micros(window["end"].replace(tzinfo=UTC))
    return next(batch for batch, mark in enumerate(marks) if end <= mark)


def comparable(row):
    return tuple(map(_comparable, row))


def _comparable(value):
    if isinstance(value, dict):
        return tuple(map(_comparable, value.values()))
    if value is None or isinstance(value, int | str):
        return value
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    return micros(value.replace(tzinfo=UTC))


def streamed(engine, tape, query):
    """What Spark gives, each row with its batch."""
    (plan,) = plan_script(query, tables()).sinks
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for table, batches in tape.items():
            (folder / table).mkdir()
            timed = [
                [(*row[:-1], instant(row[-1]), row[-1]) for row in b] for b in batches
            ]
            write_chunks(folder / table, SCHEMA, timed)

        def read(source):
            return reader(engine.session, folder / source.table.name)(source)

        def run():
            return run_to_end(visible(lower(plan, read), plan), folder / "state")

        outcome = engine.worker.call(run)
    return Counter((batch, comparable(row.values())) for batch, row in outcome.rows)


TAPE = {
    "l": [
        [("a", 0.0, 1, 100 * S), ("b", None, 2, 103 * S), (None, 1.5, 3, 104 * S)],
        [("a", -0.0, 4, 112 * S), ("a", 1.5, 5, 101 * S), ("c", None, None, 125 * S)],
        # The first is late: the windows up to 110 have closed with the batch before.
        [("a", 0.0, 9, 100 * S), ("d", float("nan"), 7, 131 * S)],
        [],
    ],
    "r": [
        [],
        [("a", 0.0, 1, 100 * S), (None, None, 3, 104 * S), ("e", 1.5, 3, 122 * S)],
        [("a", -0.0, 1, 115 * S), ("d", float("nan"), 2, 130 * S)],
        [("d", None, 4, 139 * S), ("b", 1.5, 4, 124 * S)],
    ],
}


@pytest.mark.parametrize("query", sampled(QUERIES, OFTEN, "windows"))
def test_rows_of_one_window_are_joined_when_it_closes(engine, query):
    found = streamed(engine, TAPE, query.format(**UNSAID))
    assert found == answer(TAPE, query)
    assert found


def check_tape(engine, tape, query, conditions):
    found = streamed(engine, tape, query.format(**conditions))
    assert found == answer(tape, query)


ANY_QUERY = st.sampled_from(list(QUERIES.values())), st.sampled_from([UNSAID, SAID])


@given(tapes, *ANY_QUERY)
@examples(2)
def test_joins_of_any_tape(engine, tape, query, conditions):
    check_tape(engine, tape, query, conditions)


@pytest.mark.long("windows")
@given(tapes, *ANY_QUERY)
@examples(150)
def test_joins_of_many_tapes(engine, tape, query, conditions):
    check_tape(engine, tape, query, conditions)
