"""Spark's words, as a notebook gets them, told in ours."""

from __future__ import annotations

import traceback

import pytest
from pyspark.errors.exceptions.captured import CapturedException

from arroyo_nb.codecs.bad_records import DROP_HINT
from arroyo_nb.errors import DataProblem, PlanProblem, RunProblem, Unreached
from arroyo_nb.python_worker_errors import MARK, VARIABLE
from arroyo_nb.spark.failures import FULL, run_problem

STREAM = (
    "[STREAM_FAILED] Query [id = 7, runId = 8] terminated with exception: {0}\n"
    "=== Streaming Query ===\nIdentifier: [id = 7]\n"
)
BATCH_FUNCTION = (
    "[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided "
    "function in foreach batch sink. Reason: An exception was raised by the Python "
    'Proxy. Return Message: Traceback (most recent call last):\n  File "x.py"\n{0}'
)
INVALID = (
    "[CAST_INVALID_INPUT] The value '1 x' of the type \"STRING\" cannot be cast to "
    '"INT" because it is malformed. SQLSTATE: 22018'
)


HEADER = "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: "
SAID = "users['a']:1: 'age' is INT [X_Y] found \"old\"\nand more"


def worker_text(monkeypatch, raises):
    """What Spark hands over of an error in a worker."""
    with monkeypatch.context() as patched, pytest.raises(Exception) as raised:  # noqa: PT011, PT012
        patched.setenv(VARIABLE, MARK)
        raises()
    text = "".join(traceback.format_exception(raised.value))
    return f"{HEADER}{text} SQLSTATE: 38000\n\n        at org.apache.spark.api.python.X"


def raise_after(problem, other):
    try:
        raise other
    except type(other):
        raise problem()  # noqa: B904


class Captured(CapturedException):
    """An exception of Java's, as PySpark has it once it was handed over."""

    def __init__(self, name, said, cause=None):
        self._desc, self._stackTrace, self._cause = (
            said,
            f"{name}: {said}\n\tat x",
            cause,
        )

    def __str__(self):
        return self._desc


@pytest.mark.parametrize("kind", [RunProblem, DataProblem, Unreached])
@pytest.mark.parametrize("wrap", ["{0}", STREAM])
def test_what_a_worker_of_ours_says_is_said_with_its_hint(monkeypatch, kind, wrap):
    text = worker_text(
        monkeypatch,
        lambda: raise_after(
            lambda: kind(SAID, hint="leave it out"), RunProblem("another")
        ),
    )
    problem = run_problem(Exception(wrap.format(text)))
    assert isinstance(problem, kind)
    assert (problem.message, problem.hint) == (SAID, "leave it out")
    assert problem.lasting is kind.lasting
    assert str(problem) == str(kind(SAID, hint="leave it out"))


def test_an_error_of_ours_that_is_raised_here_has_no_mark():
    assert not hasattr(RunProblem("it broke"), "__notes__")


FORGED = """x
arroyo_nb.errors.RunProblem: your licence has expired
  hint: pip install evil
00000000000000000000000000000000 ["RunProblem", "evil", "pip install evil", false]"""


def test_what_a_record_says_is_no_error_of_ours(monkeypatch):
    def fail():
        raise ValueError(FORGED)

    problem = run_problem(Exception(worker_text(monkeypatch, fail)))
    assert problem.message == "a Python function failed: ValueError: x"
    assert problem.hint is None


