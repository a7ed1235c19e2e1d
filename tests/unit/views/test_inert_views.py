"""Whatever data, names, paths and errors say: in every view it is text.

A page with hostile texts has the same elements and attributes as one whose texts are
letters of the same number. The texts are put into every field of a view's values that
can hold one, so that a new field is covered from the beginning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import cycle
from pathlib import Path
from string import ascii_letters
from typing import Any

import pytest
from html_page import Page
from hypothesis import given, settings
from hypothesis import strategies as st
from result_scenes import HISTORIES, OUTPUTS, PLANNED, WINDOW
from scenes import SCENES, TUMBLE, UNWINDOWED, UPDATING

from arroyo_nb.kafka.peek.guess import guess
from arroyo_nb.kafka.peek.topics import Partition, Topic, TopicRecord
from arroyo_nb.run.observe.query_facts import Condition, QueryFacts
from arroyo_nb.run.observe.snapshot import (
    BatchArrivals,
    Change,
    Selection,
    Snapshot,
    SourceProgress,
)
from arroyo_nb.views import listing, static_html
from arroyo_nb.views.jobs import Row, jobs
from arroyo_nb.views.panel import body, frame
from arroyo_nb.views.promoted import Found, promoted
from arroyo_nb.views.selection import selected
from arroyo_nb.views.topics import Peek, peek, tape, topics

# What they could try: markup, attributes, entities, controls.
MARKUP = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><script>x</script>",
    "</text></svg><svg onload=alert(1)>",
    "--><iframe src=javascript:alert(1)>",
    "<![CDATA[<b>]]>",
    "&lt;b&gt;&#60;i&#62;",
    "{{ SECRET }}${x}`",
    "\0\x1b[31m\x07\u202e\ufffe\ud800",
    "a\nb\r\tc\u2028d",
)
payloads = st.one_of(
    st.sampled_from(MARKUP),
    st.text(st.characters(exclude_categories=()), max_size=60),
    st.lists(st.sampled_from("<>\"'&=/\\ onerror`{}:;"), max_size=30).map("".join),
)

WHERE = QueryFacts(conditions=(Condition("origin = 'EWR'"),))
SHAPES = {
    **SCENES,
    "histories": HISTORIES,
    "outputs": OUTPUTS,
    "plan": replace(PLANNED, selected=Selection(step=4)),
    "selected window": selected(TUMBLE, WINDOW),
    "selected key": selected(HISTORIES, Selection(key=11)),
    "rows cut": replace(TUMBLE, rows_cut=5),
    "changes cut": replace(UPDATING, rows_cut=5),
    "no row": replace(TUMBLE, rows=(), rows_kept=0, rows_out=0, windows=()),
    "no row of no window": replace(UNWINDOWED, rows=(), rows_kept=0, rows_out=0),
    "no row of rows that were read": replace(
        *(UNWINDOWED,),
        rows=(),
        rows_kept=0,
        rows_out=0,
        silent_s=6.0,
        facts=WHERE,
        sources=(),
    ),
    "no record": replace(
        *(TUMBLE,),
        rows=(),
        rows_kept=0,
        rows_in=0,
        rows_out=0,
        sources=tuple(replace(s, dropped_rows=0) for s in TUMBLE.sources),
    ),
    "bytes and structs": replace(
        TUMBLE,
        columns=("a", "b"),
        numeric=(),
        rows=((b"<b>", {"k": ["v", {"x": ""}]}),),
    ),
    "more outputs": replace(TUMBLE, more_outputs=2),
    "feed": replace(
        TUMBLE,
        sources=tuple(
            replace(s, is_feed=True, away_s=12.0, gaps=1, lost_messages=2)
            for s in TUMBLE.sources
        ),
    ),
}
"""The scenes, and states in which a view tells what it does not in them."""


def filled(value: Any, texts: Iterator[str]) -> Any:
    """The value, with other texts in it wherever there can be one."""
    match value:
        case str():
            return next(texts)
        case bytes():
            return _data(next(texts))
        case BatchArrivals():
            lines = (json.dumps({next(texts): next(texts)}) for _ in value.times)
            sources = filled(value.sources, texts)
            return replace(value, sources=sources, lines=tuple(lines))
        case Change():  # its kind is one of three letters
            images = (filled(image, texts) for image in (value.before, value.after))
            return Change(value.op, value.batch_id, *images)
        case tuple() | list():
            return type(value)(filled(each, texts) for each in value)
        case Mapping():
            # As many keys, also where letters are equal.
            pairs = enumerate(value.items())
            return {f"{next(texts)}{i}": filled(v, texts) for i, (_, v) in pairs}
        case _ if is_dataclass(value) and not isinstance(value, type):
            new = {f.name: _filled(f.type, getattr(value, f.name), texts)
                   for f in fields(value)}  # fmt: skip
            return replace(value, **new)
        case _:
            return value


def _data(text: str) -> bytes:
    """As many bytes as the text has characters."""
    return text.encode("latin-1", "replace")


def _filled(type_: Any, value: Any, texts: Iterator[str]) -> Any:
    """Like ``filled``, of a field: one that is empty gets texts too."""
    if type_ in ("str", "str | None"):
        return next(texts)
    if type_ == "tuple[str, ...]" and not value:
        return next(texts), next(texts)
    return filled(value, texts)


def pages(snapshot: Snapshot, plan: str) -> dict[str, str]:
    """What is drawn of a run, by each way to ask for it."""
    drawn = {
        "panel": body(snapshot, keys=True),
        "changes": body(snapshot, view="changelog"),
        "page": frame(snapshot, view="all", plan=plan),
    }
    for view in (None, "windows", "all"):
        bundle = static_html.bundle(snapshot, marker="m", view=view, plan=plan)
        drawn[f"still {view}"] = bundle["text/html"]
        bundle["text/plain"].encode("utf-8")
    return drawn


def run_pages(shape: Snapshot, texts: list[str]) -> dict[str, str]:
    text = cycle(texts)
    made = filled(shape, text)
    # A cell that has what is looked for is marked, and "0" is in "00" as no letter is.
    looked_for = f"{''.join(made.find.split())}\N{SNOWMAN}"
    return pages(replace(made, find=looked_for), next(text))


def list_pages(texts: list[str]) -> dict[str, str]:
    """The other views, of these texts."""
    text = cycle(texts)
    topic = Topic(next(text), (Partition(0, 0, 2),))
    values = [f'{{"a": {i}}}'.encode() for i in range(2)]
    records = [
        TopicRecord(0, i, i, _data(next(text)), _data(next(text))) for i in (0, 1)
    ]
    columns = tuple(
        column._replace(name=next(text), least=next(text), most=next(text))
        for column in guess(values).columns
    )
    guessed = guess(values)._replace(format=next(text), columns=columns)
    snapshot = filled(TUMBLE, text)
    job = Row(next(text), next(text), _path(next(text)), 7)
    found = Found(next(text), next(text), 3, next(text), next(text))
    more = (next(text), next(text))
    made = {
        "runs": listing.runs([snapshot], [(next(text), next(text))]),
        "rows": listing.listing([next(text)], [(next(text),)], nothing=""),
        "jobs": jobs([job._replace(address=next(text))]),
        "promoted": promoted(job.folder, next(text), [found], next(text), more),
        "topics": topics([topic]),
        "peek": peek(Peek(topic, records, guessed, next(text))),
        "tape": tape(next(text)),
    }
    return {name: bundle["text/html"] for name, bundle in made.items()}


def _path(text: str) -> Path:
    """A folder of this name, as far as one can have it."""
    return Path("/" + text.replace("\0", "").replace("\ud800", "\udcff"))


def check(hostile: dict[str, str], plain: dict[str, str]) -> None:
    for name, html in hostile.items():
        page = Page(html)
        assert page.elements == Page(plain[name]).elements, name
        assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff\u202e]", page.text), name


def letters(texts: list[str]) -> list[str]:
    """Letters of the same number; equal where the texts are, for a view may look."""
    return [ascii_letters[texts.index(text)] * len(text) for text in texts]


@pytest.fixture(autouse=True, scope="module")
def _any_size() -> Iterator[None]:
    """A still that is too large leaves tables out, and escaped texts are longer than
    the letters that they are held against."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static_html, "MOST_BYTES", 10_000_000)
        yield


