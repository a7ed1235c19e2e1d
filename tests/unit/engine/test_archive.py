"""Archives: what their name depends on, when one is used, and the lock."""

import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from odd_names import ODD_NAMES, WITHOUT_COLON

from arroyo_nb.engine import archive, class_data
from arroyo_nb.engine import make_archive as making
from arroyo_nb.engine.cache_lock import lock
from arroyo_nb.engine.class_data import archive_for, remove_unused
from arroyo_nb.engine.command import spark_home
from arroyo_nb.engine.errors import EngineProblem, SlowStart
from arroyo_nb.engine.java import Java, find_java

JAVA_17 = Java(Path("/jdk"), "17.0.1", "Maker 17.0.1+1", frozenset())
DAY_S = 86_400


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARROYO_NB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def made(java: Java = JAVA_17) -> class_data.Archive:
    found = archive_for(java)
    found.path.write_bytes(b"archive")
    found.path.chmod(0o600)
    return found


@pytest.mark.parametrize(
    "other",
    [
        JAVA_17._replace(build="Maker 17.0.1+2"),
        JAVA_17._replace(home=Path("/other")),
        JAVA_17._replace(modules=frozenset({"jdk.incubator.vector"})),
    ],
)
def test_another_java_has_another_archive(other: Java) -> None:
    assert archive_for(other) != archive_for(JAVA_17)


def test_another_heap_has_the_same_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    before = archive_for(JAVA_17)
    monkeypatch.setenv("ARROYO_NB_HEAP", "700m")
    assert archive_for(JAVA_17) == before
    monkeypatch.setenv("ARROYO_NB_JAVA_OPTS", "-Xint")
    assert archive_for(JAVA_17) != before


def test_another_spark_has_another_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    before = archive_for(JAVA_17)
    monkeypatch.setattr(class_data, "spark_version", lambda: "4.3.1")
    assert archive_for(JAVA_17) != before


def test_a_changed_jar_has_another_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "a.jar"
    jar.write_text("1")
    monkeypatch.setattr(class_data, "class_path", lambda home: [jar])
    before = archive_for(JAVA_17)
    jar.write_text("22")
    assert archive_for(JAVA_17) != before


def test_a_missing_archive_is_wanted_and_gives_no_flags() -> None:
    found = archive_for(JAVA_17)
    assert found.is_wanted
    assert found.use() == []


def test_an_archive_is_used_and_stays_young() -> None:
    found = made()
    os.utime(found.path, (1, 1))
    assert f"-XX:SharedArchiveFile={found.path}" in found.use()
    assert time.time() - found.path.stat().st_mtime < DAY_S
    assert not found.is_wanted


def test_java_25_uses_an_aot_cache() -> None:
    found = made(JAVA_17._replace(version="25.0.2"))
    assert found.use()[0] == f"-XX:AOTCache={found.path}"
    assert found.make(Path("/p")) == ["-XX:AOTCacheOutput=/p"]


def test_an_archive_that_others_can_write_is_not_used() -> None:
    found = made()
    found.path.chmod(0o666)
    assert found.use() == []


def test_after_a_failure_it_is_tried_again_a_day_later() -> None:
    found = archive_for(JAVA_17)
    found.failed.write_text("no base archive")
    assert not found.is_wanted
    os.utime(found.failed, (time.time() - 2 * DAY_S,) * 2)
    assert found.is_wanted


def test_only_one_holds_the_lock() -> None:
    found = archive_for(JAVA_17)
    with lock(found.lock) as first, lock(found.lock) as second:
        assert (first, second) == (True, False)
    with lock(found.lock) as again:
        assert again


