"""The command line as a shell meets it: output and exit status."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial

import pytest

from arroyo_nb.cli import main
from arroyo_nb.session import Session

FLIGHTS = "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');\n"
SELECT = "SELECT flight, dest FROM flights WHERE dest = 'HNL';\n"
SLOW = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10);
SELECT counter FROM ticks;
"""


@pytest.fixture
def script(tmp_path):
    def write(text):
        path = tmp_path / "script.sql"
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def on_this_engine(monkeypatch, engine):
    """Commands run in this process, on the engine of all tests."""
    made = partial(Session, engine=engine)
    monkeypatch.setattr("arroyo_nb.cli.headless.Session", made)


def test_a_process_prints_rows_and_tells_a_terminal_where_it_is(script, tmp_path):
    path = script(FLIGHTS + SELECT)
    ours, theirs = pty.openpty()
    said = []
    options = {"stdout": subprocess.PIPE, "stderr": theirs, "cwd": tmp_path}
    words = [sys.executable, "-m", "arroyo_nb.cli", "run", path]
    with subprocess.Popen([*words, "--state-dir", "state"], **options) as process:
        os.close(theirs)
        with suppress(OSError):  # how the other end is told to be closed
            while text := os.read(ours, 4096):
                said.append(text.decode())
        out = process.stdout.read().decode()
    os.close(ours)
    assert process.returncode == 0
    assert (tmp_path / "state").is_dir()
    rows = [json.loads(line) for line in out.splitlines()]
    assert rows
    assert {row["dest"] for row in rows} == {"HNL"}
    told = "".join(said)
    assert "\rwaiting for the engine: starting" in told
    assert re.search(r"\rscript: [\d,]+ rows in, [\d,]+ rows/s", told)
    # The line goes in the end, and nothing else was said.
    assert told.endswith("\r\x1b[K\r")
    assert "note" not in told


def test_run_prints_rows_as_json_lines_and_says_that_it_went_on(
    script, tmp_path, on_this_engine, capfd
):
    path, state = script(FLIGHTS + SELECT), tmp_path / "state"
    assert main(["run", path, "--state-dir", str(state)]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert {json.loads(line)["dest"] for line in out.splitlines()} == {"HNL"}
    assert main(["run", path, "--state-dir", str(state)]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    end = f"note: 'script' went on from its checkpoint in {state}/script"
    assert err.rstrip().endswith(end)


def test_run_tells_what_was_left_out_on_standard_error(
    tmp_path, monkeypatch, on_this_engine, capfd
):
    bad = "CREATE TABLE bad (id BIGINT) WITH (connector = 'single_file', "
    bad += f"type = 'source', path = '{tmp_path / 'bad'}', format = 'json', "
    bad += "bad_data = 'drop'); SELECT id FROM bad;\n"
    (tmp_path / "bad").write_text('{"id": 1}\nno json\n{"id": "x"}\n')
    # More than the first chunk of a file, then a row that comes too late.
    minutes = [
        f"{day:02}T{n // 60:02}:{n % 60:02}"
        for day in range(1, 25)
        for n in range(1440)
    ]
    path = tmp_path / "times"
    path.write_text(
        "".join(f'{{"t": "2024-01-{at}:00Z"}}\n' for at in [*minutes, minutes[0]])
    )
    times = f"""CREATE TABLE times (t TIMESTAMP NOT NULL, WATERMARK FOR t AS t)
        WITH (connector = 'single_file', path = '{path}', type = 'source',
              format = 'json');"""
    by_hour = "SELECT tumble(INTERVAL '1 hour') w, count(*) FROM times GROUP BY w;"
    given = io.TextIOWrapper(io.BytesIO((times + by_hour + bad).encode()))
    monkeypatch.setattr("sys.stdin", given)
    assert main(["run", "-"]) == 0
    out, err = capfd.readouterr()
    assert len(out.splitlines()) > 100
    late, malformed = sorted(err.splitlines())
    assert malformed == "note: malformed: 2 rows of 'bad' dropped"
    assert late.startswith("note: late: 1 row missed a window that had closed")


def test_run_whose_data_fails_says_why_and_exits_4(script, on_this_engine, capfd):
    text = FLIGHTS + "SELECT 1 / (flight - flight) AS broken FROM flights;"
    assert main(["run", script(text)]) == 4
    out, err = capfd.readouterr()
    assert out == ""
    assert "divi" in err
    assert "Traceback" not in err


def test_run_interrupted_exits_130(script):
    words = [sys.executable, "-m", "arroyo_nb.cli", "run", script(SLOW)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **options) as process:
        assert json.loads(process.stdout.readline()) == {"counter": 0}
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Traceback" not in err


def test_check_lists_every_error_with_its_place(script, capsys):
    path = script(FLIGHTS + "SELECT nope FROM flights;\nSELECT * FROM flihgts;\n")
    assert main(["check", path]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{path}:2:8: ")
    assert second.startswith(f"{path}:3:15: ")
    assert "flights" in second


def test_check_of_a_good_script_is_silent(script, capsys):
    assert main(["check", script(FLIGHTS + SELECT)]) == 0
    assert capsys.readouterr().out == ""


def test_explain_prints_the_plan(script, capsys):
    assert main(["explain", script(FLIGHTS + SELECT)]) == 0
    assert "Filter" in capsys.readouterr().out


def test_check_and_explain_read_standard_input_and_start_nothing(monkeypatch, capsys):
    def started(*arguments, **options):
        raise AssertionError("no session is needed")

    monkeypatch.setattr("arroyo_nb.cli.headless.Session", started)
    for command_, status in (("check", 1), ("explain", 0)):
        text = FLIGHTS + ("SELECT nope FROM flights" if status else SELECT)
        raw = io.BytesIO(b"\xef\xbb\xbf" + text.encode())
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw, "latin-1"))
        assert main([command_, "-"]) == status
    out = capsys.readouterr().out
    assert out.startswith("<stdin>:2:8: ")
    assert "Filter" in out


@pytest.mark.parametrize("path", ["missing.sql", "."])
def test_a_file_that_cannot_be_read_is_told(path, capsys):
    assert main(["check", path]) == 2
    assert f"cannot read '{path}'" in capsys.readouterr().err
