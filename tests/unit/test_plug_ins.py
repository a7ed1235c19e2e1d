"""What is true of one plug-in stands in its own file: nothing else knows its name."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import arroyo_nb
from arroyo_nb import functions
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.formats import FORMATS
from arroyo_nb.functions import aggregates
from arroyo_nb.jobs.targets import TARGETS
from arroyo_nb.views.sections import VIEWS

PACKAGE = Path(arroyo_nb.__file__).parent

OWN_ROOMS = ("connectors/", "feeds/connectors/", "kafka/")
"""Where connectors are at home."""

EXCEPTIONS = {
    # The magic and the command line have a local broker, whatever a table's connector.
    *(
        (name, "kafka")
        for name in ("magic_options.py", "line_commands.py", "cli/kafka_command.py")
    ),
    # TABLESAMPLE is a clause that sqlglot calls so; a tape is also a folder's name.
    ("plan/refusals.py", "sample"),
    ("engine/warm.py", "tape"),
}


FORMAT_EXCEPTIONS = {
    # What a record of nobody's format looks like is guessed by one reader of samples.
    *(
        ("kafka/peek/guess.py", name)
        for name in ("json", "debezium_json", "avro", "raw_string", "raw_bytes")
    ),
    # Hints of a room that lies below the formats.
    ("sql/other_dialects.py", "format = 'json'"),
    ("sql/other_dialects.py", "debezium_json"),
    # A folder's name, and how a job's log is written.
    ("engine/warm.py", "json"),
    ("jobs/runner/log.py", "json"),
    ("jobs/targets/kubernetes.py", "json"),
    # A package of Python.
    ("jobs/targets/_cluster.py", "protobuf"),
}

TARGET_EXCEPTIONS = {
    # Spark's own masters, a broker of this machine, the magic.
    ("engine/external_session.py", "local"),
    ("spark/task_slots.py", "local"),
    ("kafka/sink.py", "local"),
    ("kafka/sink.py", "arroyo"),
    *((name, "arroyo") for name in ("magics.py", "extension.py", "cell_magics.py")),
}

IMPORT_EXCEPTIONS = {
    # A row that nobody declared is written as JSON.
    (f"kafka/emit/{name}.py", "arroyo_nb.formats.json.payload_writer.plain_payload")
    for name in ("rows", "targets")
}

KAFKA_USERS = {
    # What is of topics alone: the local broker, topics, peek, record, emit.
    *("kafka_commands.py", "views/topics.py", "editor/known_topics.py"),
    *("cli/kafka_command.py", "cli/terminal.py"),
    # A feed's messages, and a file's lines, are guessed and declared as a topic's
    # records are.
    *("feed_commands.py", "file_commands.py"),
    *("run/emission.py", "run/topic_io.py", "run/topic_tasks.py"),
    # Rows that a user has written become a tape as emitted ones do.
    "row_tables/define.py",
    # What a recording holds is guessed as a topic's records are.
    "run/recording.py",
    # A sample of records, whoever carries them, is guessed by the reader of topics'.
    "run/sources/fit_notes.py",
    # Spark's errors are translated here.
    "spark/failures.py",
}


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """Each module by its path, parsed once."""
    return tuple(
        (path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text()))
        for path in sorted(PACKAGE.rglob("*.py"))
    )


def literals(tree: ast.Module) -> set[str]:
    """The texts of a module, as they stand between quotes."""
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {node.value for node in constants if isinstance(node.value, str)}


@cache
def sentences(tree: ast.Module) -> tuple[str, ...]:
    """The texts of a module but its docstrings, which are no part of the program."""
    docs = {
        id(first.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for first in node.body[:1]
        if isinstance(first, ast.Expr)
    }
    texts = (n for n in ast.walk(tree) if isinstance(n, ast.Constant))
    return tuple(
        node.value
        for node in texts
        if isinstance(node.value, str) and id(node) not in docs
    )


def named(
    names: Iterable[str], own_rooms: tuple[str, ...], clause: str
) -> set[tuple[str, str]]:
    """Where a name of a plug-in stands outside its rooms: by itself, or in a sentence
    that has it in a clause of SQL. A name that is no English word is found wherever it
    stands in a sentence."""
    word = re.compile(
        "|".join(
            rf"\b{name}\b" if "_" in name else rf"{clause} = '{name}'|\A{name}\Z"
            for name in names
        )
    )
    return {
        (module, match[0])
        for module, tree in modules()
        if not module.startswith(own_rooms)
        for sentence in sentences(tree)
        for match in word.finditer(sentence)
    }


def test_no_module_knows_a_connector_by_name():
    assert named(CONNECTORS.names, OWN_ROOMS, "connector") == EXCEPTIONS


def test_no_module_knows_a_format_by_name():
    assert named(FORMATS.names, ("formats/",), "format") == FORMAT_EXCEPTIONS


def test_no_module_knows_a_view_by_name():
    """Views have names that are words like others: so what asks for a view is looked
    at, and what tells how to."""
    word = re.compile(rf"--view ({'|'.join(VIEWS.names)})\b")
    found = {
        (name, text)
        for name, tree in modules()
        if not name.startswith("views/sections/")
        for text in {*compared_views(tree), *sentences(tree)}
        if text in compared_views(tree) & set(VIEWS.names) or word.search(text)
    }
    assert found == set()


@cache
def compared_views(tree: ast.Module) -> frozenset[str]:
    """The texts that a view is compared with, matched by, or called."""
    asked: list[ast.AST] = []
    for node in ast.walk(tree):
        match node:
            case ast.Compare() if "view" in ast.unparse(node).lower():
                asked.append(node)
            case ast.Match(subject, cases) if "view" in ast.unparse(subject).lower():
                asked += [case.pattern for case in cases]
            case ast.keyword(arg="view"):
                asked.append(node)
    constants = (n for node in asked for n in ast.walk(node))
    return frozenset(
        n.value
        for n in constants
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    )


def test_no_module_knows_a_job_target_by_name():
    assert named(TARGETS.names, ("jobs/targets/",), "target") == TARGET_EXCEPTIONS


def test_no_module_imports_a_plug_in():
    """Plug-ins come from their registries: by name, never by an import."""
    rooms = ("connectors", "kafka.connectors", "formats", "views.sections")
    rooms = (*rooms, "jobs.targets", "functions.aggregates")
    plug_in = re.compile(rf"arroyo_nb\.({'|'.join(rooms)})\.([a-z]\w*)(\.|\Z)")
    found = {
        (name, imported)
        for name, tree in modules()
        for imported in imports(tree)
        if (match := plug_in.match(imported)) is not None
        and is_module(match[1], match[2])
        and not name.startswith(f"{match[1].split('.')[0]}/")
    }
    assert found == IMPORT_EXCEPTIONS


def test_topics_are_known_where_they_are_meant():
    found = {
        name
        for name, tree in modules()
        if not name.startswith("kafka/")
        for imported in imports(tree)
        if imported.startswith("arroyo_nb.kafka.")
    }
    assert found == KAFKA_USERS


def is_module(room: str, name: str) -> bool:
    return find_spec(f"arroyo_nb.{room}.{name}") is not None


def test_only_capabilities_are_asked_of_plug_ins_and_readers():
    """Whoever asks which class it is knows too much: a protocol is a capability."""
    classes = {
        node.name
        for name, tree in modules()
        if name.startswith((*OWN_ROOMS, *READERS))
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and not re.search(r"Protocol|Problem|Exception|Enum|Error", ast.unparse(node))
    }
    found = {
        (name, asked)
        for name, tree in modules()
        if not name.startswith(OWN_ROOMS)
        for asked in asked_classes(tree) & classes
    }
    assert found == set()


READERS = ("run/sources/stream.py", "run/sources/tape.py")


def asked_classes(tree: ast.Module) -> set[str]:
    """The names of classes in isinstance, issubclass, type comparisons and patterns."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("isinstance" | "issubclass"), args=[_, kind]):
                found |= {n.id for n in ast.walk(kind) if isinstance(n, ast.Name)}
            case ast.MatchClass(cls=ast.Name(name)):
                found.add(name)
            case ast.Compare(left=ast.Call(func=ast.Name("type")), comparators=kinds):
                walked = (n for kind in kinds for n in ast.walk(kind))
                found |= {n.id for n in walked if isinstance(n, ast.Name)}
            case ast.Compare(left=ast.Attribute(attr="__name__"), comparators=kinds):
                texts = (k.value for k in kinds if isinstance(k, ast.Constant))
                found |= {str(text) for text in texts}
    return found


