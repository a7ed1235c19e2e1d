"""The pages of ``docs/reference`` that are made of the package's own tables.

What a page says of a connector, a format, a function, an aggregate, an option or an
error stands once, in the row that the planner reads too; so no page can be older than
the code. They are committed, so that they can be read in a clone: ``make reference``
writes them anew, and a test says when they are old.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from arroyo_nb import errors, functions
from arroyo_nb import magic_options as flags
from arroyo_nb.cli.command import command_parser
from arroyo_nb.connectors import ConnectorInfo, connector_infos
from arroyo_nb.formats import (
    FORMATS,
    FRAMING_OPTIONS,
    Format,
    Framing,
    file_format,
    payload_format,
)
from arroyo_nb.functions import aggregates, over
from arroyo_nb.functions.aggregates import AggregateFunction
from arroyo_nb.functions.examples import TRIPS, split_example
from arroyo_nb.functions.over import OverFunction
from arroyo_nb.functions.signature import Nulls, ScalarFunction
from arroyo_nb.jobs.targets import TARGETS
from arroyo_nb.option_flags import Flag
from arroyo_nb.plan.explain.differences import DIFFERENCES
from arroyo_nb.plan.explain.value_differences import VALUE_DIFFERENCES
from arroyo_nb.plan.expressions import window_calls
from arroyo_nb.plan.expressions.functions import UNSUPPORTED_FUNCTIONS
from arroyo_nb.plan.tables.create_table import COMMON_OPTIONS
from arroyo_nb.test_commands import TEST_FLAGS
from arroyo_nb.with_options import Option, OptionKind

GENERATED = (
    "<!-- Made by docs/reference_pages.py of the package's tables: edit those, then "
    "make reference. -->\n\n"
)

HELP_WIDTH = 80
"""Columns of the help of a command, on any terminal."""

DIALECTS = Path(__file__).parents[1] / "tests" / "golden" / "other_dialects.yaml"
"""What is written otherwise elsewhere, each with its hint; a test types every one."""

JOB_YAML = Path(__file__).with_name("reference") / "job.yaml"
"""A job to look at; a test reads it."""

ARROYO_FUNCTIONS = Path(__file__).with_name("arroyo_functions.yaml")
"""The names of the functions that Arroyo has."""

_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(window_calls.WINDOWS, "[a window](sql.md)"),
    "row_time": "the event time of a row",
    "unnest": "in a select list: [each element as a row](sql.md)",
}
"""What is neither a scalar function nor an aggregate nor one of OVER."""

NULLS: Mapping[Nulls, str] = {
    Nulls.STRICT: "when an argument is NULL",
    Nulls.NEVER: "never",
    Nulls.ALWAYS: "for some arguments that are not NULL too",
    Nulls.ALL: "when all arguments are NULL",
}


def page_text(name: str) -> str:
    """A generated page, as its file has it."""
    return GENERATED + PAGES[name]()


def write(folder: Path) -> None:
    """Write all generated pages; a page that is the same already is left alone."""
    for name in PAGES:
        path, text = folder / name, page_text(name)
        # Sphinx reads again what is newer than its last build.
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _connectors() -> str:
    parts = [
        "# Connectors\n",
        "A table is made by `CREATE TABLE ... WITH (connector = '...', ...)`. An "
        "option whose name has a dot stands in quotes: `'auth.type' = 'sasl'`. A value "
        "of the environment is written `'{{ NAME }}'`: it is read when a run starts, "
        "and is shown nowhere.\n",
    ]
    parts += [
        "## Options of all tables\n",
        "Of tables whose records have a format; sources without one take `bad_data`.\n",
        _options((*COMMON_OPTIONS, *FRAMING_OPTIONS)),
        *map(_connector, connector_infos()),
    ]
    return "\n".join(parts)


def _connector(connector: ConnectorInfo) -> str:
    directions = ", ".join(sorted(d.value for d in connector.directions))
    facts = [f"Can be: {directions}."]
    if connector.formats:
        facts.append(f"Formats: {', '.join(f'`{f}`' for f in connector.formats)}.")
    if not connector.runs:
        facts.append("It runs in Arroyo only: here it is checked and promoted.")
    metadata = ", ".join(f"`{k}` ({t})" for k, t in connector.metadata.items())
    if metadata:
        facts.append(f"`METADATA FROM`: {metadata}.")
    head = f"## {connector.name}\n\n{_sentence(connector.doc)}\n\n{' '.join(facts)}\n\n"
    guarantees = "".join(
        f"As a {direction.value}: {text}.\n\n"
        for direction, text in connector.guarantees.items()
    )
    return head + guarantees + _options(connector.options)


def _formats() -> str:
    parts = [
        "# Formats\n",
        "The `format` of a table says how its records are written.\n",
    ]
    for name in FORMATS.names:
        format_ = FORMATS.get(name)
        kind = "changes of rows" if format_.updating else "rows"
        parts.append(
            f"## {name}\n\n{_sentence(format_.doc)} Its records are {kind}.\n\n"
            + _format_options(format_)
        )
    return "\n".join(parts)


def _format_options(format_: Format) -> str:
    """The options of its records, and those that only messages or whole files have."""
    parts = [_options(format_.options)] if format_.options else []
    if Framing.MESSAGES in format_.framings and (
        of_messages := payload_format(format_.name).payload_options
    ):
        shown = _options(of_messages)
        parts.append(f"Of messages, such as the records of a topic:\n\n{shown}")
    files = file_format(format_.name)
    if files is not None and files.file_options:
        parts.append(f"Of whole files:\n\n{_options(files.file_options)}")
    return "\n".join(parts) or _options(())


def _options(options: Sequence[Option]) -> str:
    if not options:
        return "It has no options of its own.\n"
    rows = [(f"`{o.name}`", _value(o), _default(o), o.doc) for o in options]
    return _table(("option", "value", "default", "what it does"), rows)


def _value(option: Option) -> str:
    if option.kind is OptionKind.ENUM:
        return ", ".join(f"`'{choice}'`" for choice in option.choices)
    return option.kind.value + (f" (only a {option.only})" if option.only else "")


def _default(option: Option) -> str:
    if option.required:
        return "required"
    return "" if option.default is None else f"`{option.default}`"


def _functions() -> str:
    parts = [
        "# Scalar functions\n",
        "Names are written in any case. A parameter in brackets may be left out.\n",
    ]
    for family in functions.FAMILIES:
        rows = [_function_row(row) for row in family.FUNCTIONS]
        name = family.__name__.rpartition(".")[2].replace("_", " ")
        head = f"## {name.capitalize()}\n\n"
        columns = ("function", "what it gives", "example", "NULL")
        parts.append(f"{head}{_summary(family)}\n\n{_table(columns, rows)}")
    return "\n".join(parts)


def _function_row(row: ScalarFunction) -> tuple[str, ...]:
    calls = "<br>".join(f"`{row.name}({signature})`" for signature in row.signatures)
    also = "; also " + ", ".join(f"`{a}`" for a in row.aliases) if row.aliases else ""
    return calls, row.doc + also, _example(row.example), NULLS[row.nulls]


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _example(example: str) -> str:
    call, result = split_example(example)
    return f"`{call}` is `{result}`" if result else f"`{call}`"


def _aggregates() -> str:
    rows = []
    for row in sorted(_all_aggregates(), key=lambda row: row.name):
        also = (
            "; also " + ", ".join(f"`{a}`" for a in row.aliases) if row.aliases else ""
        )
        # What Spark has no function for is computed from the rows themselves.
        kept = "numbers" if row.spark is not None else "rows"
        of = f"{row.arguments} of {row.wants}" if row.arguments > 1 else row.wants
        order = "yes" if row.ordered else "no"
        what = (row.doc + also, _example(row.example))
        rows.append((f"`{row.name}`", *what, of, row.constant_words, kept, order))
    head = (
        "# Aggregate functions\n\n"
        "All of them run in a query without a window, which updates its result, and "
        "in a `tumble`, `hop` or `session` window. Until a window closes some keep "
        "numbers, others the rows that they read.\n\n"
        "The examples are over these rows:\n\n"
        + _table(tuple(TRIPS[0]), (map(_shown, trip.values()) for trip in TRIPS))
        + "\n"
    )
    columns = (
        *("aggregate", "what it gives", "example", "argument", "constant"),
        *("a window keeps", "order matters"),
    )
    return head + _table(columns, rows)


def _all_aggregates() -> Iterator[AggregateFunction]:
    return (row for family in aggregates.FAMILIES for row in family.AGGREGATES)


def _over() -> str:
    rows = [
        _over_row(row)
        for family in over.FAMILIES
        for row in sorted(family.FUNCTIONS, key=lambda row: row.name)
    ]
    head = (
        "# Functions of OVER\n\n"
        "They see the rows of one window where `PARTITION BY` names it: "
        "[how to write it](sql.md#the-rows-of-one-window). Every [aggregate]"
        "(aggregates.md) can be called with `OVER` too, over the frame of each row, "
        "with `FILTER`, `DISTINCT` and `ORDER BY` inside it. `IGNORE NULLS` behind a "
        "function of values passes over rows whose value is NULL.\n\n"
        "The examples are over the trips below, in one window, with `ORDER BY at`: "
        "one result for each.\n\n"
        + _table(tuple(TRIPS[0]), (map(_shown, trip.values()) for trip in TRIPS))
        + "\n"
    )
    return head + _table(("function", "what it gives", "example", "sees"), rows)


def _over_row(row: OverFunction) -> tuple[str, ...]:
    sees = "the frame" if row.is_framed else "the partition"
    call = f"`{row.name}({row.signature})`"
    return call, row.doc, _example(row.example), sees


def _function_coverage() -> str:
    parts = [
        "# Arroyo's functions\n\nAll functions that Arroyo has, and what is run here "
        "of them.\n"
    ]
    for family, lines in arroyo_functions().items():
        rows = [(f"`{name}`", *covered(name)) for name in lines]
        head = ("function", "here", "how it differs from Arroyo's")
        parts.append(f"## {family}\n\n{_table(head, rows)}")
    return "\n".join(parts)


def arroyo_functions() -> Mapping[str, Sequence[str]]:
    """The names of Arroyo's functions by family."""
    families = yaml.safe_load(ARROYO_FUNCTIONS.read_text("utf-8"))
    return {family: " ".join(lines).split() for family, lines in families.items()}


