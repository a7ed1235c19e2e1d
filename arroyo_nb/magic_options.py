"""The options of ``%%arroyo`` and the commands of ``%arroyo``, as tables that parsing,
help and completion read.

Options end with the cell's first line. Nothing of the cell's body is ever taken as
one: a line that begins with ``--`` is a comment of SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from math import inf
from typing import Any

from arroyo_nb.errors import RunProblem, SyntaxProblem
from arroyo_nb.jobs.targets import TARGETS
from arroyo_nb.option_flags import (
    Flag,
    aligned,
    flags_by_name,
    options_text,
    parse_value,
    parse_words,
    placed,
    split,
)
from arroyo_nb.run.options import BY_NAME, RunOptions
from arroyo_nb.views.sections import view_names

BEGINS = ("latest", "earliest")
VIEWS = view_names()


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not int(text[:18]) >= 1:
        raise ValueError("is not a number from 1 on")
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    found = tuple(filter(None, (name.strip() for name in text.split(","))))
    if not found:
        raise ValueError("names no field")
    return found


def _begin(text: str) -> str:
    if text not in BEGINS:
        raise ValueError(f"is neither {' nor '.join(BEGINS)}")
    return text


def _variable(text: str) -> str:
    if not text.isidentifier() or iskeyword(text):
        raise ValueError("is not a name of a Python variable")
    return text


def _rows(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text[:6]) <= 1000:
        raise ValueError("is not a number of rows from 1 to 1000")
    return int(text)


def _output_number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("is not the number of an output, from 0 on")
    return int(text[:6])


def _view(text: str) -> str:
    if text not in VIEWS:
        raise ValueError(f"is not a view: {', '.join(VIEWS)}")
    return text


def _run_flag(name: str) -> Flag:
    """The flag of an option of runs. Its text is parsed by the session, with those that
    Python gives."""
    option = BY_NAME[name]
    return Flag(name, (option.flag,), option.doc, option.metavar)


FLAGS = (
    Flag("name", ("-n", "--name"), "name of the run; it replaces one so named", "NAME"),
    Flag("variable", ("-o", "--out"), "variable that holds the run", "VAR", _variable),
    Flag("view", ("--view",), f"what to show: {', '.join(VIEWS)}", "VIEW", _view),
    Flag("rows", ("--rows",), "newest rows to show, 1 to 1000", "N", _rows),
    *map(_run_flag, ("stop_after", "until", "speed", "trigger", "ttl", "budget",
         "step")),
    Flag("wait", ("--wait",), "the cell ends when the run has ended"),
    Flag("wait", ("--no-wait",), "the cell ends at once", constant=False),
    Flag("no_run", ("--no-run",), "only check the script: show the notes on it "
         "and the columns of its results; with --explain its plan"),
    *map(_run_flag, ("sinks", "strict")),
    Flag("compare", ("--compare",), "windows: run it as tumble, hop and session, and "
         "draw them under each other; or name them, 'tumble 10s, session 5s'",
         "WINDOWS"),
    Flag("explain", ("--explain",), "print the plan, pass by pass, and then run"),
    Flag("help", ("-h", "--help"), "show this help"),
)  # fmt: skip


FLAGS_BY_NAME: Mapping[str, Flag] = flags_by_name(FLAGS)


RECORD_FLAGS = (
    Flag("path", ("-o", "--out"), "where the tape will be", "TAPE"),
    Flag("stop_after", ("--for",), "for how long, 30s if not said", "TIME"),
    Flag("most", ("--max",), "how many records at most, 100,000 if not said", "N",
         _count),
    Flag("redact", ("--redact",), "fields whose values are not written", "A,B",
         _names),
    Flag("begin", ("--from",), "where to start: latest or earliest", "latest|earliest",
         _begin),
)  # fmt: skip

PROMOTE_FLAGS = (
    Flag("folder", ("-o", "--out"), "the job's folder, jobs/NAME if not said", "DIR"),
    Flag("deny", ("--deny",), "codes of findings that are errors", "A,B", _names),
    Flag(
        "target",
        ("--target",),
        f"where it will run: {', '.join(TARGETS.names)}",
        "TARGET",
    ),
    Flag(
        "with_state", ("--with-state",), "stop the run; the job resumes from its state"
    ),
    Flag("overwrite", ("--overwrite",), "write also files that were changed by hand"),
)

STOP_FLAGS = (
    Flag("mode", ("--mode",), "immediate; or what comes to its end first: checkpoint, "
         "the micro-batch, graceful, all that has come", "MODE"),
)  # fmt: skip

PEEK_FLAGS = (
    Flag("rows", ("-n", "--rows"), "how many of the newest records are shown, 5 if not "
         "said", "N", _rows),
    Flag("headers", ("--headers",), "headers of the requests to a URL, 'Name: value, "
         "Name: value'; a secret as {{ VARIABLE }}", "HEADERS"),
    Flag("stream", ("--stream",), "a stream of JetStream, in place of a subject in the "
         "URL", "STREAM"),
)  # fmt: skip

SHOW_FLAGS = (
    Flag("view", ("--view",), f"what to show: {', '.join(VIEWS)}", "VIEW", _view),
    Flag("rows", ("--rows",), "how many rows, 20 if not said", "N", _rows),
)  # fmt: skip

SAVE_FLAGS = (
    Flag("path", ("-o", "--out"), "the file", "FILE"),
    Flag("title", ("--title",), "of a page: its title", "TITLE"),
    Flag("text", ("--text",), "of a page: what stands below the title; or the variable "
         "that has it", "TEXT"),
)  # fmt: skip

HEAD_FLAGS = (
    Flag("rows", ("-n", "--rows"), "how many rows, 10 if not said", "N", _rows),
)

WHATIF_FLAGS = (
    Flag("variable", ("-o", "--out"), "variable for the result", "VAR", _variable),
    Flag("delays", ("--delay",), "the delays to try, with commas", "1s,30m,2h"),
    Flag("every", ("--every",), "how much event time a micro-batch has; as in the run "
         "if not said", "TIME"),
    Flag("output", ("--output",), "which output, from 0 on", "N", _output_number),
)  # fmt: skip

ROWS_FLAGS = (
    Flag("watermark", ("--watermark",), "how late rows may be, such as '10 seconds'; 1 "
         "second if not said", "TIME"),
    Flag("event_time", ("--event-time",), "the column that is the event time; the only "
         "TIMESTAMP if not said", "COLUMN"),
    Flag("data", ("--from",), "a CSV file, or a variable: a DataFrame, a list of "
         "mappings or typed events; in place of the cell's rows", "FILE.csv|VARIABLE"),
    Flag("arrives", ("--arrives",), "the column that says when a row arrives; arrives "
         "if not said", "COLUMN"),
    Flag("shuffle", ("--shuffle",), "each row arrives later by a random time below "
         "this", "TIME"),
    Flag("delay", ("--delay",), "the rows of one value of a column arrive later, as in "
         "'user=bob:20s'", "COLUMN=VALUE:TIME"),
    Flag("duplicate", ("--duplicate",), "which share of the rows arrives twice, as in "
         "10%", "SHARE"),
    Flag("gap", ("--gap",), "nothing arrives for so long, from the middle row on",
         "TIME"),
    Flag("burst", ("--burst",), "what arrives within so long arrives together", "TIME"),
    Flag("seed", ("--seed",), "another number makes another random disorder; 0 if not "
         "said", "N"),
    Flag("path", ("-o", "--out"), "where the tape is kept; it goes with the kernel if "
         "not said", "TAPE"),
    Flag("help", ("-h", "--help"), "show this help"),
)  # fmt: skip

TYPES = "types"
"""Under which key the types of columns are found."""

ROWS_FLAGS_BY_NAME: Mapping[str, Flag] = flags_by_name(ROWS_FLAGS)

ALL = "--all"


@dataclass(frozen=True)
class Command:
    """What ``%arroyo`` can be told to do.

    Parameters
    ----------
    name
        Its word.
    doc
        One line of help.
    takes
        What follows the word, as the help writes it.
    said
        The same as the end of a sentence.
    least, most
        How many words that is.
    words
        Those that have a meaning of their own.
    only
        Whether there are no others.
    runs
        Whether the others are names of runs.
    flags
        Options that may stand among the words.
    needs
        Keys of those that must.
    """

    name: str
    doc: str
    takes: str = ""
    said: str = "nothing more"
    least: int = 0
    most: float = 0
    words: tuple[str, ...] = ()
    only: bool = False
    runs: bool = False
    flags: tuple[Flag, ...] = ()
    needs: tuple[str, ...] = ()

    def parsed(self, rest: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """What follows the word: words, and options by their keys.

        Raises
        ------
        ArroyoError
            When it does not fit.
        """
        words, given = parse_words(
            rest, flags_by_name(self.flags), len(rest), self.words
        )
        self.check(words)
        for flag in self.flags:
            if flag.key in self.needs and flag.key not in given:
                raise RunProblem(f"%arroyo {self.name} takes {self.said}")
        return words, given

    def check(self, rest: Sequence[str]) -> None:
        """Refuse words that do not fit.

        Raises
        ------
        RunProblem
            When there are too many, too few, or others.
        """
        if not self.least <= len(rest) <= self.most or not all(map(self._fits, rest)):
            raise RunProblem(f"%arroyo {self.name} takes {self.said}")

    def _fits(self, word: str) -> bool:
        return word in self.words or not (self.only or word.startswith("-"))


STATEMENTS = frozenset(
    (
        *("CREATE", "DESC", "DESCRIBE", "DROP", "EXPLAIN", "INSERT", "SELECT", "SET"),
        *("SHOW", "WITH"),
    )
)
"""First words of SQL."""

COMMANDS: Mapping[str, Command] = {
    command.name: command
    for command in (
        Command("ps", "list what lives: runs, emissions, the local broker"),
        Command("clear", "forget the runs that have ended, and their rows; with --all "
                "stop the others too, and drop all tables",
                f"[{ALL}]", f"nothing more, or {ALL}", 0, 1, (ALL,), only=True),
        Command("tables", "list the tables"),
        Command("functions", "list the UDFs, or show the source of one",
                "[NAME]", "at most the name of one function", 0, 1),
        Command("head", "show the first rows of a table, or of files, without a run",
                "TABLE|PATH [-n N]", "the name of one table, or a path", 1, 1,
                flags=HEAD_FLAGS),
        Command("lookup", "make a DataFrame a table to look rows up in",
                "VARIABLE KEY...", "a variable and the columns of its key", 2, inf),
        Command("explain", "show the plan of a run",
                "NAME", "the name of one run", 1, 1, runs=True),
        Command("doctor", "say why a run gives no rows; without a name the newest",
                "[NAME]", "at most the name of one run", 0, 1, runs=True),
        Command("check", "say what is wrong with the cell that was run last and what "
                "its result has; or explain a word of SQL",
                "[WORD]", "at most one word", 0, 1),
        Command("resume", "go on with a run from its checkpoint",
                "NAME", "the name of one run", 1, 1, runs=True),
        Command("speed", "play what follows of a run at another speed",
                "NAME N|max", "the name of one run, and a speed above 0, or max", 2, 2,
                runs=True),
        Command("show", "show a run again, or a saved trace: a panel that goes back "
                "over its micro-batches",
                "NAME|FILE.parquet [--view VIEW] [--rows N]",
                "the name of one run, or the file of a trace", 1, 1, runs=True,
                flags=SHOW_FLAGS),
        Command("save", "save a run as a trace, or as a page for a browser",
                "NAME -o FILE.parquet|FILE.html [--title TITLE] [--text TEXT]",
                "the name of one run, and -o with the file", 1, 1, runs=True,
                flags=SAVE_FLAGS, needs=("path",)),
        Command("whatif", "try other watermark delays on the rows of a run",
                "NAME [--delay 1s,30m,2h] [--every TIME] [--output N] [-o VAR]",
                "the name of one run", 1, 1, runs=True, flags=WHATIF_FLAGS),
        Command("compare", "two runs side by side, what differs marked",
                "NAME NAME", "the names of two runs", 2, 2, runs=True),
        Command("promote", "make a job of a run: a folder to review and to run",
                "NAME [-o DIR] [--deny A,B] [--target TARGET] [--with-state] "
                "[--overwrite]",
                "the name of one run", 1, 1, runs=True,
                flags=PROMOTE_FLAGS),
        Command("attach", "stop a job, and go on with it here",
                "job.yaml", "the path of one job.yaml", 1, 1),
        Command("jobs", "list the jobs beside this notebook"),
        Command("stop", "stop a run, or all",
                f"NAME|{ALL} [--mode MODE]", "the name of one run", 1, 1, (ALL,),
                runs=True, flags=STOP_FLAGS),
        Command("kafka", "a local Kafka broker for this notebook",
                "start|stop|status", "start, stop or status", 1, 1,
                ("start", "stop", "status"), only=True),
        Command("topics", "list the topics of the local broker, or of another",
                "[HOST:PORT]", "at most the address of a broker", 0, 1),
        Command("peek", "look into a topic, a feed or files, and guess a table for it",
                "TOPIC [HOST:PORT] [-n N] | URL [--headers HEADERS] [--stream STREAM] "
                "[-n N] | PATH [-n N]",
                "a topic, and perhaps the address of a broker; a URL; or a path", 1, 2,
                flags=PEEK_FLAGS),
        Command("record", "record a topic, or a table's topic or feed, onto a tape",
                "TOPIC [HOST:PORT] -o TAPE [--for TIME] [--max N] [--redact A,B] "
                "[--from latest|earliest]",
                "a topic or a table, and -o with the place of the tape", 1, 2,
                flags=RECORD_FLAGS, needs=("path",)),
    )
}  # fmt: skip


@dataclass(frozen=True)
class CellLine:
    """A parsed first line: the options that were given, by key."""

    given: Mapping[str, Any] = field(default_factory=dict)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of an option, or what holds where it was not given."""
        return self.given.get(key, default)

    def run_options(self, **defaults: Any) -> RunOptions:
        """The options of the cell's run; what the line does not say is as given here.

        Raises
        ------
        RunProblem
            When a value is not one of its option.
        """
        given = {key: value for key, value in self.given.items() if key in BY_NAME}
        return RunOptions.parse(defaults | given)


