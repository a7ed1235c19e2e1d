import errno
import json
import os
import resource
import signal
import socket
import subprocess
import sys

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.plan.lowering import LOWERING
from arroyo_nb.state import folder as folders
from arroyo_nb.state.checkpoint import Checkpoint
from arroyo_nb.state.folder import StateFolder
from arroyo_nb.state.lock import owner

HOLD = """
import sys
from pathlib import Path
from arroyo_nb.state.folder import StateFolder
folder = StateFolder(Path(sys.argv[1]), identity="plan", name="first")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_folder_is_made_private_and_remembers_its_query(tmp_path):
    folder = StateFolder(tmp_path / "run", identity="plan", name="a")
    assert not folder.resumed
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
    folder.release()
    again = StateFolder(tmp_path / "run", identity="plan", name="a")
    assert again.resumed
    again.release()


def test_state_of_another_query_is_refused_and_the_lock_let_go(tmp_path):
    StateFolder(tmp_path, identity="one", name="a").release()
    with pytest.raises(RunProblem, match="state of another query"):
        StateFolder(tmp_path, identity="two", name="a")
    StateFolder(tmp_path, identity="one", name="a").release()


def test_what_never_forgot_is_not_gone_on_with_a_time_to_live(tmp_path):
    StateFolder(tmp_path, identity="one", name="a", forgets=False).release()
    with pytest.raises(RunProblem, match="begun without a time to live"):
        StateFolder(tmp_path, identity="one", name="a", forgets=True)
    again = StateFolder(tmp_path, identity="one", name="a", forgets=False)
    assert not again.forgets
    again.release()


def test_what_forgets_goes_on_doing_so_as_states_of_before_do(tmp_path):
    StateFolder(tmp_path, identity="one", name="a").release()
    stamp = tmp_path / "run.json"
    facts = json.loads(stamp.read_text())
    del facts["forgets"], facts["check"]  # which earlier versions did not write
    stamp.write_text(json.dumps(facts))
    for _ in range(2):
        folder = StateFolder(tmp_path, identity="one", name="a", forgets=False)
        assert folder.resumed
        assert folder.forgets
        folder.release()


@pytest.mark.parametrize(
    ("facts", "lowering"),
    [({}, 0), ({"joins_beside": True}, 0), ({"joins_beside": False}, 1)],
)
def test_a_state_of_before_runs_as_it_was_begun(tmp_path, facts, lowering):
    new = StateFolder(tmp_path, identity="one", name="a", forgets=False)
    new.release()
    stamp = tmp_path / "run.json"
    written = json.loads(stamp.read_text())
    del written["lowering"], written["check"]
    stamp.write_text(json.dumps(written | facts))
    for _ in range(2):
        old = StateFolder(tmp_path, identity="one", name="a", forgets=False)
        old.release()
        assert (new.lowering, old.lowering) == (LOWERING, lowering)


def test_a_state_of_a_newer_version_is_refused(tmp_path):
    StateFolder(tmp_path, identity="one", name="a").release()
    stamp = tmp_path / "run.json"
    facts = json.loads(stamp.read_text()) | {"lowering": LOWERING + 1}
    del facts["check"]
    stamp.write_text(json.dumps(facts))
    with pytest.raises(RunProblem, match="state of a newer version of arroyo_nb"):
        StateFolder(tmp_path, identity="one", name="a")


def test_state_of_another_format_is_refused(tmp_path):
    StateFolder(tmp_path, identity="one", name="a").release()
    stamp = tmp_path / "run.json"
    facts = json.loads(stamp.read_text()) | {"version": 1}
    del facts["check"]  # which earlier versions did not write
    stamp.write_text(json.dumps(facts))
    with pytest.raises(RunProblem, match="holds state of format 1"):
        StateFolder(tmp_path, identity="one", name="a")


def test_a_torn_stamp_is_refused(tmp_path):
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RunProblem, match=r"run\.json' is damaged: it says which query"):
        StateFolder(tmp_path, identity="one", name="a")


def test_a_second_run_is_refused_with_its_owner_and_a_killed_owner_frees_it(tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with owner:
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(RunProblem) as refusal:
            StateFolder(tmp_path, identity="plan", name="second")
        assert f"run 'first' of process {owner.pid}" in str(refusal.value)
        owner.kill()
    second = StateFolder(tmp_path, identity="plan", name="second")
    assert second.resumed
    second.release()


def test_the_owner_of_another_host_is_told_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "far")
    held = StateFolder(tmp_path, identity="plan", name="first")
    assert owner(tmp_path) == f"run 'first' of process {os.getpid()}"
    monkeypatch.setattr(socket, "gethostname", lambda: "near")
    assert owner(tmp_path) == f"run 'first' of process {os.getpid()} on far"
    held.release()


def test_a_child_that_outlives_the_run_does_not_hold_its_folder(tmp_path):
    folder = StateFolder(tmp_path, identity="plan", name="first")
    # It has the same open file as a child that was forked.
    kept = (folder._lock._file.fileno(),)
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=kept)
    with child:
        folder.release()
        second = StateFolder(tmp_path, identity="plan", name="second")
        folder.release()
        with pytest.raises(RunProblem, match="in use by run 'second'"):
            StateFolder(tmp_path, identity="plan", name="third")
        second.release()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RunProblem, match="cannot be used"):
        StateFolder(tmp_path / "run", identity="plan", name="a")


def test_a_file_in_its_place_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunProblem, match="cannot be used"):
        StateFolder(tmp_path / "file", identity="plan", name="a")


def test_a_lock_that_a_full_disk_refuses_is_let_go(tmp_path, monkeypatch):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(RunProblem, match="cannot be used: File too large") as kept:
            StateFolder(tmp_path, identity="plan", name="a")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    StateFolder(tmp_path, identity="plan", name="a").release()
    assert kept.value.__cause__ is not None


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.EIO])
def test_a_checkpoint_that_cannot_be_read_now_leaves_the_manifest_behind(
    tmp_path, monkeypatch, number
):
    folder = StateFolder(tmp_path, identity="plan", name="a")
    folder.checkpoints = (Checkpoint(tmp_path / "outputs" / "0" / "checkpoint"),)
    asked = []

    def refuse(log):
        asked.append(log)
        raise OSError(number, os.strerror(number), str(log))

    monkeypatch.setattr(folders, "numbered", refuse)
    folder.note_files(at_once=True)
    folder.release()
    assert asked


@pytest.mark.parametrize("temporary", [False, True])
def test_a_folder_that_ends_with_the_process_has_no_manifest(tmp_path, temporary):
    folder = StateFolder(tmp_path, identity="plan", name="a", temporary=temporary)
    checkpoint = tmp_path / "outputs" / "0" / "checkpoint"
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True)
        (checkpoint / log / "0").write_text("v1\n{}")
    folder.checkpoints = (Checkpoint(checkpoint),)
    folder.note_files(at_once=True)
    folder.release()
    assert (tmp_path / "manifest.json").exists() != temporary


def test_chunks_that_were_put_aside_are_back_before_a_checkpoint_is_looked_at(tmp_path):
    # A checkpoint that is an older copy may need any of them.
    aside = tmp_path / "sources" / "0-rows" / "_read"
    aside.mkdir(parents=True)
    (aside / "chunk-00000003.parquet").write_bytes(b"")
    (tmp_path / "sources" / "heartbeat").mkdir()
    folder = StateFolder(tmp_path, identity="plan", name="a")
    folder.inspect(1)
    folder.release()
    assert (aside.parent / "chunk-00000003.parquet").exists()
    assert not any(aside.iterdir())
