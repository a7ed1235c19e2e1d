"""The page's modules: what they know of the dialect is what Python knows of it."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from arroyo_nb.cell_magics import CELL_MAGICS, Content
from arroyo_nb.editor import completion
from arroyo_nb.editor.questions import QUESTIONS
from arroyo_nb.sql import dialect

CELLS_ASK = """
import { createClient } from './client.mjs';
const sent = [];
const comm = { send: (data) => sent.push(data) };
const signal = { connect: () => {} };
const kernel = {
  status: 'idle', connectionStatus: 'connected', info: Promise.resolve({}),
  statusChanged: signal, disposed: signal,
  sendControlMessage: () => ({ done: { content: { comms: { 1: {} } } } }),
  createComm: () => comm
};
const KernelMessage = { createMessage: () => ({}) };
const client = await createClient(async () => ({ KernelMessage }));
const told = {};
const ask = async (text, of) => {
  const answer = await client.ask(kernel, 'check', text, null, of);
  told[text] = answer === undefined ? 'dropped' : answer;
};
const all = [ask('a1', 'a'), ask('b1', 'b'), ask('a2', 'a'), ask('c1', 'c')];
const next = () => new Promise((done) => setTimeout(done, 5));
for (let number = 0; number < 3; number++) {
  while (sent.length <= number) await next();
  comm.onMsg({ content: { data: { id: sent[number].id, answer: sent[number].text } } });
}
await Promise.all(all);
console.log(JSON.stringify({ sent: sent.map(({ text }) => text), told }));
"""
"""Three cells ask at once, as when a notebook is opened; one of them twice."""

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "arroyo_nb" / "editor" / "static"
LANGUAGE = (STATIC / "sql_language.js").read_text()


def words(name: str) -> set[str]:
    found = re.search(rf"export const {name} = new Set\(`([^`]*)`", LANGUAGE)
    assert found is not None
    listed = found[1].split()
    assert len(listed) == len(set(listed))
    return set(listed)


def test_magics_are_those_of_python() -> None:
    found = re.search(r"export const MAGICS = \{(.*?)\};", LANGUAGE)
    assert found is not None
    magics = dict(re.findall(r"(\w+): '(\w+)'", found[1]))
    assert magics == {
        name: magic.content.value
        for name, magic in CELL_MAGICS.items()
        if magic.content is not Content.PYTHON
    }


def test_keywords_and_types_are_those_of_python() -> None:
    types = {*dialect._TYPES.split(), *completion.TYPES}
    assert words("TYPES") == types
    clauses = {*dialect._CLAUSES.split(), *completion.KEYWORDS}
    assert words("KEYWORDS") == clauses - types
    found = re.search(r"export const WINDOWS = new Set\(\[(.*?)\]\)", LANGUAGE)
    assert found is not None
    windows = {word.strip("' ").lower() for word in found[1].split(",")}
    assert windows == set(completion.WINDOWS)


def test_the_page_asks_only_what_the_kernel_answers() -> None:
    asked = {
        name
        for file in STATIC.glob("*.js")
        for name in re.findall(r"\.ask\([^,]*(?:\([^)]*\))?, '(\w+)'", file.read_text())
    }
    assert {"check", "hover", "format"} <= asked <= set(QUESTIONS)


@pytest.mark.parametrize("file", sorted(STATIC.glob("*.js")), ids=lambda f: f.name)
def test_text_is_never_read_as_html(file: Path) -> None:
    text = file.read_text()
    for bad in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write"):
        assert bad not in text
    assert "eval(" not in text
    assert "new Function" not in text


def lay_out(folder: Path) -> dict[str, Any]:
    runpy.run_path(str(ROOT / "scripts" / "labextension.py"))["lay_out"](folder)
    made: dict[str, Any] = json.loads((folder / "package.json").read_text())
    return made


def test_the_extension_is_laid_out_with_a_hash_of_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = lay_out(tmp_path / "first")
    load = package["jupyterlab"]["_build"]["load"]
    assert package["name"] == "arroyo-nb"
    assert package["license"] == "Apache-2.0"
    assert package["version"]
    entry = tmp_path / "first" / load
    assert {file.name for file in entry.parent.iterdir()} == {
        file.name for file in STATIC.glob("*.js")
    }
    schema = tmp_path / "first" / "schemas" / "arroyo-nb" / "editor.json"
    assert json.loads(schema.read_text())["properties"]["enabled"]["default"] is True
    # Laid out once more it is the same; after a change it has another address.
    assert lay_out(tmp_path / "first") == package
    root = tmp_path / "root"
    for name in ("scripts/labextension.py", "pyproject.toml"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, root / name)
    shutil.copytree(STATIC, root / "arroyo_nb" / "editor" / "static")
    with (root / "arroyo_nb" / "editor" / "static" / "client.js").open("a") as file:
        file.write("// changed\n")
    script = runpy.run_path(str(root / "scripts" / "labextension.py"))
    script["lay_out"](tmp_path / "second")
    changed = json.loads((tmp_path / "second" / "package.json").read_text())
    assert changed["jupyterlab"]["_build"]["load"] != load


def test_types_are_right(tmp_path: Path) -> None:
    if (tsc := shutil.which("tsc")) is None:
        pytest.skip("types of the page's modules are checked where tsc is")
    flags = "--checkJs --allowJs --noEmit --strict --target es2022 --module es2022"
    files = [str(file) for file in sorted(STATIC.glob("*.js"))]
    done = subprocess.run(
        [tsc, *flags.split(), *files], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout


def test_a_question_takes_the_place_of_one_of_its_own_cell_alone(
    tmp_path: Path,
) -> None:
    if (node := shutil.which("node")) is None:
        pytest.skip("the page's modules are run where node is")
    shutil.copyfile(STATIC / "client.js", tmp_path / "client.mjs")
    script = tmp_path / "ask.mjs"
    script.write_text(CELLS_ASK)
    command = [node, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # The newest cell first, and no cell is forgotten.
    assert found["sent"] == ["c1", "a2", "b1"]
    assert found["told"] == {"a1": "dropped", "a2": "a2", "b1": "b1", "c1": "c1"}
