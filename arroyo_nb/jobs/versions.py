"""The packages that a job is run with, and whether they are those it was made with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from arroyo_nb.engine.command import spark_version
from arroyo_nb.plan import Plan
from arroyo_nb.plan.requirements import python_packages
from arroyo_nb.plan.user_functions import user_functions
from arroyo_nb.udfs.languages import PYTHON
from arroyo_nb.udfs.python.packages import distribution, imported_packages

_ALWAYS = ("arroyo-nb", "pyarrow", "pyspark", "sqlglot")


def packages(plan: Plan) -> dict[str, str]:
    """The versions, here and now, of what a plan is run with."""
    names = dict.fromkeys((*_ALWAYS, *python_packages(plan), *_of_functions(plan)))
    found = ((name, installed(name)) for name in names)
    # What is not here is needed where the job runs, not to plan it.
    return {name: there for name, there in found if there is not None}


def _of_functions(plan: Plan) -> Iterator[str]:
    """What the Python functions of a plan import."""
    for udf in user_functions(plan.sinks):
        if udf.language == PYTHON:
            yield from map(distribution, sorted(imported_packages(udf.text)))


def installed(package: str) -> str | None:
    """The version that is here; None where there is none."""
    try:
        return spark_version() if package == "pyspark" else version(package)
    except (ImportError, PackageNotFoundError):
        return None


def other_versions(made_with: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each package that is another here than the job was made with."""
    for package, wanted in made_with.items():
        there = installed(package)
        if there is None:
            yield f"the job was made with {package} {wanted}, which is not here"
        elif there != wanted:
            yield f"the job was made with {package} {wanted}, it runs with {there}"
