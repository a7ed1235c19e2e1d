"""Spark's exceptions as problems of the run, in the dialect's words.

Spark wraps what went wrong: a task's error in a job's, a job's in a query's, a query's
in Py4J's. The innermost one that this table knows decides; the original stays as
``__cause__`` and in ``detail``.

An error may quote a record, which may have any words. So it is known by what stands
before that: its class, in brackets at the beginning of its text; or the words of an
error that has none, outside quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from arroyo_nb.codecs.bad_records import DROP_HINT, MISMATCH_HINT
from arroyo_nb.engine.descriptors import USED_UP, shortage, shortage_message
from arroyo_nb.errors import RESTORE, ArroyoError, DataProblem, RunProblem, Unreached
from arroyo_nb.file_errors import RAISE
from arroyo_nb.functions.text_casts import UNREAD_MARK
from arroyo_nb.kafka.errors import ErrorSubject, named_problem
from arroyo_nb.python_worker_errors import raised_by_worker
from arroyo_nb.schema import BIGINT_UNSIGNED

if TYPE_CHECKING:
    from pyspark.errors.exceptions.captured import CapturedException


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


class SparkDataProblem(SparkProblem, DataProblem):
    """A value that Spark cannot read, convert or write."""


class _FailureRule(NamedTuple):
    """What a user is told of an error class.

    ``sentence`` is filled with the named groups of ``pattern`` in Spark's text. What is
    not ``lasting`` may have passed when the same is run again; what is ``of_data`` is
    about a value.
    """

    error_class: str
    sentence: str
    hint: str | None = None
    pattern: str = ""
    lasting: bool = True
    of_data: bool = False


GONE = "the Spark process is gone"
"""What is told of any call that a JVM no longer answers."""

UNREADABLE = "the checkpoint of this run cannot be read"
"""What is told where Spark cannot read it, and does not always say which file."""

FULL = "the disk is full"
"""What is told where Spark or a worker finds no space: they don't say on which disk."""

PARTITION_ADDED = "a partition was added to a topic while the run started"
"""A query that reads a whole topic wants to be told where each partition begins."""

WORKER_SLOW = "Spark's Python process did not start within 10 s"
"""Spark starts one for each query that keeps state, and waits no longer for it."""

