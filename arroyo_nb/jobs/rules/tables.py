"""Rules about where rows come from and go to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from arroyo_nb.catalog import ConnectorTable, LookupTable
from arroyo_nb.connectors import CONNECTORS, Direction, guarantee_of, holding
from arroyo_nb.engine.command import spark_version
from arroyo_nb.engine.folders import owner_of
from arroyo_nb.engine.jars import used_jars
from arroyo_nb.jobs.rules.rule import Hit, LintedJob, texts
from arroyo_nb.plan.nodes import Source, is_updating
from arroyo_nb.plan.requirements import jar_sets
from arroyo_nb.plan.tables.disorder import PREFIX
from arroyo_nb.secrets_in_text import is_secret, secrets
from arroyo_nb.with_options import REFERENCE, Holds

_LOCAL = re.compile(
    r"(?<![\w.-])(localhost|127(\.\d{1,3}){3}|0\.0\.0\.0|\[?::1\]?)(?![\w.-])"
)


def inline_secret(job: LintedJob) -> Iterator[Hit]:
    """A password stands in the script.

    A job spec is text that is reviewed, copied and kept in a repository. No secret may
    be in it, and so a script with one is not promoted.

    Write a reference, as in `'auth.password' = '{{ KAFKA_PASSWORD }}'`: the value is
    asked of the environment at each start, and is never written down.
    """
    for table in job.tables:
        secret = holding(table.connector, (Holds.SECRET,))
        for option, text in texts(table):
            named = is_secret(option) or option in secret
            whole = named and text and not REFERENCE.fullmatch(text.strip())
            if whole or any(map(len, secrets(text))):
                yield Hit(
                    f"the option '{option}' of '{table.name}' has a secret in it",
                    job.option(table, option),
                )


def sample_source(job: LintedJob) -> Iterator[Hit]:
    """A source is made up.

    Some connectors are for exploring: they play what was recorded, or generate rows.
    The job would compute nothing of the real stream.

    Declare the table over the real source, with the same columns; the query stays as it
    is. What it computes of the recording is a test for it.
    """
    for table in job.tables:
        if what := CONNECTORS.get(table.connector).info.synthetic:
            said = f"'{table.name}' is {what}, not a real source"
            yield Hit(said, job.option(table, "connector"))


def disorder(job: LintedJob) -> Iterator[Hit]:
    """The rows of a source are put in disorder on purpose.

    The options `disorder.*` are for trying what late rows do. The job would compute of
    rows that never came so.

    Remove the options.
    """
    for table in job.tables:
        if not isinstance(table, ConnectorTable):
            continue
        given = [name for name in table.spec.options if name.startswith(PREFIX)]
        if given:
            said = f"the rows of '{table.name}' are put in disorder by '{given[0]}'"
            yield Hit(said, job.option(table, given[0]))


def local_address(job: LintedJob) -> Iterator[Hit]:
    """A table is at an address of this machine.

    `localhost` is another machine wherever the job runs, one for each executor of a
    cluster.

    Write a reference to the environment, as in `bootstrap_servers = '{{ BROKER }}'`,
    and set it where the job runs.
    """
    for table in job.tables:
        for option, text in texts(table):
            if (found := _LOCAL.search(text)) is not None:
                yield Hit(
                    f"the option '{option}' of '{table.name}' names this machine: "
                    f"{found[1]}",
                    job.option(table, option),
                )


def relative_path(job: LintedJob) -> Iterator[Hit]:
    """A path depends on the folder that the job is started in.

    A notebook runs in its own folder; a job runs in the folder that whoever starts it
    is in, and on a cluster in none that has these files.

    Write the whole path of a folder that is mounted wherever the job runs, or a
    reference to the environment, as in `path = '{{ DATA }}/trips.json'`.
    """
    for table in job.tables:
        for name in sorted(_path_options(table)):
            path = str(table.spec.options.get(name, ""))
            begins = REFERENCE.match(path) or "://" in path
            if path and not begins and not PurePath(path).is_absolute():
                yield Hit(
                    f"the path of '{table.name}' is relative: '{path}'",
                    job.option(table, name),
                )


def session_path(job: LintedJob) -> Iterator[Hit]:
    """A path lies in the folder of a session, and goes with it.

    The rows of `%%arroyo_rows` are kept there, unless `-o` names a place for them. The
    job cannot start once the kernel has ended.

    Keep them elsewhere, as with `%%arroyo_rows clicks -o clicks.tape`, or read the real
    source.
    """
    for table in job.tables:
        for name in sorted(_path_options(table)):
            path = Path(str(table.spec.options.get(name, "")))
            if any(owner_of(folder) is not None for folder in (path, *path.parents)):
                yield Hit(
                    f"the path of '{table.name}' goes with the session: '{path}'",
                    job.option(table, name),
                )


def _path_options(table: ConnectorTable | LookupTable) -> frozenset[str]:
    """The options that name a file or a folder."""
    format_ = str(table.spec.options.get("format"))
    return holding(table.connector, (Holds.PATH,), format_)


def no_sink(job: LintedJob) -> Iterator[Hit]:
    """Rows go nowhere.

    A bare SELECT is for looking at. A job prints its rows to standard output, as JSON
    lines, and nobody reads them.

    Declare a table with a sink, and `INSERT INTO` it.
    """
    for sink in job.plan.sinks:
        if sink.table is None:
            yield Hit("the rows of this SELECT are printed, and go nowhere", sink.span)


def append_only_sink(job: LintedJob) -> Iterator[Hit]:
    """Changes go to a sink that cannot write retractions.

    An updating query takes rows back. A sink whose format cannot say so is refused by
    Arroyo, and with `connector = 'blackhole'` nobody sees what is missing.

    Write `format = 'debezium_json'`, or group by a window: its rows are final.
    """
    for sink in job.plan.sinks:
        table = sink.table
        if table is not None and is_updating(sink) and not table.updating:
            yield Hit(f"'{table.name}' cannot show that a row is retracted", sink.span)


def connector_version(job: LintedJob) -> Iterator[Hit]:
    """A connector of Spark is of another version than Spark.

    Spark's repository has no connector of some versions of Spark, so the newest release
    before is used; the tests ran with it. Another Spark, as on a cluster, may not work
    with it.

    `arroyo-nb version --jars` lists the jars. `ARROYO_NB_JARS` names a folder with
    others.
    """
    needed = jar_sets(job.plan.sinks)
    for used in used_jars():
        if used.jars.name in needed and used.place and used.other_than_spark:
            yield Hit(
                f"{used.jars.what} is {used.version}, and Spark is {spark_version()}"
            )


def delivery_guarantee(job: LintedJob) -> Iterator[Hit]:
    """Rows may be missing, or come twice.

    Many servers keep no messages for a client that is away: after a lost connection
    some are missing. A sink without transactions may have some rows twice after a
    restart.

    Where that matters, let the server write to a topic and read the topic, which keeps
    what nobody has read yet. In the system behind a sink, store rows by their key: then
    a row that comes twice changes nothing.
    """
    sources = ((n.table, Direction.SOURCE) for n in job.of(Source))
    sinks = ((s.table, Direction.SINK) for s in job.plan.sinks if s.table is not None)
    hits = (
        Hit(f"'{table.name}': {guarantee}", job.declared(table))
        for table, direction in (*sources, *sinks)
        if (guarantee := guarantee_of(table.connector, direction)) is not None
    )
    yield from dict.fromkeys(hits)
