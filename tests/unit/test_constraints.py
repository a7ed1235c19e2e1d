"""The pinned versions can be installed wherever the project says it can."""

import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]


def pins():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    given = (Requirement(line) for line in lines if not line.startswith("#"))
    return {
        canonicalize_name(pin.name): Version(str(pin.specifier)[2:]) for pin in given
    }


def test_pins_admit_the_oldest_python_that_the_project_admits():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = re.fullmatch(r">=(\d+\.\d+)", project["requires-python"])[1] + ".0"
    pinned, looked, refused = pins(), 0, []
    for found in distributions():
        name = canonicalize_name(found.metadata["Name"])
        if pinned.get(name) != Version(found.version):
            continue
        looked += 1
        pythons = found.metadata.get("Requires-Python") or ""
        if oldest not in SpecifierSet(pythons):
            refused.append(f"{name} {found.version} wants Python {pythons}")
    assert refused == []
    assert looked > 100
