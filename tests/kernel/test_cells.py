"""Hostile text in a real kernel, and notebooks in folders of odd names."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from kernels import LOAD, Kernel, Reply, in_folder
from odd_names import ODD_NAMES

from arroyo_nb.cli import main

PAYLOADS = (
    "<script>alert(1)</script>",
    "<ScRiPt src=//x.invalid></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src=javascript:alert(1)>",
    "<a href='javascript:alert(1)'>a</a>",
    "'\"><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "</td></table><script>alert(1)</script>",
    "</pre><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "<style>*{display:none}</style>",
    "<math href=javascript:alert(1)>x</math>",
    "<body onload=alert(1)>",
    "<form action=javascript:alert(1)><button>",
    "<object data=javascript:alert(1)>",
    "<!--<img src='--><img src=x onerror=alert(1)>'>",
    "{{constructor.constructor('alert(1)')()}}<b>",
    "\u2028<script>alert(1)</script>\u202e",
)
ALLOWED_TAGS = frozenset(
    ("div", "p", "b", "em", "pre", "img", "table", "thead", "tbody", "tr", "th", "td")
)
ALLOWED_ATTRIBUTES = frozenset(
    ("class", "style", "alt", "src", "width", "title", "scope")
)


class Elements(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: dict[str, str | None] = {}
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.tags.add("<!--")


def assert_inert(reply: Reply) -> str:
    """No output holds an element that came from data; gives the text of all."""
    assert reply.shown
    pages = [Elements(d["text/html"]) for d in reply.shown if "text/html" in d]
    for page in pages:
        assert page.tags <= ALLOWED_TAGS
        assert page.attributes.keys() <= ALLOWED_ATTRIBUTES
        assert (page.attributes.get("src") or "data:image/").startswith("data:image/")
    return "".join(page.text for page in pages)


@pytest.fixture
def kernel(cells: Kernel) -> Kernel:
    return cells


def test_payloads_as_values_columns_and_names(kernel: Kernel, tmp_path: Path) -> None:
    rows = [json.dumps({"text": payload}) for payload in PAYLOADS]
    (tmp_path / "rows.json").write_text("\n".join(rows))
    quoted = ", ".join(
        f'''text AS "{payload.replace('"', '""')}"''' for payload in PAYLOADS[:6]
    )
    cell = f"""%%arroyo -n "{PAYLOADS[0]}" --rows 20 --wait
    CREATE TABLE hostile (text TEXT) WITH (connector = 'single_file',
        path = '{tmp_path / "rows.json"}', type = 'source', format = 'json');
    SELECT text, {quoted} FROM hostile
    """
    text = assert_inert(kernel.run(cell))
    assert text.count("alert(1)") >= len(PAYLOADS)
    listed = kernel.run("%arroyo ps")
    assert PAYLOADS[0] in assert_inert(listed)
    kept = kernel.value(f"session.get({PAYLOADS[0]!r}).table()['text'].to_pylist()")
    assert kept == list(PAYLOADS)


def test_payloads_in_errors(kernel: Kernel) -> None:
    for payload in PAYLOADS[:3]:
        planned = kernel.execute(f'%%arroyo\nSELECT "{payload}" FROM hostile')
        assert planned.status == "error"
        assert "Traceback" not in planned.traceback
        cell = "%%arroyo -n bad --wait\nSELECT CAST(text AS BIGINT) FROM hostile"
        ran = kernel.execute(cell)
        assert "cast" in ran.traceback.lower() or "a valid BIGINT" in ran.traceback
        assert_inert(ran)


def test_rows_are_printed_in_the_cell_that_started_their_run(kernel: Kernel) -> None:
    first, second = (
        kernel.send(
            f"%%arroyo -n {name} --sinks --no-wait\n"
            "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 20);\n"
            "CREATE TABLE out WITH (connector = 'stdout', format = 'json');\n"
            f"INSERT INTO out SELECT counter, '{name}' AS name FROM ticks;"
        )
        for name in ("one", "two")
    )
    assert '"two"' not in kernel.printed(first, 20)
    assert '"one"' not in kernel.printed(second, 20)
    assert '"two"' not in kernel.printed(first, 20)  # though the second is newer
    kernel.run("%arroyo stop --all")


@pytest.mark.parametrize("nested", ["({})", "abs({})", "CASE WHEN true THEN {} END"])
def test_a_script_nested_2000_deep(kernel: Kernel, nested: str) -> None:
    opening, closing = nested.split("{}")
    sql = f"SELECT {opening * 2000}1{closing * 2000} FROM hostile"
    reply = kernel.execute(f"%%arroyo\n{sql}")
    assert reply.error in ("SyntaxProblem", "Unsupported", "PlanProblem")
    assert "nested" in reply.traceback
    assert len(reply.traceback) < 2000
    assert kernel.value("1 + 1") == 2


SUMS = """%%arroyo -n sums --sinks --wait
CREATE TABLE numbers (n BIGINT NOT NULL) WITH (
    connector = 'single_file', path = 'in.json', type = 'source', format = 'json');
CREATE TABLE sums WITH (connector = 'single_file', path = 'sums.json',
    type = 'sink', format = 'debezium_json');
INSERT INTO sums SELECT n % 3 AS rest, count(*) AS n FROM numbers GROUP BY 1
"""
TAPE = """%%arroyo -n replay --wait
CREATE TABLE taped (n BIGINT NOT NULL) WITH (
    connector = 'tape', path = 'tapes/a.tape', format = 'json');
SELECT sum(n) AS total FROM taped
"""


def run_and_promote(kernel: Kernel, capsys: pytest.CaptureFixture[str]) -> None:
    """Files beside a notebook, and below its home, are named as a user names them."""
    folder = Path(kernel.value("os.getcwd()"))
    (folder / "in.json").write_text("".join(f'{{"n": {n}}}\n' for n in range(300)))
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in (LOAD, SUMS)]
    )
    nbformat.write(notebook, folder / "lesson 1.ipynb")
    assert "sums finished, 300 rows in" in kernel.run(SUMS).text
    changes = [*map(json.loads, (folder / "sums.json").read_text().splitlines())]
    assert {change["after"]["rest"]: change["after"]["n"] for change in changes} == {
        0: 100,
        1: 100,
        2: 100,
    }
    kernel.run("session.emit('tapes/a.tape', [{'n': n} for n in range(10)], wait=True)")
    assert "45" in kernel.run(TAPE).text
    kernel.run("%arroyo promote sums -o '~/My Jobs/sums'")
    spec = folder / "My Jobs" / "sums" / "job.yaml"
    assert main(["check", str(spec)]) == 0
    assert "drift" not in capsys.readouterr().out
    assert "sums" in kernel.run("%arroyo jobs").text
    for name in ("sums", "replay"):
        kernel.run(f"session.get({name!r}).discard()")


def test_a_notebook_lies_in_a_folder_of_any_name(
    kernel: Kernel, capsys: pytest.CaptureFixture[str]
) -> None:
    run_and_promote(kernel, capsys)


@pytest.mark.long("paths")
@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_notebook_lies_in_a_folder_of_each_name(
    start: Callable[..., Kernel], capsys: pytest.CaptureFixture[str], name: str
) -> None:
    run_and_promote(in_folder(start, name), capsys)
