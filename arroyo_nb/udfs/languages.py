"""The languages that functions are written in, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.source import ScriptText

if TYPE_CHECKING:
    from arroyo_nb.functions.user_defined import UserDefined
    from arroyo_nb.udfs.definition import Udf

PYTHON, RUST = "python", "rust"
SUFFIXES = {".py": PYTHON, ".rs": RUST}
"""End of a file's name -> the language that it is in."""


def read_definitions(source: ScriptText, language: str) -> tuple[Udf, ...]:
    """The functions that a text defines; nothing of it is run or compiled.

    Raises
    ------
    ArroyoError
        For each thing that is wrong with one, with its place.
    """
    check_language(language)
    return _READERS[language](source)


def check_language(language: str) -> None:
    """Refuse a language that no function is written in.

    Raises
    ------
    CatalogProblem
        When it is none.
    """
    if language not in _READERS:
        raise CatalogProblem(
            f"'{language}' is no language of functions",
            hint=did_you_mean(language, _READERS),
        )


def compiled_functions(udfs: Iterable[UserDefined]) -> tuple[Path, ...]:
    """The libraries of those that are compiled, which is done where it was not.

    Raises
    ------
    ArroyoError
        When one cannot be compiled.
    """
    compiled = [udf for udf in udfs if udf.language == RUST]
    if not compiled:
        return ()
    from arroyo_nb.udfs.rust.build import compile_crate
    from arroyo_nb.udfs.rust.loading import crate_of

    return tuple(compile_crate(crate_of(cast("Udf", udf))) for udf in compiled)


def use_compiled(folder: Path) -> None:
    """Take the libraries in a folder for those of functions, where they are."""
    from arroyo_nb.udfs.rust.build import use_libraries

    use_libraries(folder)


def language_of(path: PurePath) -> str:
    """The language of a file, by the end of its name.

    Raises
    ------
    CatalogProblem
        When it is none.

    >>> language_of(PurePath("my/udfs.py"))
    'python'
    """
    language = SUFFIXES.get(path.suffix)
    if language is None:
        known = " or ".join(SUFFIXES)
        raise CatalogProblem(
            f"'{path}' is no file of functions: its name ends in {known}"
        )
    return language


def _python(source: ScriptText) -> tuple[Udf, ...]:
    from arroyo_nb.udfs.python.definitions import definitions
    from arroyo_nb.udfs.python.loading import load

    return definitions(source, load)


def _rust(source: ScriptText) -> tuple[Udf, ...]:
    from arroyo_nb.udfs.rust.definitions import definition

    return (definition(source),)


_READERS: Mapping[str, Callable[[ScriptText], tuple[Udf, ...]]] = {
    PYTHON: _python,
    RUST: _rust,
}
