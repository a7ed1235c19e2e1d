from __future__ import annotations

from datetime import timedelta

import pytest
from sqlglot import exp

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.options import Kind, Option, OptionValue
from arroyo_nb.plan.names.scope import Collected
from arroyo_nb.plan.tables.options import Options
from arroyo_nb.source import Source
from arroyo_nb.sql.parse import parse_all


def options(text: str) -> Options:
    (statement,) = parse_all(Source(f"CREATE TABLE t WITH ({text})")).statements
    problems = Collected()
    properties = statement.expression.args["properties"]
    assert isinstance(properties, exp.Properties)
    read = Options.read(properties.expressions, problems)
    problems.raise_all()
    return read


def option(kind: Kind) -> Option:
    return Option("o", kind, "", choices=("one", "two"))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.STRING, "'a''b'", "a'b"),
        (Kind.BOOL, "true", True),
        (Kind.BOOL, "'no'", False),
        (Kind.UINT, "1_000", 1000),
        (Kind.UINT, "'5'", 5),
        (Kind.INT, "-3", -3),
        (Kind.INT, "'-3'", -3),
        (Kind.DOUBLE, "2.5", 2.5),
        (Kind.DOUBLE, "2", 2.0),
        (Kind.DURATION, "INTERVAL '5' MINUTE", timedelta(minutes=5)),
        (Kind.DURATION, "'5 minutes'", timedelta(minutes=5)),
        (Kind.SIZE, "'128MB'", 128 * 2**20),
        (Kind.SIZE, "'1.5 k'", 1536),
        (Kind.SIZE, "'7b'", 7),
        (Kind.FIELD, "someField", "somefield"),
        (Kind.FIELD, "'someField'", "someField"),
        (Kind.ARRAY, "[a, 'B']", ("a", "B")),
        (Kind.ARRAY, "a", ("a",)),
        (Kind.ENUM, "'two'", "two"),
    ],
)
def test_values(kind: Kind, text: str, value: OptionValue) -> None:
    taken = options(f"o = {text}").take(option(kind))
    assert (type(taken), taken) == (type(value), value)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (Kind.STRING, "5", "to be a single-quoted string, but it was `5`"),
        (Kind.STRING, "a", "to be a single-quoted string, but it was `a`"),
        (Kind.STRING, "'a\0'", "to be a text without NUL"),
        (Kind.BOOL, "'maybe'", "to be a boolean"),
        (Kind.UINT, "-1", "to be an unsigned integer"),
        (Kind.UINT, "1.5", "to be an unsigned integer"),
        (Kind.INT, "'x'", "to be an integer"),
        (Kind.DOUBLE, "INTERVAL '1 day'", "to be a double"),
        (Kind.DURATION, "5", "expected an interval, but found 5"),
        (Kind.DURATION, "'1 month'", "months are not supported in this interval"),
        (Kind.DURATION, "'-5 s'", "interval must not be negative"),
        (Kind.SIZE, "'5 parsecs'", "invalid data size unit 'parsecs'"),
        (Kind.SIZE, "'mb'", "to be a data size"),
        (Kind.FIELD, "5", "to be a field"),
        (Kind.ENUM, "'three'", "invalid value for 'o': `three`"),
    ],
)
def test_wrong_values(kind: Kind, text: str, message: str) -> None:
    with pytest.raises(CatalogProblem) as caught:
        options(f"o = {text}").take(option(kind))
    assert message in caught.value.message
    assert caught.value.span is not None


def test_of_two_with_one_key_the_last_counts() -> None:
    assert options("o = 'a', 'o' = 'b'").take(option(Kind.STRING)) == "b"


def test_what_nobody_took_is_unknown() -> None:
    read = options("o = 'a', 'p.q' = 1")
    read.take(option(Kind.STRING))
    problem = read.unknown()
    assert problem is not None
    assert problem.message == "unknown options provided in WITH clause: 'p.q'"
    assert read.unknown(but=".") is None
