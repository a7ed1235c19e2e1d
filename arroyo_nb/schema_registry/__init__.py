"""A client of Confluent's schema registry: schemas by id, by subject, and new ones.

A record may begin with the id of its schema (:mod:`arroyo_nb.schema_registry.prefix`).
What an id names never changes, so each process asks for it once. Source: the registry's
REST API, version 1: ``/schemas/ids``, ``/subjects``, ``/compatibility``.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, TypeVar
from urllib import error, parse, request

from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.with_options import OptionValue

ANSWER_S = 3.0
"""How long it may take to answer: a start is told what is wrong within five seconds."""

RETRY_S = (0.2, 0.5, 1.0)
"""How long a reader of records waits before it asks again for a schema."""

ANSWER_BYTES = 16 * 2**20
"""The longest answer that is read."""

ENDPOINT = "schema_registry.endpoint"
SUBJECT = "value.subject"
API_KEY, API_SECRET = "schema_registry.api_key", "schema_registry.api_secret"

CLIENT_OPTIONS = (ENDPOINT, API_KEY, API_SECRET)
"""The options that :func:`registry_client` reads."""

AVRO, JSON_SCHEMA, PROTOBUF = "AVRO", "JSON", "PROTOBUF"
"""The types of schemas. The registry leaves out the first one in its answers."""

MAX_SCHEMAS = 1_000
"""So many schemas, and as many subjects' references, are kept in a process."""

ID_BITS = 32
"""How long an id may be: records have four bytes for it."""

T = TypeVar("T")

_NO_ANSWER = (ValueError, KeyError, TypeError, AttributeError)
"""What is raised where a document is not as the registry's are."""

_REDIRECTS = (301, 302, 303, 307, 308)

_TYPE = "application/vnd.schemaregistry.v1+json"


class UnknownSchema(RunProblem):
    """The registry has no schema of that id, subject or version."""


