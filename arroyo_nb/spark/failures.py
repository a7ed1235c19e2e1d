"""Spark's exceptions as problems of the run, in the dialect's words.

Spark wraps what went wrong: a task's error in a job's, a job's in a query's, a query's
in Py4J's. The text names each layer's error class in brackets, so the innermost class
that this table knows decides; the original stays as ``__cause__`` and in ``detail``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from arroyo_nb.engine.descriptors import shortage
from arroyo_nb.errors import RESTORE, ArroyoError, DataProblem, RunProblem, Unreached
from arroyo_nb.file_errors import RAISE


class SparkProblem(RunProblem):
    """What Spark failed with; ``error_class`` is Spark's name for it, where known,
    and ``detail`` the whole of its text."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None,
        error_class: str | None,
        detail: str,
        lasting: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.lasting = lasting
        self.error_class = error_class
        self.detail = detail


class _Rule(NamedTuple):
    """What a user is told of an error class.

    ``sentence`` is filled with the named groups of ``pattern`` in Spark's text. What is
    not ``lasting`` may have passed when the same is run again.
    """

    error_class: str
    sentence: str
    hint: str | None = None
    pattern: str = ""
    lasting: bool = True


GONE = "the Spark process is gone"
"""What is told of any call that a JVM no longer answers."""

UNREADABLE = "the checkpoint of this run cannot be read"
"""What is told where Spark cannot read it, and does not always say which file."""

FULL = "the disk is full"
"""What is told where Spark or a worker finds no space: they don't say on which disk."""

PARTITION_ADDED = "a partition was added to a topic while the run started"
"""A query that reads a whole topic wants to be told where each partition begins."""

