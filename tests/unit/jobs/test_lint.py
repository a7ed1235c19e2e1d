"""Rules apart from their golden files: codes, denial, pages, functions of a script."""

from dataclasses import replace

import pytest

from arroyo_nb.errors import PromoteProblem
from arroyo_nb.jobs.lint import denied, lint, report
from arroyo_nb.jobs.rules import RULES
from arroyo_nb.jobs.spec import JobSpec, TableDefinition, Udf
from arroyo_nb.jobs.spec_file import read
from arroyo_nb.source import ScriptText

SPEC = JobSpec(
    "few",
    "SELECT counter FROM ticks;\n",
    (
        TableDefinition(
            "ticks", "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1)"
        ),
    ),
)


def found(spec):
    file = read(ScriptText(spec.text, "job.yaml"))
    return lint(file, file.plan())


def codes(findings):
    return [finding.rule.code for finding in findings]


def test_a_finding_is_an_error_only_when_its_code_is_denied():
    findings = found(SPEC)
    assert codes(findings) == ["sample-source", "no-sink"]
    assert codes(denied(findings, ())) == []
    assert codes(denied(findings, ["no-sink", "time-zone"])) == ["no-sink"]
    assert codes(denied(findings, ["all"])) == codes(findings)
    with pytest.raises(PromoteProblem, match="did you mean 'no-sink'"):
        denied(findings, ["no-snik"])


def test_a_function_may_import_what_is_listed_and_what_python_has():
    source = "import os, numpy.linalg\nfrom .x import y\nfrom my_tools.a import b\n"
    source += "@udf\ndef f(x: int) -> int:\n    return x\n"
    rust = "use a;\n#[udf]\nfn g(x: i64) -> i64 { x }\n"
    spec = replace(SPEC, udfs=(Udf("f", "python", source), Udf("g", "rust", rust)))
    told = [f.message for f in found(spec) if f.rule.code == "udf-package"]
    assert told == [
        "'f' imports 'my_tools', which is not in 'packages'",
        "'f' imports 'numpy', which is not in 'packages'",
    ]
    listed = replace(spec, packages={"numpy": "2.4", "My-Tools": "1.0"})
    assert "udf-package" not in codes(found(listed))


@pytest.mark.parametrize("spark", ["4.2.0", "4.3.0"])
def test_a_connector_of_another_version_than_spark_is_told(
    monkeypatch, tmp_path, spark
):
    from arroyo_nb.engine import jars
    from arroyo_nb.engine.jar_coordinates import pinned
    from arroyo_nb.jobs.rules import tables

    monkeypatch.setenv(jars.FOLDER, str(tmp_path))
    for module in (jars, tables):
        monkeypatch.setattr(module, "spark_version", lambda: spark)
    for jar in pinned(jars.CONNECTOR.name):
        version = "4.2.0" if jar.group == "org.apache.spark" else jar.version
        (tmp_path / jar._replace(version=version).file).touch()
    topic = (
        "CREATE TABLE ticks (counter INT) WITH (connector = 'kafka', type = 'source', "
        "bootstrap_servers = 'b:9092', topic = 't', format = 'json')"
    )
    spec = replace(SPEC, tables=(TableDefinition("ticks", topic),))
    told = [f.message for f in found(spec) if f.rule.code == "connector-version"]
    said = "Spark's Kafka connector is 4.2.0, and Spark is 4.3.0"
    assert told == ([said] if spark == "4.3.0" else [])
    assert "connector-version" not in codes(found(SPEC))  # it needs no connector


def test_a_report_has_each_finding_and_the_page_of_its_rule_once():
    twice = replace(SPEC, sql=SPEC.sql * 2)
    text = report(found(twice))
    assert text.count("- [no-sink](#no-sink) [job.yaml:8](job.yaml#L8): the rows") == 1
    assert text.count("- [no-sink](#no-sink) [job.yaml:9](job.yaml#L9): the rows") == 1
    assert text.count("## no-sink") == 1
    assert "## time-zone" not in text


def test_every_rule_has_a_page_with_what_to_do():
    for rule in RULES:
        head, *paragraphs = rule.page.strip().split("\n\n")
        assert head == f"## {rule.code}"
        assert len(paragraphs) >= 3
