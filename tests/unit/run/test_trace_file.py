"""A trace as a file, without an engine: what is saved is loaded, and what is no trace
is refused."""

from __future__ import annotations

import json
import os
import signal
import stat
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arroyo_nb import load_trace
from arroyo_nb.catalog import Catalog
from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.errors import ArroyoError, DataProblem, RunProblem
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.observe import moments
from arroyo_nb.run.observe.progress import TriggerProgress
from arroyo_nb.run.observe.snapshot import PartitionProgress, SourceProgress
from arroyo_nb.run.observe.trace_file import METADATA
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import RunFolder, prepare
from arroyo_nb.run.run import Run
from arroyo_nb.views.results import ResultViews

TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1000);"
TWO = f"""{TICKS}
SELECT counter AS batch, counter AS result_0 FROM ticks;
SELECT count(*) AS n, tumble(INTERVAL '1 hour') AS w FROM ticks GROUP BY w;
"""


@pytest.fixture
def run(tmp_path):
    """A run of two outputs; rows of the first came in batches 0 and 2."""
    (tmp_path / "run").mkdir()
    made = Run(
        prepare("r", plan_script(TWO, Catalog()), RunOptions(keep=True)),
        SimpleNamespace(status="starting"),
        RunFolder(tmp_path / "run"),
        views=ResultViews(),
    )
    for number, values in enumerate(([1, 2], [], [3])):
        rows = pa.table({"batch": values, "result_0": values})
        if values:
            made.outputs[0].preview.put(rows, number)
        for output in made.outputs:
            output.observation.write(number, None)
            output.observation._take(TriggerProgress(number, 1.0, None))
    return made


@pytest.fixture
def saved(run, tmp_path):
    return run.save_trace(tmp_path / "a.parquet")


def test_each_output_of_a_saved_trace_is_its_own(saved):
    trace = load_trace(saved)
    assert trace.snapshot().columns == ("batch", "result_0")
    assert trace.snapshot(output=1).columns == ("n", "w")
    assert trace.snapshot(output=1).output == 1
    assert trace.at(batch=1).column("batch").to_pylist() == [1, 2]
    assert trace.table().column("result_0").to_pylist() == [1, 2, 3]
    assert trace.table(1).num_rows == 0


def observed(rows, *times):
    lines = [f'{{"user":"u{time}","fare":null}}' for time in times]
    panes = [{"x": 0, "y": rows}]
    return {"panes": panes, "sample_us": times, "sample_values": lines}


def test_rows_of_a_query_without_a_window_are_saved(run, tmp_path):
    read = {"table:0": observed(70, 5, 3)}
    batch = TriggerProgress(3, 1.0, None, observed=read)
    run.outputs[0].observation._take(batch)
    path = run.save_trace(tmp_path / "a.parquet")
    (arrived,) = load_trace(path).snapshot().arrivals
    assert (arrived,) == run.snapshot().arrivals
    assert (arrived.batch_id, arrived.rows, len(arrived.times)) == (3, 70, 2)
    assert [arrived.source_of(place) for place in range(3)] == ["ticks", "ticks", ""]
    assert arrived.sample[0].values == {"user": "u5", "fare": None}
    table = pq.read_table(path)
    values = table.schema.get_field_index("values")
    field = table.schema.field(values)
    for damage in (["5", "3"], ['{"a":1}', "{}"], ["{}"], ["{", "{}"]):
        lists = [v and damage for v in table["values"].to_pylist()]
        damaged = table.set_column(values, field, [pa.array(lists, field.type)])
        pq.write_table(damaged, path)
        with pytest.raises(DataProblem, match="damaged"):
            load_trace(path)
    # Earlier versions did not write them.
    pq.write_table(table.drop_columns(["values"]), path)
    (arrived,) = load_trace(path).snapshot().arrivals
    assert [row.values for row in arrived.sample] == [{}, {}]
    pq.write_table(table.drop_columns(["rows_read"]), path)
    assert load_trace(path).snapshot().arrivals == ()
    column = table.schema.get_field_index("rows_read")
    for damage in ("drawn", "rows"):
        values = table["rows_read"].to_pylist()
        for row in filter(None, values):
            row[0][damage] = 1
        field = table.schema.field(column)
        damaged = table.set_column(column, field, [pa.array(values, field.type)])
        pq.write_table(damaged, path)
        with pytest.raises(DataProblem, match="damaged"):
            load_trace(path)


