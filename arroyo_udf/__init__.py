"""``from arroyo_udf import udf``, as functions that are written for Arroyo say it."""

from arroyo_nb.udfs import udaf, udf

__all__ = ["udaf", "udf"]
