"""Golden files: what a script plans to, and what a wrong one is told.

``plans/*.txt`` is a script, a rule, and the text of ``explain``. ``errors/*.sql`` is a
script and, as comments, the errors. ``lint/*.txt`` is a script, a rule, and what the
rules of a job find in it. ``edits/*.txt`` is a script, a rule, the same after an edit,
a rule, and what becomes of a checkpoint. All run against ``tables.sql``. A script that
begins with ``-- strict`` is planned with the strict option. After a change, run
``pytest tests/golden --update-golden`` and read the difference.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import jsonschema
import pytest
import yaml

from arroyo_nb import magic_options as flags
from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.jobs.lint import lint, pages
from arroyo_nb.jobs.promotion import earlier_tables, promoted
from arroyo_nb.jobs.rules import RULES
from arroyo_nb.jobs.schema_validation import job_schema
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_changes import JobVersion, judge
from arroyo_nb.jobs.spec_file import read
from arroyo_nb.option_flags import split
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.source import ScriptText
from arroyo_nb.state.compatibility import RULINGS, Outcome
from arroyo_nb.state.identity import plan_identity

HERE = Path(__file__).parent
RULE = "\n" + "-" * 40 + "\n"
ERROR = "\n-- error\n"
HEAD = "| edit | outcome | why |\n|---|---|---|\n"
PLANS = sorted((HERE / "plans").glob("*.txt"))
ERRORS = sorted((HERE / "errors").glob("*.sql"))
EDITS = sorted((HERE / "edits").glob("*.txt"))
DIALECTS = yaml.safe_load((HERE / "other_dialects.yaml").read_text(encoding="utf-8"))
LINTS = sorted((HERE / "lint").glob("*.txt"))


@cache
def tables() -> Catalog:
    script = (HERE / "tables.sql").read_text(encoding="utf-8")
    return plan_script(script, Catalog()).catalog


def explained(script: str) -> str:
    plan = plan_script(script, tables(), strict=script.startswith("-- strict"))
    return plan.explain()


def refused(script: str) -> str:
    with pytest.raises(ArroyoError) as caught:
        explained(script)
    return "".join(
        f"-- {line}".rstrip() + "\n" for line in str(caught.value).split("\n")
    )


def findings(script: str) -> str:
    plan = plan_script(script, tables())
    spec = JobSpec("job", script, tuple(earlier_tables(plan)))
    file = read(ScriptText(spec.text, "job.yaml"))
    found = lint(file, file.plan())
    return "".join(f"{finding}\n" for finding in found) or "nothing\n"


def version(script: str) -> JobVersion:
    plan = plan_script(script, tables())
    spec = JobSpec("job", script, tuple(earlier_tables(plan)))
    return JobVersion(spec, plan)


def judged(old: str, new: str) -> str:
    verdict = judge(version(old), version(new))
    told = (verdict.outcome.value, *map(str, verdict.differences))
    return "\n".join(told) + "\n"


def compare(path: Path, script: str, rule: str, made: str, update: bool) -> None:
    text = script + rule + made
    if update:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_plan(path: Path, update_golden: bool) -> None:
    script = path.read_text(encoding="utf-8").split(RULE)[0].rstrip("\n")
    compare(path, script, RULE, explained(script), update_golden)


@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_error(path: Path, update_golden: bool) -> None:
    script = path.read_text(encoding="utf-8").split(ERROR)[0].rstrip("\n")
    compare(path, script, ERROR, refused(script), update_golden)


@pytest.mark.parametrize("row", DIALECTS, ids=lambda row: row["write"][:60])
def test_what_other_dialects_write_is_answered(row: dict[str, str]) -> None:
    """``other_dialects.yaml``: a statement as the guides of Flink, ksqlDB, Spark,
    Materialize or RisingWave have it, or a slip; and the hint that it must get."""
    with pytest.raises(ArroyoError) as caught:
        explained(row["write"])
    assert row["hint"] in [problem.hint for problem in caught.value.problems]


def test_each_hint_is_typed_once() -> None:
    typed = {row["hint"] for row in DIALECTS if "then" in row}
    assert {row["hint"] for row in DIALECTS} == typed


@pytest.mark.parametrize(
    "row",
    [row for row in DIALECTS if "then" in row],
    ids=lambda row: row["hint"][:60],
)
def test_what_a_hint_says_is_accepted_when_it_is_typed(row: dict[str, str]) -> None:
    magic, *rest = row["then"].split(maxsplit=1)
    if magic == "%%arroyo":
        assert flags.parse_line(rest[0]).given
    elif magic == "%arroyo":
        word, *words = split(rest[0])
        flags.COMMANDS[word].parsed(words)
    else:
        assert explained(row["then"])
    # It is what the hint says: of the functions that it names, one is called.
    called = re.findall(r"\b[a-z_]+\(", row["hint"])
    assert not called or any(name in row["then"] for name in called)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT window.start, n FROM (SELECT tumble(INTERVAL '1 hour') AS window, "
        "count(*) AS n FROM trips GROUP BY window)",
        "SELECT hop(INTERVAL '10 seconds', INTERVAL '30 seconds') AS window, name, "
        "count(*) AS n FROM trips GROUP BY window, name",
        "SELECT session(INTERVAL '1 minute') AS window, count(*) AS n FROM trips "
        "GROUP BY window",
        "SELECT a.id FROM trips AS a JOIN clicks AS b ON a.id = b.id AND a.at BETWEEN "
        "b.at - INTERVAL '1 hour' AND b.at + INTERVAL '1 hour'",
        "SELECT last_value(fare ORDER BY at), first_value(fare ORDER BY at), "
        "array_agg(DISTINCT name), string_agg(name, ',') FROM trips GROUP BY id",
        "SELECT array_has(tags, 'x'), array_length(tags), to_unixtime(at), row_time() "
        "FROM trips WHERE random() < 0.1",
        "SELECT name, approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY fare), "
        "approx_distinct(id) FROM trips GROUP BY name",
        "SET updating_ttl = INTERVAL '1 day'; EXPLAIN SELECT id FROM trips",
        "CREATE TABLE o WITH (connector = 'stdout', format = 'json'); INSERT INTO o "
        "SELECT id FROM trips",
        "CREATE TABLE o (id BIGINT PRIMARY KEY) WITH (connector = 'kafka', format = "
        "'debezium_json', bootstrap_servers = 'localhost:9092', topic = 'o', type = "
        "'source', 'source.offset' = 'earliest', 'source.group_id' = 'x'); "
        "CREATE TABLE c WITH (connector = 'impulse', event_rate = 10); "
        "SELECT counter FROM c",
        "CREATE TABLE o (ms BIGINT NOT NULL, event_time TIMESTAMP NOT NULL GENERATED "
        "ALWAYS AS (to_timestamp_millis(ms)), WATERMARK FOR event_time AS event_time - "
        "INTERVAL '5 seconds') WITH (connector = 'single_file', path = '/x', format = "
        "'json', type = 'source'); SELECT event_time FROM o",
    ],
)
def test_what_the_hints_say_to_write_is_planned(query: str) -> None:
    assert explained(query)


def test_the_sql_of_the_documentation_is_planned() -> None:
    pages = sorted((HERE.parents[1] / "docs").rglob("*.md"))
    blocks = [re.findall(r"```sql\n(.*?)```", page.read_text(), re.S) for page in pages]
    scripts = [script for found in blocks for script in found]
    assert len(scripts) >= 2
    assert all(map(explained, scripts))


def test_no_header_has_an_internal_name() -> None:
    script = "SELECT tumble(INTERVAL '5 minutes'), count(*) FROM trips GROUP BY 1"
    (sink,) = plan_script(script, tables()).sinks
    assert sink.schema.names == ("tumble(INTERVAL '5 minutes')", "count(*)")


@pytest.fixture(autouse=True)
def no_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is found must not depend on what this machine has downloaded."""
    monkeypatch.setenv("ARROYO_NB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ARROYO_NB_JARS", raising=False)


