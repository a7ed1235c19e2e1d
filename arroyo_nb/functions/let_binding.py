"""Text that names an argument several times, without growing with each level.

Nested, a text that stands twice in another doubles in length with each level: forty
levels are more than any memory. A long one is therefore computed once, and what
repeats it is the body of a lambda. A short one is repeated, if that gives the same
value: Spark compiles it to faster code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar

LONG = 200
"""Characters from which on a text is not repeated."""

_AGAIN = re.compile(r"\b(?:rand|uuid)\(\)|\budf_\w+_[0-9a-f]{16}")
"""What gives another value, or asks a server again, when it is computed again."""

_OF_PYTHON = re.compile(r"\b(?:_df|udf_\w+)_[0-9a-f]{16}")
"""A call of a function that Python workers evaluate."""

_LAMBDA = " -> "


def is_another_each_time(text: str) -> bool:
    """Whether a SQL text may give another value each time that it is computed.

    >>> is_another_each_time("upper(uuid())"), is_another_each_time("upper(`s`)")
    (True, False)
    """
    return _AGAIN.search(text) is not None


_depth: ContextVar[int] = ContextVar("nested_bindings", default=0)
"""In how many bodies of lambdas the text stands that is being written."""


def once(write: Callable[[Sequence[str]], str], texts: Sequence[str]) -> str:
    """What ``write`` makes of SQL texts, with none of the long ones in it twice, and
    without a call of a Python function in the body of a lambda, where Spark has none.

    Where one is bound to a name all calls are.

    >>> once(lambda a: f"{a[0]} * {a[0]}", ["`x`"])
    '`x` * `x`'
    >>> print(once(lambda a: f"{a[0]} * {a[0]}", ["x" * 200])[-59:])
    __arguments__ -> __arguments__.a0_ * __arguments__.a0_), 1)
    >>> print(once(lambda a: f"{a[0]} * {a[0]}", ["rand()"])[:47])
    element_at(transform(array(struct(rand() AS a0_
    """
    long = [n for n, t in enumerate(texts) if len(t) >= LONG or is_another_each_time(t)]
    of_python = [n for n, text in enumerate(texts) if _OF_PYTHON.search(text)]
    if not long and not of_python:
        return write(texts)
    depth = _depth.get()
    # No column is called so: a lambda's variable hides it. In the body of another
    # lambda it has another name, which hides none of that one's.
    name = f"__arguments{depth or ''}__"

    def body(places: Sequence[int]) -> str:
        inner = _depth.set(depth + 1)
        try:
            named = [
                f"{name}.a{n}_" if n in places else text for n, text in enumerate(texts)
            ]
            return write(named)
        finally:
            _depth.reset(inner)

    tried = body(range(len(texts)))
    is_repeated = any(tried.count(f"{name}.a{n}_") > 1 for n in long)
    if not is_repeated and not (of_python and _LAMBDA in tried):
        return write(texts)
    places = [n for n, text in enumerate(texts) if n in long or "(" in text]
    fields = ", ".join(f"{texts[n]} AS a{n}_" for n in places)
    return (
        f"element_at(transform(array(struct({fields})), {name} -> {body(places)}), 1)"
    )


def repeated(template: str, *operands: str) -> str:
    """A template in which ``{0}``, ``{1}`` stand more than once."""
    return once(lambda texts: template.format(*texts), operands)


def let(name: str, value: str, body: str) -> str:
    """A text in which ``name`` stands for a value that is computed once a row.

    A lambda's body is computed for each element: what is the same for all of them
    stands outside, under a name. No column is called as these names are.

    >>> let("n", "size(a)", "filter(a, x -> x < n)")
    'element_at(transform(array(size(a)), n -> filter(a, x -> x < n)), 1)'
    """
    return f"element_at(transform(array({value}), {name} -> {body}), 1)"
