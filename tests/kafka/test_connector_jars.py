"""An engine that is asked for Spark's Kafka connector, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from arroyo_nb.kafka.local import LocalBroker

Produce = Callable[..., None]
END_S = 120

KERNEL = """
import json, sys
from arroyo_nb.engine import Engine, EngineProblem
from arroyo_nb.engine.jars import CONNECTOR
servers, topic, folder = sys.argv[1:]

def answer(value):
    print(json.dumps(value), flush=True)

def read(spark):
    rows = spark.readStream.format("kafka").option("subscribe", topic)
    rows = rows.option("kafka.bootstrap.servers", servers)
    rows = rows.option("startingOffsets", "earliest").load()
    found = []
    def take(batch, _):
        found.extend(bytes(row.value).decode() for row in batch.collect())
    query = rows.writeStream.foreachBatch(take).trigger(availableNow=True)
    query.option("checkpointLocation", folder).start().awaitTermination(60)
    return sorted(found)

def endless(spark):
    return spark.readStream.format("rate").load().writeStream.format("noop").start()

engine = Engine()
engine.warm_up()
query = engine.worker.call(lambda: endless(engine.session))
for live in (["by_hour"], []):
    try:
        engine.require(CONNECTOR, live=live)
    except EngineProblem as problem:
        answer(str(problem))
engine.worker.call(query.stop)
pid = engine.pid
engine.require(CONNECTOR)
answer(engine.worker.call(lambda: read(engine.session)))
answer([engine.restarts, engine.pid == pid])
pid = engine.pid
engine.require(CONNECTOR)
answer([engine.restarts, engine.pid == pid])
engine.close()
"""


def test_a_running_spark_is_started_again_with_the_connector(
    broker: LocalBroker, topic: str, produce: Produce, tmp_path: Path
) -> None:
    produce(broker.bootstrap_servers, topic, b"a", b"b", b"c")
    arguments = (broker.bootstrap_servers, topic, str(tmp_path / "checkpoint"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", KERNEL, *arguments],
        capture_output=True,
        text=True,
        timeout=END_S,
        env=os.environ | {"ARROYO_NB_ARCHIVE": "off"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    named, counted, read, once, again = map(json.loads, done.stdout.splitlines())
    assert "which would end by_hour\n" in named
    assert "which would end streaming queries of another" in counted
    assert read == ["a", "b", "c"]
    assert once == [1, False]
    assert again == [1, True]
    assert done.stderr == ""


GIVEN = """
import sys
from pyspark.sql import SparkSession
from arroyo_nb.engine import Engine, EngineProblem
from arroyo_nb.engine.jars import CONNECTOR, JarSet
spark = SparkSession.builder.master("local[1]").config(
    "spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1").config(
    "spark.driver.host", "127.0.0.1").config(
    "spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1").getOrCreate()
engine = Engine(spark)
try:
    engine.require(CONNECTOR)
except EngineProblem as problem:
    print(problem)
engine.require(JarSet("there", "what is there", provider="org.apache.spark.SparkConf"))
print(engine.worker.call(lambda: engine.session.version) == spark.version)
"""


def test_a_session_of_the_users_is_never_started_again() -> None:
    done = subprocess.run(
        [sys.executable, "-c", GIVEN],
        capture_output=True,
        text=True,
        timeout=END_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refused, hint, same = done.stdout.splitlines()
    assert refused == ("the SparkSession of this kernel lacks Spark's Kafka connector")
    assert "org.apache.spark:spark-sql-kafka-0-10_2.13:" in hint
    assert same == "True"
