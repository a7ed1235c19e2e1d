"""Compiled functions, each one once: in the user's cache, as those of a notebook."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from rust_functions import read

from arroyo_nb.udfs.rust.toolchain import find_toolchain


@pytest.fixture(scope="session")
def cargo() -> None:
    """Skips a test where nothing can compile Rust."""
    if find_toolchain() is None:
        pytest.skip("there is no cargo on this machine (https://rustup.rs)")


@pytest.fixture(scope="session")
def called(cargo: None) -> Callable[[str], Callable]:
    """What a worker calls for a source."""
    return lambda source: read(source).batch_call()


@pytest.fixture
def fake_cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a shell script where cargo is looked for, with a cache of its own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("ARROYO_NB_CACHE", str(tmp_path / "cache"))

    def write(script: str) -> Path:
        program = folder / "cargo"
        version = 'case "$1" in -vV) echo "release: 1.0"; exit;; esac'
        program.write_text(f"#!/bin/sh\n{version}\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return program

    return write
