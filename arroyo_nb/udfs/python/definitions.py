"""The functions that Python source defines: read from its text, which is not run.

Source: arroyo-semantics g.3, whose words the errors have.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from arroyo_nb.errors import ArroyoError, CatalogProblem, SyntaxProblem, raise_all
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import BIGINT, BOOLEAN, DOUBLE, TEXT, Type
from arroyo_nb.source import ScriptText, Span
from arroyo_nb.udfs.definition import Kind, Udf, UdfOptions, UdfParameter
from arroyo_nb.udfs.durations import read_duration
from arroyo_nb.udfs.names import check_name
from arroyo_nb.udfs.python.annotations import Annotated, Module

DECORATORS = {
    f"{owner}{name}": name
    for name in ("udf", "udaf")
    for owner in ("", "arroyo_nb.", "arroyo_udf.", "arroyo_nb.udfs.")
}
"""What a decorator may be imported as -> which it is."""

NO_UDF = (
    "The supplied code does not contain a UDF (UDF functions must be annotated with "
    "@udf)"
)
_ONE_ALONE = "More than one function was annotated with @udf, which is not supported"
_METHODS = ("accumulate", "retract", "merge", "finish")
_OF_ASYNC = (
    *("ordered", "unordered", "allowed_in_flight"),
    *("timeout", "on_timeout"),
)
_OF_FUNCTIONS = ("input", "output", "volatile")
_CHOICES = ("fail", "null")


def definitions(source: ScriptText, load: Callable[[Udf], Any]) -> tuple[Udf, ...]:
    """The functions that a module defines.

    Parameters
    ----------
    source
        The module's text.
    load
        Makes of a definition what a worker calls.

    Raises
    ------
    ArroyoError
        Each thing that is wrong with one, with its place; also when there is none.
    """
    try:
        tree = ast.parse(source.text)
        # A parser takes what a compiler refuses: await in a plain def, an option twice.
        compile(tree, source.name, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise _syntax_problem(error, source) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxProblem(f"this cannot be read as Python: {error}").at(
            source
        ) from None
    reader = _Reader(source, Module(tree), load)
    problems: list[ArroyoError] = []
    found: dict[str, Udf] = {}
    for node, decorator in reader.decorated(tree):
        try:
            udf = reader.read(node, decorator)
            if (first := found.get(udf.name)) is not None:
                said = f"the function {udf.name} is defined twice"
                if first.written != udf.written:
                    said += f", as {first.written} and {udf.written}: SQL knows no case"
                raise CatalogProblem(said, span=reader.span(node))
            found[udf.name] = udf
        except ArroyoError as problem:
            problem.span = problem.span or reader.span(node)
            problems.append(problem.at(source))
    raise_all(problems)
    if not found:
        raise CatalogProblem(NO_UDF).at(source)
    if len(found) > 1:
        return tuple(replace(u, arroyo_refusal=_ONE_ALONE) for u in found.values())
    return tuple(found.values())


def _syntax_problem(error: SyntaxError, source: ScriptText) -> ArroyoError:
    at = source.offset(error.lineno or 1, max(error.offset or 1, 1))
    return SyntaxProblem(f"{error.msg}", span=Span(at, at + 1)).at(source)


class _Reader:
    """Reads the definitions of one module."""

    def __init__(
        self,
        source: ScriptText,
        module: Module,
        load: Callable[[Udf], Any],
    ) -> None:
        self._source = source
        self._module = module
        self._load = load
        # Python counts columns in bytes of UTF-8.
        self._lines = re.findall(r"[^\n]*\n|[^\n]+", source.text)

    def span(self, node: ast.AST) -> Span:
        """Where a node stands: of a function its first line."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end = getattr(node, "end_lineno", line), node.end_col_offset  # type: ignore[attr-defined]
        start = self._offset(line, column)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return Span(start, self._source.offset(line + 1))
        return Span(start, self._offset(end_line, end))

    def _offset(self, line: int, column: int) -> int:
        text = self._lines[line - 1].encode() if line <= len(self._lines) else b""
        before = text[:column].decode(errors="ignore")
        return self._source.offset(line, len(before) + 1)

    def decorated(self, tree: ast.Module) -> Iterator[tuple[Any, ast.expr]]:
        """The functions and classes that are decorated, with their decorators."""
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for decorator in node.decorator_list:
                    if self._decorator(decorator):
                        yield node, decorator

    def _decorator(self, node: ast.expr) -> str | None:
        call = node.func if isinstance(node, ast.Call) else node
        return DECORATORS.get(self._module.path(call))

    def read(self, node: Any, decorator: ast.expr) -> Udf:
        """One definition.

        Raises
        ------
        ArroyoError
            For whatever is wrong with it.
        """
        check_name(node.name.lower())
        which, given = self._decorator(decorator), _keywords(decorator)
        is_class = isinstance(node, ast.ClassDef)
        if is_class is not (which == "udaf"):
            raise CatalogProblem(
                f"@{which} is for a {'function' if is_class else 'class'}",
                hint="write @udaf" if is_class else "write @udf",
            )
        self._check_kind(node, given)
        options = self._options(given)
        if isinstance(node, ast.ClassDef):
            if options.on_error == "null":
                raise CatalogProblem(
                    "on_error='null' is not for the class of an aggregate: an object "
                    "whose call raised has half a row",
                    span=self.span(given["on_error"]),
                    hint="catch the error in the method, and give None in finish()",
                )
            return self._accumulator(node, options)
        return self._function(node, given, options)

    def _check_kind(self, node: Any, given: Mapping[str, ast.expr]) -> None:
        """Refuse options that would do nothing."""
        for name, option in given.items():
            if name in _OF_ASYNC and not isinstance(node, ast.AsyncFunctionDef):
                raise CatalogProblem(
                    f"'{name}' is for async functions", span=self.span(option)
                )
            if isinstance(node, ast.ClassDef) and name in _OF_FUNCTIONS:
                raise CatalogProblem(
                    f"'{name}' is for functions, and not for the class of an aggregate",
                    span=self.span(option),
                )

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        given: Mapping[str, ast.expr],
        options: UdfOptions,
    ) -> Udf:
        arguments = _arguments(node)
        batches = [
            argument.annotation
            for argument in arguments
            if argument.annotation and self._module.is_batch(argument.annotation)
        ]
        if node.returns is None:
            example = ast.unparse(batches[0]) if batches else "float"
            raise CatalogProblem(
                f"No return type defined for function {node.name}",
                span=self.span(node),
                hint=f"write it behind the arguments: -> {example}",
            )
        is_async = isinstance(node, ast.AsyncFunctionDef)
        if batches:
            return self._batched(node, arguments, given, options)
        for word in ("input", "output"):
            if word in given:
                raise CatalogProblem(
                    f"'{word}' is for functions of whole batches",
                    span=self.span(given[word]),
                    hint="annotate the arguments with pyarrow.Array or pandas.Series",
                )
        for part in _own_parts(node):
            if isinstance(part, ast.Yield | ast.YieldFrom):
                raise CatalogProblem(
                    f"the function {node.name} is a generator: a UDF gives one value",
                    span=self.span(part),
                )
        found = [self._argument(argument) for argument in arguments]
        lists = [one.is_list for one in found]
        if any(lists) and not all(lists):
            raise CatalogProblem(
                f"In function {node.name}: for a UDAF, all arguments must be lists",
                hint="an aggregate takes list[T] only; Sequence[T] is a list of one "
                "row",
            )
        if any(lists) and is_async:
            raise CatalogProblem("an async function cannot be an aggregate")
        result = self._typed(node.returns, self._module.value)
        kind = Kind.ASYNC if is_async else Kind.VALUES if any(lists) else Kind.ROWS
        names = [argument.arg for argument in arguments]
        return self._udf(node, kind, _parameters(names, found), result, options)

    def _batched(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        arguments: Sequence[ast.arg],
        given: Mapping[str, ast.expr],
        options: UdfOptions,
    ) -> Udf:
        if isinstance(node, ast.AsyncFunctionDef):
            raise CatalogProblem("a function of whole batches cannot be async")
        if "input" not in given or "output" not in given:
            raise CatalogProblem(
                "a function of whole batches says the types of their values",
                hint="write @udf(input=[int, float], output=float)",
            )
        listed = given["input"]
        inner = listed.elts if isinstance(listed, ast.List | ast.Tuple) else [listed]
        if len(inner) != len(arguments):
            raise CatalogProblem(
                f"input has {len(inner)} types, and {node.name} {len(arguments)} "
                "arguments",
                span=self.span(listed),
            )
        for argument in arguments:
            said = argument.annotation
            if said is None or not self._module.is_batch(said):
                raise CatalogProblem(
                    f"the argument {argument.arg} is no batch, and others are",
                    span=self.span(argument),
                    hint="annotate all of them with pyarrow.Array or pandas.Series",
                )
        found = [self._typed(one, self._module.value) for one in inner]
        result = self._typed(given["output"], self._module.value)
        names = [argument.arg for argument in arguments]
        parameters = _parameters(names, found)
        return self._udf(node, Kind.BATCHES, parameters, result, options)

    def _accumulator(self, node: ast.ClassDef, options: UdfOptions) -> Udf:
        for base in node.bases:
            if self._module.path(base) not in (*self._module.classes, "object"):
                raise CatalogProblem(
                    f"the aggregate {node.name} extends {ast.unparse(base)}",
                    span=self.span(base),
                    hint="keep one in an attribute instead: only attributes are kept",
                )
        body = self._module.body(node)
        methods = {n.name: n for n in body if isinstance(n, ast.FunctionDef)}
        for name in _METHODS:
            if name not in methods:
                raise CatalogProblem(
                    f"the aggregate {node.name} has no method {name}()",
                    hint="it has __init__(self), accumulate(self, ...), "
                    "retract(self, ...), merge(self, other) and finish(self) -> T",
                )
        finish = methods["finish"]
        if finish.returns is None:
            raise CatalogProblem(
                f"No return type defined for function {node.name}.finish",
                span=self.span(finish),
                hint="write it behind the arguments: -> float",
            )
        arguments = _arguments(methods["accumulate"])[1:]
        if not arguments:
            raise CatalogProblem(
                f"{node.name}.accumulate() takes no value",
                span=self.span(methods["accumulate"]),
            )
        found = [self._argument(a, self._module.value) for a in arguments]
        result = self._typed(finish.returns, self._module.value)
        parameters = _parameters([a.arg for a in arguments], found)
        return self._udf(node, Kind.ACCUMULATOR, parameters, result, options)

    def _udf(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
        kind: Kind,
        parameters: tuple[UdfParameter, ...],
        result: Annotated,
        options: UdfOptions,
    ) -> Udf:
        if not parameters:
            raise CatalogProblem(
                f"the function {node.name} takes no argument",
                hint="a constant is no function: write it into the SQL",
            )
        doc = (ast.get_docstring(node) or "").partition("\n")[0].strip()
        above = self._source.lines_above
        return Udf(
            node.name.lower(),
            "python",
            kind,
            parameters,
            result.type,
            result.optional,
            self._source.text,
            node.lineno,
            self._load,
            doc,
            options,
            _refused_by_arroyo(kind, [*(p.type for p in parameters), result.type]),
            written=node.name,
            cell_line=node.lineno + above if above else 0,
        )

    def _argument(
        self,
        argument: ast.arg,
        read: Callable[[ast.expr], Annotated] | None = None,
    ) -> Annotated:
        if argument.annotation is None:
            raise CatalogProblem(
                f"Could not get name of type for argument {argument.arg}: it has no "
                "annotation",
                span=self.span(argument),
                hint=f"write {argument.arg}: int, or another type",
            )
        return self._typed(argument.annotation, read or self._module.annotated)

    def _typed(
        self, node: ast.expr, read: Callable[[ast.expr], Annotated]
    ) -> Annotated:
        try:
            return read(node)
        except ArroyoError as problem:
            problem.span = problem.span or self.span(node)
            raise

    def _options(self, given: Mapping[str, ast.expr]) -> UdfOptions:
        values: dict[str, Any] = {}
        for name, node in given.items():
            if name in ("input", "output"):
                continue
            read = _OPTIONS.get(name)
            try:
                if read is None:
                    raise CatalogProblem(
                        f"unsupported attribute '{name}'",
                        hint=did_you_mean(name, (*_OPTIONS, "input", "output")),
                    )
                values |= read(ast.literal_eval(node))
            except ValueError:
                raise CatalogProblem(
                    f"'{name}' must be a literal", span=self.span(node)
                ) from None
            except ArroyoError as problem:
                problem.span = problem.span or self.span(node)
                raise
        return UdfOptions(**values)


