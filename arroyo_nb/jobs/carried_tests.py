"""The tests of cells that a folder has, as files: one for each test, and the functions
of pytest that run them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arroyo_nb.errors import PromoteProblem

TEST_SUFFIX = ".test"
"""What the name of a file with one test ends with."""

MADE = '"""Made by arroyo_nb'
"""How a module of ours begins, of this version or another."""

FUNCTIONS = "functions"
"""The folder of the UDFs that tests call, beside these."""


@dataclass(frozen=True)
class CarriedTests:
    """Tests of cells, to be written into a folder.

    Parameters
    ----------
    names
        Of the tests, each that of its file without the suffix, in order.
    files
        Texts by their paths from the folder.
    copies
        Folders to be copied, by their paths from the folder.
    notes
        Why a test is not among them, a sentence each.
    """

    names: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, Path] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def has_functions(self) -> bool:
        """Whether they call UDFs."""
        return any(name.startswith(f"{FUNCTIONS}/") for name in self.files)

    def within(self, folder: str) -> CarriedTests:
        """The same, in a folder below."""
        files = {f"{folder}/{name}": text for name, text in self.files.items()}
        copies = {f"{folder}/{name}": path for name, path in self.copies.items()}
        return CarriedTests(self.names, files, copies, self.notes)

    def write_copies(self, folder: Path) -> None:
        """Copy the recordings that they read to a folder.

        Raises
        ------
        PromoteProblem
            When it cannot be written.
        """
        try:
            for name, path in self.copies.items():
                if (folder / name).resolve() != path.resolve():
                    shutil.copytree(path, folder / name, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            raise PromoteProblem(f"cannot write '{folder}': {error}") from None


NO_TESTS = CarriedTests()


def identifier(name: str) -> str:
    """A name as a part of a Python function's.

    >>> identifier("flights by-hour")
    'flights_by_hour'
    """
    return re.sub(r"\W", "_", name)


def imports(tests: CarriedTests) -> str:
    """What the functions of pytest need, as the last lines of the imports."""
    if not tests.names:
        return ""
    more = "from arroyo_nb.udfs.languages import language_of\n"
    return "from arroyo_nb import Session\n" + more * _needs(tests)


def _needs(tests: CarriedTests) -> bool:
    return tests.has_functions or any(
        f"/{FUNCTIONS}/" in f"/{name}" for name in tests.files
    )


def pytest_functions(tests: CarriedTests, folder: str, suffix: str) -> str:
    """Functions of pytest, one for each test; a session is shared by all.

    Parameters
    ----------
    folder
        An expression of Python: where the files are.
    suffix
        That of the files.
    """
    if not tests.names:
        return ""
    register = (
        f"        for path in sorted(({folder} / {json.dumps(FUNCTIONS)}).iterdir()):\n"
        '            text, language = path.read_text("utf-8"), language_of(path)\n'
        "            session.register_source(text, language, source=str(path))\n"
    )
    parts = [
        '\n\n@pytest.fixture(scope="module")\n'
        "def session():\n"
        "    with Session() as session:\n"
        f"{register * _needs(tests)}"
        "        yield session\n"
    ]
    parts += (
        f"\n\ndef test_{identifier(name)}(session):\n"
        f"    session.test({folder} / {json.dumps(name + suffix)}).raise_failure()\n"
        for name in tests.names
    )
    return "".join(parts)


def distinct(names: Iterable[str]) -> Sequence[str]:
    """Names of files and functions, each once: a second one has a number."""
    found: dict[str, None] = {}
    for name in names:
        plain = identifier(name) or "test"
        number, chosen = 1, plain
        while chosen.lower() in found:
            number += 1
            chosen = f"{plain}_{number}"
        found[chosen.lower()] = None
    return [*found]


def write_files(folder: Path, files: Mapping[str, str], module: str) -> list[Path]:
    """Write exported tests.

    Parameters
    ----------
    folder
        Is made where it is missing.
    files
        Texts by their paths from the folder.
    module
        The one of pytest among them.

    Returns
    -------
    list of Path
        Files of an earlier export that this one does not write.

    Raises
    ------
    PromoteProblem
        When there is a module of that name that no export has made, or the folder
        cannot be written.
    """
    path = folder / module
    try:
        if path.exists() and not path.read_text("utf-8").startswith(MADE):
            raise PromoteProblem(
                f"'{path}' was not made by an export, which writes a file of that name",
                hint="give yours another name, or export to another folder with -o",
            )
        for name, text in files.items():
            written = folder / name
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(text, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromoteProblem(f"cannot write '{folder}': {error}") from None
    tops = {name.partition("/")[0] for name in files if "/" in name}
    found = (file for top in sorted(tops) for file in (folder / top).rglob("*.test"))
    return [file for file in found if file.relative_to(folder).as_posix() not in files]
