"""Work folders: private, stamped, and swept only when their process is gone."""

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from arroyo_nb.engine import folders
from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.folders import make_work_folder, owner_of, process_start, sweep
from arroyo_nb.errors import RunProblem
from arroyo_nb.state.folder import StateFolder


def gone_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def folder_of(base: Path, pid: int, start: int, namespace: str | None = None) -> Path:
    space = folders.pid_namespace() if namespace is None else namespace
    folder = base / f"arroyo_nb-{pid}-{start}-{space}-abc"
    folder.mkdir()
    return folder


def test_a_work_folder_is_private_and_stamped(tmp_path: Path) -> None:
    folder = make_work_folder(tmp_path)
    owner = owner_of(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert owner is not None
    assert (owner.pid, owner.start) == (os.getpid(), process_start(os.getpid()))


def test_the_folder_of_a_living_process_stays(tmp_path: Path) -> None:
    mine = make_work_folder(tmp_path)
    assert sweep(tmp_path) == []
    assert mine.exists()


def test_the_folder_of_a_process_that_is_gone_goes(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, gone_pid(), 1)
    (folder / "state").write_text("x")
    assert sweep(tmp_path) == [folder]
    assert not folder.exists()


def test_a_reused_pid_does_not_keep_a_folder(tmp_path: Path) -> None:
    # Our own pid lives, but the process that made the folder started at another time.
    folder = folder_of(tmp_path, os.getpid(), 1)
    assert sweep(tmp_path) == [folder]


def test_a_folder_of_another_pid_namespace_stays(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, gone_pid(), 1, namespace="1")
    assert sweep(tmp_path) == []
    assert folder.exists()


@pytest.mark.parametrize("name", ["arroyo_nb-state", "arroyo_nb-1-2", "state-1-2-3-x"])
def test_a_folder_that_a_user_named_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert sweep(tmp_path) == []
    assert (tmp_path / name).exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    name = f"arroyo_nb-{gone_pid()}-1-{folders.pid_namespace()}-abc"
    (tmp_path / name).symlink_to(precious)
    assert sweep(tmp_path) == []
    assert precious.exists()


def test_links_in_a_swept_folder_are_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    folder = folder_of(tmp_path, gone_pid(), 1)
    (folder / "link").symlink_to(precious)
    (folder / "file").symlink_to(precious / "file")
    assert sweep(tmp_path) == [folder]
    assert shutil.rmtree.avoids_symlink_attacks  # also where one is swapped in
    assert (precious / "file").exists()


def test_a_folder_of_another_user_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path, gone_pid(), 1)
    monkeypatch.setattr(folders.os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert sweep(tmp_path) == []
    assert folder.exists()


def test_a_name_that_somebody_has_taken_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(("taken", "linked", "free"))
    monkeypatch.setattr(tempfile, "_get_candidate_names", lambda: names)
    start, space = process_start(os.getpid()), folders.pid_namespace()
    prefix = f"arroyo_nb-{os.getpid()}-{start}-{space}-"
    (tmp_path / f"{prefix}taken").mkdir(mode=0o777)
    (tmp_path / f"{prefix}linked").symlink_to(tmp_path)
    assert make_work_folder(tmp_path) == tmp_path / f"{prefix}free"


def test_a_long_temporary_folder_is_avoided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A Unix socket's path must fit into about 100 bytes.
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: "/var/" + "x" * 90)
    assert folders.default_base() == Path("/tmp")


def made_by_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a folder belong to another user: only root can give one away."""
    if os.getuid() == 0:
        os.chown(folder, 12_345, -1)
    else:
        me = os.getuid()
        monkeypatch.setattr(folders.os, "getuid", lambda: me + 1)


@pytest.mark.parametrize("below", ["", "below", "below/that"])
@pytest.mark.parametrize("is_shared", [True, False])
def test_a_folder_that_another_user_made_where_all_can_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str, is_shared: bool
) -> None:
    around, path = tmp_path / "shared", tmp_path / "shared" / "name" / below
    path.mkdir(parents=True)
    around.chmod(0o1777 if is_shared else 0o755)
    (tmp_path / "link").symlink_to(path)
    assert folders.foreign(path) is None
    made_by_another(around / "name", monkeypatch)
    # Root's own folder, or a colleague's in one that is not for all, is no trap.
    for named in (path, tmp_path / "link", path / "to be made"):
        told = folders.foreign(named)
        assert bool(told) == is_shared
        assert not told or f"'{around / 'name'}' was made by another user" in told


def test_neither_state_nor_jars_are_kept_in_such_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = tmp_path / "shared"
    (trap := around / "state").mkdir(parents=True)
    around.chmod(0o1777)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (trap / "run").mkdir()
    (trap / "run" / "lock").symlink_to(precious)
    made_by_another(trap, monkeypatch)
    with pytest.raises(RunProblem, match=r"state' was made by another user") as told:
        StateFolder(trap / "run", identity="plan", name="a")
    assert "name a folder of your own" in str(told.value.hint)
    assert precious.read_text() == "mine"
    monkeypatch.setenv("ARROYO_NB_CACHE", str(trap))
    with pytest.raises(EngineProblem, match="was made by another user") as refused:
        cache_folder()
    assert "ARROYO_NB_CACHE" in str(refused.value.hint)
