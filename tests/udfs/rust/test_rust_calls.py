"""Compiled functions are called with Arrow arrays as Arroyo calls them with rows."""

import pickle
import re
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from machine import allowed
from rust_functions import crate_of, rust

from arroyo_nb.errors import CatalogProblem, Problems, RunProblem
from arroyo_nb.udfs.rust import libraries
from arroyo_nb.udfs.rust.build import compile_crate

PLUS_ONE = """\
use arroyo_udf_plugin::udf;

fn checked(x: i64) -> i64 {
    if x == 13 {
        panic!("unlucky {x}");
    }
    x + 1
}

#[udf]
fn plus_one(x: i64) -> i64 {
    checked(x)
}
"""

SHOUT = rust("fn shout(s: &str) -> String { s.to_uppercase() }")

OR_LENGTH = rust(
    "fn or_length(x: Option<i64>, s: Option<&str>) -> Option<i64> {\n"
    "    x.or(s.map(|s| s.len() as i64))\n}"
)

NUMBERS = rust(
    "fn numbers(a: i8, b: i16, c: i32, d: u8, e: u16, f: u32, g: u64, h: f32, i: f64)\n"
    "    -> String {\n"
    '    format!("{a} {b} {c} {d} {e} {f} {g} {h} {i}")\n}'
)

REVERSED = rust(
    "fn reversed(b: &[u8]) -> Vec<u8> { b.iter().rev().copied().collect() }"
)

LARGEST = rust("fn largest(a: u64) -> u64 { u64::MAX - a }")

MEAN = rust(
    "fn weighted(v: Vec<f64>, w: Vec<Option<i64>>) -> Option<f64> {\n"
    '    if v.len() > 3 { panic!("{} values", v.len()) }\n'
    "    let known: i64 = w.iter().flatten().sum();\n"
    "    (!v.is_empty()).then(|| v.iter().sum::<f64>() + known as f64 * 100.0\n"
    "        + w.len() as f64 * 10_000.0)\n}"
)

MATCHES = """\
/*
[dependencies]
regex = "1"
*/
use arroyo_udf_plugin::udf;
use regex::Regex;

#[udf]
fn matching(pattern: &str, text: &str) -> i32 {
    Regex::new(pattern).unwrap().is_match(text) as i32
}
"""

CRASH = rust(
    "fn crash(how: i64) -> i64 {\n"
    "    match how { 1 => deep(how), 2 => std::process::exit(7), _ => how }\n}",
    # The compiler would make a loop of what does not look at its frames.
    before="\n#[allow(unconditional_recursion)]\n"
    "fn deep(x: i64) -> i64 { let a = std::hint::black_box([x; 999]); "
    "deep(a[3]) + std::hint::black_box(a)[5] }",
)


def test_a_function_is_called_once_for_each_row(called):
    call = called(PLUS_ONE)
    assert call(pa.array([1, 2, -5])).to_pylist() == [2, 3, -4]
    assert call(pa.array([0, 1, 2, 3])[1:3]).to_pylist() == [2, 3]
    assert call(pa.array([], pa.int64())).to_pylist() == []
    assert call(pa.array([2**63 - 1])).to_pylist() == [-(2**63)]  # as a release build


def test_a_million_rows_are_called_at_once(called):
    call, numbers = called(PLUS_ONE), pa.array(range(100, 1_000_100))
    start = time.perf_counter()
    result = call(numbers)
    assert time.perf_counter() - start < allowed(1.0)
    assert result.equals(pc.add(numbers, 1))
    texts = numbers.cast(pa.string())
    assert called(SHOUT)(texts).equals(texts)


def test_a_panic_is_an_error_with_its_text_and_the_next_batch_is_called(called):
    call = called(PLUS_ONE)
    for _ in range(3):
        with pytest.raises(RunProblem) as caught:
            call(pa.array([1, 13]))
        assert caught.value.message == (
            "failed while calling Rust UDF 'plus_one': panicked at line 5: unlucky 13"
        )
        assert call(pa.array([1])).to_pylist() == [2]


def test_text_is_unicode_of_whatever_arrow_type(called):
    call, texts = called(SHOUT), ["straße", "", "日本", "e\u0301", "\0", "🦀"]
    for type_ in (pa.string(), pa.large_string(), pa.string_view()):
        result = call(pa.array(texts, type_))
        assert result.to_pylist() == [text.upper() for text in texts]
        assert result.type == pa.string()


def test_bytes_that_are_no_unicode_are_an_error_not_the_end_of_the_worker(called):
    broken = pa.Array.from_buffers(
        pa.string(), 1, pa.array([b"\xff\xfe"], pa.binary()).buffers()
    )
    with pytest.raises(RunProblem, match=r"'shout': argument 0: .*[Uu][Tt][Ff]"):
        called(SHOUT)(broken)
    assert called(SHOUT)(pa.array(["a"])).to_pylist() == ["A"]


def test_options_take_and_give_null(called):
    call = called(OR_LENGTH)
    numbers = pa.array([1, None, None], pa.int64())
    texts = pa.array(["a", "abc", None])
    assert call(numbers, texts).to_pylist() == [1, 3, None]
    assert call(numbers[1:], texts[1:]).to_pylist() == [3, None]


