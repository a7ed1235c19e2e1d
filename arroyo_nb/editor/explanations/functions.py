"""Functions: scalar ones, aggregates, those of OVER, and those of the user."""

from __future__ import annotations

from collections.abc import Mapping

from arroyo_nb import functions
from arroyo_nb.editor.explanations import Explanation
from arroyo_nb.editor.pointed_word import PointedWord
from arroyo_nb.editor.tokens import closing
from arroyo_nb.functions import aggregates, over
from arroyo_nb.functions.aggregates import AggregateFunction
from arroyo_nb.functions.examples import split_example
from arroyo_nb.functions.over import OverFunction
from arroyo_nb.functions.signature import Nulls, Result, ScalarFunction, Signature
from arroyo_nb.functions.user_defined import UserFunction
from arroyo_nb.plan.explain.value_differences import differences_of_function
from arroyo_nb.plan.expressions.functions import UNSUPPORTED_FUNCTIONS
from arroyo_nb.run.observe.plan_steps import DIFFERS, EXACT
from arroyo_nb.schema import Decimal, ListOf, Primitive, StructOf, Timestamp

_TYPES = (Primitive, Decimal, Timestamp, ListOf, StructOf)
_NULLS: Mapping[Nulls, str] = {
    Nulls.STRICT: "NULL when an argument is NULL.",
    Nulls.NEVER: "It is never NULL.",
    Nulls.ALWAYS: "It may be NULL for arguments that are not.",
    Nulls.ALL: "NULL when all arguments are NULL.",
}
_OF_THE_QUERY: Mapping[str, Explanation] = {
    "unnest": Explanation(
        "unnest(list)",
        ("A row for each element of a list. It stands in a select list.",),
        "SELECT id, unnest(tags) AS tag FROM posts",
    ),
    "row_time": Explanation(
        "row_time() -> TIMESTAMP",
        ("The event time of a row: the WATERMARK column, or when the row arrived.",),
        "SELECT row_time() AS at, id FROM orders",
    ),
    "metadata": Explanation(
        "metadata(key)",
        (
            "What the connector knows of a record beside its value: of a generated "
            "column.",
        ),
        "ts TIMESTAMP GENERATED ALWAYS AS (metadata('timestamp')) STORED",
    ),
}
"""What is neither a scalar function nor an aggregate nor one of OVER."""


def explain_function(word: PointedWord) -> Explanation | None:
    """The function that a word calls."""
    if word.near(1).text != "(" or not word.token.name:
        return None
    close = closing(word.statement, word.place + 1)
    behind = [token.word for token in word.statement[close + 1 : close + 3]]
    known = word.context.catalog.functions
    return function_named(word.token.name, known, is_over="OVER" in behind)


def function_named(
    name: str, known: Mapping[str, UserFunction], *, is_over: bool = False
) -> Explanation | None:
    """A function by its name, in any case.

    Parameters
    ----------
    known
        The functions of the user, by their lower-case names.
    is_over
        Whether OVER follows its call, or nobody knows.
    """
    name = name.lower()
    if (row := known.get(name)) is not None:
        return _user(row)
    # `first_value` and others are aggregates too, with another meaning.
    of_over = over.over_function(name)
    primary = aggregates.primary(name)
    if of_over is not None and (is_over or primary is None):
        return _over(of_over)
    if primary is not None:
        return _aggregate(aggregates.aggregate(name), name)
    if (scalar := functions.scalar(name)) is not None:
        return _scalar(scalar, name)
    if name in UNSUPPORTED_FUNCTIONS:
        return Explanation(f"{name}()", (f"{UNSUPPORTED_FUNCTIONS[name]}.",))
    return _OF_THE_QUERY.get(name)


def _scalar(row: ScalarFunction, name: str) -> Explanation:
    calls = [_call(name, signature) for signature in row.signatures]
    lines = [*calls[1:], _sentence(row.doc)]
    if isinstance(row.nulls, Nulls):
        lines.append(_NULLS[row.nulls])
    if row.volatile:
        lines.append(f"It gives {row.volatile} when it is computed again.")
    differs = _differences(row.name, row.differs)
    return Explanation(
        calls[0],
        (*lines, *differs, *_other_names(row.name, row.aliases, name)),
        _example(row.example),
        DIFFERS if differs else EXACT,
    )


def _differences(name: str, own: str = "") -> list[str]:
    """The lines of what a function does otherwise than Arroyo's."""
    told = [own] if own else [row.text for row in differences_of_function(name)]
    return [f"Differs from Arroyo: {text}." for text in told]


def _call(name: str, signature: Signature) -> str:
    result: object = signature.result
    if isinstance(result, Result):
        given = f" -> type: {result.value}"
    else:
        given = f" -> {result}" if isinstance(result, _TYPES) else ""
    return f"{name}({signature}){given}"


def _aggregate(row: AggregateFunction, name: str) -> Explanation:
    values = ", ".join([row.wants] * row.arguments)
    constant = f", {row.constant_words}" if row.constant_words else ""
    either = " or *" if row.of_rows else ""
    lines = [_sentence(row.doc), "An aggregate: one value for the rows of a group."]
    if row.spark is None:
        lines.append("A window keeps the rows that it reads until it closes.")
    if row.within:
        lines.append(f"Also {name}(...) WITHIN GROUP (ORDER BY x).")
    differs = _differences(row.name)
    return Explanation(
        f"{name}({values}{either}{constant})",
        (*lines, *differs, *_other_names(row.name, row.aliases, name)),
        _example(row.example),
        DIFFERS if differs else EXACT,
    )


def _over(row: OverFunction) -> Explanation:
    sees = "the rows of its frame" if row.is_framed else "all rows of its partition"
    type_ = "its first argument's" if row.result is None else row.result
    return Explanation(
        f"{row.name}({row.signature}) OVER (...) -> {type_}",
        (_sentence(row.doc), f"A function of OVER: it sees {sees}."),
        _example(row.example),
        EXACT,
    )


def _user(row: UserFunction) -> Explanation:
    udf = row.udf
    assert udf is not None, "the row of a UDF has it"
    kind = f"A function of yours in {udf.language.capitalize()}, called {udf.called}."
    refused = (
        (f"Arroyo would refuse it: {udf.arroyo_refusal}.",)
        if udf.arroyo_refusal
        else ()
    )
    return Explanation(
        udf.signature,
        (_sentence(row.doc), kind, *refused),
        badge=DIFFERS if udf.arroyo_refusal else EXACT,
    )


def _other_names(primary: str, aliases: tuple[str, ...], name: str) -> tuple[str, ...]:
    others = [one for one in (primary, *aliases) if one != name]
    return (f"Also called {', '.join(others)}.",) if others else ()


def _example(example: str) -> str | None:
    call, result = split_example(example)
    return (f"{call} -> {result}" if result else call) or None


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."
