"""What a Rust source defines, and Arroyo's words for what it cannot define."""

import sys
from datetime import timedelta

import pytest
from rust_functions import USE, read, rust

from arroyo_nb.errors import ArroyoError
from arroyo_nb.udfs.definition import Kind, UdfOptions
from arroyo_nb.udfs.rust import syntax

NO_UDF = "UDF must contain a function with with the annotation #[udf]"
UNCOMPILED = "Arroyo's published crates do not compile"
IN_ARG_0 = "Could not convert function f arg 0 into a SQL data type: "
IN_VEC_0 = "Could not convert function f inner vector arg 0 into an Arrow data type: "
BY_VALUE = "primitives should be passed by value (hint: remove the &)"
IN_RESULT = "Could not convert function f return type into a SQL data type: "


def refusal(source):
    with pytest.raises(ArroyoError) as caught:
        read(source)
    return caught.value


def marked(problem):
    """The part of the source that an error points at."""
    return problem.source.text[problem.span.start : problem.span.end]


@pytest.mark.parametrize(
    ("head", "signature", "kind"),
    [
        ("fn f(a: i8, b: i16) -> i32", "f(a TINYINT, b SMALLINT) -> INT", "ROWS"),
        ("fn f(a: i64) -> f32", "f(a BIGINT) -> FLOAT", "ROWS"),
        (
            "fn f(a: u8, b: u16, c: u32) -> u64",
            "f(a TINYINT UNSIGNED, b SMALLINT UNSIGNED, c INT UNSIGNED) "
            "-> BIGINT UNSIGNED",
            "ROWS",
        ),
        ("pub fn F(a: &str) -> String", "f(a TEXT) -> TEXT", "ROWS"),
        ("fn f(a: &'static [u8]) -> Vec<u8>", "f(a BYTEA) -> BYTEA", "ROWS"),
        ("fn f(mut a: f64, _: i64) -> i64", "f(a DOUBLE, arg_1 BIGINT)", "ROWS"),
        ("fn f(a: Vec<u8>) -> f64", "f(a TINYINT UNSIGNED) -> DOUBLE", "VALUES"),
        ("fn f(a: std::vec::Vec<f64>) -> f64", "f(a DOUBLE) -> DOUBLE", "VALUES"),
        ("async fn f(a: &str) -> String", "f(a TEXT) -> TEXT", "ASYNC"),
    ],
)
def test_types_of_rust_are_types_of_sql(head, signature, kind):
    udf = read(rust(f"{head} {{ todo!() }}"))
    assert udf.signature.startswith(signature)
    assert udf.kind is Kind[kind]
    assert udf.language == "rust"
    assert not udf.optional


def test_option_is_null_of_an_argument_of_a_value_and_of_the_result():
    udf = read(rust("fn f(a: Option<&str>, b: i64) -> std::option::Option<i64> {}"))
    assert [p.optional for p in udf.parameters] == [True, False]
    assert udf.optional
    udf = read(rust("fn f(a: Vec<Option<i64>>, b: Vec<i64>) -> Option<f64> { None }"))
    assert [p.optional for p in udf.parameters] == [True, False]
    assert udf.kind is Kind.VALUES