@pytest.mark.parametrize("name", ["ü ✓ 'x\".parquet", "x" * 247 + ".parquet"])
def test_a_trace_has_any_name(run, tmp_path, name):
    assert load_trace(run.save_trace(tmp_path / name)).name == "r"


def test_no_file_takes_the_place_of_what_is_none(run, tmp_path):
    pipe, folder = tmp_path / "pipe", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    for save in (run.save_trace, run.save_html):
        for path in (pipe, folder, "", "a\0b", tmp_path / "a\udcff"):
            with pytest.raises(RunProblem, match="is no path of a file"):
                save(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("number", [2, 7, -3])
def test_an_output_that_is_none_is_refused(run, saved, number):
    for of in (run, load_trace(saved)):
        for ask in (of.table, of.changelog, of.moments):
            with pytest.raises(RunProblem, match=f"no output {number}"):
                ask(output=number)


@pytest.mark.parametrize(
    "moment",
    [
        *({"batch": value} for value in ("x", 1.5, float("nan"), 10**400, -1)),
        *(
            {"watermark": value}
            for value in (5, "", date(2013, 1, 1), "0001-01-01T00:00:00+14:00")
        ),
        {"watermark": datetime(2013, 1, 1)},
    ],
)
def test_what_is_no_moment_is_refused(run, saved, moment):
    for of in (run, load_trace(saved)):
        with pytest.raises(RunProblem):
            of.at(**moment)


HEADERS = {
    "name": 3,
    "state": "x",
    "columns": ["a"] * 1000,
    "window": {"kind": "Evil"},
    "handle": ...,
    "updating": True,
    "order": [{"column": "zz", "descending": True}],
    "limit": "x",
    "sources": [{"name": "x"}],
    "elapsed_s": "x",
}


def write(saved, path, change_header=lambda _: None, **columns):
    rows = pq.read_table(saved)
    header = json.loads(rows.schema.metadata[METADATA])
    change_header(header)
    for name, column in columns.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    text = json.dumps(header).encode()
    pq.write_table(rows.replace_schema_metadata({METADATA: text}), path)
    return path


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_says_anything_is_refused(saved, tmp_path, name):
    def change(header):
        if HEADERS[name] is ...:
            del header["outputs"][0][name]
        else:
            header["outputs"][0][name] = HEADERS[name]

    with pytest.raises(DataProblem, match="is no trace of a run"):
        load_trace(write(saved, tmp_path / "b.parquet", change))


@pytest.mark.parametrize("width", [0, -5, 10**30])
def test_a_window_without_a_length_is_refused(saved, tmp_path, width):
    def change(header):
        header["outputs"][1]["window"] = {"kind": "Tumble", "width": width}

    with pytest.raises(DataProblem, match="is no trace of a run"):
        load_trace(write(saved, tmp_path / "b.parquet", change))


@pytest.mark.parametrize("header", ["[]", "null", "{}", '{"version": "x"}', "[" * 9999])
def test_metadata_of_another_kind_are_refused(saved, tmp_path, header):
    path, rows = tmp_path / "b.parquet", pq.read_table(saved)
    pq.write_table(rows.replace_schema_metadata({METADATA: header}), path)
    with pytest.raises(DataProblem, match="is no trace of a run"):
        load_trace(path)


def test_a_later_version_is_named(saved, tmp_path):
    path = write(saved, tmp_path / "b.parquet", lambda h: h.update(version=2))
    with pytest.raises(DataProblem, match="later version"):
        load_trace(path)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("output", pa.array([9] * 6, pa.int32())),
        ("output", pa.nulls(6, pa.int32())),
        ("batch", pa.nulls(6, pa.int64())),
        ("batch", pa.array([5, 4, 3, 2, 1, 0])),
        ("elapsed_s", pa.array([float("nan")] * 6)),
        ("result_0", pa.array([1] * 6)),
        ("sources", pa.nulls(6)),
    ],
)
def test_rows_that_are_no_batches_are_refused(saved, tmp_path, name, column):
    with pytest.raises(DataProblem, match="is no trace of a run"):
        load_trace(write(saved, tmp_path / "b.parquet", **{name: column}))


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_file_is_read_or_refused(saved, tmp_path, seed):
    random, content = Random(seed), bytearray(saved.read_bytes())
    if seed % 3:
        for _ in range(seed % 20):
            content[random.randrange(len(content))] = random.randrange(256)
    else:
        del content[random.randrange(len(content)) :]
    damaged = tmp_path / "b.parquet"
    damaged.write_bytes(content)
    with suppress(ArroyoError):
        trace = load_trace(damaged)
        trace.table()
        trace.at(batch=0)
        trace._repr_html_()


