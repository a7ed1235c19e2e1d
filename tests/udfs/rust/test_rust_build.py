"""When cargo is called, what is told meanwhile, and how its failures are told."""

import json
import shutil
import signal
import threading
from pathlib import Path

import pytest
from rust_functions import crate_of, read, rust

from arroyo_nb.errors import ArroyoError, CatalogProblem, Problems, RunProblem
from arroyo_nb.udfs.rust import build
from arroyo_nb.udfs.rust.build import compile_crate
from arroyo_nb.udfs.rust.compiler_messages import CargoOutput
from arroyo_nb.udfs.rust.progress import Progress
from arroyo_nb.udfs.rust.workspace import open_workspace

PLUS_ONE = rust("fn plus_one(x: i64) -> i64 { x + 1 }")

NODES = '{"resolve": {"nodes": [1, 2, 3]}}'


def refusal(source, **options):
    with pytest.raises(ArroyoError) as caught:
        compile_crate(crate_of(source), **options)
    return caught.value


def ignored(text):
    pass


def builds(*messages, code=0, before=""):
    """A cargo that finds its crates here, and says so much when it compiles."""
    lines = "\n".join(json.dumps(message) for message in messages)
    return (
        f"case $1 in metadata) echo '{NODES}';; build) {before}\n"
        f"cat <<'END' | sed \"s|FOLDER|$PWD|g\"\n{lines}\nEND\nexit {code};; esac"
    )


ARTIFACT = {
    "reason": "compiler-artifact",
    "manifest_path": "FOLDER/Cargo.toml",
    "filenames": ["FOLDER/Cargo.toml"],
    "target": {"kind": ["cdylib"]},
    "package_id": "udf",
}
CRATE = {**ARTIFACT, "manifest_path": "/arrow/Cargo.toml", "package_id": "arrow"}


def error_in(source, part, message, label=None, children=()):
    """What the compiler says of a part of the source."""
    start = source.encode().index(part.encode())
    span = {
        "file_name": "src/lib.rs",
        "byte_start": start,
        "byte_end": start + len(part.encode()),
        "is_primary": True,
        "label": label,
        "expansion": None,
    }
    said = {
        "message": message,
        "code": {"code": "E0308"},
        "level": "error",
        "spans": [span],
        "children": list(children),
    }
    return {
        "reason": "compiler-message",
        "manifest_path": "FOLDER/Cargo.toml",
        "message": said,
    }


def test_without_cargo_it_is_said_what_is_missing_and_a_kept_library_is_taken(
    tmp_path, monkeypatch, fake_cargo
):
    program = fake_cargo(builds(ARTIFACT))
    kept = compile_crate(crate_of(PLUS_ONE))
    program.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CARGO_HOME", raising=False)
    assert compile_crate(crate_of(PLUS_ONE)) == kept
    problem = refusal(PLUS_ONE.replace("1", "2"))
    assert isinstance(problem, RunProblem)
    assert "the Rust UDF 'plus_one' cannot be compiled: there is no c" in str(problem)
    assert "rustup" in problem.hint


def test_cargo_is_found_in_the_home_of_a_user_whose_path_has_it_not(
    tmp_path, monkeypatch, fake_cargo
):
    program = fake_cargo(builds(ARTIFACT))
    (tmp_path / ".cargo").mkdir()
    program.parent.rename(tmp_path / ".cargo/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CARGO_HOME", raising=False)
    assert compile_crate(crate_of(PLUS_ONE)).exists()


