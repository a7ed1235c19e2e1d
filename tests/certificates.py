"""Certificates of a test's own, for servers that speak TLS."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Certificates:
    """An authority, and a server's certificate that it has signed."""

    authority: Path
    certificate: Path
    key: Path


def certificates(folder: Path, name: str) -> Certificates:
    """Certificates for a server of that name, such as ``IP:127.0.0.1``."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")
    ca, ca_key = folder / "ca.pem", folder / "ca.key"
    key, asked = folder / "server.key", folder / "server.csr"
    made, extra = folder / "server.pem", folder / "server.ext"
    extra.write_text(f"subjectAltName={name}\n")
    new = ("req", "-newkey", "rsa:2048", "-nodes", "-subj")
    _openssl(
        *new, "/CN=authority", "-x509", "-days", "2", "-keyout", ca_key, "-out", ca
    )
    _openssl(*new, "/CN=server", "-keyout", key, "-out", asked)
    signed = ("x509", "-req", "-days", "2", "-CAcreateserial", "-CA", ca)
    _openssl(*signed, "-CAkey", ca_key, "-in", asked, "-extfile", extra, "-out", made)
    return Certificates(ca, made, key)


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
