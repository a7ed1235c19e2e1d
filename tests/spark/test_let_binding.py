"""Texts that are bound to names mean what they mean without names."""

from __future__ import annotations

import pytest

from arroyo_nb.functions.let_binding import let, once, repeated

LONG = "(`a` + " + " + ".join(["0"] * 80) + ")"


def nested(texts):
    """What repeats a long text that is made of a bound one, beside another."""
    long = f"({texts[0]} + " + " + ".join(["1"] * 80) + ")"
    return f"({texts[0]} + {repeated('({0} * {0} + {1})', long, texts[1])})"


def in_lambda(texts):
    listed = f"transform(array(1, 2), x -> x * {texts[0]} * {texts[0]} + {texts[1]})"
    return f"aggregate({listed}, 0L, (s, x) -> s + x)"


@pytest.mark.parametrize("write", [nested, lambda texts: nested([nested(texts), "1"])])
@pytest.mark.parametrize("other", ["`b`", "abs(`b`)"])
def test_nested_bindings_have_names_of_their_own(engine, write, other):
    bound = once(write, [LONG, other])
    plain = once(write, ["`a`", other])
    assert bound.count(LONG) == 1
    assert values(engine, bound, plain)[0] == values(engine, bound, plain)[1]


def test_what_is_the_same_for_all_elements_stands_outside(engine):
    text = let("n", "abs(`b`)", "aggregate(array(1, 2), 0L, (s, x) -> s + n * x)")
    assert values(engine, text, once(in_lambda, [LONG, "`b`"])) == [9, 3 * 49 - 6]


def values(engine, *texts):
    def run():
        frame = engine.session.sql("SELECT 7L AS a, -3L AS b")
        return list(frame.selectExpr(*texts).collect()[0])

    return engine.worker.call(run)