@dataclass(frozen=True)
class Reference:
    """A schema that another one uses.

    Parameters
    ----------
    name
        What the other one calls it.
    subject, version
        Where the registry has it.
    """

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema that the registry has.

    Parameters
    ----------
    schema_id
        Its number, which records begin with.
    schema_type
        ``AVRO``, ``PROTOBUF`` or ``JSON``.
    text
        The schema itself.
    references
        What it uses of other schemas.
    """

    schema_id: int
    schema_type: str
    text: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True)
class RegistryClient:
    """Asks one registry; equal clients share what they have read.

    Parameters
    ----------
    endpoint
        Its URL.
    key, secret
        Who asks, by HTTP's basic authentication.
    called
        What errors call the registry; empty: by its host.
    """

    endpoint: str
    key: str | None = None
    secret: str | None = field(default=None, repr=False)
    called: str = field(default="", compare=False)

    def __repr__(self) -> str:
        # An address may have a password in it, and Spark logs what it sends to workers.
        return f"RegistryClient({self._host})"

    def schema(self, schema_id: int) -> RegisteredSchema:
        """The schema of an id.

        Raises
        ------
        Unreached
            When the registry does not answer.
        UnknownSchema
            When it knows no such id.
        RunProblem
            When it refuses.
        """
        return _schema(self, schema_id)

    def latest(self, subject: str) -> RegisteredSchema:
        """The newest schema of a subject; errors are those of :meth:`schema`."""
        return self._version(subject, "latest")

    def referenced(self, reference: Reference) -> RegisteredSchema:
        """The schema that a reference names; errors are those of :meth:`schema`."""
        return _referenced(self, reference)

    def register(
        self,
        subject: str,
        schema_type: str,
        text: str,
        references: Sequence[Reference] = (),
    ) -> int:
        """The id of a schema, which is registered if it is new.

        Raises
        ------
        Unreached
            When the registry does not answer.
        RunProblem
            When it refuses: with its own words of what is incompatible.
        """
        body = _body(schema_type, text, references)
        path = f"/subjects/{_quoted(subject)}/versions"
        try:
            return self._asked(path, body, _id)
        except _Refusal as refusal:
            raise self._refused_schema(refusal, subject, body) from None

    def register_reference(
        self,
        name: str,
        schema_type: str,
        text: str,
        references: Sequence[Reference] = (),
    ) -> Reference:
        """A schema for others to use, which is registered if it is new, under the name
        that they call it: so does Confluent's serializer. Errors are those of
        :meth:`register`."""
        self.register(name, schema_type, text, references)
        body = _body(schema_type, text, references)
        try:
            # Only newer registries tell the version where a schema is registered.
            path = f"/subjects/{_quoted(name)}"
            version = self._asked(path, body, lambda found: int(found["version"]))
        except _Refusal as refusal:
            raise self._refused(refusal) from None
        return Reference(name, name, version)

    def _version(self, subject: str, version: int | str) -> RegisteredSchema:
        path = f"/subjects/{_quoted(subject)}/versions/{version}"
        try:
            return self._asked(path, None, _registered)
        except _Refusal as refusal:
            if refusal.status == HTTPStatus.NOT_FOUND:
                raise UnknownSchema(
                    f"{self._name} has no subject '{subject}' with a version {version}",
                    hint="look at 'value.subject', or register the schema first",
                ) from None
            raise self._refused(refusal) from None

    def _refused_schema(
        self, refusal: _Refusal, subject: str, body: Mapping[str, Any]
    ) -> RunProblem:
        """Why a schema is not taken. Only newer registries say it in the answer, so one
        that does not is asked again."""
        if refusal.status == HTTPStatus.UNPROCESSABLE_ENTITY:
            return RunProblem(
                f"{self._name} refuses the schema: {refusal.message}",
                hint="its words say which part of the schema it does not accept",
            )
        if refusal.status != HTTPStatus.CONFLICT:
            return self._refused(refusal)
        path = f"/compatibility/subjects/{_quoted(subject)}/versions/latest"
        try:
            url = f"{path}?verbose=true"
            found = self._asked(url, body, lambda answer: answer.get("messages"))
        except (_Refusal, RunProblem):  # the refusal itself says enough
            found = None
        reasons = found if isinstance(found, list) and found else [refusal.message]
        why = "; ".join(" ".join(str(reason).split()) for reason in reasons)
        return RunProblem(
            f"{self._name} refuses the schema: it does not go with the one before, of "
            f"the subject '{subject}': {why[:1000]}",
            hint="name another 'value.subject', or have its compatibility changed",
        )

    def _asked(
        self, path: str, body: Mapping[str, Any] | None, read: Callable[[Any], T]
    ) -> T:
        """What is read of the answer to a request."""
        try:
            asked = request.Request(
                self.endpoint.rstrip("/") + path,
                None if body is None else json.dumps(body).encode(),
                {"Content-Type": _TYPE, "Accept": _TYPE, **self._login},
            )
            with _opener().open(asked, timeout=ANSWER_S) as answer:
                return read(json.loads(answer.read(ANSWER_BYTES)))
        except error.HTTPError as problem:
            with problem:
                raise _Refusal.of(problem) from None
        # Their words may have the address in them, and so a secret.
        except OSError:
            raise Unreached(
                f"{self._name} does not answer",
                hint=f"start it, or look at '{ENDPOINT}'",
            ) from None
        except (*_NO_ANSWER, HTTPException, RecursionError):
            raise RunProblem(
                f"{self._name} answers what no schema registry does",
                hint=f"look at '{ENDPOINT}'",
            ) from None

    def _refused(self, refusal: _Refusal) -> RunProblem:
        if refusal.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return RunProblem(
                f"{self._name} refuses: wrong credentials",
                hint=f"look at '{API_KEY}' and '{API_SECRET}'",
            )
        if refusal.status in _REDIRECTS:
            return RunProblem(
                f"{self._name} answers that it has moved: {refusal.status} "
                f"{refusal.message}",
                hint=f"write the address that it leads to as '{ENDPOINT}': the "
                "credentials go to no other than the one that you name",
            )
        if refusal.status == HTTPStatus.TOO_MANY_REQUESTS or refusal.status >= 500:
            return Unreached(
                f"{self._name} cannot answer now: {refusal.status} {refusal.message}",
                hint="it may be starting, or have too much to do: try again",
            )
        return RunProblem(f"{self._name} refuses: {refusal.status} {refusal.message}")

    @property
    def _login(self) -> dict[str, str]:
        if self.key is None:
            return {}
        word = base64.b64encode(f"{self.key}:{self.secret or ''}".encode())
        return {"Authorization": f"Basic {word.decode('ascii')}"}

    @property
    def _name(self) -> str:
        return self.called or f"the schema registry at {self._host}"

    @property
    def _host(self) -> str:
        """The address without what may be a secret: a login, a path, a query."""
        try:
            found = parse.urlsplit(self.endpoint)
            port = "" if found.port is None else f":{found.port}"
        except ValueError:
            return "its address"
        return f"{found.scheme}://{found.hostname}{port}"


@lru_cache(1)
def _opener() -> request.OpenerDirector:
    """Asks by HTTP only, and follows no answer to another address: the one who asks
    would go with it, and what is registered would not."""
    made = request.OpenerDirector()
    for handler in (
        *(request.ProxyHandler(), request.HTTPHandler(), request.HTTPSHandler()),
        *(request.HTTPErrorProcessor(), request.HTTPDefaultErrorHandler()),
        request.UnknownHandler(),
    ):
        made.add_handler(handler)
    return made


class _Refusal(Exception):
    """An answer of another status than success."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    @classmethod
    def of(cls, problem: error.HTTPError) -> _Refusal:
        """The status, and what the registry says of it."""
        try:
            said = str(json.loads(problem.read(ANSWER_BYTES))["message"])
        except (*_NO_ANSWER, OSError, HTTPException, RecursionError):
            said = str(problem.reason)
        return cls(problem.code, " ".join(said.split())[:1000])