_TRY_CAST = "write TRY_CAST to get NULL where a value cannot be converted"
_LOST = "what is left can be read afresh, with another state folder"
_STATE = "start with another state folder, or run the query as it was before"
_GO_ON = "the next cell starts a new one; a run with a state folder resumes there"
_IN_NANOSECONDS = "is not in milliseconds, but in nanoseconds"
_NANOSECONDS_HINT = (
    "let the producer write milliseconds, or set the topic's option "
    "message.timestamp.type to LogAppendTime; Spark cannot read the records that are "
    "there, but a tape can have them: %arroyo record"
)
_RAISED = "USER_RAISED_EXCEPTION"
_RULES = (
    _FailureRule(
        "DIVIDE_BY_ZERO|REMAINDER_BY_ZERO",
        "an integer was divided by zero",
        "write x / nullif(y, 0) to get NULL instead",
        of_data=True,
    ),
    _FailureRule(
        "CAST_INVALID_INPUT",
        "the value {value} is not a valid {target}",
        _TRY_CAST,
        # The value may have lines, and the words behind it: these come last.
        r"(?s:The value (?P<value>'.*') of the type .*? cannot be cast to )"
        r'"(?P<target>[^"]+)"',
        of_data=True,
    ),
    _FailureRule(
        "CAST_OVERFLOW|CAST_OVERFLOW_IN_TABLE_INSERT",
        "the value {value} is out of the range of {target}",
        _TRY_CAST,
        # A number ends with Spark's mark of its type: 1L, 2.0D, 3BD.
        r"[Tt]he value (?P<value>\S+?)(?:BD|[DLS])? .*?"
        r'cannot be cast to "(?P<target>[^"]+)"',
        of_data=True,
    ),
    _FailureRule(
        "INVALID_UTF8_STRING",
        "bytes that are cast to TEXT are not valid UTF-8",
        _TRY_CAST,
        of_data=True,
    ),
    _FailureRule(
        "NUMERIC_VALUE_OUT_OF_RANGE",
        "the number {value} does not fit into {target}",
        "declare more digits, or cast to DOUBLE",
        r"(?P<value>-?[\d.E+-]+) cannot be represented as (?P<target>Decimal\([^)]*\))",
        of_data=True,
    ),
    _FailureRule(
        "ARITHMETIC_OVERFLOW|BINARY_ARITHMETIC_OVERFLOW|INTERVAL_ARITHMETIC_OVERFLOW",
        "a number became too large for its type",
        "cast to a wider type first, such as x::DOUBLE",
        of_data=True,
    ),
    _FailureRule(
        "DATETIME_OVERFLOW",
        "a date or time is out of the range that can be stored",
        "years 0001 to 9999 can be",
        of_data=True,
    ),
    _FailureRule(
        "CANNOT_PARSE_TIMESTAMP|CANNOT_PARSE_TIME",
        "a text is not a timestamp of that pattern: {reason}",
        _TRY_CAST,
        r"(?P<reason>Text '.*?' could not be parsed[^.]*)",
        of_data=True,
    ),
    _FailureRule(
        "INVALID_PARAMETER_VALUE",
        "{problem}",
        None,
        r"(?P<problem>The value of parameter\(s\) .*?)\. SQLSTATE",
    ),
    _FailureRule(
        _RAISED,
        "{said}",
        None,
        # A hint is one of ours: what is quoted before may have one of its own.
        r"(?P<said>[^\n]*?)(?:\n  hint: (?P<hint>"
        rf"{re.escape(DROP_HINT)}|{re.escape(MISMATCH_HINT)}))?(?: SQLSTATE|\n|$)",
        of_data=True,
    ),
    _FailureRule(
        "FAILED_READ_FILE|FILE_NOT_EXIST|PATH_NOT_FOUND",
        "a file that the run was reading is gone or cannot be read",
        "files of a run's state folder must not be touched while it runs",
        lasting=False,
    ),
    _FailureRule(
        "STATE_STORE_(KEY|VALUE)_SCHEMA_NOT_COMPATIBLE"
        "|STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
        "|STATE_STORE_INVALID_PROVIDER",
        "the state of this run was kept by another query",
        _STATE,
    ),
    _FailureRule(
        "STREAMING_CHECKPOINT_MISSING_METADATA_FILE|CANNOT_LOAD_CHECKPOINT_FILE_MANAGER"
        "|CANNOT_LOAD_STATE_STORE|CHECKPOINT_FILE|INVALID_LOG_VERSION"
        "|MALFORMED_LOG_FILE",
        UNREADABLE,
        RESTORE,
    ),
    _FailureRule(
        "CONCURRENT_STREAM_LOG_UPDATE|CONCURRENT_QUERY",
        "another run uses the same state folder",
        "stop it, or give this run a folder of its own",
        lasting=False,
    ),
    _FailureRule(
        "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE",
        "the event time is not a TIMESTAMP",
        "cast it in a generated column and name that in WATERMARK FOR",
    ),
    _FailureRule(
        "PYTHON_EXCEPTION",
        "a Python function failed: {said}",
        None,
        r"(?s:.*?)\n(?P<said>[\w.]+(?:Error|Exception|Warning)\b[^\n]*)",
        lasting=False,
    ),
)


def _kafka_rule(
    exception: str, pattern: str, error: str, *, topic: str = "", lasting: bool = True
) -> _FailureRule:
    """A rule for an exception of Kafka's Java client, worded as the same error of
    librdkafka is."""
    subject = ErrorSubject("", topic, action="write to")
    worded = named_problem(error, subject)
    said = rf"org\.apache\.kafka\.common\.errors\.{exception}Exception: {pattern}"
    return _FailureRule(error, worded.message, worded.hint, said, lasting)


