"""What the header of a trace file must be like: somebody may have written it by hand,
and views take a number for a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from arroyo_nb.plan.nodes import SortKey
from arroyo_nb.run.observe.snapshot import RunState, Snapshot, SourceProgress

_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "None": (type(None),),
}

_WINDOWS = {"Tumble": ("width",), "Hop": ("slide", "width"), "SessionWindow": ("gap",)}
"""The windows that a header may name, and their lengths."""


def check_header(header: Any, static: Sequence[str], of_source: Sequence[str]) -> None:
    """Check the kinds of all values.

    Parameters
    ----------
    header
        What was read.
    static, of_source
        The fields of a snapshot, and of a source, that it has.

    Raises
    ------
    ValueError
        With the first value that is of another kind; what is missing raises KeyError.
    """
    # A header without outputs has no run.
    _check("version", header["version"], "int")
    _check("sql", header["sql"], "str")
    _check("plan", header["plan"], "str")
    outputs = _listed("outputs", header["outputs"])
    if not outputs:
        raise ValueError("outputs")
    for output in outputs:
        _check_fields(Snapshot, static, output)
        _check("error", output["error"], "str | None")
        _check("has_key", output["has_key"], "bool")
        _check("limit", output["limit"], "int | None")
        RunState(output["state"])
        if output["window"] is not None:
            _check_window(output["window"])
        names = tuple(f.name for f in fields(SortKey))
        for key in _listed("order", output["order"]):
            _check_fields(SortKey, names, key)
        for source in _listed("sources", output["sources"]):
            _check_fields(SourceProgress, of_source, source)
            _check("delay", source["delay"], "int | None")
            _check("bad", source["bad"], "tuple[str, ...]")
            _check("notes", source["notes"], "tuple[str, ...]")


def _check_window(window: Any) -> None:
    lengths = _WINDOWS[window["kind"]]
    if set(window) != {"kind", *lengths}:
        raise ValueError("window")
    for name in lengths:
        _check(name, window[name], "int")
        if window[name] <= 0:
            raise ValueError(name)


def _check_fields(type_: Any, names: Sequence[str], found: Any) -> None:
    kinds = {f.name: str(f.type) for f in fields(type_)}
    for name in names:
        _check(name, found[name], kinds[name])


def _check(name: str, value: Any, kind: str) -> None:
    """``kind`` is an annotation of a dataclass, as text."""
    if kind.startswith("tuple["):
        inner = kind.removeprefix("tuple[").removesuffix(", ...]")
        for each in _listed(name, value):
            _check(name, each, inner)
        return
    allowed = tuple(t for part in kind.split(" | ") for t in _KINDS[part])
    # A truth value is a whole number to Python.
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind != "bool"):
        raise ValueError(name)


def _listed(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise ValueError(name)
    return value
