"""The TCP and UDP sockets of processes, as /proc tells them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple


class Socket(NamedTuple):
    """A socket: its protocol, both addresses, and whether it listens."""

    protocol: str
    local: str
    remote: str
    listens: bool


def sockets(pids: Iterable[int]) -> list[Socket]:
    """All sockets of the processes."""
    inodes = {inode for pid in pids for inode in _inodes(pid)}
    tables = ("tcp", "tcp6", "udp", "udp6")
    return [s for table in tables for i, s in _rows(table) if i in inodes]


def listeners(pids: Iterable[int]) -> list[Socket]:
    """Those that others can connect to, or send to."""
    return [socket for socket in sockets(pids) if socket.listens]


def off_loopback(pids: Iterable[int]) -> list[Socket]:
    """Those that reach, or can be reached from, beyond this machine."""
    return [
        socket
        for socket in sockets(pids)
        if not _is_loopback(socket.local)
        or not (socket.listens or _is_loopback(socket.remote))
    ]


def _inodes(pid: int) -> Iterator[str]:
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]


def _rows(table: str) -> Iterator[tuple[str, Socket]]:
    for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
        fields = line.split()
        local, remote = (_address(fields[i].split(":")[0]) for i in (1, 2))
        # 0A is LISTEN; a UDP socket that nobody has connected is 07.
        yield fields[9], Socket(table, local, remote, fields[3] in ("0A", "07"))


def _address(text: str) -> str:
    """From groups of four bytes, each in the order of this machine."""
    words = [bytes.fromhex(text[i : i + 8])[::-1] for i in range(0, len(text), 8)]
    return str(ip_address(b"".join(words)))


def _is_loopback(address: str) -> bool:
    found = ip_address(address)
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback
