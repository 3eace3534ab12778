"""Signs of a certain state of git."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.read import SkillReading, phrase, signs_of_phrase
from skill_health.text.patterns import lazy

_COMMANDS = {
    "diff": 0.8, "log": 0.8, "blame": 0.8, "show": 0.5, "merge": 0.6, "rebase": 0.8, "worktree": 0.8, "cherry-pick": 0.8, "bisect": 0.9,
    "stash": 0.6, "merge-base": 0.9, "tag": 0.5, "branch": 0.5, "push": 0.5, "checkout": 0.45, "switch": 0.45, "status": 0.5, "commit": 0.4,
    "shortlog": 0.8, "describe": 0.6, "reflog": 0.8, "fetch": 0.4, "pull": 0.4, "rev-list": 0.8, "revert": 0.7, "reset": 0.4, "add": 0.25,
}  # fmt: skip
_ABOUT = lazy(
    r"\b(pull requests?|\bprs?\b|merge conflicts?|git history|commit history|staged|unstaged|uncommitted|"
    r"worktrees?|branch(?:es)?\b|commits?\b|diffs?\b|changelogs? from git|release notes from|rebas(?:e|ing)|"
    r"git range|recent changes)"
)
_CODE = lazy(
    r"\bgit(?:hub|lab)?\b|\bprs?\b|\bpull requests?\b|\bcommit|\bmerg|\brepo|\bcode\b|\bdiff|\bworktree|\breview|\bchangelog|\brelease|\bui\b"
)
_SAID = phrase(
    "branch|staged|uncommitted|pull request|commit|merge conflict|worktree|diff|git history|changed files|git ref|base ref| pr ",
    r"\b(current branch|feature branch|base branch|staged (?:git )?(?:changes|files)|unstaged|uncommitted changes|open "
    r"(?:a |the )?(?:pr|pull request)|create (?:a |the )?(?:pr|pull request)|the (?:pr|pull request)\b|(?:pr|"
    r"pull request) (?:number|url|diff|description)|merge conflicts?|"
    r"git[- ](?:history|range|refs?|worktrees?|log|diff)|commit (?:history|range|hash|sha)|recent commits|two "
    r"refs|changed files|the diff|new branch|commits? since|last (?:release|tag|commit)|branch name|before (?:each |"
    r"every )?commits?|pre-commit hooks?|including history|main/master branch|the "
    r"branch)\b",
)

# Who speaks of a worktree of git means no state that any checkout has.
_WORKTREE = phrase(
    "worktree", r"\b(?:use|using|create|in|inside|isolated|dedicated)\b[^.\n]{0,40}\b(git[- ]worktrees?)\b"
)


def git_signs(reading: SkillReading) -> Iterator[Sign]:
    """Commands that ask git for more than files, and sentences that speak of branches, changes and pull requests."""
    if (match := _ABOUT.search(reading.about)) and _CODE.search(reading.about):
        yield reading.sign(0.6, EvidenceKind.SENTENCE, "what it is for", reading.about_line, match[0])
    seen: dict[str, int] = {}
    for placed in reading.commands:
        command = placed.command
        if command.program == "git":
            name = next((word for word in command.words if not word.startswith(("-", "/", ".", "$", '"', "<"))), "")
            weight = _COMMANDS.get(name, 0.0)
            seen[name] = seen.get(name, 0) + 1
            if weight:
                yield reading.sign(
                    weight * placed.weight, EvidenceKind.COMMAND, f"git {name}", placed.line, command.text
                )
        elif command.program in ("gh", "glab") and command.words[:1] and command.words[0] in ("pr", "mr"):
            yield reading.sign(
                0.8 * placed.weight,
                EvidenceKind.COMMAND,
                f"{command.program} {command.words[0]}",
                placed.line,
                command.text,
            )
    for script in reading.scripts:
        if script.weight >= 0.7:
            for use in script.uses:
                if use.kind == "program" and use.name == "git":
                    yield reading.sign(
                        0.55, EvidenceKind.SCRIPT, "git", use.line, f"{script.file} runs git", script.path
                    )
    yield from signs_of_phrase(reading, _SAID, 0.55, "", conditional=0.6)
    yield from signs_of_phrase(reading, _WORKTREE, 0.5, "a worktree", conditional=0.6)
