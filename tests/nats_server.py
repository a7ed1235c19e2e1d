"""A nats-server of a test's own, on a free port of loopback; and who talks to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import nats
from nats.aio.client import Client
from nats.js.errors import NotFoundError
from server_process import ServerProcess, free_port, program

T = TypeVar("T")


def nats_server(folder: Path, *settings: str, streams: bool = True) -> ServerProcess:
    """A server that is not started yet."""
    server, port = program("nats-server"), free_port()
    lines = [f"listen: 127.0.0.1:{port}", *settings]
    if streams:
        lines.append(f'jetstream {{ store_dir: "{folder}/streams" }}')
    config = folder / "nats.conf"
    config.write_text("\n".join([*lines, ""]))
    return ServerProcess([server, "-c", str(config)], port, folder / "nats.log")


def talk(
    port: int, work: Callable[[Client], Coroutine[Any, Any, T]], **login: Any
) -> T:
    """What a coroutine gives that is given a client."""

    async def run() -> T:
        client = await nats.connect(f"nats://127.0.0.1:{port}", **login)
        try:
            return await work(client)
        finally:
            await client.close()

    # The thread of the tests may have a loop that runs: a browser's.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(run())).result()


def add_stream(port: int, name: str, *subjects: str, **settings: Any) -> None:
    """Make a stream."""

    async def add(client: Client) -> None:
        await client.jetstream().add_stream(
            name=name, subjects=list(subjects), **settings
        )

    talk(port, add)


def publish(port: int, subject: str, payloads: Iterable[bytes]) -> None:
    """Publish messages, and wait until a stream has them."""

    async def send(client: Client) -> None:
        stream = client.jetstream()
        futures = [await stream.publish_async(subject, one) for one in payloads]
        await asyncio.gather(*futures)

    talk(port, send)


def publish_plain(port: int, subject: str, payloads: Iterable[bytes]) -> None:
    """Publish messages that no stream confirms."""

    async def send(client: Client) -> None:
        for one in payloads:
            await client.publish(subject, one)
        await client.flush()

    talk(port, send)


def stored(port: int, stream: str) -> list[Any]:
    """The messages of a stream, as JSON, in order."""

    async def read(client: Client) -> list[Any]:
        asked = client.jetstream()
        state = (await asked.stream_info(stream)).state
        got = []
        for number in range(max(1, state.first_seq), state.last_seq + 1):
            # A message that is acknowledged meanwhile has left the stream.
            with contextlib.suppress(NotFoundError):
                got.append(await asked.get_msg(stream, number))
        return [json.loads(one.data or b"null") for one in got]

    return talk(port, read)
