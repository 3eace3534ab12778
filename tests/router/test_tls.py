"""Calls over TLS to a server of our own, whose certificate is made for the test."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from skill_health.bench.http.connection import ConnectionPerCall
from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.failures import Failure
from skill_health.bench.http.fetch import Fetched, fetch

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
OTHER = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nother"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "made.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
         "-out", made, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    return made, key


def ask(certificate: tuple[Path, Path], path: str = "/", host: str = "localhost") -> Fetched | Failure:
    """One call to a server that answers twice at /twice, and never shakes hands at /silent."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            own = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nown"
            writer.write(own + (OTHER if b" /twice " in head else b""))
            await writer.drain()
            await reader.read()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async def go() -> Fetched | Failure:
        tls = None if path == "/silent" else context
        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
            url = f"https://{host}:{server.sockets[0].getsockname()[1]}"
            limit = 0.2 if path == "/silent" else 60
            found = await fetch(ConnectionPerCall(url), httpx.Request("POST", url + path), Endpoint(url, timeout=limit))
            await asyncio.sleep(0.01)
            return found

    return asyncio.run(go())


@pytest.mark.slow
def test_what_is_trusted_and_what_is_not(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    unknown = ask(certificate)
    assert isinstance(unknown, Failure)
    assert (unknown.kind, "certificate that cannot be trusted" in unknown.message) == ("fatal", True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    assert ask(certificate) == Fetched(200, {"content-length": "3"}, b"own")
    elsewhere = ask(certificate, host="127.0.0.1")
    assert isinstance(elsewhere, Failure)
    assert elsewhere.kind == "fatal" and "certificate" in elsewhere.message


@pytest.mark.slow
def test_a_second_response_and_a_silent_server(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    twice, silent = ask(certificate, "/twice"), ask(certificate, "/silent")
    assert isinstance(twice, Failure)
    assert (twice.kind, twice.sent) == ("costly", True)
    assert isinstance(silent, Failure)
    assert (silent.kind, silent.sent) == ("retry", False)
