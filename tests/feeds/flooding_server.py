"""A process that sends events or WebSocket messages as fast as they are taken: in one
of its own, so that the memory of a test is that of the client."""

from __future__ import annotations

import sys

from feed_servers import HttpServer, begin_events
from websockets.utils import accept_key

PIECE_MESSAGES = 1_000
TEXTS = [
    b'{"n": %d, "symbol": "ACME", "price": 12.5}' % n for n in range(PIECE_MESSAGES)
]
EVENTS = b"".join(b"data: " + text + b"\n\n" for text in TEXTS)
# A frame of text: its first byte, its length, and itself, as a server does not mask.
FRAMES = b"".join(b"\x81" + bytes([len(text)]) + text for text in TEXTS)


def flood(handler):
    """Answer without an end."""
    key = handler.headers.get("Sec-WebSocket-Key")
    if key is None:
        begin_events(handler)
    else:
        handler.send_response(101)
        handler.send_header("Upgrade", "websocket")
        handler.send_header("Connection", "Upgrade")
        handler.send_header("Sec-WebSocket-Accept", accept_key(key))
        handler.end_headers()
    piece = EVENTS if key is None else FRAMES
    while True:
        handler.wfile.write(piece)


if __name__ == "__main__":
    with HttpServer(flood) as server:
        print(server.port, flush=True)
        sys.stdin.read()
