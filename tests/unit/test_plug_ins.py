"""What is true of one plug-in stands in its own file: nothing else knows its name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import arroyo_nb
from arroyo_nb import functions
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.functions import aggregates

PACKAGE = Path(arroyo_nb.__file__).parent

OWN_ROOMS = ("connectors/", "kafka/")
"""Where connectors are at home."""

EXCEPTIONS = {
    # The magic and the command line have a local broker, whatever a table's connector.
    ("magic_options.py", "kafka"),
    # TABLESAMPLE is a clause that sqlglot calls so; a tape is also a folder's name.
    ("plan/refusals.py", "sample"),
    ("engine/warm.py", "tape"),
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        yield name, ast.parse(path.read_text())


def literals(tree: ast.Module) -> set[str]:
    """The texts of a module, as they stand between quotes."""
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {node.value for node in constants if isinstance(node.value, str)}


def test_no_module_knows_a_connector_by_name():
    found = {
        (name, literal)
        for name, tree in modules()
        if not name.startswith(OWN_ROOMS)
        for literal in literals(tree) & set(CONNECTORS.names)
    }
    assert found == EXCEPTIONS


QUERY_ROOMS = ("plan/", "spark/", "editor/", "jobs/")
"""What treats queries; elsewhere `min` and `sum` are words like others."""


def test_no_module_knows_an_aggregate_or_a_volatile_function_by_name():
    known = {*aggregates.names(), *functions.volatile()}
    found = {
        (name, literal)
        for name, tree in modules()
        if name.startswith(QUERY_ROOMS)
        for literal in literals(tree) & known
    }
    assert found == {
        # A unit of time, a speed; functions of Spark that aggregates are made of.
        ("plan/expressions/intervals.py", "min"),
        ("editor/completion.py", "max"),
        *(("spark/aggregates.py", name) for name in ("avg", "count", "sum")),
    }


def test_no_module_imports_what_another_package_keeps_private():
    found = [
        (name, imported)
        for name, tree in modules()
        for imported in imports(tree)
        if (private := PRIVATE.match(imported)) is not None
        and not f"arroyo_nb.{name.replace('/', '.')}".startswith(private[1])
    ]
    assert found == []


PRIVATE = re.compile(r"(arroyo_nb\.(?:\w+\.)*?)_[a-z]\w*")
"""A module, or a name of one, that begins with an underscore; and its package."""


def imports(tree: ast.Module) -> Iterator[str]:
    """What a module imports, dotted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