def covered(name: str) -> tuple[str, str]:
    """What there is of one of Arroyo's functions, and how it differs.

    Raises
    ------
    LookupError
        When it is neither run nor refused in words of its own.
    """
    if name in _ELSEWHERE:
        return _ELSEWHERE[name], ""
    if aggregates.primary(name) is not None:
        row = aggregates.aggregate(name)
        over_window = "" if row.spark is not None else "over a window: keeps the rows"
        return "[an aggregate](aggregates.md)", over_window
    if name in over.names():
        return "[a function of OVER](over.md)", ""
    if (scalar := functions.scalar(name)) is not None:
        return f"[{scalar.doc}](functions.md)", scalar.differs
    if name in UNSUPPORTED_FUNCTIONS:
        return f"refused: {UNSUPPORTED_FUNCTIONS[name]}", ""
    raise LookupError(f"Arroyo's function {name}() is neither run nor refused")


def _magics() -> str:
    def rows(known: Iterable[Flag]) -> Iterator[tuple[str, str]]:
        for flag in known:
            yield (
                f"`{', '.join(flag.names)} {flag.value or ''}`".replace(" `", "`"),
                (flag.doc),
            )

    parts = [
        "# The magics\n\n## %%arroyo\n\n`%%arroyo [NAME <<] [OPTIONS]`, and SQL from "
        "the second line on. `NAME <<` names the run, and keeps it in a variable of "
        "that name. In the SQL, `:name` is the notebook's variable, bound as a "
        "literal, and `'{{ NAME }}'` as an option's value one of the environment. A "
        "cell returns at once, and its panel moves; headless runs (nbconvert, "
        "papermill) wait for each cell.\n\n"
        + _table(("option", "what it does"), rows(flags.FLAGS)),
        "## %%arroyo_udf\n\n`%%arroyo_udf [python|rust]`, and the source of functions "
        "from the second line on: in Python several, each with `@udf`; in Rust one, as "
        "Arroyo takes it. See [write a function](../how-to/write-a-function.md).\n",
        "## %%arroyo_rows\n\n`%%arroyo_rows NAME [OPTIONS]`, and rows from the second "
        "line on: a table that plays them as a stream. See [your own "
        "rows](../how-to/your-own-rows.md).\n\n"
        + _table(("option", "what it does"), rows(flags.ROWS_FLAGS)),
        "## %%arroyo_test\n\n`%%arroyo_test NAME [OPTIONS]`, and GIVEN, WHEN and "
        "EXPECT from the second line on: a test of a query. See [test a "
        "query](../how-to/test-a-query.md).\n\n"
        + _table(("option", "what it does"), rows(TEST_FLAGS)),
        "## %arroyo\n",
    ]
    for command in flags.COMMANDS.values():
        parts.append(f"### %arroyo {command.name}\n\n{_sentence(command.doc)}\n")
        parts.append(
            f"```\n%arroyo {command.name} {command.takes}".rstrip() + "\n```\n"
        )
        if command.flags:
            parts.append(_table(("option", "what it does"), rows(command.flags)))
    return "\n".join(parts)