_TRY_CAST = "write TRY_CAST to get NULL where a value cannot be converted"
_LOST = "what is left can be read afresh, with another state folder"
_STATE = "start with another state folder, or run the query as it was before"
_RAISED = "USER_RAISED_EXCEPTION"
_RULES = (
    _Rule(
        "DIVIDE_BY_ZERO|REMAINDER_BY_ZERO",
        "an integer was divided by zero",
        "write x / nullif(y, 0) to get NULL instead",
    ),
    _Rule(
        "CAST_INVALID_INPUT",
        "the value {value} is no {target}",
        _TRY_CAST,
        r"The value (?P<value>'.*?') of the type .*? cannot be cast to "
        r'"(?P<target>[^"]+)"',
    ),
    _Rule(
        "CAST_OVERFLOW|CAST_OVERFLOW_IN_TABLE_INSERT",
        "the value {value} is out of the range of {target}",
        _TRY_CAST,
        # A number ends with Spark's mark of its type: 1L, 2.0D, 3BD.
        r"[Tt]he value (?P<value>\S+?)(?:BD|[DLS])? .*?"
        r'cannot be cast to "(?P<target>[^"]+)"',
    ),
    _Rule(
        "NUMERIC_VALUE_OUT_OF_RANGE",
        "the number {value} does not fit into {target}",
        "declare more digits, or cast to DOUBLE",
        r"(?P<value>-?[\d.E+-]+) cannot be represented as (?P<target>Decimal\([^)]*\))",
    ),
    _Rule(
        "ARITHMETIC_OVERFLOW|BINARY_ARITHMETIC_OVERFLOW|INTERVAL_ARITHMETIC_OVERFLOW",
        "a number became too large for its type",
        "cast to a wider type first, such as x::DOUBLE",
    ),
    _Rule(
        "DATETIME_OVERFLOW",
        "a date or time is out of the range that can be stored",
        "years 0001 to 9999 can be",
    ),
    _Rule(
        "CANNOT_PARSE_TIMESTAMP|CANNOT_PARSE_TIME",
        "a text is no timestamp of that pattern: {reason}",
        _TRY_CAST,
        r"(?P<reason>Text '.*?' could not be parsed[^.]*)",
    ),
    _Rule(
        "INVALID_PARAMETER_VALUE",
        "{problem}",
        None,
        r"(?P<problem>The value of parameter\(s\) .*?)\. SQLSTATE",
    ),
    _Rule(
        _RAISED,
        "{said}",
        None,
        r"(?P<said>[^\n]*?)(?:\n  hint: (?P<hint>[^\n]*?))?(?: SQLSTATE|\n|$)",
    ),
    _Rule(
        "FAILED_READ_FILE|FILE_NOT_EXIST|PATH_NOT_FOUND",
        "a file that the run was reading is gone or cannot be read",
        "files of a run's state folder must not be touched while it runs",
        lasting=False,
    ),
    _Rule(
        "STATE_STORE_(KEY|VALUE)_SCHEMA_NOT_COMPATIBLE"
        "|STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
        "|STATE_STORE_INVALID_PROVIDER",
        "the state of this run was kept by another query",
        _STATE,
    ),
    _Rule(
        "STREAMING_CHECKPOINT_MISSING_METADATA_FILE|CANNOT_LOAD_CHECKPOINT_FILE_MANAGER"
        "|CANNOT_LOAD_STATE_STORE|CHECKPOINT_FILE|INVALID_LOG_VERSION"
        "|MALFORMED_LOG_FILE",
        UNREADABLE,
        RESTORE,
    ),
    _Rule(
        "CONCURRENT_STREAM_LOG_UPDATE|CONCURRENT_QUERY",
        "another run uses the same state folder",
        "stop it, or give this run a folder of its own",
        lasting=False,
    ),
    _Rule(
        "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE",
        "the event time is not a TIMESTAMP",
        "cast it in a generated column and name that in WATERMARK FOR",
    ),
    _Rule(
        "PYTHON_EXCEPTION",
        "a Python function failed: {said}",
        None,
        r"(?s:.*?)\n(?P<said>[\w.]+(?:Error|Exception|Warning)\b[^\n]*)",
        lasting=False,
    ),
)
_WORDLESS = (
    _Rule(
        "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE",
        "records of partition {partition} of the topic '{topic}' were deleted before "
        "they were read: the offsets from {first} up to {after} are not all there",
        _LOST,
        r"Could not read records in offset \[(?P<first>\d+), (?P<after>\d+)\)"
        r" for topic partition (?P<topic>\S+)-(?P<partition>\d+)",
    ),
    _Rule(
        "KAFKA_DATA_LOSS",
        "records of a topic were deleted before they were read: {reason}",
        _LOST,
        r"Some data may have been lost(?s:.*?)Reason:\s*"
        r"(?P<reason>[^\n]+?)\.?\s*(?:\n|$)",
    ),
    _Rule(
        "partition added",
        PARTITION_ADDED,
        "run it again",
        r"you must specify all TopicPartitions",
        lasting=False,
    ),
    _Rule(
        "kafka away",
        "the broker did not take records in time: {reason}",
        "it may be down, or the topic gone; go on from the checkpoint once it is there",
        r"org\.apache\.kafka\.common\.errors\.TimeoutException: "
        r"(?P<reason>(?:Expiring|Topic) [^\n]+?)\.?\s*(?:\n|$)",
        lasting=False,
    ),
    _Rule(
        "kafka refuses",
        "the broker does not take a record: {reason}",
        "look at the topic's settings, and at what its user may do",
        r"org\.apache\.kafka\.common\.errors\.(?:RecordTooLarge|TopicAuthorization"
        r"|ClusterAuthorization|InvalidTopic)Exception: "
        r"(?P<reason>[^\n]+?)\.?\s*(?:\n|$)",
    ),
    _Rule(
        "no kafka",
        "Spark has no Kafka connector",
        "hand in a SparkSession that has the package spark-sql-kafka-0-10",
        r"Failed to find (?:the )?data source: kafka",
    ),
    _Rule(
        "python worker",
        "a Python worker of Spark ended by itself",
        "a UDF may have crashed its process or run out of memory",
        r"Python worker (exited unexpectedly|failed to connect)",
        lasting=False,
    ),
    _Rule(
        "java is gone",
        GONE,
        "the next cell starts a new one; a run with a state folder resumes there",
        r"Answer from Java side is empty|Connection refused|py4j\.protocol\.Py4JNetwork"
        r"|Error while (?:receiving|sending)|SparkContext was (?:shut down|stopped)"
        # A call that the end of the JVM cut short: an error without Java's words.
        r"|stopped SparkContext|Py4JError: An error occurred while calling \S+$",
        lasting=False,
    ),
    _Rule(
        "memory",
        "the Spark process ran out of memory",
        "ARROYO_NB_HEAP=4g gives it more",
        r"OutOfMemoryError",
        lasting=False,
    ),
    _Rule(
        "regex",
        "a text is no regular expression: {problem}",
        None,
        r"PatternSyntaxException: (?P<problem>[^\n]+)",
    ),
    _Rule(
        "disk",
        FULL,
        "make space and run again",
        r"No space left on",
        lasting=False,
    ),
)
_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]+)((?:\.[A-Z0-9_]+)*)\] ?")
# What a Python worker of ours raised: said already, with its hint on the next line.
_OURS = re.compile(
    r"^arroyo_nb\.errors\.(?P<kind>RunProblem|DataProblem|Unreached): (?P<said>.+)"
    r"(?:\n  hint: (?P<hint>.+))?",
    re.M,
)
# Py4J begins with the call that failed; the Java exception stands on the next line.
_CALL = re.compile(r"\s*An error occurred while calling \S+\s*\n: (?:[\w$]+\.)*")