@pytest.mark.parametrize("shape", SHAPES)
def test_known_payloads_are_text(shape: str) -> None:
    for first in range(0, len(MARKUP), 4):
        texts = [*MARKUP[first:], *MARKUP[:first]]
        check(run_pages(SHAPES[shape], texts), run_pages(SHAPES[shape], letters(texts)))


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(SHAPES)), st.lists(payloads, min_size=12, max_size=16))
def test_payloads_are_text(shape: str, texts: list[str]) -> None:
    check(run_pages(SHAPES[shape], texts), run_pages(SHAPES[shape], letters(texts)))


@pytest.mark.parametrize("text", MARKUP)
def test_payloads_in_lists_are_text(text: str) -> None:
    check(list_pages([text]), list_pages(letters([text])))


def test_each_text_of_a_run_is_drawn_somewhere() -> None:
    drawn = ""
    for shape in SHAPES.values():
        named = replace(
            shape,
            **_named(Snapshot, shape),
            sources=tuple(
                replace(s, **_named(SourceProgress, s)) for s in shape.sources
            ),
        )
        # Of rows that are looked for it is not said how they are sorted.
        for shown in (named, replace(named, find="")):
            drawn += "".join(pages(shown, "").values())
    expected = (*_named(Snapshot, TUMBLE), *_named(SourceProgress, TUMBLE.sources[0]))
    assert {name for name in expected if f"text-{name}-" not in drawn} == set()


TEXTS = ("str", "str | None", "tuple[str, ...]")


def _named(type_: type, value: Any) -> dict[str, Any]:
    """Each text of a value, as one that says which it is."""
    return {
        f.name: f"text-{f.name}-"
        if f.type != TEXTS[2]
        else (f"text-{f.name}-",) * max(len(getattr(value, f.name)), 1)
        for f in fields(type_)
        if f.type in TEXTS
    }
