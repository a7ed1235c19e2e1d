"""The disorder of a tape as options of its table."""

import pytest

from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.jobs.lint import lint
from arroyo_nb.jobs.spec import JobSpec, TableDefinition
from arroyo_nb.jobs.spec_file import read
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tables.disorder import DISORDER_OPTIONS, tape_disorder
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import prepare
from arroyo_nb.session import Session
from arroyo_nb.source import ScriptText
from arroyo_nb.state.identity import plan_identity
from arroyo_nb.tape.disordered import TapeDisorder


def script(options, connector="'sample', dataset = 'flights'"):
    given = f", {options}" if options else ""
    return f"CREATE TABLE t WITH (connector = {connector}{given}); SELECT * FROM t"


def planned(options, **others):
    with Session() as session:
        return session.plan(script(options, **others))


def table(plan):
    (source,) = (n for n in walk(plan.sinks[0]) if isinstance(n, nodes.Source))
    return source.table


ALL = """'disorder.shuffle' = INTERVAL '10 seconds', 'disorder.delay' = '20 seconds',
'disorder.delayed' = 'origin=JFK', 'disorder.duplicate' = 0.1,
'disorder.gap' = INTERVAL '1 hour', 'disorder.gap_after' = INTERVAL '1 day',
'disorder.burst' = INTERVAL '5 minutes', 'disorder.seed' = 7"""


def test_every_option_is_read():
    second = 1_000_000
    assert tape_disorder(table(planned(ALL)).spec.options) == TapeDisorder(
        shuffle_us=10 * second,
        delay_us=20 * second,
        column="origin",
        value="JFK",
        duplicate=0.1,
        gap_us=3600 * second,
        gap_after_us=86400 * second,
        burst_us=300 * second,
        seed=7,
    )
    assert all(f"'{option.name}'" in ALL for option in DISORDER_OPTIONS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'disorder.shufle' = INTERVAL '1 second'", "did you mean 'disorder.shuffle'"),
        ("'disorder.shuffle' = 'soon'", "interval"),
        ("'disorder.duplicate' = 1.5", "it is from 0 to 1"),
        ("'disorder.delay' = INTERVAL '1 second'", "needs 'disorder.delayed'"),
        ("'disorder.delayed' = 'origin=JFK'", "needs 'disorder.delay'"),
        ("'disorder.gap' = INTERVAL '1 second'", "needs 'disorder.gap_after'"),
        (
            "'disorder.delay' = '1 second', 'disorder.delayed' = 'JFK'",
            "is not COLUMN=VALUE",
        ),
        (
            "'disorder.delay' = '1 second', 'disorder.delayed' = 'orign=JFK'",
            "there is no column 'orign'",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(options, message):
    with pytest.raises(ArroyoError) as problem:
        planned(options)
    assert message in str(problem.value)
    assert problem.value.span is not None or "1:" in str(problem.value)


def test_a_topic_cannot_be_put_in_disorder():
    kafka = (
        "'kafka', bootstrap_servers = 'b:1', topic = 'x', type = 'source', "
        "format = 'raw_string'"
    )
    sql = script("'disorder.seed' = 1", connector=kafka).replace(
        "TABLE t ", "TABLE t (value TEXT) "
    )
    with Session() as session, pytest.raises(ArroyoError) as problem:
        session.plan(sql)
    assert "is for tapes" in str(problem.value)
    assert "%arroyo record" in str(problem.value)


def test_rows_without_a_time_cannot_be_put_in_disorder(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"n": 1}\n')
    file = f"'single_file', path = '{path}', format = 'json', type = 'source'"
    sql = script("'disorder.seed' = 1", connector=file).replace(
        "TABLE t ", "TABLE t (n BIGINT) "
    )
    with Session() as session:
        plan = session.plan(sql)
    with pytest.raises(RunProblem, match="nothing says when the rows of 't' arrive"):
        prepare("x", plan, RunOptions())


def test_another_disorder_is_another_state():
    one, same, other = (
        plan_identity(planned(f"'disorder.seed' = {seed}"), previewed=False)
        for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_lint_names_the_option():
    spec = JobSpec(
        "few",
        "SELECT * FROM t;\n",
        (TableDefinition("t", script("'disorder.seed' = 1").partition(";")[0]),),
    )
    file = read(ScriptText(spec.text, "job.yaml"))
    found = {f.rule.code: f.message for f in lint(file, file.plan())}
    assert "'disorder.seed'" in found["disorder"]
    assert "sample-source" in found