def test_the_batches_of_a_loaded_trace_are_counted_once(saved, monkeypatch):
    trace, made = load_trace(saved), []
    is_counted = moments.Trace
    monkeypatch.setattr(
        moments, "Trace", lambda *args: made.append(1) or is_counted(*args)
    )
    for _ in range(3):
        trace.snapshot(output=1)
    assert len(made) == 1


def test_columns_of_any_type_are_saved(tmp_path):
    sql = f"""{TICKS}
    SELECT counter AS n, NULL AS nothing, make_array(counter) AS list,
        CAST(counter AS DECIMAL(20, 4)) AS money, CAST('a' AS BYTEA) AS bytes,
        make_array(NULL) AS nothings, struct(NULL, counter) AS pair
    FROM ticks;"""
    made = Run(
        prepare("r", plan_script(sql, Catalog()), RunOptions(keep=True)),
        SimpleNamespace(status="starting"),
        RunFolder(tmp_path / "run"),
    )
    schema = made.table().schema
    (output,) = made.outputs
    for number in range(2):
        row = (
            number,
            None,
            [number],
            Decimal(number),
            b"a",
            [None],
            {"c0": None, "c1": number},
        )
        rows = [dict(zip(schema.names, row, strict=True))] * 3
        output.preview.put(pa.Table.from_pylist(rows, schema), number)
        output.observation.write(number, None)
        output.observation._take(TriggerProgress(number, 1.0, None))
    trace = load_trace(made.save_trace(tmp_path / "a.parquet"))
    plain = ["n", "nothing", "list", "money", "bytes"]
    for loaded, kept in (
        (trace.table(), made.table()),
        (trace.at(batch=0), made.at(batch=0)),
    ):
        assert loaded.num_rows
        assert loaded.select(plain).equals(kept.select(plain))
        assert loaded.to_pylist() == kept.to_pylist()


def run_of_two_sources(tmp_path):
    sql = f"""{TICKS}
    CREATE TABLE tocks WITH (connector = 'impulse', event_rate = 1000);
    SELECT counter FROM ticks UNION ALL SELECT counter FROM tocks;"""
    return Run(
        prepare("r", plan_script(sql, Catalog()), RunOptions(keep=True)),
        SimpleNamespace(status="starting"),
        RunFolder(tmp_path / "run"),
    )


def test_the_times_of_several_sources_are_kept_with_each_batch(tmp_path):
    made = run_of_two_sources(tmp_path)
    seen, at = made.outputs[0].observation, datetime(2024, 1, 1)

    def sources(positions):
        times = {"ticks": at, "tocks": None if len(seen.totals) < 1 else at}
        return [
            SourceProgress(name, 1, time, None, bounded=True)
            for name, time in times.items()
        ]

    made.sources.sources = seen.known_sources = sources
    for number in range(2):
        places = {"0-ticks": number, "1-tocks": number}
        seen.write(number, None)
        seen._take(TriggerProgress(number, 1.0, None, places=places))
    history = made.snapshot().history
    assert [p.sources for p in history] == [
        (("ticks", at),),
        (("ticks", at), ("tocks", at)),
    ]
    trace = load_trace(made.save_trace(tmp_path / "a.parquet"))
    assert trace.snapshot().history[-1].sources == history[-1].sources


