"""Random scripts over windows against DuckDB, many in one query of Spark's, so that
they cost one.

Most are run over rows that are all there at once, which costs no more than one batch of
a stream. That late rows, watermarks and state change nothing is for the streams to
show, whose rows are late, doubled, out of order and in empty batches.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest
from microbatches import batch_reader, reader, run_to_end, write_chunks
from random_histories import plain
from random_windows import COLUMNS, SECOND, TABLES, WINDOWS, Script, Scripts
from seeds import of_the_day
from small_plans import SMALL
from test_random_queries_on_spark import shuffled, united

from arroyo_nb.catalog import Catalog
from arroyo_nb.engine.query_settings import query_settings
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.spark.lower import lower, visible

DELAYS = {"t": 5 * SECOND, "u": 2 * SECOND}
TYPES = {
    "k": pa.string(),
    "v": pa.int64(),
    "g": pa.float64(),
    "l": pa.list_(pa.int64()),
}
EDGE = pa.timestamp("us")
POOLS = {
    "k": ["a", "b", "c", "", None],
    "v": [*range(-2, 5), None],
    "g": [0.5, -1.5, 0.0, -0.0, 2.0, None],
    "l": [[1, 2], [3, None], [], [2, 2], None],
}
STEP_US = SECOND // 4
MOST_ROWS = 5_000
"""A view has no more: some scripts join rows of a window with all others, twice."""
MOST_FAULTS = 2
"""So many scripts of a test DuckDB may fail to plan."""


@cache
def tables() -> Catalog:
    script = "".join(
        f"CREATE TABLE {name} ({COLUMNS}, at TIMESTAMP NOT NULL, WATERMARK FOR at AS "
        f"at - INTERVAL '{delay // SECOND} seconds') WITH (connector = 'single_file', "
        f"path = '/{name}', type = 'source', format = 'json');"
        for name, delay in DELAYS.items()
    )
    return plan_script(script, Catalog()).catalog


def tape_at_random(random: Random, batches: int) -> dict[str, list[list[tuple]]]:
    """By table, batches of rows with their times, of a minute in all."""
    tape = {}
    for name in TABLES:
        times = [100 * SECOND + random.randrange(120) * STEP_US for _ in range(40)]
        times.sort(key=lambda t: t + random.randrange(8) * SECOND)
        rows = [(*map(random.choice, POOLS.values()), t) for t in times]
        rows += random.sample(rows, 5)
        cuts = sorted(random.choices(range(len(rows) + 1), k=batches - 1))
        edges = [0, *cuts, len(rows)]
        tape[name] = [rows[a:b] for a, b in pairwise(edges)]
    return tape


def watermarks(tape: dict[str, list[list[tuple]]]) -> list[int]:
    """What each batch is late by: the least of the tables' watermarks, two batches
    before, as Spark filters by the watermark of the batch before."""
    marks, newest = [0, 0], dict.fromkeys(tape, 0)
    for batches in zip(*tape.values(), strict=True):
        for name, batch in zip(tape, batches, strict=True):
            newest[name] = max([newest[name], *(row[-1] for row in batch)])
        ends = (newest[name] // 1000 * 1000 - DELAYS[name] for name in tape)
        marks.append(max(marks[-1], min(ends)))
    return marks


def in_windows(kind, batches, marks):
    """(start, end, row) for each window that took a row."""
    _, slide, width = WINDOWS[kind]
    for batch, mark in zip(batches, marks, strict=False):
        for row in batch:
            newest = row[-1] - row[-1] % slide
            for start in range(newest, newest - width, -slide):
                if start + width > max(row[-1], mark):
                    yield start, start + width, row


def in_sessions(batches):
    """(start, end, row) for the session of each row among those of its ``k``."""
    gap, of_key = WINDOWS["session"][1], defaultdict(list)
    for row in sorted((row for b in batches for row in b), key=lambda row: row[-1]):
        runs = of_key[row[0]]
        if not runs or row[-1] - runs[-1][-1][-1] >= gap:
            runs.append([])
        runs[-1].append(row)
    for runs in of_key.values():
        for run in runs:
            yield from ((run[0][-1], run[-1][-1] + gap, row) for row in run)


def database(tape, marks) -> duckdb.DuckDBPyConnection:
    """DuckDB with the rows of each table in each kind of window."""
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'; SET threads = 1")
    for name, batches in tape.items():
        for kind in WINDOWS:
            found = in_windows(kind, batches, marks) if kind != "session" else ()
            rows = list(found or in_sessions(batches))
            windows = [{"start": s, "end": e} for s, e, _ in rows]
            columns = {
                column: pa.array([row[place] for *_, row in rows], type_)
                for place, (column, type_) in enumerate(TYPES.items())
            }
            # DuckDB tells -0.0 from 0.0 in a group, and Arroyo does not. -0.0 is false.
            floats = columns["g"].to_pylist()
            columns["g"] = pa.array([g if g is None else g + 0.0 for g in floats])
            of_window = pa.array(windows, pa.struct({"start": EDGE, "end": EDGE}))
            given = pa.table({"w": of_window, **columns})
            db.register("given", given)
            db.execute(f"CREATE TABLE {name}_{kind} AS SELECT * FROM given")
            db.unregister("given")
    return db


def answer(db: duckdb.DuckDBPyConnection, script: Script) -> Counter | None:
    """What DuckDB says; None where a join has too many rows."""
    *views, query = script.duckdb()
    for view in views:
        # Rows that are there are counted at once.
        db.execute(view.replace("CREATE VIEW", "CREATE TABLE", 1))
        (rows,) = db.execute(f"SELECT count(*) FROM {view.split()[2]}").fetchone()
        if rows > MOST_ROWS:
            return None
    return Counter(map(plain, db.execute(query).fetchall()))


def answered(random, kinds, number, tape, marks):
    """Scripts with what DuckDB says to each; one to which it says nothing is drawn
    anew."""
    found, passed_over = [], []
    db = database(tape, marks)
    for drawn in count():
        kind = random.choice(kinds)
        script = Scripts(random, kind, f"v{drawn}_").script()
        try:
            expected = answer(db, script)
        except duckdb.InternalException as fault:  # its own planner's
            passed_over.append(f"{fault}\n{script.arroyo()}")
            db.close()
            db = database(tape, marks)  # it answers nothing any more
            continue
        if expected is not None:
            found.append((script, expected))
        if len(found) == number:
            break
    db.close()
    assert len(passed_over) <= MOST_FAULTS, "\n\n".join(passed_over)
    return found


def plans_of(scripts):
    for script in scripts:
        try:
            (plan,) = plan_script(script.arroyo(), tables()).sinks
        except Exception as error:
            error.add_note(script.arroyo())
            raise
        yield plan


def rows_of(rows):
    found = defaultdict(Counter)
    for row in rows:
        found[row["q"]][plain(list(row[f"q{row['q']}"].values()))] += 1
    return found


def frames_of(plans, read):
    return united([visible(lower(plan, read), plan) for plan in plans])


def at_once(engine, folder, scripts, tape):
    """What the scripts give where all rows are there."""
    plans = list(plans_of(scripts))

    def read(node):
        return batch_reader(engine.session, folder / node.table.name)(node)

    def work():
        spark = engine.session
        with shuffled(spark, 1), query_settings(spark, SMALL):
            return frames_of(plans, read).toArrow().to_pylist()

    write(folder, tape)
    return rows_of(engine.worker.call(work))


def streamed(engine, folder, scripts, tape):
    """What they give of a stream."""
    plans = list(plans_of(scripts))

    def read(node):
        return reader(engine.session, folder / node.table.name)(node)

    def work():
        spark = engine.session
        with shuffled(spark, 1), query_settings(spark, SMALL):
            return run_to_end(frames_of(plans, read), folder / "state")

    write(folder, tape)
    return rows_of(row for _, row in engine.worker.call(work).rows)


def write(folder: Path, tape) -> None:
    schema = pa.schema({**TYPES, "at": pa.timestamp("us", tz="UTC")})
    for name, batches in tape.items():
        (folder / name).mkdir(parents=True)
        timed = [[(*row, row[-1]) for row in batch] for batch in batches]
        write_chunks(folder / name, schema, timed)


def compare(found, scripts, tape):
    for number, (script, expected) in enumerate(scripts):
        assert found[number] == expected, f"{script.arroyo()}\n\n{tape}"


def check(engine, folder, seed, number):
    """Scripts over all kinds of windows, each over the same rows."""
    random = Random(seed)
    tape = tape_at_random(random, batches=2)
    scripts = answered(random, [*WINDOWS], number, tape, marks=[0, 0])
    found = at_once(engine, folder, [script for script, _ in scripts], tape)
    compare(found, scripts, tape)


def check_stream(engine, folder, seed, number):
    random = Random(seed)
    tape = tape_at_random(random, batches=5)
    kinds = ["tumble", "hop"]
    scripts = answered(random, kinds, number, tape, watermarks(tape))
    read = " ".join(script.arroyo() for script, _ in scripts)
    assert all(f"FROM {name} " in read for name in TABLES), "one moves no watermark"
    found = streamed(engine, folder, [script for script, _ in scripts], tape)
    compare(found, scripts, tape)


@pytest.mark.parametrize("seed", of_the_day([0, 1, *range(1000, 1190)], "scripts"))
def test_scripts_over_windows(engine, tmp_path, seed):
    check(engine, tmp_path, seed, number=25)


def test_scripts_over_windows_of_a_stream(engine, tmp_path):
    check_stream(engine, tmp_path, seed=18, number=4)


@pytest.mark.long("scripts")
@pytest.mark.parametrize("seed", range(25))
def test_many_scripts_over_windows_of_a_stream(engine, tmp_path, seed):
    check_stream(engine, tmp_path, 1000 + seed, number=10)
