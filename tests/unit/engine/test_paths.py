"""How paths are written for Spark and the JVM."""

from __future__ import annotations

import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from odd_names import ODD_NAMES, any_name

from arroyo_nb.engine import cache_folder as cache_module
from arroyo_nb.engine import folders, ivy
from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.engine.command import _quoted, spark_home
from arroyo_nb.engine.folders import owner_of
from arroyo_nb.engine.jar_coordinates import Coordinates
from arroyo_nb.engine.java import find_java
from arroyo_nb.engine.paths import (
    Links,
    is_plain,
    spark_path,
    spark_pattern,
    user_path,
)
from arroyo_nb.engine.program import Program
from arroyo_nb.kafka.emit.targets import EmitOptions, to_tape
from arroyo_nb.run.option_values import state_folder

PRINT = """
public class Print {
  public static void main(String[] arguments) {
    for (String argument : arguments) {
      System.out.print(argument + "\\0");
    }
  }
}
"""


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_spark_is_given_the_name_and_no_address(name: str) -> None:
    path = Path("/state") / name
    assert spark_path(path) == f"file:///state/{name}"
    pattern, at, read = spark_pattern(path), 0, ""
    while at < len(pattern):  # as Hadoop reads it
        at += pattern[at] == "\\"
        read += pattern[at]
        at += 1
    assert read == spark_path(path)


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_temporary_folder_of_any_name_gives_a_plain_work_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: str(tmp_path / name))
    assert is_plain(folders.default_base())


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_list_of_paths_has_one_entry_for_each(tmp_path: Path, name: str) -> None:
    folder, links = tmp_path / name, tmp_path / "links"
    folder.mkdir()
    links.mkdir()
    (folder / "a.jar").write_text("it")
    (entry,) = Links(links).entry(folder).split(":")
    assert (Path(entry) / "a.jar").read_text() == "it"
    assert Links(links).entry(folder) == entry


def test_java_reads_arguments_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "Print.java").write_text(PRINT)
    file = tmp_path / "args"
    arguments = [str(tmp_path / "Print.java"), *ODD_NAMES]
    file.write_text("\n".join(map(_quoted, arguments)) + "\n", encoding="utf-8")
    # A runtime has no compiler; the Java of a shell often has.
    java = shutil.which("java") if shutil.which("javac") else find_java().command
    done = subprocess.run(
        [str(java), "-Dstdout.encoding=UTF-8", f"@{file}"],
        capture_output=True,
        check=False,
        env={"LC_ALL": "C.UTF-8"},
    )
    if b"compiler" in done.stderr:
        pytest.skip("this Java has no compiler")
    assert done.stdout.decode().split("\0")[:-1] == [*ODD_NAMES], shlex.join(arguments)


REPOSITORY = """<ivysettings>
  <settings defaultResolver="default"/>
  <resolvers><filesystem name="default">
    <artifact pattern="{}/[artifact]-[revision].[ext]"/>
  </filesystem></resolvers>
</ivysettings>
"""


@any_name("paths")
def test_jars_are_had_and_run_in_a_folder_of_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """By Ivy, then as a class path of a program."""
    (jar,) = (spark_home() / "jars").glob("ivy-*.jar")
    shelf, cache, work = tmp_path / "shelf", tmp_path / name, tmp_path / "work"
    for folder in (shelf, cache, work):
        folder.mkdir(parents=True)
    (shelf / "thing-1.0.jar").symlink_to(jar)
    settings = REPOSITORY.format(shelf)
    monkeypatch.setattr(ivy, "_settings", lambda *, alone: settings)
    java, wanted = find_java(), Coordinates("org.example", "thing", "1.0")
    found = ivy.retrieve(
        java, [wanted], cache, without=None, check=lambda: None, arrived=lambda _: None
    )
    assert found == [cache / "jars" / "thing-1.0.jar"]
    program = Program(
        java, "org.apache.ivy.Main", "-version", jars=found, log=work / "log"
    )
    ended = program.wait(60)
    program.kill()
    assert ended, program.log.read_text()
    assert program.status == 0, program.log.read_text()


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_tilde_is_a_home_of_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    home = tmp_path / name
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("ARROYO_NB_CACHE", raising=False)
    assert state_folder("~/state") == home / "state"
    assert to_tape(Path("~/a.tape"), EmitOptions()).name == f"{home}/a.tape"
    assert cache_folder() == home / ".cache" / "arroyo_nb"
    monkeypatch.setenv("ARROYO_NB_CACHE", "~/jars")
    assert cache_folder() == home / "jars"


def test_a_tilde_of_no_user_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert state_folder("~no-such-user") == tmp_path / "~no-such-user"
    assert to_tape(Path("~no-such-user"), EmitOptions()).name == "~no-such-user"
    assert user_path("~no-such-user/jobs") == Path("~no-such-user/jobs")


def test_who_has_no_home_has_a_cache_that_goes_with_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cache_module.Path, "home", no_home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("ARROYO_NB_CACHE", raising=False)
    cache_module._passing_cache.cache_clear()
    made = cache_folder()
    assert cache_folder() == made
    assert owner_of(made) is not None  # so that a sweep finds it
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    shutil.rmtree(made)