@pytest.mark.parametrize(
    ("head", "message", "at"),
    [
        ("fn f(a: String) -> i64", "expected reference type &str instead of", "String"),
        (
            "fn f(a: Option<Vec<u8>>) -> i64",
            "expected reference type &[u8] instead of Vec<u8>",
            "Option<Vec<u8>>",
        ),
        ("fn f(a: &String) -> i64", "expected &str, not &String", "&String"),
        ("fn f(a: &Vec<u8>) -> i64", "expected &[u8], not &Vec<u8>", "&Vec<u8>"),
        (
            "fn f(a: &i64) -> i64",
            f"unexpected &i64; {BY_VALUE}",
            "&i64",
        ),
        ("fn f(a: HashMap<i8, i8>) -> i64", "unsupported Rust type HashMap<i8,i8>", ""),
        ("fn f(a: (i64, i64)) -> i64", "unsupported Rust data type", "(i64, i64)"),
        ("fn f(a: &HashMap) -> i64", "unsupported Rust data type", "&HashMap"),
        ("fn f(a: Option) -> i64", "invalid Rust type; Option must have arguments", ""),
    ],
)
def test_an_argument_that_is_no_type_of_sql(head, message, at):
    problem = refusal(rust(f"{head} {{ 0 }}"))
    assert problem.message.startswith(IN_ARG_0 + message)
    assert marked(problem).startswith(at)
    assert str(problem).startswith("f.rs:2:")


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("&str", "expected owned String, not &str"),
        ("&[u8]", "expected owned Vec<u8>, not &[u8]"),
        ("&String", "expected owned String, not &String (hint: remove the &)"),
        ("&Vec<u8>", "expected owned Vec<u8>, not &Vec<u8> (hint: remove the &)"),
        ("Vec<i64>", "unsupported Rust type Vec<i64>"),
        ("()", "unsupported Rust data type"),
    ],
)
def test_a_result_that_is_no_type_of_sql(result, message):
    problem = refusal(rust(f"fn f(a: i64) -> {result} {{ 0 }}"))
    assert problem.message == IN_RESULT + message
    assert marked(problem) == result


@pytest.mark.parametrize(
    "type_", ["bool", "f16", "SystemTime", "std::time::SystemTime", "Duration"]
)
def test_what_the_published_macros_do_not_compile_is_refused_before_cargo(type_):
    for head, where in (
        (f"fn f(a: {type_}) -> i64", IN_ARG_0),
        (f"fn f(a: Vec<{type_}>) -> i64", IN_VEC_0),
        (f"fn f(a: i64) -> {type_}", IN_RESULT),
        (f"fn f(a: i64) -> Option<{type_}>", IN_RESULT),
    ):
        problem = refusal(rust(f"{head} {{ todo!() }}"))
        said = f"{where}{UNCOMPILED} a function with {type_}"
        assert problem.message == said
        assert problem.hint


@pytest.mark.parametrize(
    ("head", "message", "at"),
    [
        ("fn f(a: Vec<&str>) -> i64", f"{UNCOMPILED} a function with", "Vec<&str>"),
        ("fn f(a: Vec<&[u8]>) -> i64", f"{UNCOMPILED} a function with", "Vec<&[u8]>"),
        (
            "async fn f(a: i64) -> i16",
            f"{UNCOMPILED} an async function that returns i16",
            "i16",
        ),
        (
            "async fn f(a: i64) -> Option<u8>",
            f"{UNCOMPILED} an async function that returns Option<u8>",
            "Option<u8>",
        ),
        (
            "fn f(a: i64, b: Vec<i64>) -> i64",
            "In function f: for a UDAF, all arguments must be Vec<T>",
            "a: i64",
        ),
        (
            "async fn f(b: Vec<u8>) -> i64",
            "Async UDAFs are not supported (hint: remove the Vec<_> args)",
            "b: Vec<u8>",
        ),
        ("fn f() -> i64", "the function f takes no argument", "fn f() -> i64"),
        (
            "fn f(&self, a: i64) -> i64",
            "Function f has a 'self' argument, which is not allowed",
            "&self",
        ),
        ("fn f(a: i64)", "Function f return type must be specified", "fn f(a: i64)"),
        ("fn sum(a: i64) -> i64", "sum() is a function of the dialect", "fn sum("),
        ("fn f(a: ) -> i64", "the signature of the function is no Rust", ""),
    ],
)
def test_a_function_that_cannot_be_one_of_sql(head, message, at):
    problem = refusal(rust(f"{head} {{ 0 }}"))
    assert problem.message.startswith(message)
    assert marked(problem).startswith(at)


