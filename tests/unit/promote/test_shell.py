"""Commands that are copied into a shell, of jobs in folders of any name."""

import shlex
import subprocess
from pathlib import Path

import pytest
from odd_names import ODD_NAMES

from arroyo_nb.promote.folder import promote
from arroyo_nb.promote.jobfile import load
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