def parse_line(line: str) -> CellLine:
    """Parse what follows ``%%arroyo`` on its line.

    >>> parse_line("delays << --rows 5 --no-wait").given
    {'variable': 'delays', 'name': 'delays', 'rows': 5, 'wait': False}

    Raises
    ------
    SyntaxProblem
        One line on the first option that is wrong, with a suggestion.
    """
    words = split(line)
    given: dict[str, Any] = {}
    if len(words) >= 2 and words[1] == "<<":
        name = str(words[0])
        with placed(words[0]):
            given["variable"] = parse_value(FLAGS_BY_NAME["-o"], "<<", name)
        given["name"] = name
        words = words[2:]
    elif words and (meant := _first_word_hint(words[0], words[1:])) is not None:
        said = f"'{words[0]}' is not an option: {meant}"
        raise SyntaxProblem(said, span=words[0].span)
    return CellLine(given | parse_words(words, FLAGS_BY_NAME, 0)[1])


def parse_rows_line(line: str) -> tuple[str, dict[str, Any]]:
    """Parse what follows ``%%arroyo_rows`` on its line: a name and the options.

    >>> parse_rows_line("clicks --watermark '10 seconds'")
    ('clicks', {'watermark': '10 seconds'})

    Raises
    ------
    SyntaxProblem
        One line on the first option that is wrong, or that there is no name.
    """
    return parse_named_line(line, ROWS_FLAGS_BY_NAME, "table", _ROWS_USAGE, TYPES)