def _own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a function that are not those of one inside."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    for part in ast.iter_child_nodes(node):
        if not isinstance(part, inner):
            yield part
            yield from _own_parts(part)


def _keywords(decorator: ast.expr) -> dict[str, ast.expr]:
    if not isinstance(decorator, ast.Call):
        return {}
    if decorator.args:
        raise CatalogProblem(
            "@udf takes options by name only",
            hint="write @udf(timeout='10s', allowed_in_flight=100)",
        )
    if any(keyword.arg is None for keyword in decorator.keywords):
        raise CatalogProblem(
            "@udf takes its options as literals: no **", hint="write each by its name"
        )
    return {k.arg: k.value for k in decorator.keywords if k.arg is not None}


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    given = node.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
        raise CatalogProblem(
            f"{node.name}() may have plain arguments only: no *, no ** and no default"
        )
    return [*given.posonlyargs, *given.args]


def _parameters(
    names: Sequence[str], found: Sequence[Annotated]
) -> tuple[UdfParameter, ...]:
    pairs = zip(names, found, strict=True)
    return tuple(UdfParameter(name, one.type, one.optional) for name, one in pairs)


def _refused_by_arroyo(kind: Kind, types: Sequence[Type]) -> str:
    """What Arroyo says of a function that it would not take."""
    if kind is not Kind.ROWS:
        return _REFUSED[kind]
    odd = next((type_ for type_ in types if type_ not in _IN_ARROYO), None)
    return "" if odd is None else f"Unsupported Python type: {odd}"


