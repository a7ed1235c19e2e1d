"""Which folders are allowed, and what leads out of them."""

from __future__ import annotations

import os

import pytest

from arroyo_nb.allowed_roots import VARIABLE, Roots, current_roots, narrowed
from arroyo_nb.errors import RunProblem


@pytest.fixture
def at(tmp_path, monkeypatch):
    """A folder with a and b in it, and in them x; it is where one is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    for folder in ("a/x", "b/x"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def test_what_counts_is_where_a_path_leads(at):
    (at / "a/out").symlink_to(at / "b")
    (at / "a/in").symlink_to("x")
    (at / "a/ring").symlink_to("ring")
    (at / "a/not there yet").symlink_to(at / "b/new")
    (at / "b/back").symlink_to(at / "a")
    roots = Roots((at / "a",))
    allowed = ("a", "a/new/file", "a/../a/x", "a/in/file", "b/back/file", "a/x/../y")
    assert [path for path in allowed if not roots.allow(at / path)] == []
    outside = (
        *("b", "aa", "a/..", "a/../b/file", "a/out/file", "a/out/../b", "."),
        *("a/not there yet", "a/out/back/../x", "a/ring/../../b", "a/x\0y"),
    )
    assert [path for path in outside if roots.allow(at / path)] == []
    assert roots.allow((at / "a/x").relative_to(at))


def test_where_no_root_is_named_everything_is_allowed(at):
    assert current_roots() == Roots()
    assert current_roots().allow(at / "anywhere")
    with narrowed([]):
        assert current_roots() == Roots()


def test_the_variable_and_the_flag_both_count(at, monkeypatch):
    both = os.pathsep.join((str(at / "a"), "", str(at / "b/x")))
    monkeypatch.setenv(VARIABLE, both)
    assert current_roots() == Roots((at / "a", at / "b/x"))
    with narrowed(["b", "a/x"]):
        assert current_roots() == Roots((at / "b/x", at / "a/x"))
    assert os.environ[VARIABLE] == both
    monkeypatch.setenv(VARIABLE, str(at / "a/x"))
    with (
        pytest.raises(RunProblem, match=f"no folder of --root is one that {VARIABLE}"),
        narrowed(["b"]),
    ):
        pass


def test_the_flag_alone_ends_with_what_it_was_given_to(at):
    (at / "link").symlink_to("a")
    with narrowed(["link"]):
        assert current_roots() == Roots((at / "a",))
    assert VARIABLE not in os.environ


@pytest.mark.parametrize("text", ["", os.pathsep, "/nowhere at all", "a", "~"])
def test_a_variable_that_names_no_folder_does_not_allow_everything(
    at, monkeypatch, text
):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(RunProblem, match=f"^{VARIABLE} names "):
        current_roots()


@pytest.mark.parametrize("name", ["", "nowhere", "file", f"with{os.pathsep}in it"])
def test_a_flag_that_names_no_folder_is_refused(at, name):
    (at / "file").touch()
    (at / f"with{os.pathsep}in it").mkdir()
    with pytest.raises(RunProblem, match=r"^--root names "), narrowed([name]):
        pass