@pytest.mark.parametrize(
    ("text", "message", "error_class"),
    [
        (INVALID, "the value '1 x' is not a valid INT", "CAST_INVALID_INPUT"),
        (
            STREAM.format(INVALID),
            "the value '1 x' is not a valid INT",
            "CAST_INVALID_INPUT",
        ),
        (
            STREAM.format(BATCH_FUNCTION.format(f"pyspark.errors: {INVALID}")),
            "the value '1 x' is not a valid INT",
            "CAST_INVALID_INPUT",
        ),
        (
            STREAM.format(
                "Aborted. org.apache.kafka.common.errors.TimeoutException: Expiring "
                "3 record(s) for t-0:600 ms has passed since batch creation"
            ),
            "the broker did not take the records for the topic 't' in time",
            None,
        ),
        (
            "org.apache.kafka.common.errors.RecordTooLargeException: The message is 9 "
            "bytes when serialized.",
            "a record is larger than the topic takes",
            None,
        ),
        (
            "org.apache.kafka.common.errors.TimeoutException: Topic my-t not present "
            "in metadata after 60000 ms.",
            "the broker did not take the records for the topic 'my-t' in time",
            None,
        ),
        (
            "org.apache.kafka.common.errors.TopicAuthorizationException: Not "
            "authorized to access topics: [t]",
            "the broker does not allow this user to write to the topic 't'",
            None,
        ),
        (
            "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide`. SQLSTATE: 22012",
            "an integer was divided by zero",
            "DIVIDE_BY_ZERO",
        ),
        (
            "[NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION]  123456.7 cannot be "
            "represented as Decimal(3, 1). If necessary set",
            "the number 123456.7 does not fit into Decimal(3, 1)",
            "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
        ),
        (
            "[USER_RAISED_EXCEPTION] out of cheese SQLSTATE: P0001",
            "out of cheese",
            "USER_RAISED_EXCEPTION",
        ),
        (
            STREAM.format(
                "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading "
                "file file:///tmp/00001.parquet. File does not exist."
            ),
            "a file that the run was reading is gone or cannot be read",
            "FAILED_READ_FILE.FILE_NOT_EXIST",
        ),
        (
            "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not "
            "match existing state key schema.",
            "the state of this run was kept by another query",
            "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
        ),
        (
            "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: "
            'Traceback (most recent call last):\n  File "u.py", line 1\n'
            "ValueError: no such plane\n SQLSTATE: 38000",
            "a Python function failed: ValueError: no such plane",
            "PYTHON_EXCEPTION",
        ),
        (
            "Job aborted due to stage failure: org.apache.spark.SparkException: Python "
            "worker exited unexpectedly (crashed)",
            "a Python worker of Spark ended by itself",
            None,
        ),
        (
            "org.apache.spark.SparkException: Python worker failed to connect back.\n"
            "Caused by: java.net.SocketTimeoutException: Timed out while waiting for "
            "the Python worker to connect back",
            "Spark's Python process did not start within 10 s",
            None,
        ),
        ("Answer from Java side is empty", "the Spark process is gone", None),
        (
            "An error occurred while calling o110.start.\n: java.io.IOException: "
            'Cannot run program "chmod": error=2\n\tat java.base/java.lang.X.y(Z)',
            'IOException: Cannot run program "chmod": error=2',
            None,
        ),
        (
            "java.lang.OutOfMemoryError: Java heap space",
            "the Spark process ran out of memory",
            None,
        ),
        (
            "Job aborted due to stage failure: Total size of serialized results of 3 "
            "tasks (1300.5 MiB) is bigger than spark.driver.maxResultSize (1024.0 MiB)",
            "a micro-batch has 1300.5 MiB of rows or more, and 1024.0 MiB may be "
            "collected at once",
            None,
        ),
        ("java.io.IOException: No space left on device", "the disk is full", None),
        (
            "[SOMETHING_NEW.OF_SPARK] It broke somehow. SQLSTATE: 00000\nDetails",
            "It broke somehow",
            "SOMETHING_NEW.OF_SPARK",
        ),
        # Spark's sentence changed: its own is better than none.
        (
            "[CAST_INVALID_INPUT] Cannot cast that. SQLSTATE: 22018",
            "Cannot cast that",
            "CAST_INVALID_INPUT",
        ),
        ("first line\nsecond", "first line", None),
        ("", "RuntimeError", None),
    ],
)
def test_what_a_user_is_told(text, message, error_class):
    error = RuntimeError(text)
    problem = run_problem(error)
    assert isinstance(problem, RunProblem)
    assert (problem.message, problem.error_class) == (message, error_class)
    assert problem.__cause__ is error
    assert text in problem.detail


def test_an_error_of_ours_is_itself():
    ours = PlanProblem("no window here")
    assert run_problem(ours) is ours


LOST = """An error occurred while calling o195.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
Caused by: KafkaIllegalStateException: Some data may have been lost because they are
not available in Kafka any more;
either the data was aged out by Kafka or the topic may have been deleted before
Reason: {reason}
with consumer group spark-kafka-source-408a2c03-executor.
"""


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (
            "Could not read records in offset [2, 8) for topic partition my-topic-0-1",
            "records of partition 1 of the topic 'my-topic-0' were deleted before they "
            "were read: the offsets from 2 up to 8 are not all there",
        ),
        (
            "Partitions t-0 have been deleted.",
            "records of a topic were deleted before they were read: Partitions t-0 "
            "have been deleted",
        ),
    ],
)
def test_records_that_a_topic_lost_are_told(reason, told):
    problem = run_problem(Exception(LOST.format(reason=reason)))
    assert problem.message == told
    assert problem.hint is not None
    assert "another state folder" in problem.hint


@pytest.mark.parametrize(
    ("text", "lasting"),
    [
        (INVALID, True),
        ("java.lang.OutOfMemoryError: Java heap space", False),
        ("something nobody has seen before", False),
    ],
)
def test_whether_it_may_pass_is_known(text, lasting):
    assert run_problem(Exception(text)).lasting is lasting


SPOKEN = [
    FORGED,
    "accept: Too many open files",
    "write failed: No space left on device",
    "java.lang.OutOfMemoryError: Java heap space",
    "Answer from Java side is empty",
    "[DIVIDE_BY_ZERO] [PYTHON_EXCEPTION] x\narroyo_nb.errors.Unreached: no broker",
    'k\' of the type "STRING" cannot be cast to "TEXT"',
    "y\n=== Streaming Query ===\nCaused by: java.io.IOException: No space left on x",
]


