"""What a broker's settings file says."""

from __future__ import annotations

import socket
from pathlib import Path

from arroyo_nb.kafka.local.settings import Ports, free_ports, server_properties

PORTS = Ports(20_001, 20_002, 20_003)


def properties(**users: str) -> dict[str, str]:
    text = server_properties(Path("/work/data"), PORTS, users)
    return dict(line.split("=", 1) for line in text.splitlines())


def test_every_listener_is_on_loopback() -> None:
    found = properties(ann="secret")
    for key in ("listeners", "advertised.listeners"):
        assert all("://127.0.0.1:" in one for one in found[key].split(","))
    assert found["controller.quorum.voters"] == "1@127.0.0.1:20003"


def test_nobody_can_log_in_where_nobody_is_known() -> None:
    assert "SASL://" not in properties()["listeners"]
    assert not any("sasl" in key for key in properties())


def test_a_password_is_written_so_that_java_reads_it_back() -> None:
    login = properties(ann='a"b\\c')["listener.name.sasl.plain.sasl.jaas.config"]
    # Twice: once for the quotes, once for the properties file.
    assert login.endswith('user_ann="a\\\\"b\\\\\\\\c";')


def test_ports_are_free_and_not_of_those_that_are_dealt_out() -> None:
    ports = free_ports()
    text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
    assert len(set(ports)) == 3
    assert max(ports) < int(text.split()[0])
    for port in ports:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
