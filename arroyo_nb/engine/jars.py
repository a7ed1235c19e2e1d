"""Sets of jars that are had only when they are asked for, and then kept.

They are kept in the user's cache folder, a folder for each set, which is renamed into
place once it is whole. The order of preference: a folder that ``ARROYO_NB_JARS``
names (for machines without a repository), coordinates that the set's own variable
names, the version that belongs to the installed Spark where the repository has it,
and the set that is pinned here with its checksums, as the tests ran with it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from arroyo_nb.engine import ivy
from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.engine.cache_lock import lock
from arroyo_nb.engine.command import spark_version
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.folders import is_own
from arroyo_nb.engine.jar_coordinates import Coordinates, parse_coordinates, pinned
from arroyo_nb.engine.java import Java, find_java
from arroyo_nb.engine.paths import user_path
from arroyo_nb.engine.program import go_on

FOLDER = "ARROYO_NB_JARS"
"""Environment variable: a folder that has the jars, where there is no repository."""

Tell = Callable[[str], None]
Check = Callable[[], None]


class JarSet(NamedTuple):
    """Jars that are had together.

    Attributes
    ----------
    name
        Of its folder, and of the file with its pins.
    what
        What errors and progress call it.
    follows
        Group and artifact of the jar that is to have the version of Spark, if any.
    provider
        A class of it: a Spark that can load it has it.
    variable
        Environment variable for other coordinates, if any.
    """

    name: str
    what: str
    follows: tuple[str, str] | None = None
    provider: str = ""
    variable: str = ""

    @property
    def own(self) -> Coordinates | None:
        """The jar that belongs to the installed Spark, where one is to."""
        return Coordinates(*self.follows, spark_version()) if self.follows else None


CONNECTOR = JarSet(
    "spark-kafka",
    "Spark's Kafka connector",
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13"),
    "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "ARROYO_NB_KAFKA_CONNECTOR",
)
"""What Spark reads and writes topics with."""

BROKER = JarSet("kafka-broker", "the local Kafka broker")
"""Apache Kafka itself."""


_SETS = {jars.name: jars for jars in (CONNECTOR, BROKER)}


def jar_set(name: str) -> JarSet:
    """The set of that name."""
    return _SETS[name]


class _Choice(NamedTuple):
    """One way to have a set.

    Attributes
    ----------
    folder
        Where it is, or will be.
    wanted
        What to ask the repository for.
    sums
        By jar, where they are pinned: then those jars and no others. None: with what
        they depend on.
    said
        What to tell the user about it, if anything.
    """

    folder: Path
    wanted: tuple[Coordinates, ...]
    sums: Mapping[Coordinates, str] | None = None
    said: str = ""


def say_nothing(_: str) -> None:
    """Drop a line of progress: the default where no caller shows it."""


def resolve(
    jars: JarSet, *, tell: Tell = say_nothing, check: Check = go_on
) -> tuple[Path, ...]:
    """The files of a set, which are downloaded if need be.

    Parameters
    ----------
    jars
        The set.
    tell
        Is told how far it is, and which version was taken: one line at a time.
    check
        Is called again and again; what it raises ends a download.

    Raises
    ------
    EngineProblem
        When they cannot be had; the hint names the environment variables.
    """
    if named := os.environ.get(FOLDER):
        return _of_folder(jars, user_path(named))
    choices = _choices(jars, cache_folder() / "jars")
    try:
        return _cached(jars, choices, tell, check)
    except OSError as error:
        raise EngineProblem(
            f"{jars.what} cannot be kept in '{cache_folder()}': {error.strerror}",
            hint="ARROYO_NB_CACHE names a folder that this user may write; "
            f"{_hint(jars)}",
        ) from error


def _cached(
    jars: JarSet, choices: list[_Choice], tell: Tell, check: Check
) -> tuple[Path, ...]:
    """The files of the first choice that is there, or can be had."""
    waits = False
    while (found := _present_files(choices, tell)) is None:
        # One process downloads; the others look again until it is there, and take over
        # if it dies.
        with lock(cache_folder() / f"{jars.name}.lock") as mine:
            if mine:
                # Another process may have let go since the last look.
                return _present_files(choices, tell) or _downloaded(
                    jars, choices, tell, check
                )
        if not waits:
            tell(f"{jars.what}: another process is downloading it")
            waits = True
        check()
        time.sleep(ivy.LOOK_S)
    return found


def packages(jars: JarSet) -> tuple[Coordinates, ...]:
    """What a Spark elsewhere asks its repository for to have a set: the one that is
    used here, or else the one that would be asked for first."""
    choices = _choices(jars, cache_folder() / "jars")
    used = (choice for choice in choices if is_own(choice.folder))
    return next(used, choices[0]).wanted


class UsedJars(NamedTuple):
    """The jars of a set that this machine uses.

    Attributes
    ----------
    files
        What they are called; versions are in the names.
    place
        The folder that they are in; None: they are not there yet.
    """

    jars: JarSet
    files: tuple[str, ...]
    place: Path | None

    @property
    def version(self) -> str:
        """That of the jar which gives the set its version; empty where it has none."""
        artifact = next(iter(pinned(self.jars.name))).artifact
        found = (name for name in self.files if _is_of(name, artifact))
        first = next(found, f"{artifact}-.jar")
        return first.removeprefix(f"{artifact}-").removesuffix(".jar")

    @property
    def other_than_spark(self) -> str:
        """The version, where the set is to have that of Spark and has another."""
        own = self.jars.own
        return "" if own is None or own.version == self.version else self.version


def used_jars() -> Iterator[UsedJars]:
    """The jars of each set that a query would be run with; nothing is downloaded. Of
    those that are not here, those that are pinned."""
    for jars in _SETS.values():
        if named := os.environ.get(FOLDER):
            folder = user_path(named)
            files = (_newest(folder, jar.artifact) for jar in pinned(jars.name))
            yield UsedJars(jars, tuple(f.name for f in files if f), folder)
            continue
        choices = _choices(jars, cache_folder() / "jars")
        there = next((each for each in choices if is_own(each.folder)), None)
        if there is None:
            names = tuple(jar.file for jar in choices[-1].wanted)
            yield UsedJars(jars, names, None)
        else:
            names = tuple(sorted(path.name for path in there.folder.glob("*.jar")))
            yield UsedJars(jars, names, there.folder)


def _is_of(file: str, artifact: str) -> bool:
    return re.fullmatch(rf"{re.escape(artifact)}-\d.*\.jar", file) is not None


def _choices(jars: JarSet, base: Path) -> list[_Choice]:
    """The ways to have a set, the best one first."""
    if asked := os.environ.get(jars.variable):
        wanted = tuple(map(parse_coordinates, asked.split(",")))
        return [_Choice(base / f"{jars.name}-{_digest(asked)}", wanted)]
    sums = pinned(jars.name)
    key = _digest("".join(map(str, sums.items())))
    pins = _Choice(base / f"{jars.name}-{key}", tuple(sums), sums)
    if (own := jars.own) is None:
        return [pins]
    first = next(iter(sums))
    said = f"{jars.what} is {first.version}: the repository has no {own.version}"
    newest = _Choice(base / f"{jars.name}-{own.version}", (own,))
    return [newest, pins._replace(said=said if first.version != own.version else "")]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _present_files(choices: list[_Choice], tell: Tell) -> tuple[Path, ...] | None:
    """The files of the first choice that is there, and ours."""
    for choice in choices:
        if is_own(choice.folder):
            if choice.said:
                tell(choice.said)
            return tuple(sorted(choice.folder.glob("*.jar")))
    return None


def _downloaded(
    jars: JarSet, choices: list[_Choice], tell: Tell, check: Check
) -> tuple[Path, ...]:
    java = find_java()
    for choice in choices:
        try:
            _download(jars, choice, java, tell, check)
        except EngineProblem as problem:
            failed = problem
        else:
            return _present_files([choice], tell) or ()
    raise EngineProblem(
        f"cannot get {jars.what}: {failed.message}", hint=failed.hint or _hint(jars)
    )


def _hint(jars: JarSet) -> str:
    other = f"; {jars.variable} names other coordinates" if jars.variable else ""
    return (
        f"{FOLDER} names a folder that has the jars, where there is no network{other}"
    )


def _download(
    jars: JarSet, choice: _Choice, java: Java, tell: Tell, check: Check
) -> None:
    """Get a set into a folder beside its own, look at it, rename it."""
    if choice.folder.exists():
        raise EngineProblem(f"{choice.folder} is not used, since others can write it")
    base, of = choice.folder.parent, f" of {len(choice.wanted)}" if choice.sums else ""
    for torn in base.glob(f"{jars.name}-*.part"):  # whoever holds the lock made none
        shutil.rmtree(torn, ignore_errors=True)
    part = choice.folder.with_name(f"{choice.folder.name}.part")
    part.mkdir(mode=0o700, parents=True)
    tell(f"{jars.what}: asking the repository for {choice.wanted[0].version}")
    try:
        found = ivy.retrieve(
            java,
            choice.wanted,
            part,
            without=ivy.shipped() if choice.sums is None else None,
            check=check,
            arrived=lambda count: tell(f"{jars.what}: {count}{of} jars"),
        )
        _look_at(found, choice.sums or {})
        (part / "jars").chmod(0o700)
        # The folder is there at once, with every jar in it: nobody takes half a set for
        # a whole one.
        (part / "jars").rename(choice.folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _look_at(found: list[Path], sums: Mapping[Coordinates, str]) -> None:
    """Refuse jars that are not the ones that were pinned."""
    by_file = {jar.file: wanted for jar, wanted in sums.items()}
    if missing := sorted(set(by_file) - {path.name for path in found}):
        raise EngineProblem(f"there is no {', '.join(missing)}")
    for path in found:
        with path.open("rb") as file:
            got = hashlib.file_digest(file, "sha256").hexdigest()
        # Of a jar that is not pinned there is nothing to compare with.
        if got != by_file.get(path.name, got):
            raise EngineProblem(f"{path.name} is not what it was: its checksum differs")


def _of_folder(jars: JarSet, folder: Path) -> tuple[Path, ...]:
    """A set whose jars the user has put into a folder, among others perhaps.

    Their versions are the user's choice; a pinned one must be what it was.
    """
    sums = pinned(jars.name)
    found = [_newest(folder, jar.artifact) for jar in sums]
    if absent := [j.artifact for j, path in zip(sums, found, strict=True) if not path]:
        raise EngineProblem(
            f"{jars.what} is not in the folder {folder} that {FOLDER} names: "
            f"there is no {', '.join(absent)}",
            hint="the versions that the tests ran with: " + ", ".join(map(str, sums)),
        )
    there = [path for path in found if path is not None]
    names = {path.name for path in there}
    _look_at(there, {jar: s for jar, s in sums.items() if jar.file in names})
    return tuple(there)


def _newest(folder: Path, artifact: str) -> Path | None:
    found = folder.glob(f"{artifact}-[0-9]*.jar")
    return max(found, key=_numbers, default=None)


def _numbers(path: Path) -> list[int]:
    """Of its version, so that 3.10 comes behind 3.9."""
    return [int(number) for number in re.findall(r"\d+", path.stem)]
