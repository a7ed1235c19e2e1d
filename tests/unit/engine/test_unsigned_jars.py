"""Spark's signed jars are given to Java as copies without their signatures."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from arroyo_nb.engine import unsigned_jars
from arroyo_nb.engine.command import spark_home
from arroyo_nb.engine.unsigned_jars import SIGNED, unsigned

JARS = sorted((spark_home() / "jars").glob("*.jar"))


def is_signature(name: str) -> bool:
    folder, _, file = name.rpartition("/")
    return folder == "META-INF" and file.endswith((".SF", ".DSA", ".RSA", ".EC"))


def is_signed(jar: Path) -> bool:
    with ZipFile(jar) as content:
        return any(map(is_signature, content.namelist()))


SIGNED_JARS = [jar for jar in JARS if is_signed(jar)]


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ARROYO_NB_CACHE", str(folder))
    return folder


def test_all_signed_jars_of_spark_are_known() -> None:
    assert [jar for jar in JARS if jar.name.startswith(SIGNED)] == SIGNED_JARS


@pytest.mark.parametrize("jar", SIGNED_JARS, ids=lambda jar: jar.stem)
def test_a_copy_has_all_but_the_signature(cache: Path, jar: Path) -> None:
    copy = unsigned(jar)
    assert copy.parent == cache
    with ZipFile(jar) as signed, ZipFile(copy) as found:
        names = [name for name in signed.namelist() if not is_signature(name)]
        assert found.namelist() == names
        manifest = found.read(names.pop(names.index("META-INF/MANIFEST.MF")))
        assert b"Bundle-Version" in manifest
        assert b"Digest" not in manifest
        assert all(found.read(name) == signed.read(name) for name in names)


def test_a_copy_is_made_once_and_again_where_it_was_cut(cache: Path) -> None:
    jar = SIGNED_JARS[0]
    made = unsigned(jar).stat()
    assert unsigned(jar).stat().st_ino == made.st_ino
    copy = unsigned(jar)
    content = copy.read_bytes()
    copy.write_bytes(content[:1000])
    again = unsigned(jar).stat()
    assert copy.read_bytes() == content
    # By its size and time Java tells whether an archive fits it.
    assert (again.st_size, again.st_mtime_ns) == (made.st_size, made.st_mtime_ns)


def test_a_jar_without_a_signature_stays_where_it_is(cache: Path) -> None:
    jar = next(jar for jar in JARS if jar not in SIGNED_JARS)
    assert unsigned(jar) == jar
    assert not cache.exists()


def test_a_copy_that_others_can_write_is_not_used(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unsigned_jars, "is_own", lambda _: False)
    assert unsigned(SIGNED_JARS[0]) == SIGNED_JARS[0]


@pytest.mark.parametrize("name", ["a:b", "\U0001f600"])
def test_a_copy_is_on_the_class_path_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """What stands in for it in a work folder is of another time in each."""
    monkeypatch.setenv("ARROYO_NB_CACHE", str(tmp_path / name))
    assert unsigned(SIGNED_JARS[0]) == SIGNED_JARS[0]


def test_without_a_place_for_copies_jars_are_signed(cache: Path) -> None:
    cache.write_text("no folder")
    jar = SIGNED_JARS[0]
    assert unsigned(jar) == jar
