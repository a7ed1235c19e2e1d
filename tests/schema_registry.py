"""A schema registry on loopback that speaks Confluent's published API.

Schemas of Avro must be compatible with the last one of their subject as ``BACKWARD``
says: who has the new one can read records of the old one.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from fastavro import parse_schema

PROMOTIONS = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


class Answer(Exception):
    """A status and a body that end a request."""

    def __init__(self, status: int, body: object) -> None:
        super().__init__(status)
        self.status = status
        self.body = body

    @classmethod
    def error(cls, code: int, message: str) -> Answer:
        """An error as the registry has them: the status is the code's first digits."""
        return cls(int(str(code)[:3]), {"error_code": code, "message": message})


class Registry:
    """What the server knows.

    Attributes
    ----------
    asked
        The method and the path of every request.
    failing
        So many requests more are answered with an error of the server's own.
    login
        Who may ask: a key and a secret; None: everybody.
    """

    def __init__(self, login: tuple[str, str] | None = None) -> None:
        self.login = login
        self.failing = 0
        self.asked: list[tuple[str, str]] = []
        self.schemas: list[dict] = []
        self.subjects: dict[str, list[int]] = {}
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, body: dict | None) -> object:
        """The body of an answer that is none of an error."""
        found = urlsplit(path)
        parts = [unquote(part) for part in found.path.strip("/").split("/")]
        with self._lock:
            self.asked.append((method, found.path))
            if self.failing:
                self.failing -= 1
                raise Answer.error(50001, "Error in the backend data store")
            match method, parts:
                case "GET", ["subjects"]:
                    return sorted(self.subjects)
                case "GET", ["subjects", subject, "versions"]:
                    return [*range(1, len(self._ids(subject)) + 1)]
                case "GET", ["subjects", subject, "versions", version]:
                    return self._version(subject, version)
                case "GET", ["schemas", "ids", number]:
                    return self._schema(int(number))
                case "POST", ["subjects", subject, "versions"]:
                    return {"id": self._register(subject, body or {})}
                case "POST", ["subjects", subject]:
                    return self._found(subject, body or {})
                case "POST", ["compatibility", "subjects", subject, "versions", _]:
                    told = self._told(subject, body or {})
                    is_verbose = parse_qs(found.query).get("verbose") == ["true"]
                    said = {"messages": told} if is_verbose else {}
                    return {"is_compatible": not told, **said}
                case _:
                    raise Answer.error(404, "HTTP 404 Not Found")

    def add(self, text: str, type_: str = "AVRO", subject: str = "s", **more) -> int:
        """The id of a schema that is registered without being looked at."""
        self.schemas.append({"schema": text, "schemaType": type_, **more})
        self.subjects.setdefault(subject, []).append(len(self.schemas))
        return len(self.schemas)

    def _ids(self, subject: str) -> list[int]:
        if subject not in self.subjects:
            raise Answer.error(40401, f"Subject '{subject}' not found.")
        return self.subjects[subject]

    def _version(self, subject: str, version: str) -> dict:
        ids = self._ids(subject)
        number = len(ids) if version == "latest" else int(version)
        if not 1 <= number <= len(ids):
            raise Answer.error(40402, f"Version {version} not found.")
        told = {"subject": subject, "version": number, "id": ids[number - 1]}
        return told | self._schema(ids[number - 1])

    def _schema(self, number: int) -> dict:
        if not 1 <= number <= len(self.schemas):
            raise Answer.error(40403, f"Schema {number} not found")
        schema = dict(self.schemas[number - 1])
        if schema["schemaType"] == "AVRO":  # which is not said
            del schema["schemaType"]
        return schema

    def _register(self, subject: str, body: dict) -> int:
        type_ = body.get("schemaType", "AVRO")
        if type_ == "AVRO":
            try:
                parse_schema(json.loads(body["schema"]), self._named(body))
            except Exception as problem:
                said = f"Invalid schema {body['schema']}: {problem}"
                raise Answer.error(42201, said) from None
        if told := self._told(subject, body):
            said = "Schema being registered is incompatible with an earlier schema"
            raise Answer.error(409, f"{said} for subject '{subject}', details: {told}")
        more = {"references": body["references"]} if body.get("references") else {}
        known = {"schema": body["schema"], "schemaType": type_, **more}
        if known not in self.schemas:
            return self.add(known["schema"], type_, subject, **more)
        number = self.schemas.index(known) + 1
        if number not in self.subjects.setdefault(subject, []):
            self.subjects[subject].append(number)
        return number

    def _found(self, subject: str, body: dict) -> dict:
        """Which version of a subject a schema is."""
        wanted = {"schemaType": "AVRO", **body}
        for version, number in enumerate(self._ids(subject), 1):
            if self.schemas[number - 1] == wanted:
                return {"subject": subject, "version": version, "id": number, **body}
        raise Answer.error(40403, "Schema not found")

    def _named(self, body: dict) -> dict:
        named: dict = {}
        for reference in body.get("references", ()):
            used = self._version(reference["subject"], str(reference["version"]))
            parse_schema(json.loads(used["schema"]), named)
        return named

    def _told(self, subject: str, body: dict) -> list[str]:
        """Why a schema does not go with the last one of a subject."""
        if body.get("schemaType", "AVRO") != "AVRO" or subject not in self.subjects:
            return []
        old = json.loads(self._version(subject, "latest")["schema"])
        return [*misfits(json.loads(body["schema"]), old, "/")]


def misfits(new: object, old: object, path: str) -> Iterator[str]:
    """Why who has one schema cannot read records of another."""
    if isinstance(old, list):
        for branch in old:
            yield from misfits(new, branch, path)
        return
    if isinstance(new, list):
        if all([*misfits(branch, old, path)] for branch in new):
            yield f"{{errorType:'MISSING_UNION_BRANCH', path '{path}', {old}}}"
        return
    kinds = [one["type"] if isinstance(one, dict) else one for one in (new, old)]
    if kinds == ["record", "record"]:
        there = {field["name"]: field["type"] for field in old["fields"]}
        for field in new["fields"]:
            name = field["name"]
            if name in there:
                yield from misfits(field["type"], there[name], f"{path}{name}/")
            elif "default" not in field:
                said = "READER_FIELD_MISSING_DEFAULT_VALUE"
                yield f"{{errorType:'{said}', additionalInfo:'{name}'}}"
    elif kinds[0] != kinds[1] and kinds[0] not in PROMOTIONS.get(kinds[1], ()):
        yield f"{{errorType:'TYPE_MISMATCH', path '{path}': {kinds[0]}, {kinds[1]}}}"


@contextmanager
def serving(login: tuple[str, str] | None = None) -> Iterator[tuple[str, Registry]]:
    """The URL of a registry, and what it knows."""
    registry = Registry(login)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            size = int(self.headers["Content-Length"] or 0)
            text = self.rfile.read(size)
            try:
                self._check_login()
                body = json.loads(text) if text else None
                self._send(200, registry.answer(self.command, self.path, body))
            except Answer as answer:
                self._send(answer.status, answer.body)

        def do_POST(self) -> None:
            self.do_GET()

        def _check_login(self) -> None:
            if registry.login is None:
                return
            word = base64.b64encode(":".join(registry.login).encode()).decode()
            if self.headers["Authorization"] != f"Basic {word}":
                raise Answer(401, {"error_code": 401, "message": "Unauthorized"})

        def _send(self, status: int, body: object) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", registry
        finally:
            server.shutdown()
            thread.join()
