"""Where jobs can run: what each target makes of one, and why it would refuse it."""

import json
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.jobs.spec import JobSpec, TableDefinition, Udf
from arroyo_nb.jobs.spec_file import read
from arroyo_nb.jobs.targets import TARGETS
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.options import RunOptions
from arroyo_nb.source import ScriptText

TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10)"
SPEC = JobSpec(
    "few", "SELECT counter FROM ticks -- all\n", (TableDefinition("ticks", TICKS),)
)

PIPELINE_POST = {
    "type": "object",
    "required": ["name", "query", "parallelism"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "query": {"type": "string"},
        "udfs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["definition"],
                "additionalProperties": False,
                "properties": {
                    "definition": {"type": "string"},
                    "language": {"enum": ["rust", "python"]},
                },
            },
        },
        "parallelism": {"type": "integer", "minimum": 1},
        "checkpoint_interval_micros": {
            "type": "integer",
            "minimum": 1_000_000,
            "maximum": 86_400_000_000,
        },
        "state_url": {"type": "string"},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        "env_vars": {"type": "object", "additionalProperties": {"type": "string"}},
        "scheduler_config": {},
    },
}
"""The body of POST /api/v1/pipelines, as arroyo-semantics j.1 has it."""


def delivered(spec, target="arroyo", folder="jobs/a job"):
    file = read(ScriptText(spec.text, "job.yaml"))
    return TARGETS.get(target).deliver(file, file.plan(), Path(folder))


def body(**changed):
    text = delivered(JobSpec(**{**vars(SPEC), **changed})).files["arroyo/pipeline.json"]
    made = json.loads(text)
    jsonschema.validate(made, PIPELINE_POST)
    return made


def test_here_the_spec_is_all_that_is_needed():
    made = delivered(SPEC, "local")
    assert made.files == {}
    assert made.command == "arroyo-nb run 'jobs/a job/job.yaml'"


def test_an_unknown_target_is_told():
    with pytest.raises(ArroyoError, match="did you mean 'arroyo'"):
        TARGETS.get("aroyo")


def test_arroyo_is_given_the_whole_script():
    made = delivered(SPEC)
    query = made.files["arroyo/query.sql"]
    assert query == f"{TICKS}\n;\nSELECT counter FROM ticks -- all\n"
    plan_script(query, Catalog(), strict=True)
    words = made.command.split(" --")
    state = (Path("jobs/a job").absolute() / "arroyo/state").as_uri()
    assert words[0] == "arroyo run"
    assert f"state-dir {state} 'jobs/a job/arroyo/query.sql'" in words


def test_the_body_has_what_the_spec_says_and_no_more():
    assert body() == {
        "name": "few",
        "query": f"{TICKS}\n;\nSELECT counter FROM ticks -- all\n",
        "parallelism": 1,
    }
    options = RunOptions(parallelism=4, trigger=timedelta(seconds=30))
    source = "@udf\ndef f(x: int) -> int: ...\n"
    udfs = (Udf("f", "python", source),)
    full = body(options=options, udfs=udfs, tags={"team": "air"})
    assert full["parallelism"] == 4
    assert full["checkpoint_interval_micros"] == 30_000_000
    assert full["udfs"] == [{"definition": source, "language": "python"}]
    assert full["tags"] == {"team": "air"}


@pytest.mark.parametrize(
    ("trigger", "seconds"), [(timedelta(milliseconds=1), 1), (timedelta(9), 86_400)]
)
def test_an_interval_is_one_that_arroyo_takes(trigger, seconds):
    made = body(options=RunOptions(trigger=trigger))
    assert made["checkpoint_interval_micros"] == seconds * 1_000_000


@pytest.mark.parametrize("sql", ["", "SET updating_ttl = INTERVAL '2 hours';\n"])
def test_a_time_to_live_comes_before_what_the_script_sets(sql):
    spec = JobSpec("few", sql + SPEC.sql, SPEC.tables, options=RunOptions(ttl=MINUTE))
    query = delivered(spec).files["arroyo/query.sql"]
    assert query.startswith("SET updating_ttl")
    assert plan_script(query, Catalog()).updating_ttl == MINUTE


def test_what_only_runs_here_is_refused_with_every_reason_and_its_place():
    spec = JobSpec(
        "few",
        "INSERT INTO hole SELECT counter, count(*) AS n FROM ticks GROUP BY counter;\n"
        "SELECT flight FROM flights;\nSELECT id FROM orders;\n",
        (
            *SPEC.tables,
            TableDefinition("hole", "CREATE TABLE hole WITH (connector = 'blackhole')"),
            TableDefinition(
                "flights",
                "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights')",
            ),
            TableDefinition(
                "orders",
                "CREATE TABLE orders (id BIGINT) WITH (connector = 'kafka', "
                "bootstrap_servers = '{{ BROKER }}', topic = 'orders', "
                "type = 'source', format = 'avro', 'source.start_offsets' = '0:1', "
                "'avro.raw_datums' = true, 'avro.schema_file' = 'order.avsc')",
            ),
        ),
    )
    with pytest.raises(ArroyoError) as caught:
        delivered(spec)
    told = str(caught.value)
    assert "job.yaml:16:3: Arroyo refuses this: input is updating, but sink" in told
    assert "job.yaml:12:37: Arroyo has no connector 'sample'" in told
    assert "Arroyo has no option 'source.start_offsets'" in told
    assert "Arroyo has no option 'avro.schema_file'" in told
    assert len(caught.value.problems) == 4
    assert all(problem.span for problem in caught.value.problems)


def test_values_of_the_environment_are_left_to_arroyo(monkeypatch):
    monkeypatch.setenv("BROKER", "secret-host:9092")
    source = (
        "CREATE TABLE orders (id BIGINT) WITH (connector = 'kafka', format = 'json', "
        "bootstrap_servers = '{{ BROKER }}', topic = 'orders', type = 'source')"
    )
    spec = JobSpec(
        "few", "SELECT id FROM orders\n", (TableDefinition("orders", source),)
    )
    made = delivered(spec)
    assert "{{ BROKER }}" in made.files["arroyo/pipeline.json"]
    assert "secret-host" not in "".join((*made.files.values(), made.command))


MINUTE = timedelta(minutes=1)
