"""What Spark does with local files in an engine of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_files_are_written_without_checksums_and_with_the_umask_s_mode(
    engine: Engine, tmp_path: Path
) -> None:
    def write(spark: SparkSession) -> None:
        spark.range(10).write.parquet((tmp_path / "numbers").as_uri())

    engine.worker.call(lambda: write(engine.session))
    by_us = tmp_path / "ours"
    by_us.touch()
    names = {path.name for path in (tmp_path / "numbers").iterdir()}
    assert names
    assert not any(name.endswith(".crc") for name in names)
    for path in (tmp_path / "numbers").iterdir():
        assert path.stat().st_mode == by_us.stat().st_mode
