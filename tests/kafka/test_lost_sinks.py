"""A topic that can never be written again is told within seconds while a run writes."""

from __future__ import annotations

import time

import pytest
from machine import allowed
from seeds import of_the_day
from topics import PASSWORD, USER, Topic

from arroyo_nb.kafka.local import LocalBroker

MODES = ("exactly_once", "at_least_once", "with_times")
TOLD_S = 10
SOURCE = "CREATE TABLE t WITH (connector = 'impulse', event_rate = '200');\n"


def script(made, mode, **options):
    if mode == "with_times":
        options |= {"sink__timestamp_field": "at"}
    else:
        options |= {"sink__commit_mode": mode}
    sink = made.sink("n BIGINT, at TIMESTAMP", **options)
    return f"{SOURCE}{sink}INSERT INTO out SELECT counter, row_time() FROM t;"


@pytest.fixture
def lost(session, eventually):
    """Starts a script, lets its topic be lost, and gives what is told then."""

    def tell(made, text, lose):
        run = session.run(text)
        eventually(lambda: made.end() > 0 or run.state.ended, 60)
        lose()
        began_s = time.monotonic()
        eventually(lambda: run.state.ended, 60)
        took_s = time.monotonic() - began_s
        print(f"{took_s:.1f} s: {run.error}")
        assert took_s < allowed(TOLD_S)
        assert run.state.value == "failed"
        return str(run.error)

    return tell


@pytest.mark.parametrize("mode", of_the_day(MODES, "outages"))
def test_a_topic_that_is_deleted(new_topic, session, eventually, lost, mode):
    made, other = new_topic(2), new_topic(2)
    told = lost(made, script(made, mode), made.delete)
    assert f"the topic '{made.name}' of the table 'out' was deleted" in told
    # Rows of it may still wait in a producer, and must not hold up another sink.
    run = session.run(script(other, mode))
    eventually(lambda: other.end() > 0 or run.state.ended, TOLD_S)
    assert run.error is None


@pytest.mark.parametrize("mode", of_the_day(MODES, "outages"))
def test_a_login_that_is_refused_from_now_on(lost, mode):
    with LocalBroker({USER: PASSWORD}) as broker:
        made = Topic(broker, 2)
        login = {
            "bootstrap_servers": broker.sasl_servers,
            "auth__type": "sasl",
            "auth__mechanism": "PLAIN",
            "auth__protocol": "SASL_PLAINTEXT",
            "auth__username": USER,
            "auth__password": PASSWORD,
        }

        def revoke():
            broker.stop()
            settings = broker._place.settings
            settings.write_text(settings.read_text().replace(PASSWORD, "another"))
            broker.start()

        told = lost(made, script(made, mode, **login), revoke)
    assert "refuses the login of the table 'out': wrong credentials" in told
