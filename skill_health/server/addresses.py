"""The addresses by which an editor names files, and the files."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit


def path_of(uri: str) -> str:
    """The absolute path of a `file:` address, its folder without links; "" where an address is none of a file."""
    try:
        parts = urlsplit(uri)
        if parts.scheme.lower() != "file" or parts.netloc not in ("", "localhost"):
            return ""
        path = os.fsdecode(unquote_to_bytes(parts.path))
        if os.name == "nt":
            from urllib.request import url2pathname

            path = url2pathname(parts.path)
        if not os.path.isabs(path) or "\0" in path or path.endswith("/"):
            return ""
        return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    except (ValueError, OSError):
        return ""


def uri_of(path: str) -> str:
    """The address of a file."""
    return Path(path).as_uri()