def test_numbers_of_all_sizes(called):
    row = (-128, -32768, -(2**31), 255, 65535, 2**32 - 1, 2**64 - 1)
    arrays = [pa.array([value], pa.decimal128(20)) for value in row]
    call = called(NUMBERS)
    result = call(*arrays, pa.array([0.5]), pa.array([0.1]))
    assert result.to_pylist() == [" ".join(map(str, (*row, 0.5, 0.1)))]
    result = called(LARGEST)(pa.array([0, 1], pa.uint64()))
    assert result.type == pa.uint64()
    assert result.to_pylist() == [2**64 - 1, 2**64 - 2]


def test_bytes(called):
    call = called(REVERSED)
    given = pa.array([b"\xff\0a", b""], pa.large_binary())
    assert call(given).to_pylist() == [b"a\0\xff", b""]


def test_an_aggregate_is_called_with_all_values_of_a_group(called):
    call = called(MEAN)
    values = pa.array([[9.0], [1.0, 2.0], [], [3.0]], pa.list_(pa.float64()))
    weights = pa.array([[9], [7, None, 1], [], [None]], pa.list_(pa.int64()))
    expected = [3.0 + 800.0 + 30_000.0, None, 3.0 + 10_000.0]
    assert call(values[1:], weights[1:]).to_pylist() == expected
    assert call(values[:0], weights[:0]).to_pylist() == []
    large = values.cast(pa.large_list(pa.float32()))
    assert call(large[1:], weights[1:]).to_pylist() == expected
    with pytest.raises(RunProblem, match="'weighted': panicked at line 3: 4 values"):
        call(pa.array([[1.0] * 4]), pa.array([[1]]))


def test_ten_thousand_groups(called):
    values = pa.array([[float(i), 1.0] for i in range(10_000)])
    weights = pa.array([[0]] * 10_000, pa.list_(pa.int64()))
    call = called(MEAN)
    start = time.perf_counter()
    result = call(values, weights)
    assert time.perf_counter() - start < allowed(1.0)
    assert result.to_pylist() == [i + 10_001.0 for i in range(10_000)]


def test_a_dependency_and_a_panic_inside_of_it(called):
    call = called(MATCHES)
    given = pa.array(["^a", "b$"]), pa.array(["abc", "abc"])
    assert call(*given).to_pylist() == [1, 0]
    with pytest.raises(
        RunProblem, match=r"panicked at line 10: .* regex parse error.*unclosed"
    ):
        call(pa.array(["("]), pa.array(["a"]))


def test_rust_says_what_does_not_compile(cargo):
    source = rust('fn f(x: i64) -> i64 {\n    let größe = "9";\n    x + größe\n}')
    with pytest.raises(CatalogProblem) as caught:
        compile_crate(crate_of(source))
    assert str(caught.value).startswith("f.rs:4:7: cannot add `&str` to `i64` (E0277)")
    source = rust("fn f(x: i64) -> i64 { yes; no }")
    with pytest.raises(Problems) as caught:
        compile_crate(crate_of(source))
    assert [problem.span.start for problem in caught.value.problems] == [
        source.index("yes"),
        source.index("no }"),
    ]
    with pytest.raises(CatalogProblem) as caught:
        compile_crate(crate_of(rust("fn f(x: i64) -> i64 { x; }")))
    assert "mismatched types (E0308)" in str(caught.value)
    assert "remove this semicolon" in str(caught.value)


def in_another_process(call, tmp_path, argument):
    """How a worker ends that is given a call: it has no compiler and no cache."""
    script = (
        "import pickle, sys, pyarrow as pa\n"
        "call = pickle.load(sys.stdin.buffer)\n"
        f"print(call(pa.array([{argument}])).to_pylist())\n"
    )
    environment = {"PATH": "/nowhere", "HOME": "/nowhere", "TMPDIR": str(tmp_path)}
    return subprocess.run(
        [sys.executable, "-c", script],
        input=pickle.dumps(call),
        capture_output=True,
        env=environment,
        timeout=allowed(60),
        check=False,
    )


def test_a_worker_needs_no_compiler_and_keeps_no_file(called, tmp_path):
    ended = in_another_process(called(PLUS_ONE), tmp_path, 41)
    assert (ended.returncode, ended.stdout) == (0, b"[42]\n"), ended.stderr
    assert list(tmp_path.iterdir()) == []
    ended = in_another_process(called(PLUS_ONE), tmp_path, 13)
    assert b"panicked at line 5: unlucky 13" in ended.stderr
    assert ended.returncode == 1


def test_what_nothing_can_catch_ends_a_worker_alone(called, tmp_path):
    call = called(CRASH)
    assert in_another_process(call, tmp_path, 0).stdout == b"[0]\n"
    assert in_another_process(call, tmp_path, 1).returncode < 0
    assert in_another_process(call, tmp_path, 2).returncode == 7


def test_the_library_of_another_machine_is_refused(called, monkeypatch):
    monkeypatch.setattr(libraries, "_loaded", {})
    library = libraries.Library("f", "0", libraries.zlib.compress(b"\x7fELF no"))
    with pytest.raises(RunProblem, match="library of the Rust UDF 'f' cannot be lo"):
        library.loaded()


def resident_kb():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1])


@pytest.mark.long("soaks")
@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells it")
def test_nothing_is_kept_of_a_batch(called):
    call, shout = called(PLUS_ONE), called(SHOUT)
    numbers = pa.array(range(100, 100_100))
    texts = numbers.cast(pa.string())

    def calls(count):
        for _ in range(count):
            call(numbers)
            shout(texts)
            with pytest.raises(RunProblem):
                call(pa.array([13]))

    calls(20)
    before = resident_kb()
    calls(500)
    assert resident_kb() - before < 20_000  # one batch has 2,000
