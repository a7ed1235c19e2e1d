"""Which jars are taken, what is kept of them, and what is told; nothing is fetched."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arroyo_nb.engine import EngineProblem, ivy, jars
from arroyo_nb.engine.cache_lock import lock
from arroyo_nb.engine.jar_coordinates import Coordinates, pinned
from arroyo_nb.engine.jars import FOLDER, JarSet, resolve, used_jars
from arroyo_nb.engine.java import Java

THING = Coordinates("org.example", "thing", "1.9")
PART = Coordinates("org.example", "part", "2.0")
FOLLOWER = JarSet("things", "the things", ("org.example", "thing"), variable="THINGS")
FIXED = JarSet("things", "the things")


def content(file: str) -> bytes:
    return f"content of {file}".encode()


SUMS = {jar: hashlib.sha256(content(jar.file)).hexdigest() for jar in (THING, PART)}


class Repository:
    """Has some jars; stands in for Ivy."""

    def __init__(self) -> None:
        self.has: dict[Coordinates, bytes] = {}
        self.asked: list[tuple[Coordinates, ...]] = []
        self.on_ask: Callable[[], object] = lambda: None

    def retrieve(
        self,
        java: Java,
        wanted: tuple[Coordinates, ...],
        work: Path,
        *,
        without: list[str] | None,
        check: Callable[[], None],
        arrived: Callable[[int], None],
    ) -> list[Path]:
        self.asked.append(wanted)
        out = work / "jars"
        out.mkdir()
        for count, jar in enumerate(wanted, 1):
            if jar not in self.has:
                raise EngineProblem(f"the repository has no {jar}")
            (out / jar.file).write_bytes(self.has[jar])
            self.on_ask()
            check()
            arrived(count)
        return sorted(out.iterdir())


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Repository:
    made = Repository()
    made.has = {jar: content(jar.file) for jar in SUMS}
    java = Java(Path("/jdk"), "17.0.1", "Maker", frozenset())
    monkeypatch.setattr(ivy, "retrieve", made.retrieve)
    monkeypatch.setattr(ivy, "shipped", list)
    monkeypatch.setattr(jars, "find_java", lambda: java)
    monkeypatch.setattr(jars, "pinned", lambda name: SUMS)
    monkeypatch.setattr(jars, "spark_version", lambda: "2.0")
    monkeypatch.setenv("ARROYO_NB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(FOLDER, raising=False)
    return made


def names(files: tuple[Path, ...]) -> list[str]:
    return [path.name for path in files]


def test_pinned_jars_are_fetched_once_and_kept(repository: Repository) -> None:
    told: list[str] = []
    first = resolve(FIXED, tell=told.append)
    assert names(first) == ["part-2.0.jar", "thing-1.9.jar"]
    assert told[-1] == "the things: 2 of 2 jars"
    assert resolve(FIXED) == first
    assert repository.asked == [(THING, PART)]


def test_what_belongs_to_spark_comes_first(repository: Repository) -> None:
    repository.has[THING._replace(version="2.0")] = b"newer"
    told: list[str] = []
    assert names(resolve(FOLLOWER, tell=told.append)) == ["thing-2.0.jar"]
    assert not any("the repository has no" in line for line in told)


def test_the_pinned_ones_stand_in_and_that_is_said_each_time(
    repository: Repository,
) -> None:
    for _ in range(2):
        told: list[str] = []
        assert names(resolve(FOLLOWER, tell=told.append))[1] == "thing-1.9.jar"
        assert told[-1] == "the things is 1.9: the repository has no 2.0"
    assert len(repository.asked) == 2


def test_other_coordinates_can_be_named(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THINGS", "org.example:thing:1.9")
    assert names(resolve(FOLLOWER)) == ["thing-1.9.jar"]
    monkeypatch.setenv("THINGS", "thing:1.9")
    with pytest.raises(EngineProblem, match=r"'thing:1\.9' are no coordinates"):
        resolve(FOLLOWER)


def test_a_jar_that_is_not_what_it_was_is_refused(
    repository: Repository, tmp_path: Path
) -> None:
    repository.has[PART] = b"something else"
    with pytest.raises(EngineProblem, match=r"part-2\.0\.jar is not what it was"):
        resolve(FIXED)
    assert list((tmp_path / "cache" / "jars").iterdir()) == []


def test_a_failure_names_the_ways_out(repository: Repository) -> None:
    repository.has.clear()
    with pytest.raises(EngineProblem, match=r"cannot get the things: .*thing:1.9") as e:
        resolve(FOLLOWER)
    assert e.value.hint is not None
    assert FOLDER in e.value.hint
    assert "THINGS names other coordinates" in e.value.hint


def test_who_gives_up_leaves_nothing_behind(
    repository: Repository, tmp_path: Path
) -> None:
    def check() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resolve(FIXED, check=check)
    assert list((tmp_path / "cache" / "jars").iterdir()) == []
    assert len(resolve(FIXED)) == 2


def test_what_a_killed_process_left_is_removed(
    repository: Repository, tmp_path: Path
) -> None:
    torn = tmp_path / "cache" / "jars" / "things-old.part"
    torn.mkdir(parents=True)
    resolve(FIXED)
    assert not torn.exists()


def test_jars_that_others_can_write_are_not_used(repository: Repository) -> None:
    resolve(FIXED)[0].parent.chmod(0o777)
    with pytest.raises(EngineProblem, match="others can write"):
        resolve(FIXED)


def test_another_process_is_waited_for(repository: Repository, tmp_path: Path) -> None:
    told: list[str] = []
    waits = threading.Event()
    found: list[Any] = []

    def tell(text: str) -> None:
        told.append(text)
        waits.set()

    other = threading.Thread(target=lambda: found.append(resolve(FIXED, tell=tell)))
    with lock(tmp_path / "cache" / "things.lock"):
        other.start()
        assert waits.wait(10)
        assert (told, repository.asked) == (
            ["the things: another process is downloading it"],
            [],
        )
    other.join(10)
    assert names(found[0]) == ["part-2.0.jar", "thing-1.9.jar"]


def test_who_waits_for_another_process_can_give_up(
    repository: Repository, tmp_path: Path
) -> None:
    def check() -> None:
        raise KeyboardInterrupt

    held = lock(tmp_path / "cache" / "things.lock")
    with held, pytest.raises(KeyboardInterrupt):
        resolve(FIXED, check=check)


class Folder:
    """A folder of the user's."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, *files: str) -> None:
        for file in files:
            (self.path / file).write_bytes(content(file))