class Maker:
    """The command on a thread; what it says, and what it builds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found = archive_for(JAVA_17)
        self.built: list[class_data.Archive] = []
        self.said: list[str] = []
        self.has_said = threading.Event()
        self.status: int | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        monkeypatch.setattr(archive, "find_java", lambda: JAVA_17)
        monkeypatch.setattr(making, "_build", lambda found, *_: self._build(found))
        monkeypatch.setattr(making, "say", self._say)

    def _build(self, found: class_data.Archive) -> None:
        self.built.append(found)

    def _say(self, text: str) -> None:
        self.said.append(text)
        self.has_said.set()

    def _run(self) -> None:
        self.status = archive.main([])

    def behind(self, other: Callable[[], object]) -> None:
        """Run while another process makes it, which at last does ``other``."""
        with lock(self.found.lock):
            self._thread.start()
            assert self.has_said.wait(10)
            assert (self.status, self.built) == (None, [])
            other()
        self._thread.join(10)


def test_it_is_waited_for_where_another_process_makes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    maker = Maker(monkeypatch)
    maker.behind(made)
    assert (maker.status, maker.built) == (0, [])


def test_it_is_made_where_another_process_gave_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    maker = Maker(monkeypatch)
    maker.behind(lambda: None)
    assert (maker.status, maker.built) == (0, [maker.found])


@pytest.mark.parametrize(
    ("problem", "wanted"),
    [(EngineProblem("java ended"), False), (SlowStart("java is not up"), True)],
)
def test_only_what_fails_is_not_tried_again_soon(
    monkeypatch: pytest.MonkeyPatch, problem: EngineProblem, wanted: bool
) -> None:
    """A machine that was too busy has more time later."""
    maker = Maker(monkeypatch)

    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr(making, "_build", fail)
    assert archive.main([]) == 1
    assert maker.said[-1] == f"no archive: {problem}"
    assert maker.found.is_wanted == wanted


def test_a_folder_that_cannot_be_made_is_told(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(monkeypatch)
    monkeypatch.setenv("ARROYO_NB_CACHE", str(cache / "file" / "below"))
    (cache / "file").write_text("no folder")
    assert archive.main([]) == 1
    assert "no archive" in maker.said[0]


def test_what_nobody_uses_is_removed(cache: Path) -> None:
    used, unused, torn = (
        cache / name for name in ("spark-a.jsa", "spark-b.jsa", "spark-c.part-1")
    )
    for path in (used, unused, torn):
        path.write_text("x")
    os.utime(unused, (1, 1))
    os.utime(torn, (1, 1))
    remove_unused(cache)
    assert list(cache.iterdir()) == [used]


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_only_a_colon_keeps_a_cache_from_having_archives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Java would look for the part before the colon, and not start."""
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.setenv("ARROYO_NB_CACHE", str(folder))
    wanted = archive_for(JAVA_17).is_wanted
    assert bool(made().use()) == wanted == (":" not in name)
    if not wanted:
        with pytest.raises(
            EngineProblem, match=r"'.*a:b' has a ':' in its path"
        ) as told:
            archive_for(JAVA_17).make(folder / "part")
        assert "ARROYO_NB_CACHE" in str(told.value.hint)


def java_ends(*flags: str) -> subprocess.CompletedProcess[str]:
    (jar,) = (spark_home() / "jars").glob("ivy-*.jar")
    program = ("-cp", str(jar), "org.apache.ivy.Main", "-version")
    return subprocess.run(
        [str(find_java().command), *flags, *program],
        capture_output=True,
        text=True,
        check=False,
    )


def test_java_writes_and_reads_an_archive_in_a_cache_of_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / WITHOUT_COLON
    cache.mkdir(parents=True)
    monkeypatch.setenv("ARROYO_NB_CACHE", str(cache))
    archive = archive_for(find_java())
    work = tmp_path / "work"
    work.mkdir()
    made = java_ends(*archive.make(making.linked(archive.path, work)))
    if not archive.path.exists():
        assert java_ends(*archive.make(tmp_path / "plain")).returncode == 0
        assert not (tmp_path / "plain").exists(), made.stdout + made.stderr
        pytest.skip("this Java writes no archives")
    archive.path.chmod(0o600)
    only = "-XX:AOTMode=on" if archive.is_aot else "-Xshare:on"
    used = java_ends(*archive.use(), only)
    assert used.returncode == 0, used.stdout + used.stderr
    # That it would have been told.
    archive.path.write_bytes(b"")
    assert java_ends(*archive.use(), only).returncode != 0
