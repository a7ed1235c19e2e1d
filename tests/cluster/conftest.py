"""A cluster for the tests of a process: one that kills a worker has one of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from standalone import Cluster, cluster


@pytest.fixture(scope="package")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of one core."""
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started
