"""State that is set aside, forked and handed over is in one place at a time, however
it is killed."""

import os
import shutil
from pathlib import Path

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.state import copies
from arroyo_nb.state.folder import StateFolder
from arroyo_nb.state.header import StateHeader, find_header, next_folder
from arroyo_nb.state.identity import fingerprint
from arroyo_nb.state.lock import Lock
from arroyo_nb.state.relocation import relocate

NEW = StateHeader(fingerprint("plan"), "job", spec="what it was")
CHUNK_NS = 946_684_801_000_000_000


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def state(tmp_path):
    """The state of a run of 'plan', with a name that is written in two ways."""
    folder = StateFolder(tmp_path / "a b" / "run", identity="plan", name="cell")
    chunk = folder.source("0-t") / "1.parquet"
    chunk.write_text("rows")
    os.utime(chunk, ns=(CHUNK_NS, CHUNK_NS))
    (folder.lookups() / "0.parquet").write_text("looked up")
    logs = folder.checkpoint(0)
    uri = (tmp_path / "a b").as_uri()
    write(logs / "sources/0/0", f'v1\n{{"path":"{uri}/run/sources/0-t/1.parquet"}}\n')
    schema = f'v2\n{{"f":["file:{logs}/state/0/_stateSchema/x"]}}'
    write(logs / "state/0/_metadata/v2/0", schema)
    folder.release()
    return folder.path


def write(path, text):
    path.parent.mkdir(parents=True)
    path.write_text(text)


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    unlike = {"lock", "run.json"}
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in files
        if path.name not in unlike
    }


def opened(folder, plan="plan"):
    """Whether there is state in a folder, for who opens it."""
    run = StateFolder(folder, identity=plan, name="next")
    run.release()
    return run.resumed


def test_what_is_handed_over_goes_on_there_and_nowhere_else(state, tmp_path):
    before, job = contents(state), tmp_path / "job" / "run"
    copies.hand_over(state, job, "cell", NEW)
    with pytest.raises(RunProblem, match=f"was handed over to '{job}'"):
        opened(state)
    assert contents(state) == before
    assert opened(job)
    chunk = job / "sources/0-t/1.parquet"
    assert chunk.stat().st_mtime_ns == CHUNK_NS
    told = "".join(contents(job).values())
    assert f'"path":"{chunk.as_uri()}"' in told
    assert f'"file:{job}/outputs/0/checkpoint/state/0/_stateSchema/x"' in told
    assert "a%20b" not in told
    assert "a b" not in told
    # Once more is no harm, and to elsewhere is refused.
    copies.hand_over(state, job, "cell", NEW)
    with pytest.raises(RunProblem, match="has state already"):
        copies.hand_over(state, tmp_path / "other", "cell", NEW)
    assert not next_folder(job).exists()


def test_state_that_is_there_is_never_written_over(state, tmp_path):
    job = tmp_path / "job"
    StateFolder(job, identity="plan", name="job").release()
    with pytest.raises(RunProblem, match=f"'{job}' has state already"):
        copies.hand_over(state, job, "cell", NEW)
    assert opened(state)


@pytest.mark.parametrize("writes", range(2))
def test_a_handover_that_is_killed_leaves_one_state(
    state, tmp_path, monkeypatch, writes
):
    """Before the old folder is stamped it is the run's, and after that the job's."""
    job, stamps = tmp_path / "job" / "run", []

    def write(stamp, folder):
        if len(stamps) == writes:
            raise Killed
        stamps.append(folder)
        original(stamp, folder)

    original = StateHeader.write
    with monkeypatch.context() as patched:
        patched.setattr(StateHeader, "write", write)
        # A process that is killed removes nothing.
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(Killed):
            copies.hand_over(state, job, "cell", NEW)
    assert find_header(job) is None
    assert opened(state)
    copies.hand_over(state, job, "cell", NEW)
    assert opened(job)


def test_a_handover_that_is_killed_after_its_moment_is_done(
    state, tmp_path, monkeypatch
):
    job, moves = tmp_path / "job" / "run", []

    def replace(path, target):
        if (path.parent, Path(target).parent) == (next_folder(job), job):
            if moves:
                raise Killed
            moves.append(path)
        return original(path, target)

    original = Path.replace
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace)
        with pytest.raises(Killed):
            copies.hand_over(state, job, "cell", NEW)
    assert moves
    with pytest.raises(RunProblem, match="was handed over"):
        opened(state)
    assert find_header(job).spec == "what it was"
    assert opened(job)
    assert (job / "sources/0-t/1.parquet").exists()
    assert (job / "outputs/0/checkpoint/sources/0/0").exists()


