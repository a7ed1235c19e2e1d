"""No error, and nothing that a notebook prints of a plan, shows a secret."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.source import ScriptText, Span

SECRET = "canary-9f3"
KAFKA = """CREATE TABLE t (a INT) WITH (connector = 'kafka', topic = 't',
type = 'source', format = 'json', bootstrap_servers = 'h:1', {});
SELECT {} FROM t"""
LOGIN = (
    "'auth.type' = 'sasl', 'auth.mechanism' = 'PLAIN', 'auth.protocol' = 'SASL_SSL', "
    f"'auth.username' = 'u', 'auth.password' = '{SECRET}'"
)


def excerpt(text):
    return ScriptText(text).excerpt(Span(0, len(text))).split("\n")[0].strip()


@pytest.mark.parametrize(
    "text",
    [
        f"'auth.password' = '{SECRET}'",
        f"AUTH.PASSWORD='{SECRET}'",
        f"\"auth.password\" = '{SECRET}'",
        f"'schema_registry.api_secret' = '{SECRET}', 'a' = 'b'",
        f"client_configs = 'client.id=me, ssl.key.password={SECRET},a=b'",
        f"client_configs = 'ssl.key.pem={SECRET}'",
        f"client_configs = 'sasl.jaas.config={SECRET}'",
        f"address = 'redis://me:{SECRET}@host:1'",
        f"address = 'redis://:{SECRET}@host:1'",
        f"token = '{SECRET}''s other half'",
        f"'auth.password' = \"{SECRET}\"",
        f"'auth.password' = {SECRET}",
        f"'auth.password' '{SECRET}'",
        f"'auth.password' == '{SECRET}'",
        f"'auth.password' => '{SECRET}'",
        f"'auth.password' : '{SECRET}'",
        f"'auth.password' = E'{SECRET}'",
        f"'auth.password' = $${SECRET}$$",
        f"'auth.pass' = '{SECRET}'",
        f"'auth.pasword' = '{SECRET}'",
        f"client_configs = 'sasl.password=a,{SECRET},b=c'",
        f"address = 'http://u:p@{SECRET}@h:1'",
        f"headers = 'Accept: text/html, Authorization: {SECRET}'",
        f"headers = 'X-Api-Key: {SECRET}, X-Other: no'",
        f"headers = 'Cookie:{SECRET}'",
        f"endpoint = 'https://h/x?token={SECRET}'",
    ],
)
def test_an_excerpt_hides_secrets_and_nothing_moves(text):
    shown = excerpt(text)
    assert len(shown) == len(text)
    assert SECRET not in shown
    assert "*" * len(SECRET) in shown
    changed = [
        at for at, pair in enumerate(zip(text, shown, strict=True)) if "*" in pair
    ]
    assert changed == [*range(changed[0], changed[-1] + 1)]


@pytest.mark.parametrize(
    "text",
    [
        "'auth.password' = '{{ PASSWORD }}'",
        "client_configs = 'sasl.password={{ PASSWORD }},a=b'",
        "SELECT password, token FROM t WHERE a = 'b'",
        "path = 'https://host:80/a@b'",
        "'value.subject' = 'secretary'",
    ],
)
def test_what_is_no_secret_is_shown(text):
    assert excerpt(text) == text


def test_a_secret_of_several_lines_is_hidden_on_each():
    text = f"'ssl.key.pem' = 'a\n{SECRET}\nb'"
    source = ScriptText(text)
    at = text.index(SECRET)
    assert source.excerpt(Span(at, at + 1)).split("\n")[0] == "  " + "*" * len(SECRET)


@pytest.mark.parametrize(
    ("options", "column"),
    [
        (f"'auth.password' = '{SECRET}'", "a"),
        (f"'auth.password' = \"{SECRET}\"", "a"),
        (LOGIN + ", nope = '1'", "a"),
        (LOGIN, "b"),
    ],
)
def test_an_error_beside_a_secret_does_not_show_it(options, column):
    with pytest.raises(ArroyoError) as raised:
        plan_script(KAFKA.format(options, column), Catalog())
    assert SECRET not in str(raised.value)


def test_a_plan_does_not_show_its_tables_options():
    plan = plan_script(KAFKA.format(LOGIN, "a"), Catalog())
    shown = [repr(plan), repr(plan.sinks), repr(plan.catalog), plan.explain()]
    assert not [text for text in shown if SECRET in text]


def test_a_header_by_reference_is_no_secret():
    text = "headers = 'Authorization: Bearer {{ TOKEN }}, X-Key: a'"
    assert excerpt(text) == text
