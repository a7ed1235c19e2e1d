"""A run resumes from the state that an earlier version has left."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from saved_states import HERE, PLAYED, SavedState, lines_of, saved_states

from arroyo_nb import functions
from arroyo_nb.state.files import HEARTBEAT


@pytest.mark.parametrize("saved", saved_states(), ids=lambda saved: saved.name)
def test_a_run_resumes_from_a_saved_state(session, monkeypatch, tmp_path, saved):
    monkeypatch.setenv(HERE, str(tmp_path))
    resume(session, saved, tmp_path)


@pytest.mark.parametrize("name", ["aggregate", "tumble"])
def test_a_mended_template_reads_the_same_state(session, monkeypatch, tmp_path, name):
    monkeypatch.setenv(HERE, str(tmp_path))
    mended = replace(functions.scalar("upper"), template="ucase(concat({0}, ''))")
    table = {**functions._by_name(), "upper": mended}
    monkeypatch.setattr(functions, "_by_name", lambda: table)
    resume(session, SavedState(name), tmp_path)


def resume(session, saved, tmp_path):
    saved.unpack(tmp_path)
    # A state that looks for idle keys has been idle since it was made, days ago.
    forgets = (tmp_path / "live" / "job" / "sources" / HEARTBEAT).exists()
    played = PLAYED | ({"ttl": timedelta(days=3650)} if forgets else {})
    run = session.run(saved.script, name="job", state_dir=tmp_path / "live", **played)
    run.wait()
    assert run.resumed
    assert lines_of(run, tmp_path) == saved.rows
    # It read on, and nothing twice.
    assert 0 < run.rows_in < (20_000 if saved.name == "changes" else 150)
