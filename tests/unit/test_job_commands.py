"""promote, check and diff as a shell meets them; nothing needs a JVM."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from arroyo_nb.cli import main

CELLS = {
    "tables": "%%arroyo\n"
    "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10);",
    "least": "least = 3",
    "few": "%%arroyo few << --ttl 1h\n"
    "SELECT counter, count(*) AS n FROM ticks WHERE counter < :least GROUP BY counter;",
}


@pytest.fixture(autouse=True)
def no_session(monkeypatch, tmp_path):
    def started(*arguments, **options):
        raise AssertionError("no session is needed")

    monkeypatch.setattr("arroyo_nb.cli.headless.Session", started)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def notebook():
    """Writes the notebook; a cell may be another."""

    def write(**changed):
        cells = [
            {"cell_type": "code", "id": name, "source": text, "metadata": {}}
            for name, text in (CELLS | changed).items()
        ]
        Path("clock.ipynb").write_text(json.dumps({"cells": cells}))

    write()
    return write


@pytest.fixture
def told(capsys):
    """Runs the command; gives its exit status and what it said."""

    def run(*arguments):
        status = main(arguments)
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


def test_promote_writes_a_job_that_is_what_its_cell_runs(notebook, told):
    status, said = told("promote", "clock.ipynb", "--name", "few", "-o", "job")
    assert status == 0
    assert "job/job.yaml:16:35: warning: 'ticks' is rows that are generated" in said
    assert said.endswith("wrote job; run it with: arroyo-nb run job/job.yaml\n")
    text = Path("job/job.yaml").read_text()
    assert "  notebook: ../clock.ipynb\n  cell: few\n" in text
    assert "  ttl: 1h\n" in text
    assert "counter < 3 GROUP" in text
    assert told("explain", "job/job.yaml")[1] == Path("job/plan.txt").read_text() + "\n"


def test_promote_without_a_name_lists_those_that_there_are(notebook, told):
    status, said = told("promote", "clock.ipynb")
    assert status == 3
    assert "hint: add --name N, where N is one of: " in said
    assert "few" in said.partition("one of: ")[2]
    assert not Path("jobs").exists()


def test_promote_takes_parameters_and_a_place_beside_the_notebook(notebook, told):
    notebook(least="")
    status, said = told("promote", "clock.ipynb", "--name", "few")
    assert status == 3
    assert "clock.ipynb cell 3:2:58: parameter ':least' has no value" in said
    named = ("promote", "clock.ipynb", "--name", "few")
    assert told(*named, "-p", "least=7")[0] == 0
    assert "counter < 7" in Path("jobs/few/job.yaml").read_text()
    assert "'least' is not a parameter" in told(*named, "-p", "least")[1]


def test_what_is_denied_is_an_error_and_nothing_is_written(notebook, told):
    named = ("promote", "clock.ipynb", "--name", "few")
    status, said = told(*named, "--deny", "no-sink", "--deny", "time-zone")
    assert status == 3
    assert "[no-sink]" in said
    assert "hint: --deny makes this an error: nothing was written" in said
    assert not Path("jobs").exists()
    assert "there is no rule 'no-snik'" in told(*named, "--deny", "no-snik")[1]


def test_check_of_a_job_tells_what_was_found_and_fails_when_it_is_denied(
    notebook, told
):
    told("promote", "clock.ipynb", "--name", "few")
    status, said = told("check", "jobs/few/job.yaml")
    assert status == 0
    codes = [line.rsplit("[", 1)[1] for line in said.splitlines()]
    assert codes == ["sample-source]", "no-sink]"]
    assert told("check", "jobs/few/job.yaml", "--deny", "no-sink")[0] == 1


def test_check_looks_into_the_recordings_that_a_job_reads(notebook, told):
    rows = "".join(f'{{"n": {n}, "status": "paid"}}\n' for n in range(40))
    Path("rows.json").write_text(rows)
    notebook(
        tables="%%arroyo\nCREATE TABLE r (n INT, statuss TEXT) WITH (connector = "
        f"'single_file', type = 'source', path = '{Path.cwd() / 'rows.json'}', "
        "format = 'json')",
        few="%%arroyo few <<\nSELECT n, statuss FROM r",
    )
    said = told("promote", "clock.ipynb", "--name", "few")
    assert said[0] == 0, said[1]
    status, said = told("check", "jobs/few/job.yaml")
    note = "no record of 40 had 'statuss'; did you mean 'status'?"
    assert status == 0
    assert f"job.yaml: data: 'r': {note}" in said
    Path("rows.json").unlink()
    assert "data:" not in told("check", "jobs/few/job.yaml")[1]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"least": "least = 4"},
            "+  SELECT counter, count(*) AS n FROM ticks WHERE cou",
        ),
        (
            {"tables": CELLS["tables"].replace("10", "20")},
            "+    sql: CREATE TABLE tick",
        ),
        ({"few": CELLS["few"].replace("1h", "2h")}, "+  ttl: 2h"),
        (
            {"few": "%%arroyo few <<\nSELECT nope FROM ticks"},
            "its cell is not a job any m",
        ),
        ({"few": "print()"}, "its cell is not a job any more: no cell of the notebook"),
    ],
)
def test_check_tells_a_job_and_its_cell_that_drifted_apart(
    notebook, told, changed, said
):
    told("promote", "clock.ipynb", "--name", "few")
    notebook(**changed)
    for file in ("jobs/few/job.yaml", "clock.ipynb"):
        status, out = told("check", file)
        assert status == 1
        assert "job.yaml: drift: " in out
        assert said in out
    told("promote", "clock.ipynb", "--name", "few")


def test_promoting_again_ends_the_drift(notebook, told):
    told("promote", "clock.ipynb", "--name", "few")
    notebook(least="least = 4")
    told("promote", "clock.ipynb", "--name", "few")
    status, out = told("check", "clock.ipynb")
    assert (status, "drift" in out) == (0, False)


@pytest.mark.parametrize(
    ("file", "before", "after", "named"),
    [
        ("job.yaml", "counter < 3", "counter < 4", "job.yaml' (sql)"),
        ("job.yaml", "ttl: 1h", "ttl: 2h", "job.yaml' (ttl)"),
        ("job.yaml", "version: 1", "# mine\nversion: 1", "job.yaml' (comments)"),
        ("test_few.py", "from pathlib", "import os\nfrom pathlib", "test_few.py'"),
    ],
)
def test_what_was_changed_by_hand_is_not_overwritten(
    notebook, told, file, before, after, named
):
    promoting = ("promote", "clock.ipynb", "--name", "few")
    told(*promoting)
    path = Path("jobs/few", file)
    edited = path.read_text().replace(before, after)
    path.write_text(edited)
    notebook(least="least = 5")
    status, said = told(*promoting)
    assert status == 3
    assert f"changed by hand since the last promotion: 'jobs/few/{named};" in said
    assert "--overwrite" in said
    assert path.read_text() == edited
    assert "counter < 3" in Path("jobs/few/plan.txt").read_text()
    assert told(*promoting, "-o", "other")[0] == 0
    assert told(*promoting, "--overwrite")[0] == 0
    assert path.read_text() != edited
    assert told(*promoting)[0] == 0


def test_edits_that_a_promotion_keeps_are_no_loss(notebook, told):
    promoting = ("promote", "clock.ipynb", "--name", "few")
    told(*promoting)
    path = Path("jobs/few/job.yaml")
    path.write_text(path.read_text().replace("tables:", "tags: {team: a}\ntables:"))
    notebook(least="least = 5")
    assert told(*promoting)[0] == 0
    assert "team: a" in path.read_text()
    assert "counter < 5" in path.read_text()


def test_an_edit_in_a_folder_without_check_sums_is_seen_by_its_plan(notebook, told):
    promoting = ("promote", "clock.ipynb", "--name", "few")
    told(*promoting)
    Path("jobs/few/.promoted.json").write_text("<<<<<<< HEAD")
    notebook(least="least = 5")
    assert told(*promoting)[0] == 0
    Path("jobs/few/.promoted.json").unlink()
    path = Path("jobs/few/job.yaml")
    path.write_text(path.read_text().replace("counter < 5", "counter < 6"))
    assert "its plan is another than plan.txt" in told(*promoting)[1]


def test_files_of_a_former_target_are_told(notebook, told):
    promoting = ("promote", "clock.ipynb", "--name", "few")
    status, said = told(*promoting, "--target", "kubernetes")
    assert status == 0, said
    assert "note: kubernetes/Dockerfile installs arroyo-nb==" in said
    assert "set ARROYO_NB to a wheel" in said
    assert "runs on this machine with: arroyo-nb run jobs/few/job.yaml\n" in said
    status, said = told(*promoting)
    assert "note: kubernetes/ in jobs/few is of an earlier promotion" in said
    assert Path("jobs/few/kubernetes/apply.sh").exists()
    assert "kubernetes/ in" in told(*promoting)[1]
    assert "kubernetes/ in" not in told(*promoting, "--target", "kubernetes")[1]
    said = told(*promoting, "--target", "docker")[1]
    assert "did you mean 'kubernetes'? known: arroyo, kubernetes" in said


def test_a_cell_that_ends_says_that_its_job_does_not(notebook, told):
    notebook(few=CELLS["few"].replace("--ttl 1h", "--ttl 1h --until end --for 5m"))
    status, said = told("promote", "clock.ipynb", "--name", "few")
    assert status == 0
    assert "note: the cell ends by --until end and --for 5m, its job does not" in said


def test_a_plan_that_is_not_that_of_its_spec_drifted(told):
    sql = "SELECT counter FROM t WHERE counter < 3"
    table = "CREATE TABLE t WITH (connector = 'impulse', event_rate = 1)"
    path = Path("job.yaml")
    path.write_text(f"version: 1\nname: few\nsql: |\n  {table};\n  {sql}\n")
    Path("plan.txt").write_text(told("explain", "job.yaml")[1][:-1])
    assert told("check", "job.yaml")[0] == 0
    path.write_text(path.read_text().replace("counter < 3", "counter < 4"))
    status, said = told("check", "job.yaml")
    assert status == 1
    assert "job.yaml: drift: its plan is another than that of plan.txt" in said
    assert "counter < 4" in said


def test_what_people_add_to_a_spec_is_no_drift(notebook, told):
    told("promote", "clock.ipynb", "--name", "few")
    path = Path("jobs/few/job.yaml")
    text = path.read_text().replace("  ttl: 1h", "  parallelism: 4\n  ttl: 1h")
    text = text.replace("  pyspark: ", "  pyspark: 3.")
    path.write_text("# reviewed\n" + text + "tags: {team: air}\n")
    assert told("check", "clock.ipynb")[0] == 0


def test_check_of_a_notebook_leaves_the_jobs_of_others_alone(notebook, told):
    told("promote", "clock.ipynb", "--name", "few")
    Path("clock.ipynb").rename("other.ipynb")
    notebook()
    path = Path("jobs/few/job.yaml")
    path.write_text(path.read_text().replace("clock.ipynb", "other.ipynb"))
    assert told("check", "clock.ipynb") == (0, "")
    assert told("check", "other.ipynb")[1] != ""


def test_a_spec_that_cannot_be_read_hides_no_other(notebook, told):
    told("promote", "clock.ipynb", "--name", "few")
    Path("jobs/a").mkdir()
    Path("jobs/a/job.yaml").write_text("version: [1\n")
    status, out = told("check", "clock.ipynb")
    assert status == 1
    assert out.startswith("jobs/a/job.yaml:")
    assert "jobs/few/job.yaml:16:35: warning: " in out


def test_a_job_whose_notebook_is_gone_drifted(notebook, told):
    told("promote", "clock.ipynb", "--name", "few")
    Path("clock.ipynb").unlink()
    status, out = told("check", "jobs/few/job.yaml")
    assert status == 1
    assert "there is no notebook 'jobs/few/../../clock.ipynb' any more" in out


def test_check_of_a_notebook_tells_every_cell_that_is_wrong(notebook, told):
    notebook(tables="%%arroyo\nCREATE TABLE ticks WITH (connector = 'impulze')")
    status, out = told("check", "clock.ipynb")
    first, second = out.splitlines()
    assert status == 1
    assert first.startswith("clock.ipynb cell 1:2:26: Failed to create table ticks")
    assert second.startswith("clock.ipynb cell 3:2:36: Table ticks not found")


def test_a_secret_is_in_no_message_and_no_file(notebook, told):
    notebook(tables=CELLS["tables"] + "\nCREATE TABLE answers (counter BIGINT) WITH ("
             "connector = 'kafka', bootstrap_servers = 'b:9092', topic = 'a', "
             "type = 'sink', format = 'json', 'auth.type' = 'sasl', "
             "'auth.mechanism' = 'PLAIN', 'auth.protocol' = 'SASL_SSL', "
             "'auth.username' = 'ann', 'auth.password' = 'r0se');",
             few="%%arroyo few <<\nINSERT INTO answers SELECT counter FROM ticks"
             )  # fmt: skip
    status, out = told("promote", "clock.ipynb", "--name", "few")
    assert (status, "inline-secret" in out, "r0se" in out) == (3, True, False)
    assert not Path("jobs").exists()
    # Also where a job was made before the secret was written.
    notebook()
    told("promote", "clock.ipynb", "--name", "few")
    notebook(tables=CELLS["tables"].replace("event", "'auth.password' = 'r0se', event"))
    assert "r0se" not in told("check", "clock.ipynb")[1]


def test_diff_tells_what_differs_and_what_becomes_of_a_checkpoint(notebook, told):
    told("promote", "clock.ipynb", "--name", "few", "-o", "old")
    notebook(least="least = 4")
    told("promote", "clock.ipynb", "--name", "few", "-o", "new")
    status, out = told("diff", "old/job.yaml", "new/job.yaml")
    assert status == 1
    assert "\n-      Filter counter < 3\n" in out
    assert "needs fork: how rows are computed: " in out
    assert out.endswith("verdict: needs fork\n")
    assert told("diff", "old/job.yaml", "old/job.yaml") == (0, "verdict: compatible\n")


def test_diff_compares_scripts_too(told):
    one = "CREATE TABLE t WITH (connector = 'impulse', event_rate = 1); "
    one += "SELECT counter FROM t"
    for name, text in (("a", one), ("b", one.replace(";", ";\n-- same\n"))):
        Path(f"{name}.sql").write_text(text)
    assert told("diff", "a.sql", "a.sql")[0] == 0
    status, out = told("diff", "a.sql", "b.sql")
    # Two scripts are two jobs: a script's name is that of its state.
    assert (status, out.splitlines()[0]) == (
        1, "fresh: the name: the checkpoint is found by the job's name",
    )  # fmt: skip


def test_a_spec_that_is_wrong_is_told_with_its_line(notebook, told):
    told("promote", "clock.ipynb", "--name", "few")
    path = Path("jobs/few/job.yaml")
    path.write_text(path.read_text().replace("FROM ticks", "FROM tikcs"))
    status, out = told("check", str(path))
    assert status == 1
    assert out.startswith("jobs/few/job.yaml:18:38: Table tikcs not found")
    path.write_text("versoin: 1\n")
    status, out = told("check", str(path))
    assert status == 1
    assert "jobs/few/job.yaml:1:1: unknown key 'versoin'" in out


def test_strict_refuses_what_arroyo_would(notebook, told):
    ranked = "row_number() OVER (PARTITION BY counter ORDER BY subtask_index)"
    notebook(few=f"%%arroyo few <<\nSELECT counter, {ranked} AS n FROM ticks")
    told("promote", "clock.ipynb", "--name", "few")
    for file in ("clock.ipynb", "jobs/few/job.yaml"):
        assert told("check", file)[0] == 0
        status, out = told("check", file, "--strict")
        assert status == 1
        assert "Window functions require already windowed input" in out
    assert told("explain", "jobs/few/job.yaml", "--strict")[0] == 3


def test_a_script_has_no_findings_to_deny(told):
    Path("a.sql").write_text("SELECT 1")
    status, out = told("check", "a.sql", "--deny", "all")
    assert (status, out.splitlines()[0]) == (1, "'a.sql' has no findings to deny")


def test_the_version_is_that_of_what_is_installed(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    told = f"arroyo-nb {version('arroyo-nb')}, pyspark {version('pyspark')}\n"
    assert capsys.readouterr() == (told, "")
