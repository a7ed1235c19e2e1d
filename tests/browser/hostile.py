"""Texts that try to run a script, the pages that show them, and what finds what ran.

A text calls ``hit`` with its number. The page of a test has that function in each of
its frames, so what runs is heard wherever it does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.append(str(Path(__file__).parents[1] / "unit" / "views"))

from scenes import HOP, KEYED_SESSIONS, SESSIONS, TUMBLE, at
from test_inert_views import SHAPES, filled, list_pages
from time_scenes import TIMES

from arroyo_nb.cell_tests import Check, TestResult
from arroyo_nb.cell_tests.compare import Difference, DiffLine, Mark
from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.batch_log import BatchLog, BatchTotals
from arroyo_nb.run.observe.findings import Finding, Report
from arroyo_nb.run.observe.moments import OutputTrace, TracedWindow
from arroyo_nb.run.observe.snapshot import (
    Arrival,
    BatchArrivals,
    Moment,
    Snapshot,
    SourceArrivals,
    WindowBar,
    WindowState,
)
from arroyo_nb.run.observe.trace import TracedBatch
from arroyo_nb.run.observe.trace_file import SavedRun, TracedOutput
from arroyo_nb.run.observe.trace_writer import save
from arroyo_nb.run.results.preview import Preview
from arroyo_nb.schema import BIGINT, EPOCH, TEXT, Field, Schema
from arroyo_nb.views import doctor, static_html
from arroyo_nb.views.compare import COMPARISON_VIEWS
from arroyo_nb.views.panel import body
from arroyo_nb.views.sections import VIEWS
from arroyo_nb.views.whatif import WHAT_IF_VIEWS
from arroyo_nb.whatif.comparison import Comparison, WindowPair
from arroyo_nb.whatif.differences import Difference as RowDifference
from arroyo_nb.whatif.outcomes import DelayOutcome, WhatIf

WAYS_OUT = (
    *("", '">', "'>", "-->", "]]>", "`", "/>", "\0", "</", "&quot;>", "&#34;>", "%22>"),
    *("</title>", "</style>", "</script>", "</textarea>", "</option></select>"),
    *("</pre>", "</text></svg>", "</td></table>", "\\u0022>", "<!--", "<p title='"),
)
"""How a text leaves the place that it was put into."""

WAYS_TO_RUN = (
    "<script>{hit}</script>",
    "<img src=x onerror={hit}>",
    "<svg onload={hit}>",
    "<svg><script>{hit}</script>",
    "<iframe srcdoc='<script>{hit}</script>'>",
    "<iframe src=javascript:{hit}>",
    "<details open ontoggle={hit}>",
    "<input autofocus onfocus={hit}>",
    "<video><source onerror={hit}>",
    "<style onload={hit}></style>",
    "<object data=javascript:{hit}>",
    "<math><mi xlink:href=javascript:{hit}>",
    "<a href=javascript:{hit} autofocus>x",
    "<body onload={hit}>",
    "<svg><animate onbegin={hit} dur=1s>",
    "<svg><set attributeName=x onend={hit} dur=1ms>",
    "<link rel=stylesheet href=/nothing onerror={hit}>",
    "<base href=javascript:{hit}//>",
    "<meta http-equiv=refresh content='0;javascript:{hit}'>",
    " onmouseover={hit} style=position:fixed;inset:0 x=",
    "' autofocus onfocus={hit} x='",
    '" autofocus onfocus={hit} x="',
    "{{constructor.constructor('{hit}')()}}",
)
"""What it runs then: ``hit`` has no blanks, so no quotes are needed."""

PAYLOADS = tuple(
    out + run.replace("{hit}", f"hit({number})")
    for number, (out, run) in enumerate(product(WAYS_OUT, WAYS_TO_RUN))
)

LISTENS = "window.hit = (number) => console.warn(`HIT ${number}`)"

AUDIT = r"""(top) => {
  // Also a script that has not run: elements that can, and attributes that would.
  const bad = [], wanted = new Set(%s);
  const look = (root) => {
    for (const e of root.querySelectorAll("*")) {
      if (!wanted.has(e.localName)) bad.push(`<${e.localName}>`);
      for (const { name, value } of e.attributes) {
        // A promoted job names its files: links to this very place.
        const is_file = ["file:", ":"].includes(e.protocol);
        if (e.localName === "a" && name === "href" && is_file) continue;
        if (/^on/i.test(name)) bad.push(`${e.localName} ${name}=${value}`);
        if (/^(xlink:)?(href|src|srcdoc|action|data|formaction)$/i.test(name)
            && !/^(data:image\/svg\+xml;base64,|#)/.test(value))
          bad.push(`${e.localName} ${name}=${value}`);
      }
      if (e.shadowRoot) look(e.shadowRoot);
    }
  };
  look(top ?? document.body);
  return bad;
}"""
ELEMENTS = (
    *("section", "div", "span", "p", "b", "i", "s", "em", "strong", "br", "pre"),
    *("details", "summary", "header", "table", "thead", "tbody", "tr", "th", "td"),
    *("ol", "ul", "li", "button", "input", "select", "option", "label", "style"),
    *("svg", "g", "text", "tspan", "rect", "line", "path", "circle", "title", "defs"),
    *("polyline", "polygon", "clippath", "clipPath", "img", "code", "small", "h4"),
    *("a", "caption", "figure", "figcaption", "article", "nav", "footer", "del", "ins"),
)


def audit(*more: str) -> str:
    """A script that names what no view draws; ``more`` are elements of the page."""
    return AUDIT % json.dumps([*ELEMENTS, *more])


@dataclass
class Texts:
    """Payloads in turn, each once before one comes again.

    Attributes
    ----------
    given
        How many were.
    """

    first: int = 0
    given: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        text = PAYLOADS[(self.first + self.given) % len(PAYLOADS)]
        self.given += 1
        return text


VIEW_NAMES = (None, *VIEWS.names)


def live_frames(first: int, count: int) -> Iterator[str]:
    """Frames of every view of every kind of run, until each view of each kind has had
    so many payloads; selected are windows, keys and operators."""
    for shape in SHAPES.values():
        for view in VIEW_NAMES:
            texts = Texts(first)
            while texts.given < count:
                snapshot = filled(shape, texts)
                yield body(snapshot, view=view, plan=next(texts), keys=True)


def static_pages(first: int, count: int) -> Iterator[str]:
    """What stays in a notebook: of runs, each view with so many payloads, and of all
    else that is shown."""
    for shape in SHAPES.values():
        for view in (*VIEW_NAMES, "all"):
            texts = Texts(first)
            while texts.given < count:
                snapshot, plan = filled(shape, texts), next(texts)
                made = static_html.bundle(snapshot, marker="m", view=view, plan=plan)
                yield str(made["text/html"])
    texts = Texts(first)
    for _ in range(0, count, 20):
        some = [next(texts) for _ in range(20)]
        yield from list_pages(some).values()
        yield from reports(cycle(some))


def reports(texts: Iterator[str]) -> Iterator[str]:
    """The doctor's, a test's, what-if's and a comparison's."""
    findings = tuple(Finding(next(texts), next(texts), next(texts)) for _ in range(4))
    yield doctor.report(Report(next(texts), 4, 0, findings, next(texts)))["text/html"]
    lines = tuple(
        DiffLine(mark, (next(texts), {next(texts): [next(texts)]}), (next(texts), None))
        for mark in Mark
    )
    differs = Difference(next(texts), (next(texts), next(texts)), lines)
    checks = (Check(next(texts), 3, differs), Check(next(texts), None))
    yield TestResult(next(texts), checks, 0.1)._repr_html_()
    outcome = DelayOutcome(timedelta(1), True, 9, 4, (), 3, 1)
    found = WhatIf(next(texts), (outcome,), 3, (next(texts),) * 2, WHAT_IF_VIEWS)
    yield found._repr_html_()
    bars = [WindowBar(at(8), at(9), n, n, WindowState.CLOSED) for n in (3, 4)]
    column = {next(texts): [next(texts), next(texts)], "weight": [1, -1]}
    rows = pa.table({"weight": column.pop("weight"), **column})
    yield Comparison(
        names=(next(texts), next(texts)),
        pairs=(WindowPair(at(8), at(9), bars[0], bars[1], next(texts)),),
        result=RowDifference(rows, 1, 1),
        late_counts=(3, 4),
        late=None,
        result_rows=(2, 2),
        notes=(next(texts), next(texts)),
        views=COMPARISON_VIEWS,
    )._repr_html_()


class HostileRun:
    """A run of a few batches whose every text is a payload, for a saved page."""

    def __init__(self, shape: Snapshot, texts: Texts, batches: int = 4) -> None:
        self._made = [
            replace(filled(shape, texts), batch_id=batch, moment=None)
            for batch in range(batches)
        ]
        self.name = self._made[-1].name

    def snapshot(self, rows: int = 20) -> Snapshot:
        return self._made[-1]

    def moments(self) -> HostileMoments:
        return HostileMoments(self._made)


class HostileMoments:
    """The batches of a :class:`HostileRun`."""

    def __init__(self, made: Sequence[Snapshot]) -> None:
        self._made = made

    @property
    def times(self) -> list[tuple[int, float]]:
        return [(batch, batch * 0.2) for batch in range(len(self._made))]

    def snapshot(self, newest: Snapshot, batch_id: int, rows: int) -> Snapshot:
        return self._made[batch_id]

    def arrivals(self, batch_id: int) -> BatchArrivals | None:
        rows = (SourceArrivals(self._source(batch_id), 3, 3),)
        return BatchArrivals(batch_id, 0.2, 3, (at(8), at(7), at(9)), at(8), rows)

    def within(
        self, newest: Snapshot, batch_id: int, taken: int, rows: int
    ) -> Snapshot:
        times, source = (at(8), at(7), at(9)), self._source(batch_id)
        come = Arrival(taken, 3, 3, times[taken - 1], at(8), source, late=taken == 2)
        moment = Moment(batch_id, 0, len(self._made) - 1, False, arrival=come)
        return replace(self._made[batch_id], moment=moment)

    def _source(self, batch_id: int) -> str:
        # A payload, as every name in these snapshots.
        return self._made[batch_id].name


def hostile_runs() -> Iterator[HostileRun]:
    """Runs for saved pages, which have all payloads together."""
    texts = Texts()
    for shape in (TUMBLE, HOP, SESSIONS, KEYED_SESSIONS, SHAPES["histories"]):
        yield HostileRun(shape, texts)


def trace_file(path: Path, texts: Texts) -> None:
    """A trace whose names, values, texts and errors are payloads."""
    newest = filled(TIMES["tumble"].snapshot(), texts)
    schema = Schema((Field(next(texts), TEXT), Field(next(texts), BIGINT)))
    preview = Preview(schema)
    names = schema.names
    totals = BatchLog()
    batches = []
    for batch in range(4):
        values = [next(texts) for _ in range(5)]
        rows = pa.table({names[0]: values, names[1]: pa.array(range(5), pa.int64())})
        preview.take(rows, batch)
        mark = at(8) + batch * timedelta(hours=1)
        totals.add(
            BatchTotals(
                *(batch, batch * 0.2, 5.0, mark, mark, {}),
                rows_in=5 * batch,
                rows_out=5 * (batch + 1),
            )
        )
        aware = mark.replace(tzinfo=EPOCH.tzinfo)
        batches.append(
            TracedBatch(
                *(batch, batch * 0.2, aware, aware, {}, aware),
                pane_rows={aware - timedelta(hours=2): 3, aware: 2},
                sample_us=[(aware - EPOCH) // timedelta(microseconds=1)],
            )
        )
    window = TracedWindow(nodes.Tumble(timedelta(hours=1)), False, batches)
    trace = OutputTrace(totals, window, preview, lambda _: newest.sources)
    output = TracedOutput(replace(newest, columns=names, outputs=()), trace)
    save(SavedRun(next(texts), next(texts), (output,)), path, lambda: None)


def changed_headers(header: Any) -> Iterator[tuple[str, Any]]:
    """The header of a trace with one value in it that is a payload, whatever its kind;
    and where: what somebody could write into a file by hand."""
    number = 0
    for place in _places(header):
        changed = json.loads(json.dumps(header))
        inside = changed
        for step in place[:-1]:
            inside = inside[step]
        inside[place[-1]] = PAYLOADS[number % len(PAYLOADS)]
        number += 29
        yield ".".join(map(str, place)), changed


def _places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if before:
        yield before
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _places(inner, (*before, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value[:2]):
            yield from _places(inner, (*before, index))
