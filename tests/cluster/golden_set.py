"""The golden queries as jobs over data of their own, each with sinks that are files.

The scripts are those of ``tests/golden/plans`` against ``tests/golden/tables.sql``, as
they stand, except for what cannot be compared: paths lead into a folder, generated
rows end, and each bare SELECT is an INSERT into a file. The folder of the sinks is the
variable ``OUT``, so one spec can be run in several places.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from arroyo_nb.catalog import Catalog
from arroyo_nb.jobs.folder import promote
from arroyo_nb.plan import Plan, nodes
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.sql.statements import Query

GOLDEN = Path(__file__).parents[1] / "golden"
RULE = "\n" + "-" * 40 + "\n"
JOB = "golden"
STRICT = "-- strict"

KAFKA = "it reads or writes a topic: tests/kafka has those of a cluster"
NOW = "generated rows have the time of the run"

NOT_COMPARED = {
    "confluent_source": KAFKA,
    "join_made_inner": "it calls random()",
    "kafka_debezium": KAFKA,
    "kafka_record_time": KAFKA,
    "kafka_sink": KAFKA,
    "kafka_source": KAFKA,
    "kafka_to_kafka": KAFKA,
    "lookup_table": "it asks a redis cluster of two nodes; lookup_redis asks one",
    "tumble_text_argument": NOW,
    "union_all": NOW,
}
"""Golden queries that give other rows each time, or need what is not here, and why."""

NO_ROWS = {
    "comparisons",
    "cte",
    "having",
    "in_between_like",
    "insert_blackhole",
    "insert_with_cte",
    "join_right_of_updating",
    "updating_blackhole",
    "updating_having",
}
"""Those that write nowhere, or whose conditions nothing in the data meets."""

_START = datetime(2024, 1, 31, 12)
_NAMES = ("ann", "bob", "x", "user.ann", None)
_TOWNS = ("Wien", "Graz", None)


@dataclass(frozen=True)
class Golden:
    """A golden query as a job.

    Parameters
    ----------
    name
        Of its file.
    folder
        Of the job, promoted for a cluster.
    cells
        The one that declares tables, and that of the query.
    plan
        The query's.
    """

    name: str
    folder: Path
    cells: tuple[str, str]
    plan: Plan

    @property
    def spec(self) -> Path:
        """The job's."""
        return self.folder / "job.yaml"

    @property
    def is_racing(self) -> bool:
        """Whether the changes that it tells depend on which of its sources is sooner;
        what they leave does not."""
        return any(
            nodes.is_updating(sink)
            and len({n.table.name for n in walk(sink) if isinstance(n, nodes.Source)})
            > 1
            for sink in self.plan.sinks
        )

    def told(self, out: Path) -> dict[str, list[str]]:
        """The lines of each sink, sorted; where changes race, the rows they leave."""
        told = {}
        for place in sorted(out.iterdir()):
            lines = sorted(_lines(place))
            told[place.name] = _folded(lines) if self.is_racing else lines
        return told


def names() -> list[str]:
    """The golden queries that run something."""
    return [path.stem for path in sorted((GOLDEN / "plans").glob("*.txt"))]


def golden(name: str, folder: Path, *, redis: str = "redis://localhost:6379") -> Golden:
    """A golden query, promoted into a folder in which its data is."""
    text = (GOLDEN / "plans" / f"{name}.txt").read_text().split(RULE)[0]
    tables = (GOLDEN / "tables.sql").read_text()
    placed = (_placed(part, name, folder, redis) for part in (tables, text))
    declared, query = cells = _with_sinks(*placed)
    catalog = plan_script(declared, Catalog()).catalog
    plan = plan_script(query, catalog, strict=query.startswith(STRICT))
    made = promote(plan, JOB, folder / "jobs" / name, target="spark-submit")
    return Golden(name, made.folder, cells, plan)


def _placed(script: str, name: str, folder: Path, redis: str) -> str:
    """A script whose paths are in a folder, and whose generated rows end."""
    for path, file in (("/r", "r.json"), ("/data/trips.json", "trips.json")):
        own = folder / f"{name}.{file}"
        read = own if own.exists() else folder / file
        script = script.replace(f"'{path}'", f"'{read}'")
    for sink in re.findall(r"'/data/([\w.]+)'(?=, type = 'sink'|,\n  'part)", script):
        script = script.replace(f"/data/{sink}", f"{{{{ OUT }}}}/{sink}")
    script = script.replace("path = '/data/sums'", "path = '{{ OUT }}/sums'")
    script = script.replace("file:///data/", f"{folder}/").replace(
        "/data/", f"{folder}/"
    )
    script = script.replace(
        "event_rate = 10", "event_rate = 1000, event_time_interval = 1000000, "
        "message_count = 50",
    ).replace("redis://localhost:6379", redis)  # fmt: skip
    # Into one file two INSERTs are one query; onto standard output they are two.
    begin, into, rest = script.rpartition("INSERT INTO log ")
    if into and into in begin:
        script = f"{begin}INSERT INTO other_log {rest}"
    log = _file("log", "json")
    return script.replace(
        "(connector = 'stdout', format = 'json')",
        f"{log};\nCREATE TABLE other_log WITH {_file('other_log', 'json')}",
    ).replace(
        "(connector = 'stdout', format = 'debezium_json')",
        _file("changes", "debezium_json"),
    )


def _file(name: str, format_: str) -> str:
    return (
        f"(connector = 'single_file', path = '{{{{ OUT }}}}/{name}.json', "
        f"type = 'sink', format = '{format_}')"
    )


