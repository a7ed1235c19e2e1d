"""Async functions: many calls at a time, in the order of the rows."""

import time

import pyarrow as pa
import pytest
from machine import allowed
from rust_functions import rust

from arroyo_nb.errors import RunProblem

NAP = """\
/*
[dependencies]
tokio = { version = "1", features = ["time", "rt"] }
*/
use arroyo_udf_plugin::udf;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::Duration;

static RUNNING: AtomicI64 = AtomicI64::new(0);

/// How many calls run beside it.
#[udf(ATTRIBUTE)]
async fn nap(ms: i64, text: Option<&str>) -> Option<i64> {
    if ms == 13 { panic!("unlucky {ms}") }
    if ms < 0 { std::thread::sleep(Duration::from_millis(-ms as u64)) }
    let before = RUNNING.fetch_add(1, SeqCst);
    if ms == 1 { let _ = tokio::spawn(async { panic!("of no interest") }).await; }
    tokio::time::sleep(Duration::from_millis(ms.max(0) as u64)).await;
    RUNNING.fetch_sub(1, SeqCst);
    text.map(|_| if ms == 14 { before } else { ms })
}
"""

FAST = NAP.replace("ATTRIBUTE", 'ordered, allowed_in_flight = 10, timeout = "300ms"')
ECHO = rust("async fn echo(s: &str) -> String { s.to_string() }")


def test_results_are_in_the_order_of_the_rows(called):
    call = called(FAST)
    naps = pa.array([40, 20, 1, 5, 30] * 5)
    texts = pa.array(["a", None, "", "b", "c"] * 5)
    assert call(naps, texts).to_pylist() == [40, None, 1, 5, 30] * 5
    assert call(naps[:0], texts[:0]).to_pylist() == []
    assert call(naps[3:5], texts[3:5]).to_pylist() == [5, 30]


def test_so_many_calls_run_at_a_time(called):
    rows = 200
    start = time.perf_counter()
    beside = called(FAST)(pa.array([14] * rows), pa.array(["a"] * rows)).to_pylist()
    assert 0.014 * rows / 10 <= time.perf_counter() - start < allowed(2.0)
    assert max(beside) - min(beside) == 9


def test_a_panic_ends_the_batch_and_not_the_next_one(called):
    call = called(FAST)
    for _ in range(3):
        with pytest.raises(RunProblem) as caught:
            call(pa.array([1, 13, 5]), pa.array(["a"] * 3))
        assert caught.value.message == (
            "failed while calling Rust UDF 'nap': panicked at line 14: unlucky 13"
        )
        assert call(pa.array([1]), pa.array(["a"])).to_pylist() == [1]


@pytest.mark.parametrize("ms", [5_000, -3_000])
def test_a_call_that_takes_too_long_waiting_or_busy_fails(called, ms):
    call = called(FAST)
    start = time.perf_counter()
    with pytest.raises(RunProblem) as caught:
        call(pa.array([1, ms]), pa.array(["a", "b"]))
    assert time.perf_counter() - start < allowed(3.0)
    assert caught.value.message == (
        "a call of the Rust UDF 'nap' took longer than its timeout of 0.3 s"
    )
    assert call(pa.array([1]), pa.array(["a"])).to_pylist() == [1]


def test_many_rows_and_text(called):
    texts = pa.array(map(str, range(100_000)))
    call = called(ECHO)
    start = time.perf_counter()
    assert call(texts).equals(texts)
    assert time.perf_counter() - start < allowed(3.0)
