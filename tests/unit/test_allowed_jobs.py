"""``arroyo-nb run --root``: what a job or a script may not touch, before there is a
JVM."""

from __future__ import annotations

import pytest

from arroyo_nb.allowed_roots import VARIABLE
from arroyo_nb.cli import main
from arroyo_nb.jobs.spec import JobSpec, TableDefinition
from arroyo_nb.session import Session
from arroyo_nb.source import ScriptText

FILE = "CREATE TABLE {} (n BIGINT) WITH (connector = 'single_file', path = '{}', "
FILE += "type = '{}', format = 'json')"
FOLDER = "CREATE TABLE {} (n BIGINT) WITH (connector = 'filesystem', path = '{}', "
FOLDER += "type = '{}', format = 'json')"
TAPE = "CREATE TABLE {} (n BIGINT) WITH (connector = 'tape', path = '{}', "
TAPE += "format = 'json')"
KNOWN = "CREATE TEMPORARY TABLE known (n BIGINT PRIMARY KEY, name TEXT) WITH ("
KNOWN += "connector = 'single_file', path = '{}', format = 'json')"
TOPIC = "CREATE TABLE a (n BIGINT) WITH (connector = 'kafka', type = 'source', "
TOPIC += "topic = 'a', bootstrap_servers = 'b:9092', format = 'json', "
TOPIC += "client_configs = 'ssl.ca.location={}, ssl.key.location={}')"
SECRET = "canary-4c1"


class Started(Exception):
    """A session would be."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Where one is; inside it is in, which is allowed, and beside that out."""
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PLACE", str(tmp_path / "out" / SECRET))
    return tmp_path


@pytest.fixture
def run(here, monkeypatch, capsys):
    """Runs a job with the root in; gives what it says, nothing where it would start."""

    def started(*_, **__):
        raise Started

    monkeypatch.setattr("arroyo_nb.cli.headless.Session", started)

    def act(spec, *arguments, root=("--root", "in")):
        path = here / "in/job.yaml"
        path.write_text(spec.text)
        try:
            assert main(["run", str(path), *root, *arguments]) in (1, 2, 3)
        except Started:
            return ""
        said = capsys.readouterr().err
        assert SECRET not in said
        return said

    return act


def job(source, sink, *tables, **options):
    made = (TableDefinition(name, sql) for name, sql in (("a", source), *tables))
    insert = "INSERT INTO b SELECT a.n FROM a"
    join = " JOIN known ON a.n = known.n" if tables else ""
    return JobSpec("j", f"{sink};\n{insert}{join}", tuple(made), **options)


def places(said, spec):
    """The options that were told, each with the text under its carets."""
    lines = said.splitlines()
    found = []
    for n, line in enumerate(lines):
        if "leads out" in line:
            start = lines[n + 2].index("^")
            found.append(lines[n + 1][start : lines[n + 2].rindex("^") + 1])
            place = ScriptText(spec.text).line_and_column(spec.text.index(found[-1]))
            assert f"job.yaml:{place[0]}:{place[1]}: the " in line
    return found


def test_all_that_leads_out_is_told_in_one_go_with_its_place(run, here):
    spec = job(
        FILE.format("a", "in/../out/a.json", "source"),
        FOLDER.format("b", (here / "in/link/b").as_uri(), "sink"),
        ("known", KNOWN.format("{{ PLACE }}")),
        state="../out/state",
    )
    said = run(spec)
    assert places(said, spec) == [
        "../out/state",
        "path = 'in/../out/a.json'",
        "path = '{{ PLACE }}'",
        f"path = '{(here / 'in/link/b').as_uri()}'",
    ]
    assert f"hint: allowed: {here / 'in'}; --root and {VARIABLE} name them" in said


def test_what_lies_within_is_run(run, here):
    spec = job(
        FILE.format("a", "out/../in/a.json", "source"),
        FOLDER.format("b", (here / "in/new folder/b").as_uri(), "sink"),
        ("known", KNOWN.format(here / "out/back/known.json")),
    )
    (here / "out/back").symlink_to(here / "in")
    assert run(spec) == ""


