"""A wheel in an environment of its own, with what pip installs beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USE = """
import json, os, sys
from IPython.core.interactiveshell import InteractiveShell

InteractiveShell.instance().run_line_magic("load_ext", "arroyo_nb")
import arroyo_nb

said = {"place": arroyo_nb.__file__, "on load": "datafusion" in sys.modules}
script = open("script.sql").read()
session = arroyo_nb.Session()
session.plan(script)
said["on plan"] = "datafusion" in sys.modules
run = session.run(script)
run.wait()
said["rows"] = run.table().to_pylist()
session.close()
open("said.json", "w").write(json.dumps(said))
os._exit(0)
"""
# The pattern may match nothing, which Spark means otherwise.
SCRIPT = """
CREATE TABLE rows (s TEXT) WITH (connector = 'single_file', path = 'rows.jsonl',
    type = 'source', format = 'json');
SELECT s, regexp_replace(s, 'b?', 'X') AS r FROM rows;
"""


@pytest.mark.long("notebooks")
def test_a_wheel_brings_what_evaluates_expressions(tmp_path):
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", str(ROOT)]
    subprocess.run([*wheel, "--wheel-dir", str(tmp_path)], check=True)
    (made,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", made], check=True)
    (tmp_path / "script.sql").write_text(SCRIPT)
    rows = "".join(json.dumps({"s": s}) + "\n" for s in ("abc", None))
    (tmp_path / "rows.jsonl").write_text(rows)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(
        [python, "-c", USE], cwd=tmp_path, env=environment, check=True, timeout=300
    )
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["place"].startswith(str(tmp_path / "fresh"))
    assert not said["on load"]
    assert not said["on plan"]
    assert said["rows"] == [{"s": "abc", "r": "Xabc"}, {"s": None, "r": None}]
