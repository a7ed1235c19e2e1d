"""What both engines give for calls over the rows: a list of the values of all groups,
or with OVER of all rows.

Here many calls are columns of one streaming query. Where it fails, it is halved until
the call that does is known.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from arroyo_nb.catalog import Catalog
from arroyo_nb.changelog import WEIGHT
from arroyo_nb.engine.query_settings import IN_ROCKSDB, query_settings
from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan import nodes
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.schema import TIMESTAMP, Type, quoted
from arroyo_nb.spark.arrow_schema import spark_arrow_type
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.tape import END_OF_TIME_US
from oracle import theirs
from oracle.aggregates.rows import COLUMNS, Rows
from oracle.cases import Case, Outcome
from oracle.ours import failure
from oracle.results import plain, plain_here, type_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from arroyo_nb.engine import Engine

PER_QUERY = 150
_AT_US = 1_700_000_000_000_000
_SCRIPT = """CREATE TABLE data (at TIMESTAMP NOT NULL, {columns},
    WATERMARK FOR at AS at - INTERVAL '1 second') WITH (connector = 'single_file',
    path = '/x', format = 'json', type = 'source');
    {query}"""


@dataclass(frozen=True)
class Form:
    """A kind of query that calls stand in.

    Parameters
    ----------
    query
        Ours, with ``{calls}`` for the columns.
    theirs
        DataFusion's, with ``{call}`` for the value.
    key
        The column that the values are sorted by.
    """

    name: str
    query: str
    theirs: str
    key: str
    written: Callable[[str], str] = lambda call: call


# With a second aggregate DataFusion does not make a query with DISTINCT one of two
# levels, as Arroyo never does.
_GROUPED = "SELECT k, count(*) AS c, {call} AS value FROM data GROUP BY k ORDER BY k"

WINDOW = Form(
    "window",
    "SELECT tumble(INTERVAL '1 hour') AS w, k, {calls} FROM data GROUP BY w, k",
    _GROUPED,
    "k",
)
UPDATING = Form("updating", "SELECT k, {calls} FROM data GROUP BY k", _GROUPED, "k")
OVER = Form(
    "over",
    "SELECT n, {calls} FROM (SELECT tumble(INTERVAL '1 hour') AS w, "
    f"{', '.join(COLUMNS)} FROM data GROUP BY w, {', '.join(COLUMNS)}) AS windowed",
    "SELECT n, {call} AS value FROM data ORDER BY n",
    "n",
    lambda call: call.replace("PARTITION BY k", "PARTITION BY w, k"),
)
FORMS = (WINDOW, UPDATING, OVER)


def evaluate_there(form: Form, cases: Sequence[Case], rows: Rows) -> list[Outcome]:
    """DataFusion's values."""
    table = rows.table(theirs.arrow_type).combine_chunks()
    (batch,) = table.to_batches()
    return [_there(form.theirs.format(call=c.expression), batch) for c in cases]


def _there(query: str, batch: pa.RecordBatch) -> Outcome:
    def read(found: list[pa.RecordBatch]) -> Outcome:
        column = pa.Table.from_batches(found)["value"]
        return Outcome(type=type_name(column.type), value=[plain(v) for v in column])

    return theirs.outcome(query, batch, read)


def refused_strictly(form: Form, case: Case) -> bool:
    """Whether a call is refused where Arroyo's refusals are asked for."""
    try:
        _plan(form, [case], strict=True)
    except ArroyoError:
        return True
    return False


