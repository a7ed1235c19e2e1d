"""What Spark's workers load of Kafka: neither the planner nor a client of the JVM."""

from __future__ import annotations

import subprocess
import sys

WORKER = """
import arroyo_nb.records
import arroyo_nb.formats.avro.payloads
import arroyo_nb.formats.avro.encode
import arroyo_nb.kafka.sink_records
import arroyo_nb.kafka.sink_task
import sys
heavy = {"pyspark", "sqlglot", "confluent_kafka", "arroyo_nb.engine", "arroyo_nb.plan"}
print(*sorted(heavy & set(sys.modules)))
"""


def test_a_worker_loads_neither_the_planner_nor_pyspark():
    done = subprocess.run(
        [sys.executable, "-c", WORKER], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
