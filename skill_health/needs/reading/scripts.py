"""What bundled scripts use: programs, packages, variables and hosts. They are read as text and never run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from skill_health.needs.reading.shell import read_commands
from skill_health.text.patterns import lazy

LANGUAGES = {
    "py": "Python", "js": "Node", "mjs": "Node", "cjs": "Node", "ts": "Node", "tsx": "Node", "jsx": "Node", "rb": "Ruby",
    "pl": "Perl", "php": "PHP", "r": "R", "lua": "Lua", "jl": "Julia", "go": "Go", "rs": "Rust", "java": "Java", "cs": ".NET",
    "ps1": "PowerShell", "swift": "Swift", "kts": "Java", "ex": "Elixir", "exs": "Elixir", "cu": "CUDA",
    "sh": "", "bash": "", "zsh": "", "fish": "",
}  # fmt: skip
"""The runtime of a script by its extension; "" for those that a shell runs."""
MAX_SCRIPT = 200_000
_STARTS = lazy(
    r"\b(?:run|call|check_call|check_output|Popen|execSync|execFileSync|execFile|exec|spawn|spawnSync|system|which|create_subprocess_exec)"
    r"\(\s*\[?\s*f?[\"'`]([A-Za-z][\w.+-]{0,40})(?=[\"'` ])|"
    r"^\s*(?:cmd|command|args|argv)\s*(?::[^=\n]{0,40})?=\s*\[\s*f?[\"']([A-Za-z][\w.+-]{0,40})[\"']",
)
_PY_IMPORT = lazy(r"^[ \t]{0,12}(?:from[ \t]+([A-Za-z_]\w*)|import[ \t]+([A-Za-z_]\w*))")
_JS_IMPORT = lazy(r"(?:\bfrom\s+|\brequire\(|\bimport\(|^import\s+)[\"']([@a-z][\w./@-]{0,80})[\"']")
_ENV = lazy(
    r"os\.environ\[\s*[\"'](\w{2,60})|(?:environ\.get|getenv)\(\s*[\"'](\w{2,60})[\"'](\s*\)|\s*,)?|process\.env\.([A-Z]\w{1,60})|"
    r"process\.env\[[\"'](\w{2,60})|ENV(?:\.fetch\(|\[)[\"'](\w{2,60})|\$env:(\w{2,60})|Deno\.env\.get\([\"'](\w{2,60})"
)
_SHELL_ENV = lazy(r"\$\{?([A-Z][A-Z0-9_]{2,60})(\}|:[?]|:-|-)?")
_SHELL_SET = lazy(
    r"(?:^|[;\s])(?:export\s+|local\s+|readonly\s+|declare\s+(?:-\w+\s+)?)?([A-Z][A-Z0-9_]{2,60})=|"
    r"\bfor\s+([A-Z]\w+)\s+in|\bread\s+(?:-\w+\s+)*([A-Z]\w+)"
)
_HOST = lazy(r"\b(?:https?|wss?)://(?:[^\s/@\"'`]{1,60}@)?([A-Za-z0-9][\w.-]{2,100}\.[a-z]{2,12})(?![\w.@-])")
_REACHES = lazy(
    r"\b(?:requests\.|urllib\.request|urlopen|httpx\.|aiohttp|http\.client|fetch\(|axios|got\(|undici|https\.(?:get|request)|"
    r"curl |wget |Net::HTTP|Invoke-RestMethod|Invoke-WebRequest|WebSocket|websockets)"
)
_NO_HOSTS = (
    "example.com", "example.org", "example.net", "localhost", "w3.org", "schema.org", "json-schema.org", "schemas.microsoft.com",
    "schemas.openxmlformats.org", "purl.org", "opensource.org", "sitemaps.org", "xmlns.com", "ogp.me", "gnu.org",
    "creativecommons.org", "semver.org", "keepachangelog.com", "apache.org", "shields.io", "img.shields.io", "your-domain.com",
    "yourdomain.com", "yoursite.com", "your-app.com", "mysite.com", "domain.com", "acme.com", "site.com", "test.com", "company.com",
)  # fmt: skip


class ScriptUse(NamedTuple):
    """One thing that a script uses: `kind` is program, package, variable, required or host; lines count from 1."""

    kind: str
    name: str
    line: int


def is_outside(host: str) -> bool:
    """Whether a host is a real one out there, and no sample or name of a format."""
    low = host.lower().rstrip(".")
    if low.startswith(
        ("your", "my-", "my.", "api.your", "127.", "192.168.", "10.", "xxx", "foo", "bar.")
    ) or low.endswith((".local", ".internal", ".test", ".example", ".invalid", ".localhost")):
        return False
    return not any(low == none or low.endswith("." + none) for none in _NO_HOSTS)


def language_of(path: str) -> str | None:
    """The runtime of a script by its extension, "" for a shell's, None where it is no script."""
    return LANGUAGES.get(path.rpartition(".")[2].lower()) if "." in path.rpartition("/")[2] else None


