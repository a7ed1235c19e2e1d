"""Functions with OVER within a window, on Arrow tables: no state, and no Spark.

All rows of a window come together, once the watermark has passed its end, so that a
function sees its whole partition. :class:`~arroyo_nb.over.kernel.OverKernel` sorts the
rows of many partitions at once and computes column by column.
"""
