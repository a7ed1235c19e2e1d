"""NumPy and Arrow for modules that planning a script imports: loaded at first use.

The row of an aggregate stands beside its kernel, and the planner reads every row. With
a plain ``import`` each ``arroyo-nb check`` would load both libraries, twice the time of
planning, and never call a kernel. So those modules write
``from arroyo_nb.lazy_imports import np, pa``: the name is a module that imports the
library when an attribute is first asked for, and keeps the attribute. To mypy it is the
library. Such a module names nothing of NumPy or Arrow while it is imported: a type
alias is text, a constant is a function.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["np", "npt", "pa", "pc", "pt"]


def lazy_module(name: str) -> ModuleType:
    """A module that imports another one when an attribute of it is first asked for.

    >>> lazy_module("decimal").Decimal("0.5")
    Decimal('0.5')
    """
    module = ModuleType(name)

    def load(attribute: str) -> object:
        value = getattr(import_module(name), attribute)
        # From now on a look-up finds it without this function: no slower than before.
        setattr(module, attribute, value)
        return value

    # Python calls a module's own __getattr__ for what it has not (PEP 562).
    module.__dict__["__getattr__"] = load
    return module


if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt
else:
    np = lazy_module("numpy")
    npt = lazy_module("numpy.typing")
    pa = lazy_module("pyarrow")
    pc = lazy_module("pyarrow.compute")
    pt = lazy_module("pyarrow.types")