_IN_ARROYO = (BIGINT, DOUBLE, TEXT, BOOLEAN)
_REFUSED = {
    Kind.VALUES: "lists are not yet supported",
    Kind.ACCUMULATOR: NO_UDF,
    Kind.BATCHES: "Unsupported Python type: Array",
    Kind.ASYNC: NO_UDF,
}


def _flag(field: str, value: object, *, holds: bool = True) -> dict[str, Any]:
    if not isinstance(value, bool):
        raise CatalogProblem(f"{value!r} is neither True nor False")
    return {field: value is holds}


def _choice(field: str, value: object) -> dict[str, Any]:
    if value not in _CHOICES:
        raise CatalogProblem(f"{value!r} is neither 'fail' nor 'null'")
    return {field: value}


def _calls(value: object) -> dict[str, Any]:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise CatalogProblem(f"{value!r} is no number of calls: it is 1 or more")
    return {"allowed_in_flight": value}


def _timeout(value: object) -> dict[str, Any]:
    length: timedelta = read_duration(str(value))
    return {"timeout": length}


_OPTIONS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "on_error": partial(_choice, "on_error"),
    "on_timeout": partial(_choice, "on_timeout"),
    "redact": partial(_flag, "redact"),
    "volatile": partial(_flag, "volatile"),
    "ordered": partial(_flag, "ordered"),
    "unordered": partial(_flag, "ordered", holds=False),
    "allowed_in_flight": _calls,
    "timeout": _timeout,
}