_WORDLESS = (
    _FailureRule(
        "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE",
        "records of partition {partition} of the topic '{topic}' were deleted before "
        "they were read: the offsets from {first} up to {after} are not all there",
        _LOST,
        # Spark quotes an option before it.
        r"(?:Some data may have been lost(?s:.*?))?"
        r"Could not read records in offset \[(?P<first>\d+), (?P<after>\d+)\)"
        r" for topic partition (?P<topic>\S+)-(?P<partition>\d+)",
    ),
    _FailureRule(
        "KAFKA_DATA_LOSS",
        "records of a topic were deleted before they were read: {reason}",
        _LOST,
        r"Some data may have been lost(?s:.*?)Reason:\s*"
        r"(?P<reason>[^\n]+?)\.?\s*(?:\n|$)",
    ),
    _FailureRule(
        "partition added",
        PARTITION_ADDED,
        "run it again",
        r"you must specify all TopicPartitions",
        lasting=False,
    ),
    _kafka_rule(
        "Timeout",
        r"(?:Expiring \d+ record\(s\) for |Topic )(?P<topic>\S+?)"
        r"(?:-\d+:| not present in metadata)",
        "_MSG_TIMED_OUT",
        topic="{topic}",
        lasting=False,
    ),
    _kafka_rule(
        "TopicAuthorization",
        r"Not authorized to access topics: \[(?P<topic>[^\]]+)\]",
        "TOPIC_AUTHORIZATION_FAILED",
        topic="{topic}",
    ),
    _kafka_rule("RecordTooLarge", "", "MSG_SIZE_TOO_LARGE"),
    _FailureRule(
        "kafka refuses",
        "the broker does not take a record: {reason}",
        "look at the topic's settings, and at what its user may do",
        r"org\.apache\.kafka\.common\.errors\.(?:TopicAuthorization"
        r"|ClusterAuthorization|InvalidTopic)Exception: "
        r"(?P<reason>[^\n]+?)\.?\s*(?:\n|$)",
    ),
    _FailureRule(
        "KAFKA_MALFORMED_RECORD_TIMESTAMP",
        "{topic}[{partition}] offset {offset}: the time of the record "
        f"{_IN_NANOSECONDS}",
        _NANOSECONDS_HINT,
        r"Record at topic (?P<topic>\S+) partition (?P<partition>\d+) "
        r"offset (?P<offset>\d+) has timestamp value",
        of_data=True,
    ),
    # Of an older connector, which lets the conversion fail by itself.
    _FailureRule(
        "record time",
        f"the time of a record of a topic {_IN_NANOSECONDS}",
        _NANOSECONDS_HINT,
        r"long overflow(?s:.*?)\bat org\.apache\.spark\.sql\.kafka010\.",
        of_data=True,
    ),
    _FailureRule(
        "no kafka",
        "Spark has no Kafka connector",
        "hand in a SparkSession that has the package spark-sql-kafka-0-10",
        r"Failed to find (?:the )?data source: kafka",
    ),
    _FailureRule(
        "slow python worker",
        WORKER_SLOW,
        "this machine is busy: end other work or other runs, and run it again",
        r"Python worker failed to connect",
        lasting=False,
    ),
    _FailureRule(
        "python worker",
        "a Python worker of Spark ended by itself",
        "a UDF may have crashed its process or run out of memory",
        r"Python worker exited unexpectedly",
        lasting=False,
    ),
    _FailureRule(
        "spark is stopped",
        GONE,
        _GO_ON,
        r"SparkContext was (?:shut down|stopped)|stopped SparkContext",
        lasting=False,
    ),
    _FailureRule(
        "memory",
        "the Spark process ran out of memory",
        "ARROYO_NB_HEAP=4g gives it more",
        r"OutOfMemoryError",
        lasting=False,
    ),
    _FailureRule(
        "result size",
        "a micro-batch has {size} of rows or more, and {most} may be collected at once",
        "select fewer columns, or shorter values",
        r"Total size of serialized results of \d+ tasks \((?P<size>[^)]+)\) is bigger "
        r"than spark\.driver\.maxResultSize \((?P<most>[^)]+)\)",
    ),
    _FailureRule(
        "regex",
        "a text is not a regular expression: {problem}",
        None,
        r"PatternSyntaxException: (?P<problem>[^\n]+)",
    ),
    _FailureRule(
        "disk",
        FULL,
        "make space and run again",
        r"No space left on|Disk quota exceeded",
        lasting=False,
    ),
)
_UNANSWERED = _FailureRule(
    "java is gone",
    GONE,
    _GO_ON,
    r"Answer from Java side is empty|Connection refused|py4j\.protocol\.Py4JNetwork"
    r"|Error while (?:receiving|sending)"
    # A call that the end of the JVM cut short: an error without Java's words.
    r"|Py4JError: An error occurred while calling \S+$",
    lasting=False,
)
"""What Py4J says where there is no Java any more."""

