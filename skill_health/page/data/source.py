"""Where a collection comes from: its name, its repository's address and its commit, as git tells them."""

from __future__ import annotations

import os
import re
from urllib.parse import quote

from skill_health.core.boundary import git_top
from skill_health.core.errors import UsageError
from skill_health.core.git import open_repository
from skill_health.core.strict_json import escape_surrogates
from skill_health.documents.page_data import CollectionSource

# An address as git takes it: with a scheme, or host and path as scp writes them. Who asks, and with which key, is no
# part of it.
_ADDRESS = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@\s]*@)?([A-Za-z0-9.-]+)(?::\d+)?/|(?:[^/@\s:]+@)([A-Za-z0-9.-]+):)"
    r"([A-Za-z0-9._~/-]+?)(?:\.git)?/?",
    re.ASCII,
)
_FILES = (("gitlab", "-/blob/"), ("bitbucket.org", "src/"), ("codeberg.org", "src/commit/"), ("github", "blob/"))
"""How the address of a file at a commit goes on after that of its repository, by the host or its first label."""


def web_address(remote: str) -> str:
    """The https address of the repository that a remote's address names, "" for a folder or anything else."""
    found = _ADDRESS.fullmatch(remote.strip())
    host = (found[1] or found[2]).lower() if found else ""
    if not found or "." not in host.strip(".") or any(part in ("", ".", "..") for part in found[3].split("/")):
        return ""
    return f"https://{host}/{found[3]}"


def read_source(root: str) -> CollectionSource:
    """The source of the collection in a folder. What git cannot tell is left out."""
    plain = CollectionSource(name="", repository="", commit=None, folder="")
    top = git_top(root)
    if top is None:
        return plain
    try:
        repository = open_repository(top)
        commit = repository.find_head() or None
        remote = os.fsdecode(repository.ask("config", "--get", "remote.origin.url", missing=1))
    except UsageError:
        return plain
    inner = os.path.relpath(root, top).replace(os.sep, "/")
    address = web_address(remote)
    # A folder may be named otherwise on another machine.
    name = "/".join(address.split("/")[-2:]) if address else ""
    folder = "" if inner == "." else escape_surrogates(inner)
    return CollectionSource(name=name, repository=address, commit=commit, folder=folder)


def file_address(source: CollectionSource, path: str, line: int = 0) -> str:
    """The address of a file of the collection at its commit; "" where the repository has none that is known."""
    host = source.repository.removeprefix("https://").partition("/")[0]
    shape = next((shape for name, shape in _FILES if name in (host, host.split(".")[0])), "")
    if not shape or not source.commit:
        return ""
    whole = f"{source.folder}/{path}" if source.folder else path
    mark = f"#{'lines-' if shape == 'src/' else 'L'}{line}" if line else ""
    return f"{source.repository}/{shape}{source.commit}/{quote(whole, errors='surrogatepass')}{mark}"
