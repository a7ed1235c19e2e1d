"""A login of NATS by JWT, against a real server."""

from __future__ import annotations

import base64
import hashlib
import json
import os

import pytest
from feed_tables import declared
from nats_server import nats_server

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem

nkeys = pytest.importorskip("nkeys")


def key(kind):
    """A new key pair of an operator, an account or a user."""
    seed = nkeys.encode_seed(os.urandom(32), kind)
    return nkeys.from_seed(seed), seed.decode()


def part(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def token(signer, subject, kind, **claims):
    """What a signer says of a subject."""
    said = {
        "iat": 1_700_000_000,
        "iss": signer.public_key.decode(),
        "sub": subject,
        "nats": {"type": kind, "version": 2, **claims},
    }
    digest = hashlib.new("sha512_256", json.dumps(said).encode()).digest()
    said["jti"] = base64.b32encode(digest).rstrip(b"=").decode()
    head = {"typ": "JWT", "alg": "ed25519-nkey"}
    text = ".".join(part(json.dumps(one).encode()) for one in (head, said))
    return f"{text}.{part(signer.sign(text.encode()))}"


def test_a_user_logs_in_by_jwt(tmp_path):
    operator, _ = key(nkeys.PREFIX_BYTE_OPERATOR)
    account, _ = key(nkeys.PREFIX_BYTE_ACCOUNT)
    user, seed = key(nkeys.PREFIX_BYTE_USER)
    _, other_seed = key(nkeys.PREFIX_BYTE_USER)
    mine, theirs = (one.public_key.decode() for one in (operator, account))
    limits = dict.fromkeys(
        ("subs", "data", "payload", "conn", "imports", "exports"), -1
    )
    of_account = token(operator, theirs, "account", limits=limits)
    of_user = token(
        account, user.public_key.decode(), "user", subs=-1, data=-1, payload=-1
    )
    settings = (
        f"operator: {token(operator, mine, 'operator')}",
        "resolver: MEMORY",
        f"resolver_preload: {{ {theirs}: {of_account} }}",
    )
    with nats_server(tmp_path, *settings, streams=False) as server:

        def reach(seed):
            login = {"auth.type": "jwt", "auth.jwt": of_user, "auth.nkey_seed": seed}
            servers = f"127.0.0.1:{server.port}"
            table = declared("nats", "sink", servers=servers, subject="a", **login)
            CONNECTORS.get("nats").reach(table.spec.resolved(), lambda: None)

        reach(seed)
        with pytest.raises(RunProblem, match="Authorization Violation") as refused:
            reach(other_seed)
    assert other_seed not in str(refused.value)
