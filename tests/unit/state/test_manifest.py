"""What a manifest names, and what it says of a file that is not as it was."""

from __future__ import annotations

import pytest

from arroyo_nb.errors import StateProblem
from arroyo_nb.state.manifest import MANIFEST, Manifest

OFFSETS = 'v1\n{"batchWatermarkMs":0}\n{"logOffset":%d}'


@pytest.fixture
def folder(tmp_path):
    """The state of a query that has committed batch 1 and has begun batch 2."""
    checkpoint = tmp_path / "outputs" / "0" / "checkpoint"
    files = {f"offsets/{n}": OFFSETS % n for n in range(3)}
    files |= {f"commits/{n}": "v1\n{}" for n in range(2)}
    files |= {f"sources/0/{n}": "v1\n{}" for n in range(3)}
    files |= {f"state/0/0/{n}.delta": f"delta {n}" for n in (1, 2, 3)}
    files |= {
        "state/0/_metadata/metadata": "v1",
        "state/0/_metadata/.metadata.crc": "c",
    }
    for name, text in files.items():
        path = checkpoint / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_it_names_what_is_committed_and_nothing_later(folder):
    names = sorted(Manifest(folder).updated({0: 1}).files)
    start = "outputs/0/checkpoint/"
    assert [name.removeprefix(start) for name in names] == [
        "commits/0",
        "commits/1",
        "offsets/0",
        "offsets/1",
        "sources/0/0",
        "sources/0/1",
        "state/0/0/1.delta",
        "state/0/0/2.delta",
        "state/0/_metadata/metadata",
    ]
    assert Manifest(folder).updated({0: -1}).files == {}


@pytest.mark.parametrize(
    ("now", "fault"),
    [
        (None, "is gone"),
        (b"", "is empty"),
        (b"delt", "is cut off or an older copy"),
        (b"delta 9", "is damaged or an older copy"),
        (b"delta 2", None),
    ],
)
def test_a_file_that_is_not_as_it_was(folder, now, fault):
    manifest = Manifest(folder).updated({0: 1})
    manifest.write()
    path = folder / "outputs/0/checkpoint/state/0/0/2.delta"
    path.unlink() if now is None else path.write_bytes(now)
    manifest = Manifest.read(folder)
    assert manifest.fault(path) == fault
    if fault is not None:
        with pytest.raises(StateProblem) as caught:
            manifest.check(path, "what it is for")
        assert caught.value.message == f"'{path}' {fault}: what it is for"


@pytest.mark.parametrize("found", [None, b"", b"{", b'{"version": 1, "check": "0"}'])
def test_one_that_is_gone_or_damaged_names_nothing(folder, found):
    Manifest(folder).updated({0: 1}).write()
    path = folder / MANIFEST
    path.unlink() if found is None else path.write_bytes(found)
    assert Manifest.read(folder).files == {}


def test_what_is_removed_by_spark_is_named_no_more(folder):
    before = Manifest(folder).updated({0: 1})
    (folder / "outputs/0/checkpoint/commits/0").unlink()
    after = before.updated({0: 1})
    assert set(before.files) - set(after.files) == {"outputs/0/checkpoint/commits/0"}
