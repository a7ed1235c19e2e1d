"""Connectors of Arroyo that do not run here: declared, checked, promoted, not run."""

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS, connector_infos
from arroyo_nb.errors import ArroyoError, Unsupported
from arroyo_nb.plan.explain.text import explain
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import prepare

ARROYO = (
    *("blackhole", "confluent", "delta", "filesystem", "fluvio", "iceberg", "impulse"),
    *("kafka", "kinesis", "mqtt", "nats", "nexmark", "polling_http", "rabbitmq"),
    *("redis", "single_file", "sse", "stdout", "webhook", "websocket"),
)
"""All that SQL can name (arroyo-semantics b)."""

ROOMS = """CREATE TABLE rooms (room TEXT NOT NULL, t DOUBLE) WITH (
    connector = 'kinesis', stream_name = 'rooms', type = 'source', format = 'json');"""
FLIGHTS = "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');"
LAKE = """CREATE TABLE lake WITH (connector = 'delta', path = 's3://bucket/lake',
    type = 'sink', format = 'parquet', 'storage.region' = 'eu-west-1');"""


def planned(script):
    return plan_script(script, Catalog())


def test_each_connector_of_arroyo_is_known():
    assert set(ARROYO) <= set(CONNECTORS.names)
    assert {i.name for i in connector_infos() if i.in_arroyo} == set(ARROYO)


def test_what_only_arroyo_runs_is_planned_and_explained():
    plan = planned(ROOMS + LAKE + "INSERT INTO lake SELECT room, t FROM rooms")
    assert "Source: runs in Arroyo only" in explain(plan)
    assert plan.sinks[0].table.spec.options["storage.region"] == "eu-west-1"


def test_a_run_is_refused_with_each_table_and_its_place():
    plan = planned(ROOMS + LAKE + "INSERT INTO lake SELECT room, t FROM rooms")
    with pytest.raises(ArroyoError) as refused:
        prepare("r", plan, RunOptions())
    assert [type(problem) for problem in refused.value.problems] == [Unsupported] * 2
    for name, connector in (("lake", "delta"), ("rooms", "kinesis")):
        said = f"'{name}' cannot be used in a run: the connector '{connector}' runs in"
        assert said in str(refused.value)
    assert all(problem.span for problem in refused.value.problems)


def test_rows_for_a_sink_that_only_arroyo_writes_are_previewed():
    plan = planned(FLIGHTS + LAKE + "INSERT INTO lake SELECT origin FROM flights")
    assert prepare("r", plan, RunOptions(sinks=False)).outputs[0].preview is not None
    with pytest.raises(Unsupported, match="runs in Arroyo only"):
        prepare("r", plan, RunOptions())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("type = 'source'", "One of `stream` or `subject` must be set"),
        (
            "type = 'source', stream = 'a', subject = 'b'",
            "Exactly one of `stream` or `subject` must be set",
        ),
        ("type = 'sink'", "`subject` must be set for sink"),
        (
            "type = 'sink', subject = 'a', 'auth.type' = 'jwt', 'auth.jwt' = '{{ J }}'",
            "required option 'auth.nkey_seed' not set",
        ),
    ],
)
def test_options_of_nats_that_do_not_go_together_are_told(options, message):
    with pytest.raises(ArroyoError, match=message) as told:
        planned(
            f"""CREATE TABLE n (a INT) WITH (connector = 'nats', servers = 'n:4222',
            format = 'json', {options});
            {FLIGHTS} SELECT origin FROM flights"""
        )
    assert all(problem.span for problem in told.value.problems)


def test_options_of_any_name_below_a_prefix_are_taken_and_others_are_not():
    with pytest.raises(ArroyoError, match=r"unknown options .*'storages\.key'"):
        planned(LAKE.replace("storage.", "storages.").replace("region", "key"))
