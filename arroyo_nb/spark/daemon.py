"""What Spark forks its Python workers from: PySpark's own daemon, with steps loaded.

A worker that loads numpy, pyarrow and the kernels by itself takes 0.3 s for it, when
the first rows come to it. What is forked is whole: Spark keeps numpy's algebra to one
thread, and the one that Arrow's allocator starts knows of forks.
"""

import gc

import pandas  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import arroyo_nb.records
import arroyo_nb.spark.bucket_state
import arroyo_nb.spark.processors
import arroyo_nb.spark.stateful_operators  # noqa: F401

if __name__ == "__main__":
    # A worker collects garbage after each task. To look through all that was loaded
    # would take it 40 ms, most of a small task.
    gc.freeze()
    manager()