def _with_sinks(tables: str, script: str) -> tuple[str, str]:
    """The cells with a sink for each bare SELECT."""
    catalog = plan_script(tables, Catalog()).catalog
    plan = plan_script(script, catalog, strict=script.startswith(STRICT))
    queries = [s for s in plan.statements if isinstance(s, Query)]
    previews = [sink for sink in plan.sinks if sink.table is None]
    made, at = "", 0
    for number, (query, sink) in enumerate(zip(queries, previews, strict=True)):
        format_ = "debezium_json" if nodes.is_updating(sink) else "json"
        file = _file(f"out_{number}", format_)
        tables += f"\n;\nCREATE TABLE out_{number} WITH {file}"
        begin = query.span.start
        made += f"{script[at:begin]}INSERT INTO out_{number}\n"
        at = begin
    return tables, made + script[at:]


def _lines(place: Path) -> Iterator[str]:
    """The lines of a file, or of the files of a folder, with its name below it."""
    if place.is_dir():
        for path in place.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                yield f"{path.relative_to(place).parent} {data!r}"
    else:
        yield from place.read_text().splitlines()


def _folded(lines: list[str]) -> list[str]:
    rows: Counter[str] = Counter()
    for change in map(json.loads, lines):
        if "op" not in change:
            return lines
        rows[json.dumps(change["after"], sort_keys=True)] += 1
        rows[json.dumps(change["before"], sort_keys=True)] -= 1
    rows.pop("null", None)
    assert not any(count < 0 for count in rows.values()), rows
    return sorted(rows.elements())


def write_data(folder: Path) -> None:
    """What the golden tables read. Numbers are sums of halves: no order of adding them
    makes another sum."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "trips.json", map(_trip, range(60)))
    _write(folder / "casts.trips.json", map(_castable, range(60)))
    _write(folder / "clicks.json", map(_click, range(40)))
    _write(folder / "r.json", map(_any, range(20)))
    _write(folder / "types.r.json", map(_typed, range(3)))
    _write(folder / "reserved_names.r.json", [{"timestamp": _at(0), "end": "x"}])
    days = ({"zone": n, "day": f"{_at(n)}", "price": n / 2} for n in range(9))
    _write(folder / "prices.json", days)
    changes = [*_orders()]
    _write(folder / "orders.json", changes)
    (folder / "stock").mkdir()
    stock = (
        {"op": "c", "before": None, "after": {"id": n, "n": n % 3}} for n in range(9)
    )
    _write_zst(folder / "stock" / "a.json.zst", stock)
    _write_rides(folder / "rides")


def fill_redis(client: Any) -> None:
    """What the golden lookups find."""
    for name, age in (("ann", 20), ("user.ann", 30), ("bob", 10)):
        place = {"city": "Wien"}
        client.set(name, json.dumps({"name": name, "age": age, "place": place}))
    client.set("Wien", json.dumps({"name": "vienna", "age": 99}))


def _at(seconds: float) -> str:
    return (_START + timedelta(seconds=seconds)).isoformat()


def _trip(n: int) -> dict[str, Any]:
    return {
        "id": n,
        # Some come late, and within the delay.
        "at": _at(17 * n - 4 * (n % 3)),
        "name": _NAMES[n % 5],
        "fare": n % 11 / 2,
        "seats": n % 4 or None,
        "ratio": n % 3 / 4,
        "price": f"{n % 7}.50",
        "done": (True, False, None)[n % 3],
        "tags": ["a", "b"][: n % 3],
        "place": {"city": _TOWNS[n % 3], "at": {"lat": n / 2, "lon": None}},
        "userId": _NAMES[n % 5],
    }


def _castable(n: int) -> dict[str, Any]:
    return {**_trip(n), "name": _at(n) if n % 5 else None}


def _click(n: int) -> dict[str, Any]:
    return {"id": n % 13, "at": _at(23 * n)}


def _any(n: int) -> dict[str, Any]:
    at = _at(7 * n)
    ms = 1_706_702_400_000 + 7_000 * n
    return {
        "t": at, "u": at, "v": at, "lag": n, "a": n, "dist": n / 2,
        "epoch": ms // 1000, "ms": ms,
    }  # fmt: skip


def _typed(n: int) -> dict[str, Any]:
    return {
        "a": True, "b": n, "c": n, "d": n, "e": n, "f": n, "g": n / 2, "h": n / 2,
        "i": f"{n}", "j": f"{n}", "k": "k", "l": _at(n), "n": "{}", "o": [[n], []],
        "p": [{"x": "y", "y": n}], "q": _at(n), "r": f"r{n}",
    }  # fmt: skip


def _orders() -> Iterator[dict[str, Any]]:
    for n in range(12):
        row = {"id": n % 4, "city": _TOWNS[n % 2], "line": n % 4, "fee": n / 2}
        before = (
            {**row, "fee": (n - 4) / 2, "city": _TOWNS[(n - 4) % 2]} if n > 3 else None
        )
        op = "c" if before is None else "u"
        yield {"op": op, "before": before, "after": row}


def _write(path: Path, rows: Any) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _write_zst(path: Path, rows: Any) -> None:
    import pyarrow as pa

    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    with pa.CompressedOutputStream(str(path), "zstd") as out:
        out.write(text)


def _write_rides(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    at = [_START + timedelta(minutes=7 * n) for n in range(30)]
    rows = {
        "id": list(range(30)),
        "at": pa.array(at, pa.timestamp("us")),
        "town": [_TOWNS[n % 2] for n in range(30)],
    }
    pq.write_table(pa.table(rows), folder / "a.parquet")
