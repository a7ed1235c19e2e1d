"""A small disk runs full: the run says which, and resumes once there is room."""

from __future__ import annotations

import json
import subprocess
from collections import Counter

import pytest
from seeds import of_the_day

from arroyo_nb.file_errors import free_bytes

ROWS = 20_000
SCRIPT = """
CREATE TABLE rows (k TEXT, v BIGINT)
WITH (connector = 'single_file', path = '{source}', type = 'source', format = 'json');
CREATE TABLE out WITH (connector = 'single_file', path = '{sink}/out.json',
                       type = 'sink', format = 'json');
INSERT INTO out SELECT k, v FROM rows
"""


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 2 MB of which so many bytes are free."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a disk")

    def filled(free):
        (folder / "filler").write_bytes(bytes(max(0, free_bytes(folder) - free)))
        return folder

    yield filled
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize(
    ("full", "free", "where"),
    of_the_day(
        [
            pytest.param("state", 8192, "state folder"),
            pytest.param("state", 200_000, "state folder"),
            pytest.param("sink", 100_000, "sink"),
        ],
        "damages",
    ),
)
def test_the_full_disk_is_named_and_with_room_the_run_resumes(
    session, small_disk, tmp_path, full, free, where
):
    small = small_disk(free)
    source, sink = tmp_path / "rows.json", tmp_path / "sink"
    sink.mkdir()
    lines = [json.dumps({"k": f"k{n % 7}", "v": n}) for n in range(ROWS)]
    source.write_text("\n".join(lines) + "\n")
    places = {"state": tmp_path / "state", "sink": sink} | {full: small}
    script = SCRIPT.format(source=source, sink=places["sink"])
    run = session.run(script, name="job", state_dir=places["state"])
    run.wait_quietly(60)
    assert f"the disk of the {where} is full" in run.error.message
    assert str(small) in run.error.message
    assert "make space there" in run.error.hint
    assert "state_dir=" in run.error.hint
    assert not run.error.lasting
    (small / "filler").unlink()
    again = session.run(script, name="job", state_dir=places["state"])
    again.wait_quietly(60)
    assert again.error is None
    written = (places["sink"] / "out.json").read_text().splitlines()
    assert Counter(map(str, map(json.loads, written))) == Counter(
        map(str, map(json.loads, lines))
    )
