"""Runs many jobs one after another, each as ``main.py`` of its promotion runs it.

It stands in a promoted job's folder in the place of its ``main.py``, and is submitted
as that is; or runs by itself, and then all jobs share one Spark of this process. Its
arguments: options of ``arroyo-nb run``, then ``--jobs`` and a file that has a job's
spec and the folder of its sinks in each line. It writes the jobs that failed.
"""

import json
import os
import sys
from pathlib import Path

from arroyo_nb.cli import main

at = sys.argv.index("--jobs")
options, jobs = sys.argv[1:at], Path(sys.argv[at + 1])
if "--submitted" not in options and "PYSPARK_GATEWAY_PORT" in os.environ:
    options.append("--submitted")
elif "--submitted" not in options:
    from pyspark.sql import SparkSession

    SparkSession.builder.master("local[2]").getOrCreate()
state = options.index("--state-dir") + 1
base, failed = Path(options[state]), []
for number, line in enumerate(jobs.read_text().splitlines()):
    spec, out = json.loads(line)
    Path(out).mkdir(parents=True)
    os.environ["OUT"] = out
    options[state] = str(base / str(number))
    if main(["run", spec, *options]) != 0:
        failed.append(spec)
jobs.with_suffix(".failed").write_text(json.dumps(failed))
