"""What Java trusts when jars are fetched, and what is told when none came."""

from __future__ import annotations

from pathlib import Path

from arroyo_nb.engine.ivy import _failure, _trust

NOT_FOUND = """
\t\t:: org.example#thing;1.9: not found
\t\t:: org.example#part;2.0: not found
"""


def test_java_trusts_what_the_machine_trusts(tmp_path: Path) -> None:
    first, second = tmp_path / "debian", tmp_path / "fedora"
    assert _trust([str(first), str(second)]) == []
    second.touch()
    assert _trust([str(first), str(second)]) == [f"-Djavax.net.ssl.trustStore={second}"]
    first.touch()
    assert _trust([str(first), str(second)]) == [f"-Djavax.net.ssl.trustStore={first}"]


def test_missing_jars_are_named() -> None:
    failed = _failure(NOT_FOUND)
    assert failed.message == (
        "the repository has no org.example:part:2.0, org.example:thing:1.9, "
        "or cannot be reached"
    )
    assert failed.hint is None


def test_a_certificate_that_is_not_trusted_is_told_as_such() -> None:
    log = f"{NOT_FOUND}:::: ERRORS\n\tServer access error (PKIX path building failed)"
    failed = _failure(log)
    assert "does not trust the certificate" in failed.message
    assert failed.hint is not None
    assert "-Djavax.net.ssl.trustStore=FILE" in failed.hint


def test_another_failure_ends_with_its_last_line() -> None:
    assert _failure("one\ntwo\n\n").message == "Ivy failed: two"
    assert _failure("").message == "Ivy failed"
