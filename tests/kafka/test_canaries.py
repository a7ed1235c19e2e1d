"""Twenty secrets go into a notebook, and none comes out of it."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from seeds import turn_of
from topics import Topic

from arroyo_nb.kafka.local import LocalBroker

NAMES = (
    *("USER", "WORD", "WRONG", "CONFIG_WORD", "KEY_WORD", "KEY_PEM", "CA_PATH"),
    *("REGISTRY_KEY", "REGISTRY_WORD", "CLOUD_KEY", "CLOUD_WORD", "OFFSETS", "TIME"),
    *("REDIS_WORD", "SINK_WORD"),
)
"""Those that are variables of the environment."""
TYPED = 5
"""And those that are typed into a cell."""

TURNS = ("a notebook", "a job")
"""What takes turns in ``make test``."""

CANARIES = tuple(f"canary-{n}-8d1f" for n in range(len(NAMES) + TYPED))
OF_ENVIRONMENT = dict(zip(NAMES, CANARIES, strict=False))
TYPED_ONES = CANARIES[len(NAMES) :]

TABLE = """CREATE TABLE {name} (id INT) WITH (connector = '{connector}', {options});
{rest}"""


def kafka(servers, topic, rest="SELECT id FROM t", name="t", **options):
    given = {
        "bootstrap_servers": servers,
        "topic": topic,
        "type": "source",
        "format": "json",
        **options,
    }
    connector = given.pop("connector", "kafka")
    pairs = (f"'{key.replace('__', '.')}' = '{text}'" for key, text in given.items())
    text = TABLE.format(
        name=name, connector=connector, options=", ".join(pairs), rest=rest
    )
    return text.replace("<<", "{{ ").replace(">>", " }}")


def sasl(user, word):
    return {
        "auth__type": "sasl",
        "auth__mechanism": "PLAIN",
        "auth__protocol": "SASL_PLAINTEXT",
        "auth__username": user,
        "auth__password": word,
    }


def redis(address, rest="SELECT id, n FROM t JOIN d ON t.key = d.k"):
    return (
        "CREATE TABLE t (id INT, key TEXT) WITH (connector = 'impulse', "
        f"event_rate = 1); CREATE TEMPORARY TABLE d (k TEXT METADATA FROM 'key' "
        f"PRIMARY KEY, n INT) WITH (connector = 'redis', address = '{address}', "
        f"format = 'json');\n{rest}"
    )


def cells(made, other):
    """What is run: a line and a script; the first two go well, and the third is only
    looked at."""
    there = made.broker.sasl_servers, other.name
    here = made.broker.sasl_servers, made.name
    plain = made.broker.bootstrap_servers, made.name
    one, two, three, four, five = TYPED_ONES
    good = sasl("<<USER>>", "<<WORD>>")
    registry = {
        "schema_registry__endpoint": "http://127.0.0.1:9",
        "schema_registry__api_key": "<<REGISTRY_KEY>>",
        "schema_registry__api_secret": "<<REGISTRY_WORD>>",
        "source__offset": "earliest",
    }
    config = "security.protocol=SASL_PLAINTEXT,sasl.username=me,sasl.password="
    sink = kafka(*here, "", "s", **sasl("me", "<<SINK_WORD>>")) + kafka(
        *plain, "INSERT INTO s SELECT id FROM t"
    )
    exact = {"sink__commit_mode": "exactly_once", **good}
    written = kafka(*there, "", "w", **exact).replace("'source'", "'sink'")
    first = {"source__offset": "earliest", **good}
    return [
        ("good << --no-wait", kafka(*here, **good, **registry)),
        (
            "wrote << --sinks --no-wait",
            written + kafka(*here, "INSERT INTO w SELECT id FROM t", **first),
        ),
        ("--no-run --explain", kafka(*here, **sasl("me", one))),
        ("-n a", kafka(*here, **sasl("<<USER>>", "<<WRONG>>"))),
        ("-n b", kafka(*here, client_configs=f"{config}<<CONFIG_WORD>>")),
        ("-n c", kafka(*plain, client_configs="ssl.key.password=<<KEY_WORD>>,nope=1")),
        (
            "-n d",
            kafka(
                *plain,
                client_configs="security.protocol=ssl,ssl.key.pem=<<KEY_PEM>>,"
                "ssl.certificate.pem=x,ssl.key.password=<<KEY_WORD>>",
            ),
        ),
        (
            "-n e",
            kafka(
                *plain,
                client_configs="security.protocol=ssl,ssl.ca.location=/<<CA_PATH>>",
            ),
        ),
        (
            "-n f",
            kafka(
                *here,
                connector="confluent",
                key="<<CLOUD_KEY>>",
                secret="<<CLOUD_WORD>>",
            ),
        ),
        ("-n g", kafka(*plain, source__start_offsets="<<OFFSETS>>")),
        ("-n h", kafka(*plain, source__start_timestamp="<<TIME>>")),
        ("-n i", redis("redis://:{{ REDIS_WORD }}@127.0.0.1:9")),
        ("-n j --sinks", sink.replace("'source'", "'sink'", 1)),
        ("-n k", kafka(*here, **sasl("me", two))),
        ("-n l", kafka(*here, "SELECT nope FROM t", **sasl("me", three))),
        ("-n m", kafka(*here, client_configs=f"sasl.password={four},nope=1")),
        ("-n n", redis(f"http://:{five}@h:1")),
    ]


LOOK = """
from pathlib import Path
import json, tempfile, time
import arroyo_nb
canaries = [text.encode() for text in json.loads(Path({path!r}).read_text())]
def has(path):
    try:
        text = path.read_bytes()
    except OSError:
        return False
    return any(canary in text for canary in canaries)
