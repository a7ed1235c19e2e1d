"""Kernels for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kernels import Kernel

Start = Callable[..., Kernel]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts kernels that end with the module."""
    started: list[Kernel] = []

    def new(below: str = "", **environment: str) -> Kernel:
        folder = tmp_path_factory.mktemp("kernel") / below
        folder.mkdir(parents=True, exist_ok=True)
        started.append(Kernel(folder, **environment))
        return started[-1]

    yield new
    for kernel in started:
        kernel.close()
