"""UDFs: written in Python or Rust, called in SQL.

::

    source text --read--> definition --row of a function--> plan
                     \\--load, where a run starts--> what a worker calls, with batches

Source: arroyo-semantics f.11 and g.
"""

from __future__ import annotations

from arroyo_nb.udfs.decorators import udaf, udf

__all__ = ["udaf", "udf"]