def test_one_function_has_the_annotation():
    assert refusal(f"{USE}\nfn f(a: i64) -> i64 {{ a }}").message == NO_UDF
    assert refusal("").message == NO_UDF
    two = rust("fn f(a: i64) -> i64 { a }") + rust("fn g(a: i64) -> i64 { a }")
    problem = refusal(two)
    assert problem.message == "Only one function in a UDF may be annotated with #[udf]"
    assert marked(problem) == "fn g(a: i64) -> i64"


def test_text_that_is_no_rust_is_no_function():
    assert refusal("SELECT 1 FROM t").message == "the source is no Rust"


def test_a_body_is_left_to_the_compiler_and_helpers_are_no_udfs():
    helper = "\n#[inline] fn helper(a: bool) -> bool { a }\nstruct Unit;"
    udf = read(rust("fn f(a: i64) -> i64 { let let }", before=helper))
    assert udf.line == 4


def test_the_annotation_may_have_a_path_and_stand_among_others():
    source = (
        "/// Größe in °C.\n/// More of it.\n#[inline]\n"
        "#[arroyo_udf_plugin::udf]\n// why\n#[allow(dead_code)]\n"
        "fn f(größe: f64) -> f64 { größe }"
    )
    udf = read(source)
    assert udf.signature == "f(größe DOUBLE) -> DOUBLE"
    assert udf.doc == "Größe in °C."
    assert udf.line == 7
    assert read(rust("fn f(a: i64) -> i64 { a }")).doc == ""


def test_places_count_characters_not_bytes():
    problem = refusal("// größer °\n" + rust("fn f(ä: String) -> i64 { 0 }"))
    assert marked(problem) == "String"
    assert str(problem).startswith("f.rs:3:")


def test_options_of_async_functions():
    head = "async fn f(a: i64) -> i64 { a }"
    assert read(rust(head)).options == UdfOptions()
    said = '#[udf(ordered, allowed_in_flight = 1_00, timeout = "250ms")]'
    options = read(rust(head, attribute=said)).options
    assert options.ordered
    assert options.allowed_in_flight == 100
    assert options.timeout == timedelta(milliseconds=250)
    assert not read(rust(head, attribute="#[udf(unordered,)]")).options.ordered


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('timeout = "10"', "invalid duration specification '10'"),
        ('timeout = "10 lightyears"', "unknown time unit 'lightyears'"),
        ("timeout = 10", "the timeout 10 is no text"),
        ('allowed_in_flight = "many"', "expected number"),
        ("allowed_in_flight = 0", "allowed_in_flight is from 1 to 4294967295"),
        ("allowed_in_flight", "the attribute 'allowed_in_flight' is not written so"),
        ("ordred", "unsupported attribute 'ordred'"),
    ],
)
def test_an_option_that_is_none(given, message):
    head = "async fn f(a: i64) -> i64 { a }"
    problem = refusal(rust(head, attribute=f"#[udf({given})]"))
    assert problem.message == message
    assert marked(problem) == f"({given})"


def test_dependencies_are_toml_in_one_comment():
    f = rust("fn f(a: i64) -> i64 { a }")
    two = '/*\n[dependencies]\na = "1"\n*/\n' * 2
    message = "Only one dependencies definition is allowed in a UDF"
    assert refusal(two + f).message == message
    problem = refusal(f"/*\n[dependencies]\nregex = \n*/\n{f}")
    assert problem.message == "invalid dependency definition: Invalid value"
    assert marked(problem) == "regex = \n"
    problem = refusal(f"/*\n[dependencies]\na = 1\n[profile.release]\n*/\n{f}")
    assert "[profile] is no table of a UDF" in problem.message
    problem = refusal(f'/*\n[dependencies]\narroyo-udf-plugin = "1"\n*/\n{f}')
    assert problem.message == "arroyo-udf-plugin is a dependency of every UDF"


def test_without_tree_sitter_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    syntax._parser.cache_clear()
    problem = refusal(rust("fn f(a: i64) -> i64 { a }"))
    assert problem.hint == 'run: pip install "arroyo-nb[rust]"'
