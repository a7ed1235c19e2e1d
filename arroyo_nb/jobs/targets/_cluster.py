"""What a job needs of a Spark that is not ours: packages, settings, a main program."""

from __future__ import annotations

from pathlib import Path

from arroyo_nb.engine.jar_coordinates import Coordinates
from arroyo_nb.engine.jars import jar_set
from arroyo_nb.engine.jars import packages as jar_packages
from arroyo_nb.jobs.shell_quoting import shell_path
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_file import JobFile
from arroyo_nb.jobs.versions import installed, packages
from arroyo_nb.plan import Plan
from arroyo_nb.plan.requirements import jar_sets

PARALLELISM = 2
"""Tasks that run at once where a spec does not say: no core of the job's machine
decides, and a source and what reads it must not wait for each other."""

MAIN = '''\
"""Runs the job of the folder above, on the Spark of the spark-submit that starts it."""

import os
import sys
from pathlib import Path

from arroyo_nb.cli import main

SPEC = Path(__file__).resolve().parents[1] / "{spec}"
LINK = os.environ.get("ARROYO_NB_LINK")

try:
    sys.exit(main(["run", str(SPEC), "--submitted", *sys.argv[1:]]))
finally:
    if LINK:  # submit.sh made it, as the name of this folder is none that Spark takes
        Path(LINK).unlink(missing_ok=True)
        Path(LINK).parent.rmdir()
'''

_ON_EXECUTORS = (
    "datafusion",
    "numpy",
    "pandas",
    "protobuf",
    "pyarrow",
    "PyYAML",
    "sqlglot",
)
"""What arroyo_nb needs where Spark is there already: neither Java nor a notebook."""

_OWN = "arroyo-nb"
_OF_SPARK = "pyspark"


def slots(spec: JobSpec) -> int:
    """Tasks of a job that run at once."""
    return spec.options.parallelism or PARALLELISM


def own(spec: JobSpec) -> str:
    """What pip installs arroyo_nb by; without what depends on a notebook."""
    version = spec.packages.get(_OWN) or installed(_OWN)
    return f"{_OWN}=={version}"


def notes(job: JobFile, folder: Path, installer: str) -> tuple[str, ...]:
    """What a person should know of a job for a cluster.

    Parameters
    ----------
    installer
        The file that installs arroyo_nb.
    """
    command = f"arroyo-nb run {shell_path(folder / Path(job.source.name).name)}"
    return (
        f"{installer} installs {own(job.spec)} from the index that pip is set to; "
        "where that does not have it, set ARROYO_NB to a wheel or an address that pip "
        "takes",
        f"the same job runs on this machine with: {command}",
    )


def spark(spec: JobSpec) -> str:
    """The version of Spark that a job was made with."""
    return spec.packages.get(_OF_SPARK) or installed(_OF_SPARK) or ""


def requirements(spec: JobSpec, plan: Plan) -> str:
    """What pip installs beside arroyo_nb and Spark, pinned: a requirements.txt."""
    found = {name: installed(name) for name in _ON_EXECUTORS}
    found = {**found, **packages(plan), **spec.packages}
    names = sorted(found.keys() - {_OWN, _OF_SPARK}, key=str.lower)
    return "".join(f"{name}=={found[name]}\n" for name in names)


def jars(plan: Plan) -> tuple[Coordinates, ...]:
    """The connectors that Spark reads and writes the plan's tables with."""
    return tuple(
        jar for name in jar_sets(plan.sinks) for jar in jar_packages(jar_set(name))
    )