_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]+)((?:\.[A-Z0-9_]+)*)\] ?")
_WRAPPERS = re.compile(
    "STREAM_FAILED|TASK_WRITE_FAILED|FAILED_READ_FILE|KAFKA_DATA_LOSS|SPARK_JOB_CANCELLED"
    "|STREAMING_ASYNC_OPERATION_FAILED|INTERNAL_ERROR\\w*|\\w+_USER_FUNCTION_ERROR"
    "|CANNOT_LOAD_STATE_STORE"
)
"""Classes that quote another error, and no data."""

_OF_PYTHON, _OF_FUNCTION = "PYTHON_EXCEPTION", "_USER_FUNCTION_ERROR"
_REFUSED = re.compile(
    rf"^OSError: \[Errno \d+\] (?:{USED_UP}|No space left on|Disk quota exceeded)", re.M
)
"""What a Python worker says that the system refuses something."""

_QUOTE = re.compile("['\"]")
_USED_UP = re.compile(rf"[^'\"]*?{USED_UP}")
# Py4J begins with the call that failed; the Java exception stands on the next line.
_CALL = re.compile(r"\s*An error occurred while calling \S+\s*\n: (?:[\w$]+\.)*")
_JAVA_NAME = re.compile(r"[\w$]+(?:\.[\w$]+)+")
_MOST_LAYERS = 50


def run_problem(error: BaseException) -> ArroyoError:
    """What to tell a user of an exception; one of ours is itself.

    Raises nothing: an unknown error is told by the first line of its text.
    """
    if (said := shortage(error)) is not None:
        problem: ArroyoError = _of_system(said, _text(error))
    elif isinstance(error, ArroyoError):
        return error
    else:
        text = _text(error)
        problem = _by_layers(error, text) or _first_line(error, text)
    problem.__cause__ = error
    return problem


def _by_layers(error: BaseException, whole: str) -> ArroyoError | None:
    """What the innermost error that is known says of itself."""
    captured = _captured(error)
    layers = [_text(error)] if captured is None else list(_layers(captured))
    # What Java says of a connection of its own is no answer that it did not give.
    rules = (*_WORDLESS, *((_UNANSWERED,) if captured is None else ()))
    quotes = False
    for text in reversed(layers):
        found = _by_worker(text, whole)
        if found is None and not quotes:
            found = _by_words(rules, text, whole)
        if found is None:
            found = _by_class(text, whole)
        if found is not None:
            return found
        # What is wrapped around an error of a class quotes it, with its data.
        quotes = quotes or _first_cause(text) is not None
    return None


def _layers(error: CapturedException) -> Iterator[str]:
    """The texts of an error and of what caused it in Java, the outermost first; each
    begins with the name of its class."""
    each: CapturedException | None = error
    for _ in range(_MOST_LAYERS):
        if each is None:
            return
        name, said = _JAVA_NAME.match(each._stackTrace or ""), str(each._desc)
        # One that PySpark has no class for has it in its own text.
        has_name = name is None or said.startswith(name[0])
        yield said if has_name or name is None else f"{name[0]}: {said}"
        each = each._cause