deadline = time.monotonic() + 60
while not (good.table().num_rows and wrote.rows_in) and time.monotonic() < deadline:
    time.sleep(0.1)
print(good.table()["id"].to_pylist(), wrote.rows_in, wrote.state.value)
session = arroyo_nb.active_session()
folders = [session._runs.work, session.engine._work, Path(tempfile.gettempdir())]
files = [p for folder in folders for p in folder.rglob("*") if p.is_file()]
lines = list(Path("/proc").glob("[0-9]*/cmdline"))
print([part for part in ("offsets", ".log") if any(part in str(f) for f in files)])
print(len(lines) > 3)
print([str(p) for p in (*files, *lines) if has(p)])
"""


@turn_of("a notebook", TURNS, "canaries")
def test_none_comes_out(tmp_path: Path, monkeypatch):
    broker = LocalBroker({OF_ENVIRONMENT["USER"]: OF_ENVIRONMENT["WORD"]})
    for name, text in OF_ENVIRONMENT.items():
        monkeypatch.setenv(name, text)
    known = tmp_path / "canaries.json"
    known.write_text(json.dumps(CANARIES))
    with broker:
        made, other = Topic(broker, 1), Topic(broker, 1)
        made.send({"id": 41})
        folder = tmp_path / "temporary"
        folder.mkdir()
        monkeypatch.setenv("TMPDIR", str(folder))
        texts = ["%load_ext arroyo_nb"]
        texts += [f"%%arroyo {line}\n{script}" for line, script in cells(made, other)]
        texts.append(LOOK.format(path=str(known)))
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(text) for text in texts]
        )
        client = NotebookClient(
            notebook, timeout=180, kernel_name="python3", allow_errors=True
        )
        client.execute(cwd=str(Path(__file__).parents[2]))
        assert [record.value() for record in other.records()] == [b'{"id":41}']
    _, _, _, plan, *refused, looked = notebook.cells
    assert "Plan after" in json.dumps(plan.outputs)
    for cell in refused:
        kinds = [output["output_type"] for output in cell.outputs]
        assert "error" in kinds, cell.source
    assert (
        looked.outputs[0]["text"] == "[41] 1 running\n['offsets', '.log']\nTrue\n[]\n"
    )
    shown = json.dumps([cell.outputs for cell in notebook.cells])
    assert not [text for text in CANARIES if text in shown]
    # What is a variable is not in the notebook at all.
    saved = json.dumps(notebook)
    assert not [text for text in OF_ENVIRONMENT.values() if text in saved]