def registry_client(
    options: Mapping[str, OptionValue], called: str = ""
) -> RegistryClient | None:
    """The client of a table's options; None: they name no registry.

    Parameters
    ----------
    options
        With the values of variables.
    called
        What errors call the registry; empty: by its host.
    """
    if ENDPOINT not in options:
        return None
    key, secret = (options.get(name) for name in (API_KEY, API_SECRET))
    return RegistryClient(
        str(options[ENDPOINT]),
        None if key is None else str(key),
        None if secret is None else str(secret),
        called,
    )


def registered_under(options: Mapping[str, OptionValue]) -> str:
    """The subject of the records of a topic.

    >>> registered_under({"topic": "clicks"})
    'clicks-value'
    """
    return str(options.get(SUBJECT, f"{options['topic']}-value"))


@lru_cache(MAX_SCHEMAS)
def _schema(client: RegistryClient, schema_id: int) -> RegisteredSchema:
    # A query must not end because its registry is restarted when a schema is new.
    for wait_s in RETRY_S:
        try:
            return _schema_now(client, schema_id)
        except Unreached:
            time.sleep(wait_s)
    return _schema_now(client, schema_id)


def _schema_now(client: RegistryClient, schema_id: int) -> RegisteredSchema:
    try:
        path = f"/schemas/ids/{schema_id}"
        return client._asked(path, None, lambda f: _registered({**f, "id": schema_id}))
    except _Refusal as refusal:
        if refusal.status == HTTPStatus.NOT_FOUND:
            raise UnknownSchema(
                f"{client._name} knows no schema {schema_id}",
                hint="was the record written with another registry?",
            ) from None
        raise client._refused(refusal) from None


@lru_cache(MAX_SCHEMAS)
def _referenced(client: RegistryClient, reference: Reference) -> RegisteredSchema:
    return client._version(reference.subject, reference.version)


def _registered(found: Mapping[str, Any]) -> RegisteredSchema:
    references = found.get("references") or ()
    if not isinstance(found["schema"], str):
        raise TypeError
    return RegisteredSchema(
        _id(found),
        str(found.get("schemaType") or AVRO),
        found["schema"],
        tuple(
            Reference(str(r["name"]), str(r["subject"]), int(r["version"]))
            for r in references
        ),
    )


def _body(
    schema_type: str, text: str, references: Sequence[Reference]
) -> dict[str, Any]:
    """A schema as a request has it."""
    body: dict[str, Any] = {"schemaType": schema_type, "schema": text}
    if references:
        body["references"] = [vars(reference) for reference in references]
    return body


def _id(found: Mapping[str, Any]) -> int:
    number = int(found["id"])
    if not 0 <= number < 2**ID_BITS:
        raise ValueError
    return number


def _quoted(subject: str) -> str:
    return parse.quote(subject, safe="")
