"""A Spark cluster: a script that hands the job over by ``spark-submit``.

The driver runs where the script does and the executors on the cluster. They share one
folder, that of the job's state; whatever else the job reads or writes is asked for by
the driver, or is a service that all of them reach.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from arroyo_nb.engine.config import cluster_settings
from arroyo_nb.jobs.shell_quoting import shell_path
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_file import JobFile
from arroyo_nb.jobs.targets import Delivery
from arroyo_nb.jobs.targets._cluster import (
    MAIN,
    jars,
    notes,
    own,
    requirements,
    slots,
    spark,
)
from arroyo_nb.plan import Plan

FOLDER = "spark-submit"
SUBMIT, PACK, REQUIREMENTS = "submit.sh", "pack.sh", "requirements.txt"
ARCHIVE = "environment.tar.gz"

_PLAIN_TEMPORARY = "case ${TMPDIR:-} in *[!A-Za-z0-9/._+@=-]*) TMPDIR=/tmp ;; esac"
"""The shell's line after which temporary folders have plain paths."""

_SUBMIT = """\
#!/bin/sh
# Runs the job {name} on a Spark {spark} cluster until it ends, or SIGTERM stops it
# with what is done kept. What follows is added to `arroyo-nb run`, as --log json.
#
#     {usage}
#
# MASTER   the URL of the cluster's master
{state_line}# OPTIONS  more for spark-submit, as "--executor-memory 4g"
#
# The driver runs here, on python3 or what PYTHON names, which has arroyo_nb. Executors
# run on {archive}, which {pack} makes once; without it on what PYSPARK_PYTHON
# names, a Python that has at the same path on every node what {pack} installs.
{environment}
set -eu
here=$(CDPATH="" cd -- "$(dirname -- "$0")" && pwd)
: "${{MASTER:?the URL of the master, such as spark://HOST:7077}}"
{state_check}
case $here in
*[!A-Za-z0-9/._+@=-]*)
    # Spark cuts paths at commas and takes brackets for patterns, and nothing escapes
    # them: it gets a link to this folder, which main.py removes at the end.
    {plain_temporary}
    ARROYO_NB_LINK=$(mktemp -d)/job
    export ARROYO_NB_LINK
    ln -s -- "$here" "$ARROYO_NB_LINK"
    here=$ARROYO_NB_LINK
    ;;
esac
set -- "file://$here/main.py" {state}"$@"
if [ -e "$here/{archive}" ]; then
    set -- --archives "file://$here/{archive}#environment" \\
        --conf spark.pyspark.python=./environment/bin/python "$@"
fi
# shellcheck disable=SC2086  # OPTIONS are several words
exec "${{SPARK_HOME:+$SPARK_HOME/bin/}}spark-submit" \\
    --master "$MASTER" \\
    --deploy-mode client \\
{options} \\
    --conf spark.pyspark.driver.python="${{PYTHON:-python3}}" \\
    ${{OPTIONS:-}} \\
    "$@"
"""

_PACK = """\
#!/bin/sh
# Makes {archive}, the Python of the job's executors. It fits nodes of this
# machine's kind, which have the Python that it is made of at the same path: python3,
# or what PYTHON names. ARROYO_NB names a wheel of arroyo_nb that no index has.

set -eu
here=$(CDPATH="" cd -- "$(dirname -- "$0")" && pwd)
# Python makes no environment in a folder with a colon.
{plain_temporary}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${{PYTHON:-python3}}" -m venv "$work/environment"
# Spark brings PySpark and Java; a notebook there is none.
"$work/environment/bin/pip" install -r "$here/{requirements}" venv-pack
"$work/environment/bin/pip" install --no-deps "${{ARROYO_NB:-{own}}}"
"$work/environment/bin/venv-pack" --prefix "$work/environment" \\
    --force --output "$here/{archive}"
"""


class SparkSubmit:
    """The target ``spark-submit``: a job on a Spark cluster, by
    ``spark-submit/submit.sh``."""

    name = "spark-submit"
    doc = "a Spark cluster"
    aliases = ("spark", "cluster", "yarn")
    runs_here = False

    def deliver(self, job: JobFile, plan: Plan, folder: Path) -> Delivery:
        """A script, the main program that it submits, and what executors need."""
        job.check_runs_on_spark(plan)
        spec = job.spec
        texts = {
            SUBMIT: _submit(spec, plan),
            "main.py": MAIN.format(spec=Path(job.source.name).name),
            REQUIREMENTS: requirements(spec, plan),
            PACK: _PACK.format(
                archive=ARCHIVE,
                requirements=REQUIREMENTS,
                own=own(spec),
                plain_temporary=_PLAIN_TEMPORARY,
            ),
            ".gitignore": f"/{ARCHIVE}\n",
        }
        script = shell_path(folder / FOLDER / SUBMIT)
        files = {f"{FOLDER}/{name}": text for name, text in texts.items()}
        command = f"{_variables(spec)} sh {script}"
        return Delivery(command, files, notes(job, folder, f"{FOLDER}/{PACK}"))


def _is_shared(spec: JobSpec) -> bool:
    """Whether the spec itself names the folder that all nodes have."""
    return Path(spec.state).is_absolute()


def _variables(spec: JobSpec) -> str:
    master = "MASTER=spark://HOST:7077"
    return master if _is_shared(spec) else f"{master} STATE=/SHARED/FOLDER"


def _submit(spec: JobSpec, plan: Plan) -> str:
    shared = _is_shared(spec)
    state_line = (
        "# STATE    a folder at the same path on every node: the job goes on from it\n"
    )
    names = ", ".join(spec.environment)
    return _SUBMIT.format(
        name=spec.name,
        spark=spark(spec),
        usage=f"{_variables(spec)} sh {SUBMIT}",
        state_line="" if shared else state_line,
        environment=f"#\n# Of the environment it wants {names}.\n" if names else "",
        state_check=""
        if shared
        else ': "${STATE:?a folder that is mounted at the same path on every node}"\n',
        state="" if shared else '--state-dir "$STATE" ',
        options=" \\\n".join(f"    {option}" for option in _options(spec, plan)),
        archive=ARCHIVE,
        pack=PACK,
        plain_temporary=_PLAIN_TEMPORARY,
    )


def _options(spec: JobSpec, plan: Plan) -> Iterator[str]:
    yield f"--name {shlex.quote(spec.name)}"
    if coordinates := jars(plan):
        yield f"--packages {','.join(map(str, coordinates))}"
    for key, value in cluster_settings(slots(spec)).items():
        yield f"--conf {shlex.quote(f'{key}={value}')}"


TARGET = SparkSubmit()
