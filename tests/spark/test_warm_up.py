"""The streams that warm an engine up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.engine import warm
from arroyo_nb.engine.query_settings import IN_ROCKSDB

if TYPE_CHECKING:
    from arroyo_nb.engine import Engine


def test_both_streams_run_to_their_end_and_leave_no_setting(
    engine: Engine, tmp_path: Path
) -> None:
    (setting,) = IN_ROCKSDB

    def found() -> set[str]:
        conf = engine.session.conf
        values = {conf.get(setting)}
        # Between two steps the engine serves others, who must find what they know.
        values.update(conf.get(setting) for _ in warm.steps(engine.session, tmp_path))
        return values

    (kept,) = engine.worker.call(found)
    assert kept not in IN_ROCKSDB.values()
    for checkpoint in ("w", "u"):
        last = tmp_path / checkpoint / "commits" / str(warm.BATCHES - 1)
        assert last.exists()