@pytest.mark.parametrize("path", LINTS, ids=lambda path: path.stem)
def test_lint(path: Path, update_golden: bool) -> None:
    script = path.read_text(encoding="utf-8").split(RULE)[0].rstrip("\n")
    compare(path, script, RULE, findings(script), update_golden)


@pytest.mark.parametrize("path", EDITS, ids=lambda path: path.stem)
def test_edit(path: Path, update_golden: bool) -> None:
    old, new, *_ = path.read_text(encoding="utf-8").split(RULE)
    compare(path, old + RULE + new, RULE, judged(old, new), update_golden)


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_plan_is_promoted(path: Path) -> None:
    script = path.read_text(encoding="utf-8").split(RULE)[0]
    strict = script.startswith("-- strict")
    plan = plan_script(script, tables(), strict=strict)
    if not plan.sinks:
        return
    file = promoted(plan, "job")
    jsonschema.validate(yaml.safe_load(file.source.text), dict(job_schema()))
    assert read(ScriptText(file.spec.text)).spec.text == file.source.text
    assert plan_identity(file.plan()) == plan_identity(plan)


def test_another_plan_never_takes_over_a_checkpoint() -> None:
    scripts = [path.read_text(encoding="utf-8").split(RULE)[0] for path in PLANS]
    versions = [version(script) for script in scripts]
    for one, other in zip(versions, (*versions[1:], versions[0]), strict=True):
        assert judge(one, one).outcome is Outcome.COMPATIBLE
        verdict = judge(one, other)
        same = plan_identity(one.plan) == plan_identity(other.plan)
        assert (verdict.outcome is Outcome.COMPATIBLE) == same, verdict


def test_pages_of_rules(update_golden: bool) -> None:
    """``docs/reference/lint.md`` is made of the docstrings of the rules."""
    compare(HERE.parents[1] / "docs/reference/lint.md", "", "", pages(), update_golden)


def test_page_of_edits(update_golden: bool) -> None:
    """The table of ``docs/reference/edits.md`` is made of the rulings."""
    path = HERE.parents[1] / "docs/reference/edits.md"
    before, head, after = path.read_text(encoding="utf-8").partition(HEAD)
    _, heading, rest = after.partition("\n## ")
    rows = "".join(
        f"| {edit.value} | {ruling.outcome.value} | {ruling.why} |\n"
        for edit, ruling in RULINGS.items()
    )
    compare(path, before + head, rows, heading + rest, update_golden)


def test_each_lint_rule_has_a_case() -> None:
    told = "".join(path.read_text(encoding="utf-8") for path in LINTS)
    # A script has neither functions nor jars of its own: test_lint.py has those rules.
    missing = [rule.code for rule in RULES if f"[{rule.code}]" not in told]
    assert missing == ["connector-version", "udf-package"]
