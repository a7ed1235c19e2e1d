from __future__ import annotations

from datetime import timedelta

import pytest
from sqlglot import exp

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.plan.expressions.scope import ErrorCollector
from arroyo_nb.plan.tables.options import Options
from arroyo_nb.source import ScriptText
from arroyo_nb.sql.parse import parse_all
from arroyo_nb.with_options import Option, OptionKind, OptionValue


def options(text: str) -> Options:
    (statement,) = parse_all(ScriptText(f"CREATE TABLE t WITH ({text})")).statements
    problems = ErrorCollector()
    properties = statement.expression.args["properties"]
    assert isinstance(properties, exp.Properties)
    read = Options.read(properties.expressions, problems)
    problems.raise_all()
    return read


def option(kind: OptionKind) -> Option:
    return Option("o", kind, "", choices=("one", "two"))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (OptionKind.STRING, "'a''b'", "a'b"),
        (OptionKind.BOOL, "true", True),
        (OptionKind.BOOL, "'no'", False),
        (OptionKind.UINT, "1_000", 1000),
        (OptionKind.UINT, "'5'", 5),
        (OptionKind.INT, "-3", -3),
        (OptionKind.INT, "'-3'", -3),
        (OptionKind.DOUBLE, "2.5", 2.5),
        (OptionKind.DOUBLE, "2", 2.0),
        (OptionKind.DURATION, "INTERVAL '5' MINUTE", timedelta(minutes=5)),
        (OptionKind.DURATION, "'5 minutes'", timedelta(minutes=5)),
        (OptionKind.SIZE, "'128MB'", 128 * 2**20),
        (OptionKind.SIZE, "'1.5 k'", 1536),
        (OptionKind.SIZE, "'7b'", 7),
        (OptionKind.FIELD, "someField", "somefield"),
        (OptionKind.FIELD, "'someField'", "someField"),
        (OptionKind.ARRAY, "[a, 'B']", ("a", "B")),
        (OptionKind.ARRAY, "a", ("a",)),
        (OptionKind.ENUM, "'two'", "two"),
    ],
)
def test_values(kind: OptionKind, text: str, value: OptionValue) -> None:
    taken = options(f"o = {text}").take(option(kind))
    assert (type(taken), taken) == (type(value), value)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (OptionKind.STRING, "5", "to be a single-quoted string, but it was `5`"),
        (OptionKind.STRING, "a", "to be a single-quoted string, but it was `a`"),
        (OptionKind.STRING, "'a\0'", "to be a text without NUL"),
        (OptionKind.BOOL, "'maybe'", "to be a boolean"),
        (OptionKind.UINT, "-1", "to be an unsigned integer"),
        (OptionKind.UINT, "1.5", "to be an unsigned integer"),
        (OptionKind.INT, "'x'", "to be an integer"),
        (OptionKind.DOUBLE, "INTERVAL '1 day'", "to be a double"),
        (OptionKind.DURATION, "5", "expected an interval, but found 5"),
        (OptionKind.DURATION, "'1 month'", "months are not supported in this interval"),
        (OptionKind.DURATION, "'-5 s'", "interval must not be negative"),
        (OptionKind.SIZE, "'5 parsecs'", "invalid data size unit 'parsecs'"),
        (OptionKind.SIZE, "'mb'", "to be a data size"),
        (OptionKind.FIELD, "5", "to be a field"),
        (OptionKind.ENUM, "'three'", "invalid value for 'o': `three`"),
    ],
)
def test_wrong_values(kind: OptionKind, text: str, message: str) -> None:
    with pytest.raises(CatalogProblem) as caught:
        options(f"o = {text}").take(option(kind))
    assert message in caught.value.message
    assert caught.value.span is not None


def test_of_two_with_one_key_the_last_counts() -> None:
    assert options("o = 'a', 'o' = 'b'").take(option(OptionKind.STRING)) == "b"


def test_what_nobody_took_is_unknown() -> None:
    read = options("o = 'a', 'p.q' = 1")
    read.take(option(OptionKind.STRING))
    problem = read.unknown()
    assert problem is not None
    assert problem.message == "unknown options provided in WITH clause: 'p.q'"
    assert read.unknown(but=".") is None