def _command_line() -> str:
    parser = command_parser()
    parts = ["# The command line\n", _help(parser)]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                parts += [f"## arroyo-nb {name}\n", _help(command)]
    return "\n".join(parts)


def _help(parser: argparse.ArgumentParser) -> str:
    kind = parser.formatter_class
    parser.formatter_class = lambda prog: kind(prog, width=HELP_WIDTH)
    try:
        return f"```text\n{parser.format_help().rstrip()}\n```\n"
    finally:
        parser.formatter_class = kind


def _job_spec() -> str:
    text = files("arroyo_nb.jobs").joinpath("job.schema.json").read_text("utf-8")
    schema = json.loads(text)
    parts = [
        f"# The job spec\n\n{_sentence(schema['description'])}\n\n"
        f"```yaml\n{JOB_YAML.read_text('utf-8').rstrip()}\n```\n",
        _table(("key", "what it is", "value"), _keys(schema, "")),
        "## Targets\n",
    ]
    for name in TARGETS.names:
        module = sys.modules[type(TARGETS.get(name)).__module__]
        parts.append(f"- `{name}`: {_summary(module)}\n")
    return "\n".join(parts)


def _keys(schema: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, ...]]:
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        key = f"{prefix}{name}"
        items = part.get("items", {})
        needed = "required; " * (name in required and not prefix)
        yield f"`{key}`", part.get("description", ""), needed + _kind(part)
        yield from _keys(part, f"{key}.")
        yield from _keys(items, f"{key}[].")


