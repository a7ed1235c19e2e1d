"""The kernels run inside a worker of Spark: they bring pyarrow and numpy, no more.

(pyarrow looks for pandas by itself when it makes an array, where pandas is installed.)
"""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
import pyarrow as pa
from arroyo_nb.changelog import (aggregate, join, latest, rank)
from arroyo_nb.changelog import debezium_changes as debezium
from arroyo_nb.changelog.measures import AggregateCall
from arroyo_nb.functions import aggregates
schema = pa.schema({"k": pa.string(), "v": pa.float64()})
calls = [
    AggregateCall(f, f, pa.float64(), ("v",), kernel=aggregates.aggregate(f).kernel)
    for f in ("sum", "median", "max")
]
operator = aggregate.AggregateKernel(schema, ("k",), tuple(calls))
rows = pa.table({"k": ["a", None], "v": [1.5, None]}, schema=schema)
empty = operator.layout.empty()
update, _ = operator.step(empty, [operator.partial(rows)], 0)
state = update.applied_to(empty, operator.layout)
operator.layout.from_bytes(operator.layout.to_bytes(state))
print(*sorted({"pyspark", "sqlglot", "duckdb"} & set(sys.modules)))
"""


def test_nothing_heavy_is_imported():
    run = [sys.executable, "-c", SCRIPT]
    found = subprocess.run(run, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
