"""The packages that a function's source imports, and what they are installed as."""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib.metadata import packages_distributions

OURS = ("arroyo_nb", "arroyo_udf")


def imported_packages(source: str) -> set[str]:
    """The packages that Python source imports, without the standard library and ours;
    none of what is no Python.

    >>> sorted(imported_packages("import math, numpy.linalg\\nimport yaml"))
    ['numpy', 'yaml']
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {*OURS}


def distribution(package: str) -> str:
    """What a package is installed as: ``yaml`` as PyYAML; its own name where it is not
    here."""
    return next(iter(_distributions().get(package, ())), package)


@cache
def _distributions() -> dict[str, list[str]]:
    return {name: list(found) for name, found in packages_distributions().items()}
