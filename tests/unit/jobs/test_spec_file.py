"""Specs as text: read, written, planned; and all that is refused, with its line."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.errors import ArroyoError, PromoteProblem
from arroyo_nb.jobs.lint import lint
from arroyo_nb.jobs.rules import Severity
from arroyo_nb.jobs.schema_validation import job_schema
from arroyo_nb.jobs.spec import JobSpec, Origin, TableDefinition, Udf
from arroyo_nb.jobs.spec_file import load, read
from arroyo_nb.run.options import RunOptions
from arroyo_nb.source import ScriptText

TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10)"
SPEC = JobSpec(
    name="few",
    sql="-- the first ones\nSELECT counter, '{{ TOWN }}' AS town\nFROM few;\n",
    tables=(
        TableDefinition("ticks", TICKS),
        TableDefinition(
            "few", "CREATE VIEW few AS\nSELECT * FROM ticks WHERE counter < 9 -- all"
        ),
    ),
    origin=Origin("../clock.ipynb", "c-3"),
    options=RunOptions(
        strict=True,
        parallelism=2,
        trigger=timedelta(milliseconds=1500),
        ttl=timedelta(hours=1),
    ),
    udfs=(Udf("f", "python", "@udf\ndef f(x: int) -> int:\n    return x\n"),),
    packages={"arroyo-nb": "0.1.0", "pyspark": "4.3.0"},
    tags={"team": "yes"},
)


def file(text):
    return read(ScriptText(text, "job.yaml"))


def refused(text):
    with pytest.raises(ArroyoError) as caught:
        file(text).plan()
    return str(caught.value)


def test_a_spec_as_it_looks():
    assert (
        replace(SPEC, udfs=()).text
        == """\
version: 1
name: few
origin:
  notebook: ../clock.ipynb
  cell: c-3
tags:
  team: 'yes'
options:
  mode: strict
  parallelism: 2
  trigger: 1500ms
  ttl: 1h
state: state
environment:
  - TOWN
packages:
  arroyo-nb: 0.1.0
  pyspark: 4.3.0
tables:
  - name: ticks
    sql: CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10)
  - name: few
    sql: |-
      CREATE VIEW few AS
      SELECT * FROM ticks WHERE counter < 9 -- all
sql: |
  -- the first ones
  SELECT counter, '{{ TOWN }}' AS town
  FROM few;
"""
    )


texts = st.text(min_size=1)
names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,59}", fullmatch=True)
durations = st.none() | st.timedeltas(timedelta(microseconds=1), timedelta(days=400))
specs = st.builds(
    JobSpec,
    name=names,
    sql=texts,
    tables=st.lists(
        st.builds(TableDefinition, texts, texts), unique_by=lambda t: t.name.lower(),
        max_size=3
    ).map(tuple),
    origin=st.none() | st.builds(Origin, texts, texts),
    options=st.builds(
        RunOptions,
        strict=st.booleans(),
        parallelism=st.none() | st.integers(1, 1024),
        trigger=durations,
        ttl=durations,
        real_time=st.booleans(),
    ),
    state=texts,
    udfs=st.lists(st.builds(Udf, names.map(lambda n: n.replace("-", "_")),
                            st.sampled_from(["python", "rust"]), texts),
                  max_size=2).map(tuple),
    packages=st.dictionaries(texts, texts, max_size=2),
    tags=st.dictionaries(texts, st.text(), max_size=2),
)  # fmt: skip


@given(specs)
def test_a_spec_comes_back_from_its_text_and_the_text_from_the_spec(spec):
    again = read(ScriptText(spec.text)).spec
    assert again == spec
    assert again.text == spec.text


def test_a_spec_is_planned_by_itself():
    plan = file(SPEC.text).plan()
    assert [sink.name for sink in plan.sinks] == ["preview"]
    assert plan.updating_ttl == timedelta(hours=1)
    assert plan.strict
    assert plan.read_before == ()


def test_reading_a_spec_runs_nothing(tmp_path):
    there = tmp_path / "there"
    source = f"open({str(there)!r}, 'w')\n{SPEC.udfs[0].source}"
    spec = replace(SPEC, udfs=(Udf("f", "python", source),))
    path = tmp_path / "job.yaml"
    path.write_text(spec.text)
    assert load(path).spec == spec
    load(path).plan()
    assert not there.exists()


@pytest.mark.parametrize(
    ("old", "new", "at", "said"),
    [
        ("1\nname: few", "1\nnmae: few", "nmae", "unknown key 'nmae'"),
        ("  mode: strict", "  mode: lax", "lax", "this must be 'default' or 'strict'"),
        ("trigger: 1500ms", "trigger: 0s", "0s", "a duration must be positive"),
        ("ttl: 1h", "ttl: 99999999999999d", "99999", "a duration of"),
        ("version: 1", "version: 2", "2", "this is a spec of version 2"),
        ("  - TOWN", "  - T", "{{ TOWN", "'TOWN' is not listed in 'environment'"),
        ("  - TOWN", "  - TOWN\n  - X", "X", "the script does not name the variable"),
        ("  - name: few", "  - name: Ticks", "Ticks", "'Ticks' stands here twice"),
        ("  - name: few", "  - name: fwe", "fwe", "the sql is not the statement that"),
        ("return x", "return y", SPEC.udfs[0].sha256, "the source of 'f' is not the"),
        ("counter <", "cuonter <", "cuonter", "column 'cuonter' not found"),
        ("event_rate = 10", "event_rte = 1", "event_rte", "Failed to create table"),
        ("FROM few;", "FROM fwe;", "fwe", "Table fwe not found"),
        ("SELECT counter,", "SELECT a nope nay,", "nay", "syntax error at 'nay'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old, new, at, said):
    assert SPEC.text.count(old) == 1
    text = SPEC.text.replace(old, new)
    line, column = ScriptText(text).line_and_column(text.index(at))
    assert f"job.yaml:{line}:{column}: {said}" in refused(text)
    assert "^" in refused(text)


def test_a_changed_source_tells_its_hash_and_is_read_with_it():
    changed = SPEC.text.replace("return x", "return y")
    told = refused(changed)
    new = told.rsplit("write ", 1)[1].strip()
    assert (
        file(changed.replace(SPEC.udfs[0].sha256, new))
        .spec.udfs[0]
        .source.endswith("return y\n")
    )


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "latin").write_bytes(b"name: \xe9")
    for name, reason in (("none", "No such file"), ("latin", "it is not UTF-8")):
        with pytest.raises(PromoteProblem, match=reason):
            load(tmp_path / name)


def test_a_file_of_another_editor_is_read():
    text = "\ufeff" + SPEC.text.replace("\n", "\r\n")
    told = refused(text.replace("FROM few;", "FROM fwe;"))
    assert "job.yaml:37:8: Table fwe" in told
    assert file(text).spec == SPEC


def test_the_example_of_the_documentation_is_a_job():
    path = Path(__file__).parents[3] / "docs/reference/job.yaml"
    example = load(path)
    jsonschema.validate(yaml.safe_load(path.read_text("utf-8")), dict(job_schema()))
    plan = example.plan()
    assert [sink.name for sink in plan.sinks] == ["answers"]
    assert {finding.rule.severity for finding in lint(example, plan)} == {Severity.INFO}
    # Every key that there is, but the one that nothing runs yet.
    assert job_schema()["properties"].keys() - example.item.entries.keys() == {"udfs"}