def uses_of(path: str, text: str, own: frozenset[str]) -> list[ScriptUse]:
    """What a script uses, in order, each once; `own` are the names of the skill's own modules."""
    text = text[:MAX_SCRIPT]
    found = dict.fromkeys(_uses(path, text, own))
    return list(found)


def _uses(path: str, text: str, own: frozenset[str]) -> Iterator[ScriptUse]:
    runtime = language_of(path)
    shell = runtime == "" and text[:80].find("python") < 0 and text[:60].find("node") < 0
    lines = text.split("\n")
    if shell:
        yield from _shell_uses(text, lines)
    reaches = _REACHES.search(text) is not None
    variables = shell or "env" in text or "ENV" in text
    seen: set[tuple[str, str]] = set()
    for nth, line in enumerate(lines, 1):
        line = line[:600]
        if shell:
            pass
        elif line.lstrip().startswith(("#", "//", "*")):
            continue
        else:
            for match in _STARTS.finditer(line) if "(" in line or "[" in line else ():
                yield ScriptUse("program", match[1] or match[2], nth)
            if runtime == "Python" and ("import" in line) and (match2 := _PY_IMPORT.match(line)):
                name = match2[1] or match2[2]
                if name not in sys.stdlib_module_names and name not in own:
                    yield ScriptUse("package", name, nth)
            elif runtime == "Node" and ("from" in line or "require" in line or "import" in line):
                for match in _JS_IMPORT.finditer(line):
                    if not match[1].startswith(("node:", ".")) and match[1] not in _NODE:
                        yield ScriptUse("package", match[1], nth)
            if variables and ("env" in line or "ENV" in line):
                for match in _ENV.finditer(line):
                    name = next(filter(None, (match[n] for n in (1, 2, 4, 5, 6, 7, 8))))
                    sure = match[1] is not None
                    yield ScriptUse("required" if sure else "variable", name, nth)
        if reaches and "://" in line:
            for match in _HOST.finditer(line):
                if is_outside(match[1]) and ("host", match[1]) not in seen:
                    seen.add(("host", match[1]))
                    yield ScriptUse("host", match[1].lower(), nth)


_NODE = frozenset(
    "fs path os http https url util crypto child_process stream events assert buffer readline zlib net tls querystring "
    "fs/promises process worker_threads perf_hooks timers module string_decoder vm v8 dns cluster console timers/promises".split()
)


def _shell_uses(text: str, lines: list[str]) -> Iterator[ScriptUse]:
    functions = {
        line.split("(")[0].replace("function ", "").strip()
        for line in lines
        if "()" in line or line.startswith("function ")
    }
    given = {name for match in _SHELL_SET.finditer(text) for name in match.groups() if name}
    for command in read_commands(text):
        if command.program and not command.is_path and command.program not in functions:
            yield ScriptUse("program", command.program, command.line + 1)
    for nth, line in enumerate(lines, 1):
        if "$" in line and not line.lstrip().startswith("#"):
            for match in _SHELL_ENV.finditer(line[:600]):
                if match[1] not in given:
                    yield ScriptUse("required" if match[2] == ":?" else "variable", match[1], nth)
