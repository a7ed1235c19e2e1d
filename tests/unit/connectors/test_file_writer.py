"""Writing one file of lines: who may, and what is told; the rows come without Spark."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from arroyo_nb.connectors import CONNECTORS, TableSpec, _line_writers
from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import BIGINT, Field, Schema

SCHEMA = Schema((Field("n", BIGINT),))


@pytest.fixture
def batches(monkeypatch):
    """A batch is the pieces that it is encoded as."""
    monkeypatch.setattr(_line_writers.Lines, "pieces", lambda _, pieces: iter(pieces))


def opened(path, state, user="run 'a' of process 1"):
    options = {"path": str(path), "format": "json"}
    spec = TableSpec("t", SCHEMA, options, user=user)
    return CONNECTORS.get("single_file").writer(spec, state)


def test_a_file_has_one_writer_at_a_time(tmp_path, batches):
    path, other = tmp_path / "o.json", tmp_path / "link.json"
    other.symlink_to(path)
    first = opened(path, tmp_path / "a")
    first.take([b"1\n"], 0)
    for name in (path, other):
        with pytest.raises(RunProblem, match=r"json' is being written by run 'a' of"):
            opened(name, tmp_path / "b")
    first.take([b"2\n", b"3\n"], 1)
    assert path.read_bytes() == b"1\n2\n3\n"
    first.close()
    first.close()
    with pytest.raises(RunProblem, match="has released"):
        first.take([b"4\n"], 2)
    second = opened(other, tmp_path / "b")
    assert path.read_bytes() == b""
    second.close()


HOLDER = """
import sys
from pathlib import Path
from tests.unit.connectors.test_file_writer import opened
held = opened(Path(sys.argv[1]) / "o.json", Path(sys.argv[1]) / "a")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_killed_process_lets_go_and_leaves_nothing(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(Path.cwd()), *sys.path))},
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(RunProblem, match="being written by another process"):
            opened(tmp_path / "o.json", tmp_path / "b")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    opened(tmp_path / "o.json", tmp_path / "a").close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "o.json"]


def test_a_replay_that_is_cut_short_can_be_replayed(tmp_path, batches):
    path = tmp_path / "o.json"

    def torn():
        yield b"2"
        raise KeyboardInterrupt

    with closing(opened(path, tmp_path / "a")) as writer:
        writer.take([b"1\n"], 0)
        writer.take([b"2\n", b"3\n"], 1)
    for _ in range(2):  # Spark has committed the first batch only
        writer = opened(path, tmp_path / "a")
        with closing(writer), pytest.raises(KeyboardInterrupt):
            writer.take(torn(), 1)
    with closing(opened(path, tmp_path / "a")) as writer:
        assert path.read_bytes() == b"1\n"
        writer.take([b"2\n", b"3\n"], 1)
        writer.take([b"4\n"], 2)
    assert path.read_bytes() == b"1\n2\n3\n4\n"


def test_a_file_that_others_touch_is_not_written_on(tmp_path, batches):
    path = tmp_path / "o.json"
    writer = opened(path, tmp_path / "a")
    writer.take([b"1\n"], 0)
    writer.take([b"2\n"], 1)
    os.truncate(path, 1)
    with pytest.raises(RunProblem, match=r"was cut to 1 bytes .* 4 were there"):
        writer.take([b"3\n"], 2)
    assert path.read_bytes() == b"1"
    path.rename(tmp_path / "old.json")
    with pytest.raises(RunProblem, match=r"cannot write '.*o\.json': No such file"):
        writer.take([b"3\n"], 2)
    path.write_bytes(b"of somebody else\n")
    with pytest.raises(RunProblem, match="was replaced while it was written"):
        writer.take([b"3\n"], 2)
    assert path.read_bytes() == b"of somebody else\n"
    writer.close()


def test_a_file_that_is_gone_is_not_gone_on_with(tmp_path, batches):
    path = tmp_path / "o.json"
    writer = opened(path, tmp_path / "a")
    writer.take([b"1\n"], 0)
    writer.close()
    path.unlink()
    with pytest.raises(RunProblem, match="No such file"):
        opened(path, tmp_path / "a")
    assert not path.exists()
