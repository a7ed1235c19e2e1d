"""Commands that are copied into a shell, and the scripts and tests that a promotion
writes, of jobs in folders of any name."""

import os
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from odd_names import ODD_NAMES

from arroyo_nb.engine.paths import is_plain
from arroyo_nb.jobs.folder import promote
from arroyo_nb.jobs.spec_file import load
from arroyo_nb.session import Session

SELECT = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '1');
CREATE TABLE lines WITH (connector = 'single_file', path = '/tmp/{name}/l.json',
    type = 'sink', format = 'json');
INSERT INTO lines SELECT counter FROM ticks
"""


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_job_s_folder_may_have_any_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    sql = SELECT.format(name=name.replace("'", "''"))
    plan = Session().plan(sql)
    for target in ("local", "spark-submit", "kubernetes"):
        made = promote(plan, "lines", Path(name), target=target)
        words = shlex.split(made.command)
        file = tmp_path / words[-1]
        assert file.exists()
        assert not words[-1].startswith("-")
        if file.suffix == ".sh":  # a shell reads it to its end
            done = subprocess.run(["sh", "-n", words[-1]], check=False)
            assert done.returncode == 0
    job = load(Path(name) / "job.yaml")
    assert name in job.spec.script.replace("''", "'")
    assert job.state == tmp_path / name / "state"
    assert job.plan().sinks


# As Spark does: what is no address is one of its own, and lists are cut at commas. The
# main program runs on an arroyo_nb that says what it was asked for.
SPARK_SUBMIT = """#!/bin/sh
printf '%s\\0' "$@"
for word in "$@"; do
    case $word in
    file://*.py) main=${word#file://}; ls "${main%/*}" >&2; exec PYTHON "$main" ;;
    esac
done
"""
CLI = """
import sys
def main(arguments):
    sys.stdout.write("\\0".join(["", *arguments]))
"""
# Makes a folder with a pip that reads its requirements, and with venv-pack.
PYTHON_STUB = """#!/bin/sh
set -eu
mkdir -p "$3/bin"
echo "$3" >&2
printf '#!/bin/sh\\nif [ "$2" = -r ]; then cat "$3" >/dev/null; fi\\n' >"$3/bin/pip"
printf '#!/bin/sh\\necho packed >"$5"\\n' >"$3/bin/venv-pack"
chmod +x "$3/bin/pip" "$3/bin/venv-pack"
"""
# Both read what they are given by its name; kubectl takes names of files in a list.
DOCKER = """#!/bin/sh
set -eu
if [ "$1" = build ]; then shift 3; cat "$2" >/dev/null; ls "$3/job.yaml"; fi
"""
KUBECTL = """#!/bin/sh
set -eu
if [ "$3" = - ]; then cat; else IFS=,; cat $3; fi
"""


@pytest.fixture
def run(tmp_path):
    """Runs a script with programs that do little, and a temporary folder of a name."""
    tools = tmp_path / "tools"
    (tools / "arroyo_nb").mkdir(parents=True)
    (tools / "arroyo_nb" / "__init__.py").touch()
    (tools / "arroyo_nb" / "cli.py").write_text(CLI)
    programs = {
        "spark-submit": SPARK_SUBMIT.replace("PYTHON", sys.executable),
        "python-stub": PYTHON_STUB,
        "docker": DOCKER,
        "kubectl": KUBECTL,
    }
    for name, text in programs.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o700)

    def start(script, temporary, **variables):
        environ = os.environ | {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONPATH": str(tools),
            "TMPDIR": str(temporary),
        }
        done = subprocess.run(
            ["sh", "--", str(script)],
            env=environ | variables,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return done

    return start


def made_for(target, folder):
    sql = SELECT.format(name="plain")
    promote(Session().plan(sql), "lines", folder, target=target)
    return folder


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_job_is_handed_to_spark_from_a_folder_of_any_name(
    tmp_path, monkeypatch, run, name
):
    monkeypatch.chdir(tmp_path)
    job = made_for("spark-submit", Path(name))
    folder, temporary = tmp_path / job / "spark-submit", tmp_path / f"t{name}"
    temporary.mkdir()
    packed = run(job / "spark-submit" / "pack.sh", temporary, PYTHON="python-stub")
    assert is_plain(Path(packed.stderr.strip()))
    assert (folder / "environment.tar.gz").read_text() == "packed\n"
    variables = {"MASTER": "m", "STATE": str(tmp_path / name / "state")}
    done = run(job / "spark-submit" / "submit.sh", temporary, **variables)
    assert {"main.py", "environment.tar.gz"} <= {*done.stderr.splitlines()}
    words = done.stdout.split("\0")
    archive = words[words.index("--archives") + 1]
    main = next(word for word in words if word.endswith("main.py"))
    for address in (archive.removesuffix("#environment"), main):
        assert address.startswith("file:///")
        assert is_plain(Path(address.removeprefix("file://")))
    # The job is the one of its real folder, and the link to it is gone.
    spec = str(tmp_path / name / "job.yaml")
    assert words[-3:] == ["run", spec, "--submitted"]
    if main != f"file://{folder}/main.py":
        assert not Path(main.removeprefix("file://")).parents[1].exists()
    assert not [*temporary.iterdir()]


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_job_is_handed_to_kubernetes_from_a_folder_of_any_name(
    tmp_path, monkeypatch, run, name
):
    monkeypatch.chdir(tmp_path)
    job = made_for("kubernetes", Path(name))
    folder = tmp_path / job / "kubernetes"
    done = run(job / "kubernetes" / "apply.sh", tmp_path, REGISTRY="host/folder")
    application = (folder / "application.yaml").read_text()
    wanted = application.replace("image: lines:", "image: host/folder/lines:")
    assert wanted != application
    volume = (folder / "volume.yaml").read_text()
    assert done.stdout == f"../job.yaml\n{volume}{wanted}"


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_the_test_of_a_job_passes_in_a_folder_of_any_name(tmp_path, name):
    job = made_for("local", tmp_path / name)
    test = runpy.run_path(str(job / "test_lines.py"))
    ran = [test[key]() for key in test if key.startswith("test_")]
    assert ran == [None] * 3
    with (job / "plan.txt").open("a") as plan:
        plan.write("changed")
    with pytest.raises(AssertionError):
        test["test_its_plan_is_the_one_that_was_reviewed"]()
