"""Text that names an argument several times, without growing with each level.

Nested, a text that stands twice in another doubles in length with each level: forty
levels are more than any memory. A long one is therefore computed once, and what
repeats it is the body of a lambda. A short one is repeated, if that gives the same
value: Spark compiles it to faster code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

LONG = 200
"""Characters from which on a text is not repeated."""

_AGAIN = re.compile(r"\b(?:rand|uuid)\(\)|\budf_\w+_[0-9a-f]{16}")
"""What gives another value, or asks a server again, when it is computed again."""

# No column is called so: a lambda's variable hides it.
_ALL = "__arguments__"


def once(write: Callable[[Sequence[str]], str], texts: Sequence[str]) -> str:
    """What ``write`` makes of SQL texts, with none of the long ones in it twice.

    Where one is bound to a name all calls are: Spark has no call of a Python function
    in the body of a lambda.

    >>> once(lambda a: f"{a[0]} * {a[0]}", ["`x`"])
    '`x` * `x`'
    >>> print(once(lambda a: f"{a[0]} * {a[0]}", ["x" * 200])[-59:])
    __arguments__ -> __arguments__.a0_ * __arguments__.a0_), 1)
    >>> print(once(lambda a: f"{a[0]} * {a[0]}", ["rand()"])[:47])
    element_at(transform(array(struct(rand() AS a0_
    """
    long = {
        i: f"{_ALL}.a{i}_"
        for i, text in enumerate(texts)
        if len(text) >= LONG or _AGAIN.search(text)
    }
    if not long:
        return write(texts)
    body = write([long.get(i, text) for i, text in enumerate(texts)])
    if all(body.count(name) < 2 for name in long.values()):
        return write(texts)
    calls = {i: f"{_ALL}.a{i}_" for i, text in enumerate(texts) if "(" in text}
    names = long | calls
    body = write([names.get(i, text) for i, text in enumerate(texts)])
    fields = ", ".join(f"{texts[i]} AS a{i}_" for i in names)
    return f"element_at(transform(array(struct({fields})), {_ALL} -> {body}), 1)"


def repeated(template: str, *operands: str) -> str:
    """A template in which ``{0}``, ``{1}`` stand more than once."""
    return once(lambda texts: template.format(*texts), operands)


def let(name: str, value: str, body: str) -> str:
    """A text in which ``name`` stands for a value that is computed once a row.

    A lambda's body is computed for each element: what is the same for all of them
    stands outside, under a name.

    >>> let("n", "size(a)", "filter(a, x -> x < n)")
    'element_at(transform(array(size(a)), n -> filter(a, x -> x < n)), 1)'
    """
    return f"element_at(transform(array({value}), {name} -> {body}), 1)"
