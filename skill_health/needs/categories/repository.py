"""An existing project or code base that it works on."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import Role
from skill_health.needs.reading.read import SkillReading, phrase, said
from skill_health.text.patterns import lazy

ORDER = 8
TITLE = "Existing repository"
MEANING = "It works on an existing project or code base that must be there."

_ABOUT = lazy(
    r"\b(?:review|audit|refactor|analy[sz]|scan|debug|fix|migrat|upgrad|test|moderni[sz]|improv|optimi[sz]|moderniz|document|explor|understand|index|lint|moderat|convert|profil|fuzz|deploy|instrument|verif|inspect|searchin?g?)\w*\b"
    r"[^.\n]{0,70}\b(code ?bases?|repositor(?:y|ies)|repos?\b|source code|existing (?:code|app\w*|project|tests?)|(?:smart )?contracts?|pull requests?|\bprs?\b|code changes|the diff|branch(?:es)?|your (?:project|app|code)|frontend code|components|"
    r"(?:c\+\+|c/c\+\+|rust|python|go|java|swift|typescript|javascript|react|\.net|php|ruby) (?:code|projects?|apps?|applications?|files?|source)|legacy code|project'?s?\b|a project|test suites?|implementation plan)|"
    r"\b(code review|commit message|changelog|git history|refactoring|technical debt|dead code|test coverage|ci failure|failing (?:tests?|checks?|ci)|dependency (?:upgrade|audit)|monorepo)\b"
)
_SAID = phrase(
    "codebase|code base|repository|repo|project root|the project|existing code|your code|source code|working tree|in the project|project's|your project",
    r"\b(?:scan|search|explore|read|analy[sz]e|review|inspect|grep|check|examine|understand|navigate|walk|index|audit|map|in|of|across|throughout|from|inside|within|into|to)\b[^.\n]{0,30}"
    r"\b(?:the |your |this |current |target |existing |user's |entire |whole )+(codebase|code base|repository|repo|project root|project(?!s? (?:manage|plan|brief|name|type|scope|board|timeline))|source code|source tree|working tree|existing code|code)\b|"
    r"\b(project root|repo(?:sitory)? root|working tree)\b|\b(existing (?:codebase|code|project|repo(?:sitory)?|patterns))\b",
)
_SOURCES = frozenset(("src", "lib", "app", "apps", "packages", "contracts", "internal", "cmd", "pkg", "components"))
_GIT = frozenset(("diff", "log", "blame", "show", "status", "add", "commit", "checkout", "branch", "merge", "rebase", "worktree", "stash", "switch", "bisect", "grep", "ls-files", "rev-parse", "tag", "push"))
_TASKS = frozenset(("test", "build", "run", "lint", "check", "fmt", "clippy", "vet", "restore", "publish"))
_BUILDERS = frozenset(("npm", "pnpm", "yarn", "cargo", "go", "dotnet", "mvn", "gradle", "gradlew", "make", "bazel", "forge", "pytest", "tsc", "eslint", "vitest", "jest"))
_PROJECT_PATH = lazy(r"^(?:\./)?(?:src|lib|app|apps|packages|contracts|tests?)/|^\.$|^\./(?:my-)?project|^(?:\./|<|/path/to/)(?:my-|your-)?(?:project|repo|codebase|app)\b|^<(?:project|repo|codebase|path-to-(?:project|repo))")
_SCRATCH = lazy(r"\b(?:scaffold|bootstrap|from scratch|create (?:a )?new (?:project|app)|new project|starter|boilerplate|set(?:s|ting)? up a new|initiali[sz]e a)")


def find(reading: SkillReading) -> Iterator[Sign]:
    """What it says it is for, commands that only make sense within a project, and sentences that take one for granted."""
    scratch = 0.6 if _SCRATCH.search(reading.about) else 1.0
    match = _ABOUT.search(reading.about)
    if match:
        yield reading.sign(0.55 * scratch, EvidenceKind.SENTENCE, "what it is for", reading.about_line, match[0])
    for placed in reading.commands:
        command = placed.command
        if command.program == "git" and command.words[:1] and command.words[0] in _GIT:
            yield reading.sign(0.7 * placed.weight, EvidenceKind.COMMAND, "git", placed.line, command.text)
        elif command.program == "gh" and command.words[:1] and command.words[0] in ("pr", "run", "workflow"):
            yield reading.sign(0.5 * placed.weight, EvidenceKind.COMMAND, "gh", placed.line, command.text)
        elif command.program in _BUILDERS and (not command.words or command.words[0] in _TASKS):
            yield reading.sign(0.35 * placed.weight * scratch, EvidenceKind.COMMAND, command.program, placed.line, command.text)
        elif any(_PROJECT_PATH.search(word.strip("\"'")) for word in command.words):
            own = command.program in ("rg", "grep", "ag", "semgrep", "find", "ls", "tree", "fd")
            yield reading.sign((0.6 if own else 0.45) * placed.weight, EvidenceKind.COMMAND, "project path", placed.line, command.text)
    weights = {"path": 0.3}
    for script in reading.scripts:
        if script.weight >= 0.7 and any(use.kind == "program" and use.name == "git" for use in script.uses):
            yield reading.sign(0.7, EvidenceKind.SCRIPT, "git", script.line)
    n = 0
    for sign in said(reading, _SAID, 0.5, "", conditional=0.7):
        n += 1
        where = sign.evidence.subject
        # Three sentences in other words say it as well as one that says it outright.
        yield sign._replace(weight=sign.weight * scratch * (0.9 if n <= 4 else weights["path"]), evidence=sign.evidence._replace(subject=f"{where[:30]}"))
    if match and any(section for section in reading.skill.body.sections if reading.role(section.line) is Role.MAIN and "git" in section.heading.title.lower()):
        yield reading.sign(0.2, EvidenceKind.SENTENCE, "git section", 1)