def _captured(error: BaseException) -> CapturedException | None:
    """An exception of Java's, as PySpark reads it; None where it is none, or nobody
    can be asked any more."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions import captured

    if isinstance(error, captured.CapturedException):
        return error
    if isinstance(error, Py4JJavaError):
        with suppress(Exception):
            return captured.convert_exception(error.java_exception)
    return None


def _text(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__name__}: {_said(error)}"


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # PySpark asks the JVM, which may be gone
        return str(getattr(error, "_desc", ""))


def _by_worker(text: str, whole: str) -> ArroyoError | None:
    raised = raised_by_worker(text)
    if raised is None:
        return None
    if raised.kind == Unreached.__name__:
        return Unreached(raised.message, hint=raised.hint)
    kind = SparkDataProblem if raised.kind == DataProblem.__name__ else SparkProblem
    return kind(
        raised.message,
        hint=raised.hint,
        error_class=None,
        detail=whole,
        lasting=raised.lasting,
    )


def _by_class(text: str, whole: str) -> SparkProblem | None:
    # The first one: what stands behind it may be a record's.
    for found in _classes(text):
        for rule in _RULES:
            if re.fullmatch(rule.error_class, found[1]):
                return _problem_of_rule(rule, found, text, whole)
        if not _WRAPPERS.fullmatch(found[1]):
            return None
    return None


def _classes(text: str) -> Iterator[re.Match[str]]:
    """The error classes in a text, but those in what it quotes. What we raise may begin
    with one of Spark's, which then stands for it."""
    outer, at = "", 0
    for found in _CLASS.finditer(text):
        # A traceback quotes the names of files.
        if not outer.endswith(_OF_FUNCTION) and _QUOTE.search(text, at, found.start()):
            return
        outer, at = found[1], found.end()
        if found[1] != _RAISED or _CLASS.match(text, found.end()) is None:
            yield found


def _first_cause(text: str) -> re.Match[str] | None:
    """The first error class of a text that wraps no other error."""
    causes = (each for each in _classes(text) if not _WRAPPERS.fullmatch(each[1]))
    return next(causes, None)


def _by_words(
    rules: Sequence[_FailureRule], text: str, whole: str
) -> SparkProblem | None:
    cause = _first_cause(text)
    if cause is not None and cause[1] == _OF_PYTHON:
        refused = _REFUSED.search(text)
        text, cause = (refused[0], None) if refused else (text, cause)
    end = cause.start() if cause else len(text)
    if (used_up := _USED_UP.match(text, 0, end)) is not None:
        return _of_system(shortage_message(used_up[0]), whole)
    quote = _QUOTE.search(text, 0, end)
    end = quote.start() if quote else end
    for rule in rules:
        found = re.search(rule.pattern, text)
        if found and found.start() < end:
            sentence = rule.sentence.format(**found.groupdict())
            return _problem(rule, sentence, None, whole)
    return None


def _of_system(said: str, whole: str) -> SparkProblem:
    return SparkProblem(said, hint=RAISE, error_class=None, detail=whole)


_HELD_AS = {"DECIMAL(20,0)": str(BIGINT_UNSIGNED)}
"""Types of Spark that are nearly always another one of ours."""


def _problem_of_rule(
    rule: _FailureRule, found: re.Match[str], text: str, whole: str
) -> SparkProblem:
    words = re.compile(rule.pattern).search(text, found.end()) if rule.pattern else None
    values = words.groupdict() if words else {}
    if (target := values.get("target")) is not None:
        values["target"] = _HELD_AS.get(target, target)
    try:
        sentence = rule.sentence.format(**values)
    except KeyError:
        # Spark's wording changed: its own first line is still true.
        sentence = _line(text[found.end() :])
    # What we raise in Spark's expressions brings a hint of its own.
    rule = rule._replace(hint=values.get("hint") or rule.hint)
    return _problem(rule, " ".join(sentence.split()), found[1] + found[2], whole)


def _problem(
    rule: _FailureRule, sentence: str, error_class: str | None, whole: str
) -> SparkProblem:
    return (SparkDataProblem if rule.of_data else SparkProblem)(
        # A text that is no number for Arrow was marked (functions.text_casts).
        sentence.replace(UNREAD_MARK, ""),
        hint=rule.hint,
        error_class=error_class,
        detail=whole,
        lasting=rule.lasting,
    )


def _first_line(error: BaseException, text: str) -> SparkProblem:
    found = _first_cause(text) or next(_classes(text), None)
    name = found[1] + found[2] if found else None
    said = _line(text[found.end() :] if found else _CALL.sub("", _said(error), 1))
    return SparkProblem(
        said or type(error).__name__, hint=None, error_class=name, detail=text
    )


def _line(text: str) -> str:
    first = text.strip().split("\n", 1)[0]
    return re.sub(r" SQLSTATE: \w+.*$", "", first).rstrip(". ")