def _kind(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    if "const" in part:
        return f"`{part['const']}`"
    return str(part.get("type", "any"))


def _errors() -> str:
    tree = (inspect.getdoc(errors) or "").split("::\n", 1)[1].strip("\n")
    drawing, _, rest = tree.partition("\n\n")
    parts = [
        "# Errors\n\nEvery error that a script, a run or a job can cause is an "
        "`ArroyoError` of `arroyo_nb.errors`. It has a message, the place in the "
        "script, and a hint that says what to write.\n",
        f"```text\n{inspect.cleandoc(drawing)}\n```\n",
        rest + "\n",
    ]
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.ArroyoError)
    ]
    rows = [
        (f"`{k.__name__}`", (inspect.getdoc(k) or "").split("\n\n")[0]) for k in kinds
    ]
    parts.append(_table(("class", "when"), rows))
    return "\n".join(parts)


def _differences() -> str:
    parts = [
        "# What Arroyo does differently\n\nThe SQL means what Arroyo means by it. "
        "Where Spark's engine makes a result differ, `EXPLAIN` of the query says so "
        "in its notes, and this page lists them all.\n"
    ]
    parts += [
        f"## {row.title}\n\n{_sentence(row.text)}\n\nIt is noted of {row.where}.\n"
        for row in DIFFERENCES
    ]
    parts.append(
        "## Values\n\nArroyo evaluates expressions with Apache DataFusion 48. Each "
        "expression gives its value, its type and its refusal, or is one of these. "
        "Random expressions are compared with DataFusion, and what differs must be in "
        "this list. `strict` copies Arroyo in trunc(), nvl() and DECIMAL with "
        "UNSIGNED.\n"
    )
    rows = [(row.name, _sentence(row.text)) for row in VALUE_DIFFERENCES]
    parts.append(_table(("what", "here, and in Arroyo"), rows))
    return "\n".join(parts)


def _other_dialects() -> str:
    rows = [
        (f"`` {entry['write']} ``", entry["hint"])
        for entry in yaml.safe_load(DIALECTS.read_text("utf-8"))
    ]
    head = (
        "# Coming from Flink, ksqlDB, Spark, Materialize or RisingWave\n\n"
        "What is written otherwise there is refused with a hint that says what to "
        "write here. The tables of the examples are `trips` and `orders`.\n\n"
    )
    return head + _table(("if you write", "the hint says"), rows)


def _summary(documented: object) -> str:
    """The first paragraph of a docstring."""
    return " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())


def _sentence(text: str) -> str:
    # The name of a function keeps its case.
    if "(" not in text.split(" ", 1)[0]:
        text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else text + "."


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


PAGES: Mapping[str, Callable[[], str]] = {
    "connectors.md": _connectors,
    "formats.md": _formats,
    "functions.md": _functions,
    "function-coverage.md": _function_coverage,
    "aggregates.md": _aggregates,
    "over.md": _over,
    "magics.md": _magics,
    "command-line.md": _command_line,
    "job-spec.md": _job_spec,
    "errors.md": _errors,
    "differences.md": _differences,
    "other-dialects.md": _other_dialects,
}


if __name__ == "__main__":
    write(Path(__file__).with_name("reference"))
