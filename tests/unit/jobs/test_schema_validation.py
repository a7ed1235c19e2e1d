"""The published schema is a JSON Schema, and is enforced as one."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.jobs import yaml_values as document
from arroyo_nb.jobs.schema_validation import CHECKS, job_schema, problems
from arroyo_nb.source import ScriptText

FULL = {
    "version": 1,
    "name": "busy",
    "origin": {"notebook": "a.ipynb", "cell": "c1"},
    "tags": {"team": "air"},
    "options": {"mode": "strict", "parallelism": 2, "trigger": "1.5s", "ttl": "1h"},
    "state": "state",
    "environment": ["HOST"],
    "packages": {"pyspark": "4.3.0"},
    "udfs": [{"name": "f", "language": "python", "source": "x", "sha256": "0" * 64}],
    "tables": [{"name": "t", "sql": "CREATE TABLE t"}],
    "sql": "SELECT 1",
}
SMALL = st.sampled_from(
    [None, True, False, 0, 1, 2, -1, 1.5, 2000, "", "a", "a b", "1s", "strict", "\n"]
)
ODD = SMALL | st.lists(SMALL, max_size=2) | st.dictionaries(st.just("name"), SMALL)


def paths(value, path=()):
    """The path of every value in it."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths(value[key], (*path, key))


@st.composite
def changed(draw):
    """A whole spec in which a few values are others, missing or new."""
    value = json.loads(json.dumps(FULL))
    for _ in range(draw(st.integers(0, 2))):
        *path, key = draw(st.sampled_from([p for p in paths(value) if p]))
        parent = value
        for step in path:
            parent = parent[step]
        match draw(st.sampled_from(("other", "gone", "new"))):
            case "other":
                parent[key] = draw(ODD)
            case "gone":
                del parent[key]
            case "new" if isinstance(parent, dict):
                parent["nmae"] = draw(ODD)
            case "new":
                parent.append(parent[-1])
    return value


def found(value):
    item = document.read(ScriptText(document.write(value)))
    return list(problems(item, job_schema()))


def test_the_schema_is_a_schema_and_uses_no_word_that_nobody_checks():
    schema = job_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    said = {"$schema", "title", "description", "type"}

    def words(part):
        assert set(part) <= set(CHECKS) | said
        for child in part.get("properties", {}).values():
            words(child)
        for child in (part.get("items"), part.get("additionalProperties")):
            if isinstance(child, dict):
                words(child)

    words(schema)
    jsonschema.validate(FULL, schema)


@given(changed())
def test_we_refuse_what_any_validator_refuses(value):
    other = jsonschema.Draft202012Validator(job_schema())
    assert bool(found(value)) == (not other.is_valid(value))


@pytest.mark.parametrize("changed", [{"version": True}, {"name": "busy\n"}])
def test_truth_is_no_number_and_a_line_end_no_part_of_a_name(changed):
    # Python's validator takes the second: its $ stands before a line's end too.
    assert len(found({**FULL, **changed})) == 1


def test_every_error_is_found_with_its_place():
    text = "nmae: busy\nversion: 1\noptions:\n  parallelism: yes\n  trigger: 1 week\n"
    source = ScriptText(text, "job.yaml")
    item = document.read(source)
    told = [str(p.at(source)) for p in problems(item, job_schema())]
    assert [one.split("\n")[0] for one in told] == [
        "job.yaml:1:1: 'name' is missing",
        "job.yaml:1:1: 'sql' is missing",
        "job.yaml:1:1: unknown key 'nmae'",
        "job.yaml:4:16: this must be a whole number",
        "job.yaml:5:12: '1 week' is not as it must be written: "
        + job_schema()["properties"]["options"]["properties"]["trigger"]["pattern"],
    ]
    assert "  hint: did you mean 'name'?" in told[2]
