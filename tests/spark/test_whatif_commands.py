"""``%arroyo whatif`` and ``%arroyo compare`` in the cells of a shell."""

from unittest.mock import patch

import pytest
from IPython.utils.capture import capture_output
from shells import new_shell

import arroyo_nb
from arroyo_nb.errors import RunProblem
from arroyo_nb.extension import load, unload

CLICKS = """at       | user
10:00:00 | ann
10:00:04 | bob
10:00:15 | ann
09:59:30 | bob
10:00:12 | bob
10:00:31 | ann
"""
COUNTS = """SELECT tumble(INTERVAL '10 seconds') AS w, user, count(*) AS n
FROM {} GROUP BY w, user"""


@pytest.fixture
def shell(session):
    with new_shell() as shell:
        load(shell, session)
        yield shell
        # The engine is shared: the session's runs end with the test.
        with patch.object(session, "close"):
            unload(shell)


def shown(shell, cell):
    with capture_output() as captured:
        result = shell.run_cell(cell)
    error = result.error_in_exec or result.error_before_exec
    texts = [str(error)] if error is not None else []
    outputs = [output.data for output in captured.outputs]
    return texts + [data["text/plain"] for data in outputs], outputs


def test_both_commands_show_what_they_found(shell, session):
    for name, delay in (("hasty", "1 second"), ("patient", "2 hours")):
        session.rows(f"clicks_{name}", CLICKS, watermark=delay)
        session.run(COUNTS.format(f"clicks_{name}"), name=name, wait=True)
    texts, outputs = shown(shell, "%arroyo whatif hasty --delay 1s,2h -o tried")
    # The table took the place of the progress.
    lines = texts[-1].splitlines()
    assert lines[0] == "hasty with 2 delays"
    first, second = (line for line in lines if "%" in line)
    assert "1 s (as run)" in first
    assert "differ" in first
    assert "0 %" in second
    assert "<img" in outputs[-1]["text/html"]
    late = session.get("hasty").late().num_rows
    assert late == 1
    assert f"  {late}  " in first

    assert shell.user_ns["tried"].table()["late"].to_pylist() == [late, 0]

    texts, outputs = shown(shell, "%arroyo compare hasty patient")
    assert "late rows: 1 against 0" in texts[-1]
    assert "2026-01-01 09:59:30" in texts[-1]
    assert "<img" in outputs[-1]["text/html"]

    found = arroyo_nb.compare(session.get("hasty"), session.get("patient"))
    (only,) = found.table().to_pylist()
    assert (only["only_in"], only["user"], only["n"]) == ("patient", "bob", 1)
    (late_row,) = found.late_table().to_pylist()
    assert (late_row["only_in"], late_row["user"]) == ("hasty", "bob")
    assert found.windows()["differs"].to_pylist().count(True) == 1
    same = arroyo_nb.compare(session.get("hasty"), session.get("hasty"))
    assert same.is_same


def test_what_is_wrong_is_told(shell, session):
    session.rows("clicks", CLICKS, watermark="1 second")
    session.run(COUNTS.format("clicks"), name="counts", wait=True)
    with pytest.raises(RunProblem) as problem:
        session.whatif("count", ["1s"])
    assert "did you mean 'counts'" in problem.value.hint
    for line, words in (
        ("whatif count --delay 1s", "there is no run 'count'"),
        ("whatif counts --delay soon", "'soon' is not a duration"),
        ("whatif counts --delay", "needs its 1s,30m,2h"),
        ("whatif", "takes the name of one run"),
        ("whatif counts --output x", "is not the number of an output"),
        ("whatif counts --every x", "'x' is not a duration"),
        ("compare counts", "takes the names of two runs"),
        ("compare counts other", "there is no run 'other'"),
    ):
        texts, _ = shown(shell, f"%arroyo {line}")
        assert words in texts[0], line
