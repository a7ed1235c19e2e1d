"""Runs many jobs one after another, each as ``main.py`` of its promotion runs it.

It stands in a promoted job's folder in the place of its ``main.py``, and is submitted
as that is. Its arguments are the state folder, as the script gives it, and a file that
has a job's spec and the folder of its sinks in each line; it writes which jobs failed.
"""

import json
import os
import sys
from pathlib import Path

from arroyo_nb.cli import main

_, option, state, listed = sys.argv
jobs, failed = Path(listed), []
for number, line in enumerate(jobs.read_text().splitlines()):
    spec, out = json.loads(line)
    Path(out).mkdir(parents=True)
    os.environ["OUT"] = out
    if main(["run", spec, "--submitted", option, f"{state}/{number}"]) != 0:
        failed.append(spec)
jobs.with_suffix(".failed").write_text(json.dumps(failed))
