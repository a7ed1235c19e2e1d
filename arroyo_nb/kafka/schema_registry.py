"""Confluent's schema registry: a sink of JSON tells it the schema of its records.

It is asked once, when a run starts, for the number that each record then begins with.
Source: the registry's REST API, ``POST /subjects/{subject}/versions``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib import error, parse, request

from arroyo_nb.connectors import TableSpec
from arroyo_nb.errors import RunProblem, Unreached

ANSWER_S = 3.0
"""How long it may take to answer: a start is told what is wrong within five seconds."""

ENDPOINT = "schema_registry.endpoint"

_TYPE = "application/vnd.schemaregistry.v1+json"


def registered(spec: TableSpec, schema: Mapping[str, Any]) -> int:
    """The number of a schema, which is registered if it is new.

    Parameters
    ----------
    spec
        The table, its variables resolved.
    schema
        JSON Schema.

    Raises
    ------
    Unreached
        When the registry does not answer.
    RunProblem
        When it refuses.
    """
    options = spec.options
    subject = str(options.get("value.subject", f"{options['topic']}-value"))
    body = {"schemaType": "JSON", "schema": json.dumps(schema)}
    path = f"/subjects/{parse.quote(subject, safe='')}/versions"
    asked = request.Request(
        str(options[ENDPOINT]).rstrip("/") + path,
        json.dumps(body).encode(),
        {"Content-Type": _TYPE, **_login(options)},
    )
    start = f"the schema registry of '{spec.name}' at {spec.shown(ENDPOINT)}"
    try:
        with request.urlopen(asked, timeout=ANSWER_S) as answer:
            return int(json.load(answer)["id"])
    except error.HTTPError as problem:
        with problem:
            raise _refused(start, problem) from None
    # Their words may have the address in them, and so a secret.
    except OSError:
        raise Unreached(
            f"{start} does not answer", hint=f"start it, or look at '{ENDPOINT}'"
        ) from None
    except (ValueError, KeyError, TypeError, HTTPException):
        raise RunProblem(
            f"{start} answers what no schema registry does",
            hint=f"look at '{ENDPOINT}'",
        ) from None


def _login(options: Mapping[str, Any]) -> dict[str, str]:
    if "schema_registry.api_key" not in options:
        return {}
    key, secret = (options.get(f"schema_registry.api_{n}") for n in ("key", "secret"))
    word = base64.b64encode(f"{key}:{secret or ''}".encode()).decode("ascii")
    return {"Authorization": f"Basic {word}"}


def _refused(start: str, problem: error.HTTPError) -> RunProblem:
    if problem.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return RunProblem(
            f"{start} refuses: wrong credentials",
            hint="look at 'schema_registry.api_key' and 'schema_registry.api_secret'",
        )
    if problem.code == HTTPStatus.CONFLICT:
        return RunProblem(
            f"{start} refuses the schema: it does not go with the one before",
            hint="name another 'value.subject', or have its compatibility changed",
        )
    return RunProblem(f"{start} refuses the schema: {problem.code} {problem.reason}")
