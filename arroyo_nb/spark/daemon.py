"""What Spark forks its Python workers from: PySpark's own daemon, with Arrow loaded.

A worker that loads numpy and pyarrow by itself takes 0.3 s for it, when the first rows
come to it. What is forked is whole: Spark keeps numpy's algebra to one thread, and the
one that Arrow's allocator starts knows of forks.
"""

import numpy  # noqa: F401
import pyarrow.compute
import pyarrow.ipc  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
