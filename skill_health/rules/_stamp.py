"""What identifies this very set of rules, without loading it."""

from __future__ import annotations

import os


def rules_stamp() -> str:
    """What identifies this very set of rules: the names, sizes and times of our own source files."""
    package = os.path.dirname(os.path.dirname(__file__))
    stamps = []
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for name in sorted(files):
            if name.endswith((".py", ".json", ".toml")):
                info = os.stat(os.path.join(folder, name))
                stamps.append(f"{folder[len(package) :]}/{name} {info.st_size} {info.st_mtime_ns}")
    return "\n".join(stamps)
