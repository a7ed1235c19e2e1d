"""Kernels for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kernels import Kernel, in_folder
from odd_names import NESTED

Start = Callable[..., Kernel]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts kernels that end with the module."""
    yield from starts(tmp_path_factory)


@pytest.fixture(scope="package")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel, in a folder of an odd name, whose cells harm nothing: two modules share
    it."""
    for start in starts(tmp_path_factory):
        yield in_folder(start, NESTED)


def starts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """What starts kernels, which end after it."""
    started: list[Kernel] = []

    def new(below: str = "", **environment: str) -> Kernel:
        folder = tmp_path_factory.mktemp("kernel") / below
        folder.mkdir(parents=True, exist_ok=True)
        started.append(Kernel(folder, **environment))
        return started[-1]

    yield new
    for kernel in started:
        kernel.close()
