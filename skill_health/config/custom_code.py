"""The Python rules that a repository's configuration names: whether the user lets them run, and what they contain."""

from __future__ import annotations

import os
import posixpath

from skill_health.config.load import users_file
from skill_health.config.settings import CodeFile, Config
from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.text.patterns import lazy

# Read without running anything, so that a file that is not run has a code, too.
_CODE = lazy(r"""(?m)^CODE(?::[ ]*[\w.]+)?[ ]*=[ ]*["']([A-Z]{2,8}[0-9]{3})["']""")


def with_code(config: Config, root: str, allowed: bool = False) -> Config:
    """The configuration with its Python rules: as text, where the user allows them for this run or this repository.

    Raises UsageError for a file that is not a regular file of the repository, no text, or no rule.
    """
    custom = config.custom
    allowed = allowed or _is_allowed(root, custom.allow_code)
    boundary = Boundary(root)
    files = []
    for path in custom.python:
        text = _read(boundary, path)
        named = _CODE.search(text)
        if named is None or not path.endswith(".py"):
            what = "two to eight capital letters and three digits, such as ACME001"
            raise UsageError(f'custom.python: {path} is no rule: it needs a line CODE = "...", {what}')
        files.append(CodeFile(path, named[1], text if allowed else None))
    return config._replace(custom=custom._replace(code=tuple(files)))


def describe_name(path: str) -> str:
    """The name of the rule in a file."""
    name = posixpath.basename(path).removesuffix(".py").replace("_", "-").lower()
    return name if "-" in name else f"custom-{name}"


def describe_unrun(config: Config, root: str) -> list[str]:
    """A line on the Python rules that are not run, and how to allow them; none where all are."""
    unrun = [file.path for file in config.custom.code if file.text is None]
    if not unrun:
        return []
    return [
        f"custom Python rules were not run: {', '.join(unrun)}; read them, then use --allow-code, or add "
        f'"{root}" to allow-code under [custom] in {users_file()}'
    ]


def _is_allowed(root: str, allowed: tuple[str, ...]) -> bool:
    here = os.path.realpath(root)
    return any(os.path.isabs(path) and os.path.realpath(path) == here for path in map(os.path.expanduser, allowed))


def _read(boundary: Boundary, path: str) -> str:
    try:
        data = boundary.read(path)
    except OSError as error:
        raise UsageError(f"custom.python: cannot read {path}: {error.strerror or error}") from None
    if data is None:
        raise UsageError(f"custom.python: {path} is larger than 1 MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"custom.python: {path} is not UTF-8 text (byte {error.start + 1})") from None
