"""Paths of bundled files in inline code: `scripts/x.py`, `python scripts/x.py --flag`, `references/y.md`."""

from posixpath import basename, dirname
from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.links._memo import remembered
from skill_health.rules.links._targets import index_of, is_absolute, is_stand_in, locate
from skill_health.skill.model import CodeSpan, Skill, Span

# The folders that the Agent Skills specification names for bundled files.
BUNDLE = frozenset(("scripts", "references", "assets"))
# How hosts and authors spell the folder of the running skill (Claude Code, OpenClaw; read 2026-11).
_SKILL_DIRS = ("${CLAUDE_SKILL_DIR}/", "$CLAUDE_SKILL_DIR/", "{baseDir}/", "${baseDir}/")
_EXTENSIONS = frozenset(
    "md mdx markdown txt rst py sh bash zsh js mjs cjs ts tsx jsx rb pl ps1 r lua sql json jsonl yaml yml toml csv tsv "
    "xml html css svg png jpg jpeg gif pdf docx pptx xlsx ipynb tex j2 jinja tmpl template".split()
)
_EDGES = "\"'`,;:.()[]"


class CodePath(NamedTuple):
    """A path in inline code; `path` is relative to the skill's folder, `offset` is where it starts in the code.

    `state` is ok, spelled (exists under `actual`, which differs in case or slashes), missing, or elsewhere: missing
    here, but present in the skill that the plugin is named after, as `actual`.
    """

    path: str
    state: str
    actual: str
    code: CodeSpan
    offset: int


@remembered
def bundled_paths(skill: Skill, context: Context) -> tuple[CodePath, ...]:
    """The paths in inline code that can only mean a bundled file, in file order.

    Their first folder is one of the skill's own or one that the specification names, they end in a known
    extension, and nothing in them is a pattern.
    """
    folders = index_of(skill).folders
    found: list[CodePath] = []
    for code in skill.body.codes:
        if "/" not in code.text or "." not in code.text:
            continue
        at = 0
        for word in code.text.split():
            at = code.text.find(word, at)
            path = bundled_path(word, skill.folder_name)
            first = path.partition("/")[0]
            if path and (first in BUNDLE or first in folders):
                state, actual = state_of(path, skill, context)
                if state != "vague":
                    found.append(CodePath(path, state, actual, code, at + max(0, word.find(path))))
            at += len(word)
    return tuple(found)


def bundled_path(word: str, folder_name: str) -> str:
    """The path inside the skill that a word of a command or sentence stands for, or ""."""
    path = word.rpartition("=")[2].strip(_EDGES.replace(".", "") if word.startswith(".") else _EDGES)
    for prefix in _SKILL_DIRS:
        path = path.removeprefix(prefix)
    before, found, after = path.rpartition(f"skills/{folder_name}/")
    if found and not is_stand_in(before):
        path = after
    path = path.partition("#")[0].partition(":")[0].removeprefix("./")
    stem, dot, extension = path.rpartition(".")
    if not dot or extension.lower() not in _EXTENSIONS or stem.endswith("/") or is_absolute(path) or is_stand_in(path):
        return ""
    return path if "/" in path and not path.startswith("..") and "//" not in path else ""


def state_of(path: str, skill: Skill, context: Context) -> tuple[str, str]:
    """The state of a path inside the skill (see CodePath) and its actual name, if it has one."""
    place = locate(path, skill, context)
    if place.state != "missing":
        return place.state, place.actual
    above = skill.folder
    while above:
        above = dirname(above)
        if context.exists(f"{above}/{path}" if above else path):
            return "ok", ""
    skills, plugin = dirname(skill.folder), basename(dirname(dirname(skill.folder)))
    if plugin and context.exists(f"{skills}/{plugin}/{path}"):
        return "elsewhere", f"../{plugin}/{path}"
    return "missing", ""


def span_in_code(found: CodePath, skill: Skill) -> Span:
    """The region of the path; inline code may be wrapped, so it can be on the next line."""
    line, col = found.code.line, found.code.col + found.offset
    if not skill.lines[line - 1].startswith(found.path, col - 1) and line < len(skill.lines):
        after = skill.lines[line].find(found.path)
        if after >= 0:
            line, col = line + 1, after + 1
    return Span(line, col, line, col + len(found.path))