def test_a_carried_library_is_taken_where_there_is_no_compiler(
    tmp_path, monkeypatch, fake_cargo
):
    program = fake_cargo(builds(ARTIFACT))
    library = compile_crate(crate_of(PLUS_ONE))
    (tmp_path / "job").mkdir()
    saved = Path(shutil.copy(library, tmp_path / "job"))
    program.unlink()
    monkeypatch.setattr(build, "_carried", [])
    monkeypatch.setenv("ARROYO_NB_CACHE", str(tmp_path / "another"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CARGO_HOME", raising=False)
    build.use_libraries(saved.parent)
    assert compile_crate(crate_of(PLUS_ONE)) == saved


def test_a_library_goes_by_all_of_its_content_and_is_compiled_once(fake_cargo):
    counted = 'echo >> "$CARGO_TARGET_DIR-builds";'
    fake_cargo(builds(ARTIFACT, before=counted))
    first = compile_crate(crate_of(PLUS_ONE))
    inode = first.stat().st_ino
    other = compile_crate(crate_of(PLUS_ONE.replace("x + 1", "x + 2")))
    assert first != other
    assert compile_crate(crate_of(PLUS_ONE)) == first
    assert first.stat().st_ino == inode
    count = open_workspace().folder / "target-builds"
    assert count.read_text() == "\n\n"


def test_dependencies_of_the_environment_are_in_no_digest(monkeypatch, tmp_path):
    source = f'/*\n[dependencies]\nprivate = "{{{{ UDF_VERSION }}}}"\n*/\n{PLUS_ONE}'
    crate = crate_of(source)
    with pytest.raises(RunProblem, match="'UDF_VERSION' is not set"):
        crate.write(tmp_path)
    monkeypatch.setenv("UDF_VERSION", "1.2")
    folder = crate.write(tmp_path)
    assert 'private = "1.2"' in (folder / "Cargo.toml").read_text()
    assert "1.2" not in crate.files["Cargo.toml"]


def test_the_source_stands_in_the_crate_as_it_is():
    source = f"#![allow(dead_code)]\r\n{PLUS_ONE}// no end of line"
    written = crate_of(source).files["src/lib.rs"]
    assert written.startswith(source)
    assert written.removeprefix(source).split("\n", 1)[0] == ""


def test_errors_of_the_compiler_are_at_their_places(fake_cargo):
    source = rust("fn plus_one(größe: i64) -> i64 { let ü = größe; oh + no }")
    advice = {
        "level": "help",
        "message": "a local variable with a similar name exists",
        "spans": [{"suggested_replacement": "ü"}],
    }
    fake_cargo(
        builds(
            error_in(source, "no", "cannot find value", "not found"),
            error_in(source, "oh", "mismatched types", None, [advice]),
            error_in(source, "oh", "mismatched types", None, [advice]),
            code=101,
        )
    )
    problems = refusal(source)
    assert isinstance(problems, Problems)
    line = source.splitlines()[1]
    oh, no = line.index("oh"), line.index("no")
    assert str(problems).splitlines() == [
        f"f.rs:2:{oh + 1}: mismatched types (E0308)",
        f"  {line}",
        f"  {' ' * oh}^^",
        "  hint: a local variable with a similar name exists: ü",
        f"f.rs:2:{no + 1}: cannot find value (E0308): not found",
        f"  {line}",
        f"  {' ' * no}^^",
    ]


def test_an_error_inside_of_a_macro_is_at_its_call():
    crate = crate_of(PLUS_ONE)
    said = error_in(PLUS_ONE, "#[udf]", "wrong")
    (span,) = said["message"]["spans"]
    inner = {**span, "file_name": "/std/macros.rs", "expansion": {"span": span}}
    said["message"]["spans"] = [inner]
    output = CargoOutput(crate, Path("FOLDER"))
    output.read(json.dumps(said))
    (problem,) = output.problems()
    assert isinstance(problem, CatalogProblem)
    assert PLUS_ONE[problem.span.start : problem.span.end] == "#[udf]"


def test_a_dependency_that_does_not_compile_is_named(fake_cargo):
    said = error_in(PLUS_ONE, "x", "no such feature")
    said |= {"manifest_path": "/old/Cargo.toml", "target": {"name": "old"}}
    fake_cargo(builds(said, code=101))
    problem = refusal(PLUS_ONE)
    assert problem.message == (
        "the crate 'old', which the Rust UDF 'plus_one' depends on, does not compile: "
        "no such feature (E0308)"
    )


def test_the_network_is_asked_only_for_what_is_missing(fake_cargo):
    fake_cargo(
        "case $* in *--offline*) exit 101;; esac\n"
        "echo 'error: failed to get `regex` as a dependency of package `udf`' >&2\n"
        "echo 'Caused by:\n  [6] Could not resolve hostname' >&2; exit 101"
    )
    told = []
    problem = refusal(PLUS_ONE, tell=told.append)
    assert isinstance(problem, RunProblem)
    assert problem.message == (
        "the crates that the Rust UDF 'plus_one' depends on cannot be downloaded: "
        "[6] Could not resolve hostname"
    )
    assert told == ["downloading what the Rust UDF 'plus_one' depends on"]


def test_a_crate_that_does_not_exist_is_an_error_of_the_source(fake_cargo):
    fake_cargo(
        "echo 'error: no matching package named `nix` found' >&2\n"
        "echo 'perhaps you meant: `nice`' >&2\n"
        "echo 'required by package `udf v1.0.0 (/cache)`' >&2; exit 101"
    )
    problem = refusal(PLUS_ONE, tell=ignored)
    assert isinstance(problem, CatalogProblem)
    assert "no matching package named `nix` found" in problem.message
    assert problem.hint == "perhaps you meant: `nice`"


def test_progress_is_told_of_what_takes_long_and_now_and_then():
    now, told = [0.0], []
    progress = Progress(told.append, lambda: now[0])
    for done in range(90):
        now[0] = done / 10
        progress.at(lambda done=done: f"{done} of 90")
    assert told == ["20 of 90", "70 of 90"]


def test_crates_are_counted(fake_cargo, monkeypatch):
    monkeypatch.setattr("arroyo_nb.udfs.rust.progress._SILENT_S", 0.0)
    fake_cargo(builds(CRATE, ARTIFACT))
    told = []
    compile_crate(crate_of(PLUS_ONE), tell=told.append)
    assert told == ["compiling the Rust UDF 'plus_one': 1 of 2 crates"]


def test_an_interrupt_ends_cargo_with_its_compilers_and_locks_nothing(
    fake_cargo, tmp_path, eventually
):
    started = tmp_path / "started"
    hangs = f'sleep 600 & echo $$ $! > "{started}.new"; '
    hangs += f'mv "{started}.new" "{started}"; wait;'
    fake_cargo(builds(ARTIFACT, before=hangs))

    def interrupt():
        eventually(started.exists)
        # As a terminal and Jupyter do: the thread that waits for cargo is woken.
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        compile_crate(crate_of(PLUS_ONE), tell=ignored)
    thread.join()
    pids = started.read_text().split()
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    fake_cargo(builds(ARTIFACT))
    told = []
    assert compile_crate(crate_of(PLUS_ONE), tell=told.append).exists()
    assert told == []


def test_one_compiles_at_a_time(fake_cargo, eventually):
    fake_cargo(builds(ARTIFACT))
    told = []
    crate = crate_of(PLUS_ONE)

    def compiled():
        compile_crate(crate, tell=told.append)

    with open_workspace().locked(ignored):
        thread = threading.Thread(target=compiled)
        thread.start()
        eventually(lambda: told)
        assert thread.is_alive()
    thread.join()
    assert told == ["waiting for another process that compiles a Rust UDF"]
    assert compile_crate(crate).exists()


def test_a_folder_that_others_can_write_is_not_used(fake_cargo, tmp_path):
    fake_cargo(builds(ARTIFACT))
    folder = tmp_path / "cache/rust"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert "others can write it" in refusal(PLUS_ONE).message


def test_a_folder_that_cannot_be_made_is_named(fake_cargo, tmp_path):
    fake_cargo(builds(ARTIFACT))
    (tmp_path / "cache").write_text("a file")
    assert "cannot be compiled in" in refusal(PLUS_ONE).message


def test_a_cargo_that_does_not_run_says_why(fake_cargo):
    program = fake_cargo("")
    program.write_text("#!/bin/sh\necho 'error: no default toolchain' >&2; exit 1\n")
    with pytest.raises(RunProblem, match="does not run: no default toolchain"):
        read(PLUS_ONE).batch_call()