def test_without_a_root_nothing_is_refused(run):
    spec = job(
        FILE.format("a", "out/a.json", "source"),
        FILE.format("b", "{{ PLACE }}", "sink"),
        state="../out/state",
    )
    assert run(spec, root=()) == ""
    assert "the option 'path' of 'b' leads out" in run(spec)


@pytest.mark.parametrize("name", ["a.tape", "link/a.tape"])
def test_a_tape_is_held_to_them(run, name):
    spec = job(TAPE.format("a", f"in/{name}"), FILE.format("b", "in/b", "sink"))
    assert ("'path' of 'a' leads out" in run(spec)) == ("link" in name)


def test_certificates_and_keys_are_files_too(run):
    def said(authority, key):
        topic = TOPIC.format(authority, key)
        return run(job(topic, FILE.format("b", "in/b", "sink")))

    assert said("in/ca.pem", "in/key.pem") == ""
    told = said("in/ca.pem", "{{ PLACE }}")
    assert "the option 'client_configs' of 'a' leads out" in told


@pytest.mark.parametrize(
    ("arguments", "place"),
    [(("--state-dir", "out"), None), (("--name", "k"), "state: state")],
)
def test_the_state_is_where_the_job_is_run_with(run, here, arguments, place):
    (here / "in/state").mkdir()
    (here / "in/state/k").symlink_to(here / "out")
    spec = job(FILE.format("a", "in/a", "source"), FILE.format("b", "in/b", "sink"))
    assert run(spec) == ""
    said = run(spec, *arguments)
    assert "leads out of the folders" in said
    # Of what the spec does not say there is no place in it.
    assert said.startswith("the state folder '") == (place is None)
    assert (f"{place}\n         ^^^^^\n" in said) == (place is not None)


def test_a_variable_that_is_not_set_is_told_with_the_others(run, monkeypatch):
    monkeypatch.delenv("PLACE")
    spec = job(
        FILE.format("a", "out/a", "source"), FILE.format("b", "{{ PLACE }}", "sink")
    )
    said = run(spec)
    assert "the environment variable 'PLACE' is not set" in said
    assert "the option 'path' of 'a' leads out" in said


def test_a_variable_with_an_address_is_told_without_it(run, monkeypatch):
    monkeypatch.setenv("PLACE", f"s3://{SECRET}/b")
    spec = job(
        FILE.format("a", "in/a", "source"), FOLDER.format("b", "{{ PLACE }}", "sink")
    )
    said = run(spec)
    assert "the path '{{ PLACE }}' is not local" in said


def test_the_environment_allows_no_less_and_no_more(run, here, monkeypatch):
    spec = job(FILE.format("a", "in/a", "source"), FILE.format("b", "in/b", "sink"))
    monkeypatch.setenv(VARIABLE, str(here))
    assert run(spec, root=()) == run(spec) == ""
    monkeypatch.setenv(VARIABLE, str(here / "out"))
    assert "leads out" in run(spec, root=())
    assert "leads out" in run(spec, root=("--root", str(here)))
    assert "no folder of --root is one" in run(spec)


def test_a_script_is_held_to_them_too(here, capsys):
    script = here / "in/a.sql"
    text = f"{FILE.format('a', 'out/a', 'source')};\nSELECT n FROM a;\n"
    script.write_text(text)
    assert main(["run", str(script), "--root", "in", "--state-dir", "out"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("the state folder '")
    column = text.index("path =") + 1
    assert f"a.sql:1:{column}: the option 'path' of 'a' leads out" in said


def test_a_session_is_held_to_the_environment(here, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(here / "in"))
    session = Session()
    session.run(FILE.format("a", "{{ PLACE }}", "source"))
    with pytest.raises(Exception, match="the option 'path' of 'a' leads out") as caught:
        session.run("SELECT n FROM a")
    assert SECRET not in str(caught.value)
    assert session.runs == {}