def parse_named_line(
    line: str, known: Mapping[str, Flag], what: str, usage: str, pairs: str = ""
) -> tuple[str, dict[str, Any]]:
    """Parse a name and options; ``what`` has the name. See :func:`parse_rows_line`, and
    ``pairs`` of :func:`arroyo_nb.option_flags.parse_words`."""
    words, given = parse_words(split(line), known, 1, usage=usage, pairs=pairs)
    if (not words or (pairs and "=" in words[0])) and "help" not in given:
        raise SyntaxProblem(f"the {what} has no name", hint=usage)
    return words[0] if words else "", given


_ROWS_USAGE = (
    "%%arroyo_rows NAME [COLUMN=TYPE ...] [OPTIONS], and the rows from the second line "
    "on"
)


def _first_word_hint(word: str, rest: Sequence[str]) -> str | None:
    """What was meant by a word in the place of an option."""
    if "<<" in rest and word.isidentifier():
        behind = " ".join(other for other in rest if other != "<<")
        return f"options stand behind <<: write %%arroyo {word} << {behind}"
    name = word.rstrip("<").strip()
    if word.upper() in STATEMENTS:
        return "SQL begins on the second line"
    if word in COMMANDS:
        return f"write %arroyo {word}, with one %; SQL begins on the second line"
    if name.isidentifier():
        return f"write %%arroyo {name} << to name it; SQL begins on the second line"
    return None


