"""From a definition in Python to what a worker calls."""

from __future__ import annotations

import ast
import copyreg
import dataclasses
import functools
import hashlib
import inspect
import linecache
import sys
import threading
import traceback
import types
import typing
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.schema import arrow_type
from arroyo_nb.udfs import decorators
from arroyo_nb.udfs.definition import Kind, Udf
from arroyo_nb.udfs.python.annotations import written
from arroyo_nb.udfs.python.source_text import SourceText, source_text
from arroyo_nb.udfs.registry import without_definitions


def _sent(cached: Any) -> Any:
    """How a function with a cache is sent to a worker: without what it has cached.

    Python sends it by its name only, which a notebook's or a source's has not there.
    """
    module = sys.modules.get(cached.__module__)
    is_there = getattr(module, cached.__qualname__, None) is cached
    if is_there and cached.__module__ != "__main__":
        return cached.__qualname__
    return _cached, (cached.__wrapped__, cached.cache_parameters())


def _cached(function: Any, parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


copyreg.pickle(type(cache(len)), _sent)


def load(udf: Udf) -> Any:
    """Run a definition's source, and give what a worker calls."""
    function = run_source(udf.text).get(udf.written)
    if not callable(function) or not _is_defined_at(function, udf):
        raise CatalogProblem(
            f"'{udf.written}' is no longer the function of line {udf.line} when its "
            "source has been run"
        )
    return batch_call(udf, function)


def _is_defined_at(function: Any, udf: Udf) -> bool:
    """Whether a function is that of its definition, and none that came later. What a
    decorator has made may be anything."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or code.co_name != udf.written:
        return True
    lines = {
        part.lineno
        for node in ast.parse(udf.text).body
        if node.lineno == udf.line
        for part in (node, *getattr(node, "decorator_list", ()))
    }
    return code.co_firstlineno in lines or not code.co_filename.startswith("<udf ")


def _on_main_thread() -> bool:
    """Whether an interrupt may be the user's."""
    return threading.current_thread() is threading.main_thread()


@cache
def run_source(text: str) -> dict[str, Any]:
    """The names of a module of that text, which is run.

    Raises
    ------
    CatalogProblem
        When it raises.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    module, name = types.ModuleType(f"udf_source_{digest}"), f"<udf {digest}>"
    # Who has a cell of functions, and nothing else in it, need not import them.
    module.__dict__.update(udf=decorators.udf, udaf=decorators.udaf)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        # Listed while it runs, as dataclasses look it up, and no longer: so functions
        # of it are sent to workers whole.
        sys.modules[module.__name__] = module
        with without_definitions(module.__name__):
            exec(compile(text, name, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and _on_main_thread():
            raise
        own = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in own if frame.filename == name]
        number = error.lineno if isinstance(error, SyntaxError) else lines[-1]
        raise CatalogProblem(
            f"Could not register Python UDF: {type(error).__name__}: {error}, at line "
            f"{number} of its source"
        ) from error
    finally:
        sys.modules.pop(module.__name__, None)
    return module.__dict__


def batch_call(udf: Udf, function: Any) -> Any:
    """What a worker calls for a function, as :meth:`Udf.batch_call` says; or for a
    class."""
    from arroyo_nb.udfs.python import async_calls, calls, objects

    is_class = udf.kind is Kind.ACCUMULATOR
    annotations = _hints(function.accumulate if is_class else function, function)
    names = tuple(parameter.name for parameter in udf.parameters)
    hints = [annotations.get(name) for name in names]
    of_function = partial(_maker, function)
    makers = tuple(map(of_function, hints))
    source = _source(function)
    is_of_text = source.file.startswith("<udf ")
    of = calls.PythonFunction(
        udf.name,
        function,
        names,
        makers,
        arrow_type(udf.result),
        written(udf.result),
        source,
        optional=udf.may_be_null,
        null_on_error=udf.options.on_error == "null",
        redact=udf.options.redact,
        moved=udf.cell_line - udf.line if udf.cell_line and is_of_text else 0,
    )
    match udf.kind:
        case Kind.ROWS:
            return calls.RowCall(of)
        case Kind.BATCHES:
            as_series = (getattr(h, "__name__", "") == "Series" for h in hints)
            return calls.BatchCall(of, tuple(as_series), udf.takes_nulls)
        case Kind.ASYNC:
            return async_calls.AsyncCall(of, udf.options)
        case Kind.VALUES:
            return calls.ValuesCall(of)
        case Kind.ACCUMULATOR:
            return objects.ObjectCalls(of)


def _source(function: Any) -> SourceText:
    """Where the definition stands; nothing where its source cannot be read."""
    try:
        return source_text(function)
    except CatalogProblem:
        return SourceText("", 1, ())


def _hints(of: Any, function: Any) -> dict[str, Any]:
    """The types of a function's arguments, or of a class's fields.

    Parameters
    ----------
    function
        The definition: its module has the names.
    """
    is_class = isinstance(function, type)
    method = vars(function)["accumulate"] if is_class else function
    names = inspect.unwrap(method).__globals__
    try:
        return typing.get_type_hints(of, globalns=names)
    except Exception:  # types were read from the source: only dataclasses need it
        return {}


def _maker(function: Any, hint: Any) -> Callable[[Any], Any] | None:
    """What makes of a value from Arrow the argument; None: it is the argument."""
    if hint is None:
        return None
    if dataclasses.is_dataclass(hint):
        hints = _hints(hint, function)
        fields = [f.name for f in dataclasses.fields(hint) if f.init]
        return partial(
            _record, hint, [(f, _maker(function, hints.get(f))) for f in fields]
        )
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        found = (_maker(function, one) for one in inner)
        makers = [maker for maker in found if maker is not None]
        return makers[0] if makers else None
    if inner and origin is not None and issubclass(origin, Sequence):
        element = _maker(function, inner[0])
        return None if element is None else partial(_list, element)
    return None


def _record(
    cls: Any, fields: Sequence[tuple[str, Callable[[Any], Any] | None]], value: Any
) -> Any:
    if value is None:
        return None
    parts = {n: value[n] if m is None else m(value[n]) for n, m in fields}
    return cls(**parts)


def _list(maker: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else [maker(one) for one in value]
