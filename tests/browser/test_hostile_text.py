"""No text runs as a script, wherever it comes from: live, saved, loaded, in a frame."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hostile import (
    LISTENS,
    PAYLOADS,
    Texts,
    audit,
    changed_headers,
    hostile_runs,
    live_frames,
    static_pages,
    trace_file,
)
from lab import Tab
from panel_page import live_page
from seeds import random_of_the_day

from arroyo_nb import load_trace
from arroyo_nb.errors import ArroyoError
from arroyo_nb.run.observe.trace_file import METADATA
from arroyo_nb.views.panel import frame
from arroyo_nb.views.replay_page import page
from arroyo_nb.views.view_tabs import tab_names

A_CALL = 100
"""Frames that are handed to the page at once."""

# Each frame is morphed into the one before it, is looked at, and is clicked.
PLAY = """async (frames) => {
  const look = %s, found = [];
  let drawn = 0;
  for (const frame of frames) {
    model.frame = frame;
    for (const call of model.calls) call();
    const root = document.querySelector(".arroyo-live").shadowRoot;
    found.push(...look(root));
    const keys = [...root.querySelectorAll("[data-do]")];
    for (const key of keys.filter((_, n) => n %% 7 === drawn %% 7)) {
      key.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
      key.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    }
    drawn += 1;
  }
  return found;
}"""


SHOW_EACH = """(pages) => {
  const look = %s, found = [];
  for (const page of pages) {
    document.body.innerHTML = page;
    found.push(...look());
  }
  return found;
}"""

SCRUB = """async () => {
  const look = %s, found = [];
  const root = () => document.querySelector(".arroyo-live").shadowRoot;
  const press = (key) => root().querySelector(key)?.click();
  const tabs = [...root().querySelectorAll(".tabs [data-do]")];
  const names = tabs.map((tab) => tab.dataset.do);
  for (const name of names)
    for (const move of ["back", "back", "forward", "forward"]) {
      press(`.tabs [data-do="${name}"]`);
      press(`[data-do=${move}]`);
      found.push(...look(root()));
    }
  return found;
}"""


@pytest.fixture
def hits(tab: Tab) -> list[str]:
    """What has run; nothing may."""
    found: list[str] = []
    tab.page.add_init_script(LISTENS)
    tab.page.on(
        "console",
        lambda said: found.append(said.text) if said.text.startswith("HIT") else None,
    )
    tab.page.on("dialog", lambda dialog: (found.append("dialog"), dialog.dismiss()))
    return found


def settle(tab: Tab) -> None:
    """What loads, fails or begins does it now, in two frames of the screen."""
    tab.page.evaluate(
        "() => new Promise((go) => requestAnimationFrame(() => "
        "requestAnimationFrame(() => setTimeout(go, 100))))"
    )


def groups(items: Iterable[str], size: int) -> Iterator[list[str]]:
    group: list[str] = []
    for item in items:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def test_payloads_run_where_nothing_is_escaped(
    tab: Tab, hits: list[str], tmp_path: Path
) -> None:
    """Where nothing is escaped they are heard: the other tests can fail."""
    file = tmp_path / "raw.html"
    file.write_text("<!doctype html><body>", "utf-8")
    tab.page.goto(file.as_uri())
    tab.page.evaluate(
        "(texts) => { for (const text of texts) { const made = "
        "document.createElement('div'); document.body.append(made); "
        "made.innerHTML = text; } }",
        [p for p in PAYLOADS if "base" not in p and "meta" not in p],
    )
    settle(tab)
    assert len(set(hits)) >= 100
    assert len(tab.page.evaluate(audit())) > 50


EACH_VIEW_HAS = pytest.mark.parametrize(
    ("first", "count"),
    [
        pytest.param(
            random_of_the_day("payloads").randrange(len(PAYLOADS)),
            len(PAYLOADS) // 5,
            id="some of them",
        ),
        pytest.param(
            0, len(PAYLOADS), id="all of them", marks=pytest.mark.long("notebooks")
        ),
    ],
)
"""Those of the day, or all."""


@EACH_VIEW_HAS
def test_every_view_of_a_live_panel(
    tab: Tab, hits: list[str], tmp_path: Path, first: int, count: int
) -> None:
    live_page(tab, tmp_path)
    play = PLAY % audit()
    frames = 0
    for group in groups(live_frames(first, count), A_CALL):
        assert tab.page.evaluate(play, group) == []
        frames += len(group)
    settle(tab)
    assert hits == []
    assert frames > 500 * count / len(PAYLOADS)
    assert "view plan" in tab.page.evaluate("() => model.sent")


@EACH_VIEW_HAS
def test_what_stays_in_a_notebook(
    tab: Tab, hits: list[str], tmp_path: Path, first: int, count: int
) -> None:
    """In the page itself, as the document of a page, and in a frame with scripts."""
    file = tmp_path / "still.html"
    file.write_text("<!doctype html><meta charset=utf-8><body>", "utf-8")
    tab.page.goto(file.as_uri())
    seen = 0
    for group in groups(static_pages(first, count), A_CALL):
        found = tab.page.evaluate(SHOW_EACH % audit(), group)
        assert found == []
        seen += len(group)
        # A parser runs what innerHTML does not.
        whole = tmp_path / f"group{seen}.html"
        whole.write_text("<meta charset=utf-8>" + "<hr>".join(group), "utf-8")
        assert framed(tab, whole, file) == []
    settle(tab)
    assert hits == []
    assert seen > 500 * count / len(PAYLOADS)


def framed(tab: Tab, whole: Path, outer: Path) -> list[str]:
    """Load a document in a frame that may run scripts; what is wrong in it."""
    tab.page.evaluate(
        "(src) => new Promise((go) => { const made = document.createElement('iframe');"
        " made.onload = go; made.src = src; document.body.replaceChildren(made); })",
        whole.as_uri(),
    )
    (inner,) = (f for f in tab.page.frames if f.url == whole.as_uri())
    assert tab.page.url == outer.as_uri()
    settle(tab)
    return list(inner.evaluate(audit("hr", "meta")))


def test_saved_pages(tab: Tab, hits: list[str], tmp_path: Path) -> None:
    """Each tab of each batch of runs whose every text is hostile."""
    for number, run in enumerate(hostile_runs()):
        check_saved(tab, tmp_path / f"run{number}.html", page(run))
    assert hits == []


def check_saved(tab: Tab, file: Path, html: str) -> None:
    file.write_text(html, "utf-8")
    tab.page.goto(file.as_uri())
    tab.page.wait_for_selector(".arroyo-live .tabs")
    found = tab.page.evaluate(SCRUB % audit())
    settle(tab)
    assert found == []


def header_of(path: Path) -> Any:
    return json.loads(pq.read_schema(path).metadata[METADATA])


def with_header(path: Path, header: Any, to: Path) -> Path:
    """The same trace with another header."""
    table = pq.read_table(path)
    pq.write_table(
        table.replace_schema_metadata({METADATA: json.dumps(header).encode()}), to
    )
    return to


def drawings(path: Path) -> Iterator[str]:
    """All that is drawn of a trace."""
    trace = load_trace(path)
    newest = trace.snapshot()
    yield trace._repr_html_()
    for view in (None, "all", *tab_names(newest)[1:]):
        yield frame(newest, view=view, plan=trace.explain())
    yield from (
        frame(trace.moments().snapshot(newest, batch_id, 20), view="all")
        for batch_id, _ in trace.moments().times
    )


def test_traces_that_somebody_has_changed(
    tab: Tab, hits: list[str], tmp_path: Path
) -> None:
    """A trace says what its file does: names, texts, values, and kinds of values. One
    that cannot be shown is refused as no trace."""
    original = tmp_path / "run.parquet"
    trace_file(original, Texts())
    shown, refused = list(drawings(original)), 0
    check_saved(tab, tmp_path / "trace.html", page(load_trace(original)))
    for place, header in changed_headers(header_of(original)):
        changed = with_header(original, header, tmp_path / "changed.parquet")
        try:
            shown += drawings(changed)
        except ArroyoError:
            refused += 1
        except Exception as error:
            error.add_note(f"the header's {place} is a text")
            raise
    assert refused > 10
    whole = tmp_path / "shown.html"
    whole.write_text("<meta charset=utf-8>" + "<hr>".join(shown), "utf-8")
    tab.page.goto(whole.as_uri())
    settle(tab)
    assert tab.page.evaluate(audit("hr", "meta")) == []
    assert hits == []


def test_names_of_files(tmp_path: Path) -> None:
    """A trace, and a page, of a name that is a payload."""
    name = PAYLOADS[1].replace("/", "_").replace("\0", "")
    path = tmp_path / f"{name}.parquet"
    trace_file(path, Texts())
    assert load_trace(path).snapshot().name
    path.write_bytes(b"PAR1")
    with pytest.raises(ArroyoError) as problem:
        load_trace(path)
    assert os.fspath(path) in str(problem.value)