def test_no_regular_expression_knows_a_connector():
    """Such as one that looks for KafkaV2 in what Spark says of its sources."""
    word = re.compile(rf"\b({'|'.join(CONNECTORS.names)})", re.IGNORECASE)
    found = {
        (name, pattern)
        for name, tree in modules()
        if not name.startswith((*OWN_ROOMS, "engine/", "cli/", "functions/", "sql/"))
        for pattern in patterns(tree)
        if word.search(pattern)
    }
    # Spark's errors are known by their classes, in one file, and its state stores name
    # files `1.delta`, as a connector is named.
    assert {name for name, _ in found} == {"spark/failures.py", "state/manifest.py"}


def patterns(tree: ast.Module) -> Iterator[str]:
    """What a module hands to the functions of ``re``."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("re")), args=[first, *_]):
                for one in ast.walk(first):
                    if isinstance(one, ast.Constant) and isinstance(one.value, str):
                        yield one.value


QUERY_ROOMS = ("plan/", "spark/", "editor/", "jobs/")
"""What treats queries; elsewhere `min` and `sum` are words like others."""


def test_no_module_knows_an_aggregate_or_a_volatile_function_by_name():
    known = {*aggregates.names(), *functions.volatile()}
    found = {
        (name, literal)
        for name, tree in modules()
        if name.startswith(QUERY_ROOMS)
        for literal in literals(tree) & known
    }
    assert found == {
        # A unit of time, a speed; functions of Spark that aggregates are made of.
        ("plan/expressions/intervals.py", "min"),
        ("editor/completion.py", "max"),
        # What the functions of other engines are called here.
        *(
            ("plan/expressions/functions.py", name)
            for name in ("approx_distinct", "array_agg", "string_agg")
        ),
        *(("spark/aggregates.py", name) for name in ("avg", "count", "sum")),
    }


def test_no_module_imports_what_another_package_keeps_private():
    found = [
        (name, imported)
        for name, tree in modules()
        for imported in imports(tree)
        if (private := PRIVATE.match(imported)) is not None
        and not f"arroyo_nb.{name.replace('/', '.')}".startswith(private[1])
    ]
    assert found == []


PRIVATE = re.compile(r"(arroyo_nb\.(?:\w+\.)*?)_[a-z]\w*")
"""A module, or a name of one, that begins with an underscore; and its package."""


def imports(tree: ast.Module) -> Iterator[str]:
    """What a module imports, dotted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
