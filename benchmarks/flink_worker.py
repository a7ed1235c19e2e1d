"""Runs queries in Flink, in the environment of PyFlink: it imports nothing of ours.

The argument is JSON: an object with the statements that declare the tables, and Flink's
settings. Each line of stdin is then a query, as JSON: an object with its text, and the
folder that its changes go to as files of Debezium JSON; null: they are discarded. The
answer is a line of stdout: the seconds that the job ran, or Flink's error.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from py4j.protocol import Py4JJavaError
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment


def environment(statements: list[str], settings: dict[str, str]) -> TableEnvironment:
    """A session of Flink in which the tables are declared."""
    configuration = Configuration()
    for name, value in settings.items():
        configuration.set_string(name, value)
    built = EnvironmentSettings.new_instance().with_configuration(configuration)
    session = TableEnvironment.create(built.in_streaming_mode().build())
    for statement in statements:
        session.execute_sql(statement)
    return session


def sink(folder: str | None) -> TableDescriptor:
    """Where rows go; its columns are those of the query."""
    if folder is None:
        return TableDescriptor.for_connector("blackhole").build()
    files = TableDescriptor.for_connector("filesystem").option("path", folder)
    return files.format("debezium-json").build()


def run(session: TableEnvironment, query: str, folder: str | None) -> float:
    """Seconds from the start of the job in its cluster to its end."""
    running = session.sql_query(query).execute_insert(sink(folder))
    running.wait()
    done = running.get_job_client().get_job_execution_result().result()
    return done.get_net_runtime() / 1000


def root_cause(error: Py4JJavaError) -> str:
    """What went wrong in the first place, in Flink's words."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.toString())


def answer(session: TableEnvironment, asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to a line."""
    try:
        return {"seconds": run(session, asked["query"], asked["folder"])}
    except Py4JJavaError as error:
        return {"error": root_cause(error)}


if __name__ == "__main__":
    session = environment(**json.loads(sys.argv[1]))
    for line in sys.stdin:
        print(json.dumps(answer(session, json.loads(line))), flush=True)