def help_text() -> str:
    """The help of the magics."""
    commands = ((f"%arroyo {c.name} {c.takes}", c.doc) for c in COMMANDS.values())
    return "\n".join(
        (
            "Run streaming SQL, live.",
            "",
            "    %%arroyo [NAME <<] [OPTIONS]",
            "    SELECT ...",
            "",
            "NAME << names the run and keeps it in a variable of that name.",
            "A :name in the SQL is the notebook's variable, bound as a literal.",
            "",
            "    %%arroyo_udf [python|rust]",
            "    @udf ...",
            "",
            "defines functions that SQL may call.",
            "",
            "    %%arroyo_rows NAME [COLUMN=TYPE ...] [OPTIONS]",
            "    at | user | n",
            "    10:00:00 | ann | 1",
            "",
            "makes a table of these rows, a stream to try things with; %%arroyo_rows "
            "--help",
            "lists its options. %%arroyo_test NAME tests a query; see its --help.",
            "",
            *options_text(FLAGS),
            "",
            *aligned(commands),
        )
    )


def rows_help_text() -> str:
    """The help of ``%%arroyo_rows``."""
    return "\n".join(
        (
            "Make a table of the rows of a cell, which come as a stream.",
            "",
            "    %%arroyo_rows clicks --watermark '10 seconds'",
            "    arrives  | at       | user | n INT",
            "    10:00:00 | 10:00:00 | ann  | 1",
            "    10:00:20 | 10:00:15 | bob  | 2",
            "    10:00:21 | 09:59:30 | ann  |",
            "",
            "The first line names the columns, each perhaps with a type. Of a file, as",
            "of a cell, types may stand behind the table's name: zip=TEXT",
            "'price=DECIMAL(8, 2)'. Each row is a micro-batch; where blank lines stand",
            "between rows, they end them.",
            "",
            *options_text(ROWS_FLAGS),
        )
    )
