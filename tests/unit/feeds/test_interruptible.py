"""Calls that block, in a thread of their own."""

import threading

import pytest

from arroyo_nb.feeds.interruptible import run_in_thread


def test_what_a_call_gives_or_raises_is_its_caller_s():
    def fail():
        raise TimeoutError("of the call itself")

    assert run_in_thread(lambda: 7, lambda: None, "t") == 7
    with pytest.raises(TimeoutError, match="of the call itself"):
        run_in_thread(fail, lambda: None, "t")


def test_who_waits_can_leave_a_call_that_hangs():
    ended, looks = threading.Event(), iter(range(3))

    def look():
        if next(looks) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_thread(ended.wait, look, "hangs")
    hanging = [t for t in threading.enumerate() if t.name == "hangs"]
    assert hanging
    ended.set()
    hanging[0].join(10)
    assert not hanging[0].is_alive()
