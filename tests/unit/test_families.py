"""The families of long tests are the same ones in the Makefile, in the markers and in
the page about them; and each day has its cases."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from families import NOTEBOOKS, families, family_of, names_family
from seeds import VARIABLE, of_the_day, random_of_the_day, seed_of_the_day, turn_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "run-the-long-tests.md"
PLACES = {"long": 0, "of_the_day": 1, "turn_of": 2, "any_name": 0, "sampled": 2}
"""Where calls that give a test its family have the family's name."""


def declared(path: Path) -> Iterator[str]:
    """The families that a file gives to its tests."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else None
            place = PLACES.get(called.id if isinstance(called, ast.Name) else name)
            if place is not None and len(node.args) > place:
                family = node.args[place]
                if isinstance(family, ast.Constant) and isinstance(family.value, str):
                    yield family.value


def test_each_family_of_the_makefile_has_tests_and_no_test_another() -> None:
    paths = ROOT.joinpath("tests").rglob("test_*.py")
    found = {
        name for path in paths if path != Path(__file__) for name in declared(path)
    }
    assert found == set(families())
    assert len(families()) == len(found), "one is there twice"
    assert NOTEBOOKS in families()


def test_the_page_tells_what_each_family_proves() -> None:
    titles = re.findall(r"^`make long-(\S+)`$", PAGE.read_text(), re.MULTILINE)
    assert titles == [*families()]


def item(*marks: pytest.MarkDecorator, path: Path = Path(__file__)) -> Any:
    def iter_markers(name: str) -> list[pytest.Mark]:
        return [mark.mark for mark in marks if mark.name == name]

    return SimpleNamespace(iter_markers=iter_markers, path=path, nodeid="test_it")


def test_a_test_is_in_the_family_of_its_marker() -> None:
    long, day = pytest.mark.long, pytest.mark.of_the_day
    assert family_of(item()) is None
    assert family_of(item(long("kills"), day("kills"))) == "kills"
    assert family_of(item(day("soaks"))) == "soaks"
    assert family_of(item(path=Path("a.ipynb"))) == NOTEBOOKS


@pytest.mark.parametrize(
    ("marks", "reason"),
    [
        ([pytest.mark.long], "has to name one family"),
        ([pytest.mark.long("kilsl")], "has to name one family"),
        ([pytest.mark.of_the_day("kills", "soaks")], "has to name one family"),
        ([pytest.mark.long("kills"), pytest.mark.long("soaks")], "is in 2 families"),
    ],
)
def test_a_marker_without_a_family_is_an_error(
    marks: list[pytest.MarkDecorator], reason: str
) -> None:
    with pytest.raises(pytest.UsageError, match=reason):
        family_of(item(*marks))


def test_a_file_that_does_not_name_the_family_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.touch()
    assert not names_family(path, "kills")
    with pytest.raises(pytest.UsageError, match='has to name the family "kills"'):
        family_of(item(pytest.mark.long("kills"), path=path))


def marks_of(params: list[Any]) -> list[str]:
    return [mark.name for param in params for mark in param.marks]


def test_all_cases_are_in_the_family_and_some_are_of_the_day() -> None:
    cases = [1, pytest.param(2, id="two"), 3, 4]
    params = of_the_day(cases, "kills", 2)
    assert [param.values for param in params] == [(1,), (2,), (3,), (4,)]
    assert [param.id for param in params] == [None, "two", None, None]
    assert sorted(marks_of(params)) == ["long", "long", "of_the_day", "of_the_day"]
    assert {mark.args for param in params for mark in param.marks} == {("kills",)}


def test_one_of_those_that_take_turns_is_of_the_day() -> None:
    among = ("a", "b", "c")
    names = sorted(turn_of(name, among, "kills").name for name in among)
    assert names == ["long", "long", "of_the_day"]


def test_a_seed_has_the_same_cases_and_another_day_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def chosen(seed: str) -> tuple[list[str], float]:
        monkeypatch.setenv(VARIABLE, seed)
        params = of_the_day(range(100), "kills")
        return marks_of(params), random_of_the_day("it").random()

    assert chosen("2026-05-09") == chosen("2026-05-09") != chosen("2026-05-10")


def test_the_seed_stays_what_it_was_when_the_day_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", seed_of_the_day())
    monkeypatch.setenv(VARIABLE, "any text")
    assert seed_of_the_day() == "any text"