def test_which_source_was_idle_is_kept_with_each_batch(tmp_path):
    made = run_of_two_sources(tmp_path)
    seen, at = made.outputs[0].observation, datetime(2024, 1, 1)
    partitions = (PartitionProgress(3, 0, 0, idle=True), PartitionProgress(4, 0, 0))

    def sources(_):
        # 'tocks' has nothing newer from batch 1 to 13.
        number = len(seen.totals)
        newest = {"ticks": number, "tocks": 0 if number < 14 else number}
        return [
            SourceProgress(
                name, 1, at + timedelta(seconds=s), None, True, partitions=partitions
            )
            for name, s in newest.items()
        ]

    made.sources.sources = seen.known_sources = sources
    for number in range(16):
        seen.write(number, None)
        seen._take(TriggerProgress(number, 1.0, None))
    trace = load_trace(made.save_trace(tmp_path / "a.parquet"))
    for run in (made, trace):
        (period,) = run.idle().to_pylist()
        assert (period["source"], period["batch_id"], period["back_batch_id"]) == (
            *("tocks", 11, 14),
        )
        moments, newest = run.moments(), run.snapshot()
        for number in (10, 11, 13, 14):
            then = moments.snapshot(newest, number, 5)
            idle = [source.name for source in then.sources if source.idle_s]
            assert idle == (["tocks"] if 11 <= number < 14 else [])
            assert {source.idle_partitions for source in then.sources} == {(3,)}
            backs = [p.back_batch_id for p in then.idle_periods]
            assert backs == ([] if number < 11 else [None] if number < 14 else [14])
    # A trace of a version without the column is read as before.
    old = pq.read_table(tmp_path / "a.parquet")
    pq.write_table(old.drop_columns(["idle"]), tmp_path / "old.parquet")
    assert load_trace(tmp_path / "old.parquet").idle().num_rows == 0


def test_a_result_with_batches_that_changed_nothing_is_known(tmp_path):
    sql = f"{TICKS} SELECT counter, count(*) AS n FROM ticks GROUP BY counter;"
    made = Run(
        prepare("r", plan_script(sql, Catalog()), RunOptions(keep=True)),
        SimpleNamespace(status="starting"),
        RunFolder(tmp_path / "run"),
    )
    (output,) = made.outputs
    output.preview.keep_in(tmp_path / "rows", 2**20)
    schema = output.preview.frame_schema
    for number, changes in enumerate(([(1, 1, 1)], [], [(1, 1, -1), (1, 2, 1)], [])):
        rows = [
            {"counter": counter, "n": n, WEIGHT: weight, ROW_ID: counter}
            for counter, n, weight in changes
        ]
        count = output.preview.take(pa.Table.from_pylist(rows, schema), number)
        output.observation.write(number, count)
        output.observation._take(TriggerProgress(number, 1.0, None))
    trace = load_trace(made.save_trace(tmp_path / "a.parquet"))
    assert trace.table().to_pylist() == made.table().to_pylist()
    assert trace.table().to_pylist() == [{"counter": 1, "n": 2}]
    assert trace.at(batch=1).to_pylist() == [{"counter": 1, "n": 1}]
    assert trace.changelog().equals(made.changelog())


def test_a_hand_out_has_title_text_sql_and_rows(run, tmp_path):
    text = "First.\n\nSecond & <last>."
    page = run.save_html(tmp_path / "r.html", title="Late <rows>", text=text)
    made = page.read_text()
    for part in (
        "<title>Late &lt;rows&gt;</title>",
        "<h1>Late &lt;rows&gt;</h1>",
        "<p>First.</p><p>Second &amp; &lt;last&gt;.</p>",
        "<h2>SQL</h2><pre>",
        "GROUP BY",
    ):
        assert part in made, part
    assert made.index("<h1>") < made.index('id="panel"') < made.index("<h2>SQL")
    bare = run.save_html(tmp_path / "bare.html").read_text()
    assert "<h1>" not in bare
    assert "<h2>SQL" in bare
    loaded = load_trace(run.save_trace(tmp_path / "r.parquet"))
    saved = loaded.save_html(tmp_path / "loaded.html", title="Again").read_text()
    assert "<h1>Again</h1>" in saved
    assert "GROUP BY" in saved


def test_a_page_says_how_far_it_is_and_can_be_interrupted(run, tmp_path, monkeypatch):
    monkeypatch.setattr("arroyo_nb.views.replay_page.TELL_S", 0.0)
    said, file = [], tmp_path / "r.html"
    run.save_html(file, tell=said.append)
    assert said == [f"r: {n} of 3 micro-batches drawn" for n in range(3)]
    before = file.read_text()

    def interrupt(text):
        said.append(text)
        os.kill(os.getpid(), signal.SIGINT)

    said.clear()
    with pytest.raises(KeyboardInterrupt):
        run.save_html(file, tell=interrupt)
    assert len(said) == 1
    assert file.read_text() == before
