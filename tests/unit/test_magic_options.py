"""The first line of a cell."""

from __future__ import annotations

from inspect import signature

import pytest

from arroyo_nb.errors import ArroyoError, RunProblem, SyntaxProblem
from arroyo_nb.magic_options import COMMANDS, FLAGS, help_text, parse_line
from arroyo_nb.session import Session


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("", {}),
        ("-n delays -o d", {"name": "delays", "variable": "d"}),
        ("d <<", {"variable": "d", "name": "d"}),
        ("d << -n delays", {"variable": "d", "name": "delays"}),
        ("--rows 5 --view all --speed=60", {"rows": 5, "view": "all", "speed": "60"}),
        ("--for 30s --trigger 250ms", {"stop_after": "30s", "trigger": "250ms"}),
        ("--until '2013-01-01 10:00'", {"until": "2013-01-01 10:00"}),
        ("--wait --no-wait", {"wait": False}),
        (
            "--step --no-run --sinks --strict --explain --help",
            dict.fromkeys(
                ("step", "no_run", "sinks", "strict", "explain", "help"), True
            ),
        ),
    ],
)
def test_parses(line: str, given: dict[str, object]) -> None:
    assert parse_line(line).given == given


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--vew all", "unknown option '--vew': did you mean '--view'?"),
        ("--tll 60s", "unknown option '--tll': did you mean '--ttl'?"),
        ("--zzz", "unknown option '--zzz': see %%arroyo --help"),
        ("--view history", "--view 'history' is not a view: arrivals, changelog"),
        ("--rows 0", "--rows '0' is not a number of rows from 1 to 1000"),
        ("--rows", "option '--rows' needs its N"),
        ("--rows --step", "option '--rows' needs its N"),
        ("--step=3", "option '--step' takes no value"),
        ("-o 1x", "-o '1x' is not a name of a Python variable"),
        ("SELECT 1", "'SELECT' is not an option: SQL begins on the second line"),
        ("clicks_min", "'clicks_min' is not an option: write %%arroyo clicks_min << t"),
        ("clicks<<", "'clicks<<' is not an option: write %%arroyo clicks << to name"),
        ("a --rows 3", "'a' is not an option: write %%arroyo a << to name it; SQL beg"),
        ("a --rows 3 <<", "'a' is not an option: options stand behind <<: write %%ar"),
        ("tables", "'tables' is not an option: write %arroyo tables, with one %; SQL"),
        ("5x", "'5x' is not an option: SQL begins on the second line"),
        ("--until '2013", "cannot read the options: no closing quotation"),
    ],
)
def test_says_what_is_wrong_in_one_line(line: str, said: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse_line(line)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_help_names_every_option() -> None:
    assert all(name in help_text() for flag in FLAGS for name in flag.names)


@pytest.mark.parametrize(
    "line",
    ["ps", "stop --all", "stop a", "lookup frame a b", "kafka status", "topics",
     "topics host:1", "peek flights", "peek flights host:1", "peek ws://h/x",
     "speed a 600"],
)  # fmt: skip
def test_a_command_takes_its_words(line: str) -> None:
    name, *rest = line.split()
    COMMANDS[name].check(rest)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ps x", "%arroyo ps takes nothing more"),
        ("stop", "%arroyo stop takes the name of one run"),
        ("stop --al", "%arroyo stop takes the name of one run"),
        ("explain --all", "%arroyo explain takes the name of one run"),
        (
            "speed a",
            "%arroyo speed takes the name of one run, and a speed above 0, or max",
        ),
        ("lookup frame", "%arroyo lookup takes a variable and the columns of its key"),
        ("kafka", "%arroyo kafka takes start, stop or status"),
        ("kafka restart", "%arroyo kafka takes start, stop or status"),
        ("topics a b", "%arroyo topics takes at most the address of a broker"),
        ("peek", "%arroyo peek takes a topic, and perhaps the address of a broker"),
    ],
)
def test_a_command_says_which_words_it_takes(line: str, said: str) -> None:
    name, *rest = line.split()
    with pytest.raises(RunProblem, match=said):
        COMMANDS[name].check(rest)


def test_options_may_stand_among_the_words_of_a_command() -> None:
    line = "--for 5s orders --max=10 -o a.tape host:1 --redact who,,name --from latest"
    words, given = COMMANDS["record"].parsed(line.split())
    assert words == ["orders", "host:1"]
    assert given == {
        "stop_after": "5s",
        "most": 10,
        "path": "a.tape",
        "redact": ("who", "name"),
        "begin": "latest",
    }


def test_how_a_run_is_stopped_can_be_said() -> None:
    words, given = COMMANDS["stop"].parsed(["--all", "--mode", "graceful"])
    assert (words, given) == (["--all"], {"mode": "graceful"})


def test_an_option_has_the_keyword_of_the_method() -> None:
    parameters = signature(Session.record).parameters
    assert {flag.key for flag in COMMANDS["record"].flags} <= set(parameters)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "record orders",
            "%arroyo record takes a topic or a table, and -o with the pla",
        ),
        (
            "record -o a",
            "%arroyo record takes a topic or a table, and -o with the place",
        ),
        (
            "record a b c -o d",
            "%arroyo record takes a topic or a table, and -o with the",
        ),
        ("record a -o", "option '-o' needs its TAPE: where the tape will be"),
        (
            "record a -o b --redcat x",
            "unknown option '--redcat': did you mean '--redac",
        ),
        ("record a -o b --max 0", "--max '0' is not a number from 1 on"),
        ("record a -o b --redact ,", "--redact ',' names no field"),
        ("record a -o b --from now", "--from 'now' is neither latest nor earliest"),
        ("ps --for 5s", "%arroyo ps takes nothing more"),
    ],
)
def test_a_command_says_which_options_it_takes(line: str, said: str) -> None:
    name, *rest = line.split()
    with pytest.raises(ArroyoError) as caught:
        COMMANDS[name].parsed(rest)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    "line", ["a << --rows 5", "-n a -o b --until '2013-01-01'", "--name=a"]
)
def test_what_is_given_is_plain(line: str) -> None:
    # YAML writes no text that is of a class of its own.
    kept = [
        value for value in parse_line(line).given.values() if isinstance(value, str)
    ]
    assert kept
    assert {type(value) for value in kept} == {str}
