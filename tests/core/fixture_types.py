"""The types of two fixtures that every test may use."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Write = Callable[[Mapping[str, str]], Path]
