"""An engine removes what killed processes left, whether it warms up or not."""

import threading

from arroyo_nb.engine import Engine, engine


def test_a_connected_engine_sweeps_once_it_is_idle(monkeypatch):
    swept = threading.Event()
    monkeypatch.setattr(engine.folders, "sweep", swept.set)
    monkeypatch.setattr(Engine, "_start", lambda self: object())
    made = Engine()
    try:
        made.worker.call(lambda: made.session)
        assert swept.wait(20)
    finally:
        made.close()