def run_problem(error: BaseException) -> ArroyoError:
    """What to tell a user of an exception; one of ours is itself.

    Raises nothing: an unknown error is told by the first line of its text.
    """
    ours = isinstance(error, ArroyoError)
    text = f"{type(error).__module__}.{type(error).__name__}: {error}"
    if (said := shortage(error, "" if ours else text)) is not None:
        problem = SparkProblem(said, hint=RAISE, error_class=None, detail=text)
        problem.__cause__ = error
        return problem
    if isinstance(error, ArroyoError):
        return error
    told: ArroyoError = (
        _by_worker(text)
        or _by_class(text)
        or _by_words(text)
        or _first_line(error, text)
    )
    told.__cause__ = error
    return told


def _by_worker(text: str) -> ArroyoError | None:
    found = _OURS.search(text)
    if found is None:
        return None
    if found["kind"] == Unreached.__name__:
        return Unreached(found["said"], hint=found["hint"])
    return SparkProblem(
        found["said"],
        hint=found["hint"],
        error_class=None,
        detail=text,
        lasting=found["kind"] == DataProblem.__name__,
    )


def _by_class(text: str) -> SparkProblem | None:
    # Layers are wrapped outside in, so the last class that is known is the cause.
    for found in reversed(list(_classes(text))):
        for rule in _RULES:
            if re.fullmatch(rule.error_class, found[1]):
                return _told(rule, found[1] + found[2], text, found.end())
    return None


def _classes(text: str) -> Iterator[re.Match[str]]:
    """The error classes in a text. What we raise may begin with one of Spark's; behind
    that it may quote a record, and what that has in brackets is none."""
    raised: re.Match[str] | None = None
    for found in _CLASS.finditer(text):
        if raised is not None and found.start() != raised.end():
            return
        yield found
        raised = found if found[1] == _RAISED else raised


def _by_words(text: str) -> SparkProblem | None:
    for rule in _WORDLESS:
        found = re.search(rule.pattern, text)
        if found:
            sentence = rule.sentence.format(**found.groupdict())
            return _problem(rule, sentence, None, text)
    return None


def _told(rule: _Rule, name: str, text: str, start: int) -> SparkProblem:
    words = re.compile(rule.pattern).search(text, start) if rule.pattern else None
    values = words.groupdict() if words else {}
    try:
        sentence = rule.sentence.format(**values)
    except KeyError:
        # Spark's wording changed: its own first line is still true.
        sentence = _line(text[start:])
    # What we raise in Spark's expressions brings a hint of its own.
    rule = rule._replace(hint=values.get("hint") or rule.hint)
    return _problem(rule, sentence, name, text)


def _problem(
    rule: _Rule, sentence: str, error_class: str | None, text: str
) -> SparkProblem:
    return SparkProblem(
        sentence,
        hint=rule.hint,
        error_class=error_class,
        detail=text,
        lasting=rule.lasting,
    )


def _first_line(error: BaseException, text: str) -> SparkProblem:
    found = list(_CLASS.finditer(text))
    name = found[-1][1] + found[-1][2] if found else None
    said = _line(text[found[-1].end() :] if found else _CALL.sub("", str(error), 1))
    return SparkProblem(
        said or type(error).__name__, hint=None, error_class=name, detail=text
    )


def _line(text: str) -> str:
    first = text.strip().split("\n", 1)[0]
    return re.sub(r" SQLSTATE: \w+.*$", "", first).rstrip(". ")
