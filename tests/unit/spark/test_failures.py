"""Spark's words, as a notebook gets them, told in ours."""

from __future__ import annotations

import pytest

from arroyo_nb.errors import PlanProblem, RunProblem
from arroyo_nb.spark.failures import run_problem

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


WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "x.py", line 3, in ask
    raise RunProblem(
arroyo_nb.errors.RunProblem: users['a']:1: 'age' is INT [X_Y] found "old"
  hint: leave it out

        at org.apache.spark.api.python.BasePythonRunner
"""


@pytest.mark.parametrize(
    "text", [WORKER, STREAM.format(f"[PYTHON_EXCEPTION] {WORKER}")]
)
def test_what_a_worker_of_ours_says_is_said_with_its_hint(text):
    problem = run_problem(Exception(text))
    assert problem.message == "users['a']:1: 'age' is INT [X_Y] found \"old\""
    assert problem.hint == "leave it out"


@pytest.mark.parametrize(
    ("text", "message", "error_class"),
    [
        (INVALID, "the value '1 x' is no INT", "CAST_INVALID_INPUT"),
        (STREAM.format(INVALID), "the value '1 x' is no INT", "CAST_INVALID_INPUT"),
        (
            STREAM.format(BATCH_FUNCTION.format(f"pyspark.errors: {INVALID}")),
            "the value '1 x' is no INT",
            "CAST_INVALID_INPUT",
        ),
        (
            STREAM.format(
                "Aborted. org.apache.kafka.common.errors.TimeoutException: Expiring "
                "3 record(s) for t-0:600 ms has passed since batch creation"
            ),
            "the broker did not take records in time: Expiring 3 record(s) for "
            "t-0:600 ms has passed since batch creation",
            None,
        ),
        (
            "org.apache.kafka.common.errors.RecordTooLargeException: The message is 9 "
            "bytes when serialized.",
            "the broker does not take a record: The message is 9 bytes when serialized",
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
        (WORKER, False),
        (WORKER.replace("errors.RunProblem", "errors.DataProblem"), True),
    ],
)
def test_whether_it_may_pass_is_known(text, lasting):
    assert run_problem(Exception(text)).lasting is lasting