def test_a_copy_that_fails_is_removed_and_told(state, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copytree", full)
    with pytest.raises(RunProblem, match=r"cannot be copied: .*No space left"):
        copies.hand_over(state, tmp_path / "job", "cell", NEW)
    assert not next_folder(tmp_path / "job").exists()
    assert opened(state)


def test_nothing_is_taken_from_a_run(state, tmp_path):
    lock = Lock(state, "cell")
    for act in (
        lambda: copies.hand_over(state, tmp_path / "job", "job", NEW),
        lambda: copies.fork(state, "job", identity="other"),
        lambda: copies.set_aside(state, "job"),
    ):
        with pytest.raises(RunProblem, match="in use by run 'cell' of process"):
            act()
    lock.release()
    assert opened(state)


def test_a_fork_takes_the_place_and_leaves_the_original_as_it_was(state):
    before, stamp = contents(state), (state / "run.json").read_text()
    aside = copies.fork(state, "job", identity="other", left_out=["lookups"])
    assert aside == state.with_name("run.aside-1")
    assert contents(aside) == before
    assert (aside / "run.json").read_text() == stamp
    assert opened(state, "other")
    kept = {name for name in before if not name.startswith("lookups")}
    assert contents(state) == {name: before[name] for name in kept}
    # It goes on again where it was.
    shutil.rmtree(state)
    aside.rename(state)
    assert opened(state)


def test_what_is_set_aside_is_kept_and_the_next_begins_anew(state):
    copies.fork(state, "job", identity="other")
    aside = copies.set_aside(state, "job")
    assert aside.name == "run.aside-2"
    assert not opened(state, "third")


def test_a_fork_that_is_killed_before_it_took_the_place_is_gone_on_with(
    state, monkeypatch
):
    def renamed(path, target):
        original(path, target)
        raise Killed

    original = Path.rename
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", renamed)
        with pytest.raises(Killed):
            copies.fork(state, "job", identity="other")
    assert not state.exists()
    assert opened(state, "other")
    assert (state / "sources/0-t/1.parquet").exists()


def test_a_folder_that_was_set_aside_meanwhile_is_not_locked(state, monkeypatch):
    """Who opened the lock before has that of the folder that is now elsewhere."""
    original = Path.open

    def opened_late(path, *arguments, **options):
        file = original(path, *arguments, **options)
        if path == state / "lock" and arguments == ("a+",):
            state.rename(state.with_name("elsewhere"))
            state.mkdir()
        return file

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", opened_late)
        with pytest.raises(RunProblem, match="is in use"):
            Lock(state, "late")


def test_a_folder_that_was_moved_names_its_files_anew(state, tmp_path):
    moved = tmp_path / "Äpfel & 100%"
    state.rename(moved)
    assert opened(moved)
    log = (moved / "outputs/0/checkpoint/sources/0/0").read_text()
    uri = f"file://{tmp_path}/Äpfel%20&%20100%25/sources/0-t/1.parquet"
    assert f'"{uri}"' in log
    assert str(tmp_path / "a b") not in "".join(contents(moved).values())
    again = contents(moved)
    relocate(moved, state)
    assert contents(moved) == again


def test_a_copy_whose_origin_is_gone_is_never_taken_for_the_newest(
    state, tmp_path, monkeypatch
):
    """It was killed before the old folder was stamped, which may have gone on since."""
    job, original = tmp_path / "job" / "run", StateHeader.write

    def write(stamp, folder):
        if stamp.moved_to:
            raise Killed
        original(stamp, folder)

    with monkeypatch.context() as patched:
        patched.setattr(StateHeader, "write", write)
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(Killed):
            copies.hand_over(state, job, "cell", NEW)
    shutil.rmtree(state)
    with pytest.raises(RunProblem, match="which is gone: whether") as told:
        opened(job)
    assert told.value.hint == "remove the copy to start afresh"
    assert copies.set_aside(job, "job").exists()
    assert not opened(job)


def test_a_copy_is_taken_though_what_it_was_made_of_is_gone_since(
    state, tmp_path, monkeypatch
):
    job = tmp_path / "job" / "run"
    with monkeypatch.context() as patched:
        settled = []

        def settle(folder):
            settled.append(folder)
            if len(settled) == 2:
                raise Killed

        patched.setattr(copies, "settle", settle)
        with pytest.raises(Killed):
            copies.hand_over(state, job, "cell", NEW)
    shutil.rmtree(state)
    assert opened(job)


def test_the_copy_of_a_fork_that_was_cut_off_is_not_state_later(state, monkeypatch):
    def killed(folder):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(copies, "_renamed", killed)
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(Killed):
            copies.fork(state, "cell", identity="other")
    assert next_folder(state).exists()
    assert opened(state)
    shutil.rmtree(state)
    assert not opened(state, "other")


def test_a_fork_right_after_a_handover_has_the_state(state, tmp_path):
    job = tmp_path / "job" / "run"
    copies.hand_over(state, job, "cell", NEW)
    shutil.rmtree(state)
    StateFolder(state, identity="plan", name="cell").release()
    copies.fork(job, "job", identity="other")
    assert opened(job, "other")


def test_what_was_handed_over_and_is_gone_is_not_handed_over_again(state, tmp_path):
    job = tmp_path / "job" / "run"
    copies.hand_over(state, job, "cell", NEW)
    shutil.rmtree(job)
    with pytest.raises(RunProblem, match="and is gone there"):
        copies.hand_over(state, job, "cell", NEW)


def test_state_that_nothing_is_told_of_is_not_used(state):
    (state / "run.json").unlink()
    with pytest.raises(RunProblem, match=r"run\.json' is gone"):
        opened(state)


def test_a_fork_whose_start_is_refused_is_put_back(state):
    before = contents(state)
    aside = copies.fork(state, "job", identity="another plan")
    copies.put_back(aside, state, "job")
    assert contents(state) == before
    assert [path.name for path in state.parent.iterdir()] == ["run"]
    assert opened(state)