def evaluate_here(
    engine: Engine,
    form: Form,
    cases: Sequence[Case],
    rows: Rows,
    *,
    likely: Container[int] = (),
) -> list[Outcome]:
    """Our values.

    Parameters
    ----------
    likely
        The numbers of those that are likely to fail on the rows: where a query fails,
        it is parted by them first.
    """
    outcomes = [Outcome()] * len(cases)
    planned: list[int] = []
    for number, case in enumerate(cases):
        try:
            _plan(form, [case])
        except ArroyoError as error:
            outcomes[number] = Outcome(refusal=error.message)
        except Exception as error:  # it is no message for a user: a defect of ours
            outcomes[number] = Outcome(refusal=f"{type(error).__name__}: {error}")
        else:
            planned.append(number)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(rows, folder)

        def run(numbers: Sequence[int]) -> None:
            try:
                found = _run(engine.session, form, [cases[n] for n in numbers], folder)
            except Exception as error:
                if len(numbers) == 1:
                    outcomes[numbers[0]] = Outcome(failure=failure(error))
                    return
                for part in _parts(numbers, likely):
                    run(part)
            else:
                for number, outcome in zip(numbers, found, strict=True):
                    outcomes[number] = outcome

        for start in range(0, len(planned), PER_QUERY):
            part = planned[start : start + PER_QUERY]
            engine.worker.call(lambda part=part: run(part))
    return outcomes


def _parts(
    numbers: Sequence[int], likely: Container[int]
) -> tuple[Sequence[int], Sequence[int]]:
    """Those of a query that fails in two parts, to be run by themselves."""
    rest = [n for n in numbers if n not in likely]
    if rest and len(rest) < len(numbers):
        return rest, [n for n in numbers if n in likely]
    half = len(numbers) // 2
    return numbers[:half], numbers[half:]


def _plan(form: Form, cases: Sequence[Case], *, strict: bool = False) -> nodes.Node:
    columns = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
    written = [form.written(case.expression) for case in cases]
    calls = ", ".join(f"{call} AS c{n}" for n, call in enumerate(written))
    query = form.query.format(calls=calls)
    script = _SCRIPT.format(columns=columns, query=query)
    return plan_script(script, Catalog(), strict=strict).sinks[0]


def _write(rows: Rows, folder: Path) -> None:
    """Two micro-batches of the rows, and the end of the input twice."""
    table = rows.table(spark_arrow_type)
    at = pa.array([_AT_US] * len(table), pa.timestamp("us", "UTC"))
    table = table.append_column("at", at).append_column(TIMESTAMP, at)
    end = pa.Table.from_pylist([{TIMESTAMP: END_OF_TIME_US}], table.schema)
    half = len(table) // 2
    for number, part in enumerate((table[:half], table[half:], end, end)):
        pq.write_table(part, folder / f"{number}.parquet")


def _run(
    session: SparkSession, form: Form, cases: Sequence[Case], folder: Path
) -> list[Outcome]:
    plan = _plan(form, cases)
    schema = {field.name: field.type for field in plan.schema}
    with tempfile.TemporaryDirectory() as checkpoint:
        frame = visible(lower(plan, _reader(session, folder)), plan)
        with query_settings(session, IN_ROCKSDB):
            found = _streamed(frame, checkpoint)
    if WEIGHT in found.column_names:
        found = _standing(found, form.key)
    found = found.sort_by(form.key)
    return [_outcome(found[f"c{n}"], schema[f"c{n}"]) for n in range(len(cases))]


def _outcome(column: pa.ChunkedArray, type_: Type) -> Outcome:
    return Outcome(type=str(type_), value=[plain_here(plain(v), type_) for v in column])


def _reader(session: SparkSession, folder: Path) -> Callable[[Any], Any]:
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(pq.read_schema(folder / "0.parquet"))

    def read(source: nodes.Source) -> Any:
        names = [*(f.name for f in source.schema), TIMESTAMP]
        stream = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return stream.parquet(str(folder)).select(*map(quoted, names))

    return read


def _streamed(frame: Any, checkpoint: str) -> pa.Table:
    """All rows that a stream gives."""
    tables: list[pa.Table] = []
    query = (
        frame.writeStream.foreachBatch(lambda rows, _: tables.append(rows.toArrow()))
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return pa.concat_tables(tables)


def _standing(changes: pa.Table, key: str) -> pa.Table:
    """The row that stands at the end for each key: the last one that came."""
    last = {
        group: place
        for place, (group, weight) in enumerate(
            zip(changes[key].to_pylist(), changes[WEIGHT].to_pylist(), strict=True)
        )
        if weight > 0
    }
    return changes.take(pa.array(sorted(last.values())))
