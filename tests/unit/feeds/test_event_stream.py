"""Events as the HTML standard writes them down, cut anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.feeds import event_stream
from arroyo_nb.feeds.event_stream import Event, EventParser


def parsed(*pieces, last_id=None):
    parser = EventParser(last_id)
    return [event for piece in pieces for event in parser.parse(piece)]


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (b"data: one\n\n", [Event("message", b"one", None)]),
        (b"data:one\r\n\r\n", [Event("message", b"one", None)]),
        (b"data: one\r\r", [Event("message", b"one", None)]),
        # Only one space is taken off.
        (b"data:  one\n\n", [Event("message", b" one", None)]),
        (
            b"data: YHOO\ndata: +2\ndata: 10\n\n",
            [Event("message", b"YHOO\n+2\n10", None)],
        ),
        (b"data\n\n", [Event("message", b"", None)]),
        (b"data\ndata\n\n", [Event("message", b"\n", None)]),
        (b"\xef\xbb\xbfdata: one\n\n", [Event("message", b"one", None)]),
        (b": a comment\n\ndata: one\n\n", [Event("message", b"one", None)]),
        (b"event: add\ndata: 7\n\n", [Event("add", b"7", None)]),
        (b"event: add\n\ndata: 7\n\n", [Event("message", b"7", None)]),
        # An id holds for the events behind it, also where its event has no data.
        (b"id: 1\n\ndata: a\n\n", [Event("message", b"a", "1")]),
        (
            b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
            [Event("message", b, i) for b, i in ((b"a", "1"), (b"b", "1"), (b"c", ""))],
        ),
        (b"id: 1\0\ndata: a\n\n", [Event("message", b"a", None)]),
        (b"what: is this\ndata: a\n\n", [Event("message", b"a", None)]),
        # What its end did not reach is none.
        (b"data: one\n\ndata: tw", [Event("message", b"one", None)]),
        (b"data: one\n\ndata: two\n", [Event("message", b"one", None)]),
        (b"\n\n\n\ndata: one\n\n\n\n", [Event("message", b"one", None)]),
    ],
)
def test_events_are_what_the_standard_says_however_they_are_cut(text, events):
    assert parsed(text) == events
    assert parsed(*(bytes([byte]) for byte in text)) == events


def test_the_last_id_of_a_connection_before_holds_on():
    assert parsed(b"data: a\n\n", last_id="7") == [Event("message", b"a", "7")]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (b"retry: 1500\n\n", 1.5),
        (b"retry: soon\n\n", None),
        (b"retry: -1\n\n", None),
        (b"retry: " + b"9" * 5000 + b"\n\n", None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_whole_milliseconds(text, seconds):
    parser = EventParser()
    parser.parse(text)
    assert parser.retry_s == seconds


ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
LINES = st.lists(st.text("ab: \u00e9", max_size=5), min_size=1, max_size=3)


@given(events=st.lists(LINES, max_size=5), end=ENDS, data=st.data())
def test_any_cut_gives_the_same_events(events, end, data):
    blocks = ["".join(f"data: {line}\n" for line in lines) + "\n" for lines in events]
    text = "".join(blocks).encode().replace(b"\n", end)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    found = parsed(*pieces)
    assert [event.data.decode() for event in found] == ["\n".join(e) for e in events]


def test_an_event_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr(event_stream, "LARGEST_EVENT_BYTES", 1_000)
    with pytest.raises(OverflowError):
        parsed(*[b"data: xxx\n"] * 200)