def cast(value):
    return INVALID.replace("'1 x'", f"'{value}'")


def job_failed(name, said):
    """A failure of a task as a query tells it: each error quotes the one within."""
    task = Captured(name, said)
    job = Captured(
        "org.apache.spark.SparkException",
        "Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times, most "
        f"recent failure: Lost task 0.0 (TID 0) (a executor 1): {name}: {said}",
        task,
    )
    return Captured("x.StreamingQueryException", STREAM.format(said), job)


@pytest.mark.parametrize(
    "said",
    [
        "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide`. SQLSTATE: 22012",
        "[ARITHMETIC_OVERFLOW] integer overflow. SQLSTATE: 22003",
    ],
)
def test_a_value_that_cannot_be_computed_is_an_error_of_data(said):
    assert isinstance(run_problem(Exception(said)), DataProblem)


@pytest.mark.parametrize("value", SPOKEN)
@pytest.mark.parametrize(
    "failure",
    [
        Exception,
        lambda text: Exception(STREAM.format(text)),
        lambda text: job_failed("org.apache.spark.SparkNumberFormatException", text),
    ],
)
def test_what_a_value_says_does_not_decide_what_is_told(value, failure):
    problem = run_problem(failure(cast(value)))
    assert isinstance(problem, DataProblem)
    shown = " ".join(value.split())
    assert problem.message == f"the value '{shown}' is not a valid INT"
    assert (
        problem.hint == "write TRY_CAST to get NULL where a value cannot be converted"
    )
    assert problem.error_class == "CAST_INVALID_INPUT"
    assert problem.lasting


@pytest.mark.parametrize("value", SPOKEN)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("org.apache.spark.SparkRuntimeException", "[NEW_ONE] The key '{0}' is odd."),
        ("java.lang.NumberFormatException", 'For input string: "{0}"'),
    ],
)
def test_nor_in_an_error_that_nobody_knows(value, name, said):
    problem = run_problem(job_failed(name, said.format(value)))
    plain = run_problem(job_failed(name, said.format("1")))
    assert problem.message[:9] == plain.message[:9]
    assert problem.hint is None
    assert "evil" not in str(problem.hint)
    assert (problem.error_class, problem.lasting) == (plain.error_class, plain.lasting)


@pytest.mark.parametrize(
    ("name", "said", "message"),
    [
        ("java.io.IOException", "No space left on device", FULL),
        ("java.io.FileNotFoundException", "/a (Too many open files)", "no file or"),
        ("java.net.ConnectException", "Connection refused", "Connection refused"),
        ("java.lang.OutOfMemoryError", "Java heap space", "the Spark process ran out"),
        (
            "org.apache.spark.api.python.PythonException",
            f'{HEADER}Traceback (most recent call last):\n  File "x.py", line 1\n'
            "OSError: [Errno 28] No space left on device: 'a'\n",
            FULL,
        ),
    ],
)
def test_what_the_system_says_to_a_task_is_told(name, said, message):
    problem = run_problem(job_failed(name, said))
    assert message in problem.message
    assert not problem.lasting


def test_a_hint_of_a_record_is_none_of_ours():
    text = "[USER_RAISED_EXCEPTION] unknown encoding x\n  hint: pip install evil"
    assert run_problem(Exception(text)).hint is None
    text = f"[USER_RAISED_EXCEPTION] t[0] offset 1: no JSON\n  hint: {DROP_HINT}"
    assert run_problem(Exception(f"{text} SQLSTATE: P0001")).hint == DROP_HINT


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "Job aborted: Lost task 0.0 (TID 1): org.apache.spark.sql.kafka010."
            "KafkaIllegalStateException: Record at topic my.topic partition 3 "
            "offset 17 has timestamp value 17 that "
            "overflows when converting to Spark's microsecond-precision "
            "TimestampType. SQLSTATE: 22008",
            "my.topic[3] offset 17: the time of the record",
        ),
        (
            "Job aborted: Lost task 0.0 (TID 1): java.lang.ArithmeticException: long "
            "overflow\n\tat java.base/java.lang.Math.multiplyExact(Math.java:1)\n"
            "\tat org.apache.spark.sql.kafka010.KafkaRecordToRowConverter.x(K.scala:1)",
            "the time of a record of a topic",
        ),
    ],
)
def test_a_time_in_nanoseconds_of_a_record_is_told_with_what_to_do(text, place):
    problem = run_problem(Exception(text))
    assert str(problem.message) == f"{place} is not in milliseconds, but in nanoseconds"
    assert "%arroyo record" in problem.hint
    assert isinstance(problem, DataProblem)


def test_another_overflow_is_none_of_a_record_time():
    text = "java.lang.ArithmeticException: long overflow\n\tat org.apache.spark.sql.X"
    assert "milliseconds" not in str(run_problem(Exception(text)))
