"""Libraries that are imported at first use."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy
import pytest
from pyspark import cloudpickle

from arroyo_nb import lazy_imports


def test_an_attribute_is_the_library_s() -> None:
    assert lazy_imports.np.int64 is numpy.int64
    assert "int64" in vars(lazy_imports.np)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = lazy_imports.lazy_module("numpy").no_such_name


def test_a_function_that_uses_one_travels_to_a_worker() -> None:
    scope = {"np": lazy_imports.lazy_module("numpy")}
    exec("def three():\n    return int(np.array([1, 2]).sum())", scope)
    sent = cloudpickle.dumps(scope["three"])
    assert pickle.loads(sent)() == 3


def test_a_kernel_loads_the_libraries_itself() -> None:
    script = (
        "import sys\n"
        "from arroyo_nb.functions.aggregates import aggregate\n"
        "from arroyo_nb.changelog.keys import group_ids\n"
        "loaded = lambda: {'numpy', 'pyarrow'} & set(sys.modules)\n"
        "assert aggregate('sum').kernel is not None and not loaded(), loaded()\n"
        "assert len(group_ids([], 2)) == 2 and loaded() == {'numpy'}, loaded()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
