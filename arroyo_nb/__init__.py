"""Explore data streams in Jupyter: Arroyo's streaming SQL, live on Spark."""

from __future__ import annotations

from arroyo_nb.errors import ArroyoError

__version__ = "0.1.0"
__all__ = ["ArroyoError", "__version__"]
