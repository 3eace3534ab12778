"""An existing project or code base that it works on."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import is_negated
from skill_health.needs.reading.git import git_signs
from skill_health.needs.reading.read import SkillReading, phrase, signs_of_phrase
from skill_health.needs.reading.themes import CODE, theme_signs
from skill_health.text.patterns import lazy

ORDER = 8
TITLE = "Existing repository"
MEANING = "It works on an existing project or code base that must be there."

_ABOUT = lazy(
    r"\b(?:review|audit|refactor|analy[sz]|scan|debug|fix|migrat|upgrad|test|moderni[sz]|improv|optimi[sz]|"
    r"moderniz|document|explor|understand|index|lint|moderat|convert|profil|fuzz|deploy|instrument|verif|"
    r"inspect|searchin?g?|add|packag|gat)\w*\b"
    r"[^.\n]{0,70}\b(code ?bases?|repositor(?:y|ies)|repos?\b|source code|existing (?:code|app\w*|project|"
    r"tests?)|(?:smart )?contracts?|pull requests?|\bprs?\b|code changes|the diff|branch(?:es)?|your "
    r"(?:project|app|code)|frontend code|components|"
    r"(?:c\+\+|c/c\+\+|rust|python|go|java|swift|typescript|javascript|react|\.net|php|ruby) (?:code|"
    r"projects?|apps?|applications?|files?|source)|legacy code|project'?s?\b|a project|test suites?|"
    r"implementation plan|implementations|source files?|code)|"
    r"\b(code review|commit message|changelog|git history|refactoring|dead code|test coverage|call graphs?|class hierarch\w+|code graphs?|ci failure|"
    r"failing (?:tests?|checks?|ci)|dependency (?:upgrade|audit)|monorepo)\b"
)
_OUTRIGHT = lazy(
    r"\b(code ?bases?|(?:this|the|a|your|an existing|git|github|current|target) (?:[\w.-]+/[\w.-]+ )?repositor(?:y|ies)|"
    r"implementation plan|touching code|project (?:dependencies|files|structure|manifests)|coding tasks?|"
    r"(?:the|"
    r"this|your|a) repo\b|pull requests?|code reviews?|review(?:ing|s)? (?:a |the |your )?(?:pr|code|changes|"
    r"diff)|monorepos?|"
    r"existing (?:code|project|app|application|tests?|components?)|(?:your|the user's|a) project'?s? (?:code|dependencies|source|structure|tests?))\b"
)
_SAID = phrase(
    "project|deploy|codebase|code base|repository|repo|project root|the project|existing code|your code|"
    "source code|working tree|in the project|project's|your project",
    r"\b(?:scan|search|explore|read|analy[sz]e|review|inspect|grep|check|examine|understand|navigate|walk|"
    r"index|audit|map|in|of|across|throughout|from|inside|within|into|to)\b[^.\n]{0,30}"
    r"\b(?:the |your |this |current |target |existing |user's |entire |whole )+(codebase|code base|repository|"
    r"repo|project root|project(?!s? (?:manage|plan|brief|name|type|scope|board|timeline))|source code|source "
    r"tree|working tree|existing code|code)\b|"
    r"\b(project root|repo(?:sitory)? root|working tree)\b|\b((?:xcode|gradle|maven|npm|cargo|unity|android|"
    r"ios|node|django|rails|next\.?js|react) project)\b|\b(project to (?:deploy|analy[sz]e|review|scan))\b|"
    r"\b(?:packages?|deploys?|deploying) (?:your|any|the) (project|app|application)\b|\b(existing (?:codebase|"
    r"code|project|repo(?:sitory)?|patterns))\b",
)
_TASKS = frozenset(("test", "build", "run", "lint", "check", "fmt", "clippy", "vet", "restore", "publish"))
_BUILDERS = frozenset(
    (
        "npm",
        "pnpm",
        "yarn",
        "cargo",
        "go",
        "dotnet",
        "mvn",
        "gradle",
        "gradlew",
        "make",
        "bazel",
        "forge",
        "pytest",
        "tsc",
        "eslint",
        "vitest",
        "jest",
    )
)
_ELSEWHERE = frozenset(
    "qpdf pdftk cp mv cd docker ls mkdir tar zip unzip rsync scp latexmk curl chmod touch rm ln".split()
)
_NEW = frozenset(("new", "init", "create"))
_PROJECT_PATH = lazy(
    r"^(?:\./)?(?:src|lib|app|apps|packages|contracts|tests?)/|^\.$|^\./(?:my-)?project|^(?:\./|<|"
    r"/path/to/)(?:my-|your-)?(?:project|repo|codebase|app)\b|^<(?:project|repo|codebase|path-to-(?:project|"
    r"repo))"
)
_CHECKOUT = lazy(
    r"\b(?:repo(?:sitory)?|source|existing|local|git|the|a) checkout\b"
    r"(?! (?:page|flow|process|session|step|form|button))|\bcheckout of\b|\bbase code\b|\b(?:local|existing|a) clone of\b"
)
_ROOT = lazy(r"rev-parse --show-toplevel|\$\{?REPO(?:_ROOT|_DIR)?\b")
_GENERAL = lazy(r"(?:\bprojects?(?:'s)?|test coverage|changelog)$")
_QUOTED = lazy(r"[\"\u201c][^\"\u201c\u201d\n]{1,80}[\"\u201d]|(?<=[\s(])'[^'\n]{1,80}'(?=[\s,.;)])")
_SCRATCH = lazy(
    r"\b(?:scaffold|bootstrap|from scratch|create (?:a )?new (?:project|app)|new project|starter|boilerplate|set(?:s|ting)? up a new|initiali[sz]e a)"
)


def find(reading: SkillReading) -> Iterator[Sign]:
    """What it is for, commands that only make sense within a project, and sentences that take one for granted."""
    about = _QUOTED.sub(" ", reading.about)
    scratch = 0.6 if _SCRATCH.search(about) else 1.0
    outright = _OUTRIGHT.search(about)
    if outright and not is_negated(about, outright.start(), outright.end()):
        yield reading.sign(1.0 * scratch, EvidenceKind.SENTENCE, "what it is for", reading.about_line, outright[0])
    if match := _ABOUT.search(about):
        general = _GENERAL.search(match[0]) is not None
        weight = (0.6 if general else 0.75) * scratch
        yield reading.sign(weight, EvidenceKind.SENTENCE, "what it is for", reading.about_line, match[0])
    for placed in reading.commands:
        command = placed.command
        if _ROOT.search(command.text):
            yield reading.sign(0.6 * placed.weight, EvidenceKind.COMMAND, "its root", placed.line, command.text)
        if command.program in _BUILDERS and (not command.words or command.words[0] in _TASKS):
            yield reading.sign(
                0.45 * placed.weight * scratch, EvidenceKind.COMMAND, command.program, placed.line, command.text
            )
        elif (
            command.program not in _ELSEWHERE
            and not _NEW.intersection(command.words[:2])
            and any(_PROJECT_PATH.search(word.strip("\"'")) for word in command.words)
        ):
            own = command.program in ("rg", "grep", "ag", "semgrep", "find", "ls", "tree", "fd")
            word = next(word for word in command.words if _PROJECT_PATH.search(word.strip("\"'")))
            yield reading.sign(
                (0.7 if own else 0.6) * placed.weight,
                EvidenceKind.COMMAND,
                word.strip("\"'")[:30],
                placed.line,
                command.text,
            )
    yield from theme_signs(reading, CODE, 0.22 * scratch)
    for statement in reading.statements_with(("checkout", "base code", "clone of")):
        if statement.weight > 0 and (match := _CHECKOUT.search(statement.text)):
            yield reading.sign(0.6 * statement.weight, EvidenceKind.SENTENCE, match[0], statement.line, statement.shown)
    for sign in git_signs(reading):
        yield sign._replace(weight=sign.weight)
    for sign in signs_of_phrase(reading, _SAID, 0.55, "", conditional=0.7):
        yield sign._replace(weight=sign.weight * scratch)