@pytest.fixture
def folder(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Folder:
    path = tmp_path / "mine"
    path.mkdir()
    monkeypatch.setenv(FOLDER, str(path))
    return Folder(path)


def test_a_folder_of_the_users_is_looked_at_and_nothing_is_fetched(
    folder: Folder, repository: Repository
) -> None:
    folder.put("thing-1.10.jar", "thing-1.9.jar", "part-2.0.jar", "thing-extra-1.jar")
    assert names(resolve(FIXED)) == ["thing-1.10.jar", "part-2.0.jar"]
    assert repository.asked == []


def test_what_a_folder_lacks_is_named(folder: Folder) -> None:
    folder.put("thing-1.9.jar")
    with pytest.raises(EngineProblem, match=f"{FOLDER} names: there is no part") as e:
        resolve(FIXED)
    assert "org.example:part:2.0" in (e.value.hint or "")


def test_a_pinned_jar_in_a_folder_must_be_what_it_was(folder: Folder) -> None:
    folder.put("thing-1.9.jar", "part-2.0.jar")
    (folder.path / "part-2.0.jar").write_bytes(b"something else")
    with pytest.raises(EngineProblem, match=r"part-2\.0\.jar is not what it was"):
        resolve(FIXED)


@pytest.mark.usefixtures("repository")
def test_a_cache_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ARROYO_NB_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(EngineProblem, match=r"the things cannot be kept in") as told:
        resolve(FIXED)
    assert "ARROYO_NB_CACHE" in str(told.value.hint)
    assert FOLDER in str(told.value.hint)


def test_it_is_told_which_jars_are_used(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "_SETS", {FOLLOWER.name: FOLLOWER})
    (used,) = used_jars()
    assert (used.version, used.place) == ("1.9", None)  # nothing is downloaded yet
    resolve(FOLLOWER)
    (used,) = used_jars()
    assert used.files == ("part-2.0.jar", "thing-1.9.jar")
    assert (used.version, used.other_than_spark) == ("1.9", "1.9")
    assert used.place is not None
    assert used.place.is_dir()
    monkeypatch.setattr(jars, "spark_version", lambda: "1.9")
    assert not used.other_than_spark


def test_the_pinned_jars_of_spark_are_one_release() -> None:
    pins = [*pinned("spark-kafka"), *pinned("kafka-broker")]
    of_spark = {jar.version for jar in pins if jar.group == "org.apache.spark"}
    assert len(of_spark) == 1
    previews = ("preview", "rc", "snapshot", "alpha", "beta", "-m")
    assert not [j for j in pins if any(word in j.version.lower() for word in previews)]
