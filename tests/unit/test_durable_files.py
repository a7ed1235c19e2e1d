"""Files that are replaced whole or not at all."""

from pathlib import Path

import pytest

from arroyo_nb.durable_files import replaced_whole


def test_a_file_is_replaced_once_all_is_written(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 250)
    file.write_text("old")
    with replaced_whole(file) as unfinished:
        unfinished.write_text("new")
        assert file.read_text() == "old"
    assert file.read_text() == "new"
    assert list(tmp_path.iterdir()) == [file]


def test_an_interrupt_leaves_the_old_one_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("old")

    def interrupted() -> None:
        with replaced_whole(file) as unfinished:
            unfinished.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
