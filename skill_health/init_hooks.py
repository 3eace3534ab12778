"""Our hooks in a .pre-commit-config.yaml: the lines, where pre-commit gets them from, and how they join other hooks."""

import json
import re
from typing import Any, NamedTuple

from skill_health.core.errors import UsageError
from skill_health.text.patterns import lazy

FILE_NAME = ".pre-commit-config.yaml"
# The same as in .pre-commit-hooks.yaml, for a skill-health that came from no repository that we know of.
HOOKS = {
    "skill-health": (
        "skill-health lint --force-exclude",
        r"(?i)^(?!-)(.*/)?(SKILL\.md|skill-health\.toml|[^/]*\.jsonl|(skills?|references?|scripts)/.*)$",
    ),
    "skill-health-fixtures": (
        "skill-health fixtures",
        r"(?i)^(?!-)(.*/)?(SKILL\.md|skill-health\.toml|[^/]*\.jsonl|metadata\.json|(task|instruction)\.md)$",
    ),
}
_PLAIN = lazy(r"[A-Za-z0-9/.][\w./:@+~=-]*(?<!:)")
# Nothing that a shell, YAML, pip or git would take for more than a part of an address; no user's password.
_ADDRESS = lazy(r"(?:https|file|ssh)://(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9._~/:+-]+", re.ASCII)
_COMMIT = lazy(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# What YAML takes for the end of a line besides the usual two.
_OTHER_BREAKS = ("\r", "\x85", "\u2028", "\u2029")


class Source(NamedTuple):
    """A git repository that holds our package and .pre-commit-hooks.yaml, and the tag or commit to use."""

    repo: str
    rev: str


def parse_source(text: str) -> Source:
    """ADDRESS@COMMIT as a source: a git URL and a full commit, which nobody can move. Raises UsageError."""
    repo, _, rev = text.rpartition("@")
    if not _ADDRESS.fullmatch(repo):
        raise UsageError(
            f"{text[:200]!r} is not ADDRESS@COMMIT with the https://, ssh:// or file:// address of a git repository of "
            "skill-health, without a password"
        )
    if not _COMMIT.fullmatch(rev):
        raise UsageError(f"{rev[:200]!r} is not a full commit (40 digits): `git rev-parse HEAD` in a clone prints it")
    return Source(repo, rev)


def source_of(direct_url: str | None) -> Source | None:
    """Where the installed version came from; None where that was no commit of a git repository.

    `direct_url` is the direct_url.json of the installation (PEP 610).
    """
    try:
        origin = json.loads(direct_url or "{}")
        vcs = origin["vcs_info"]
        return parse_source(f"{origin['url']}@{vcs['commit_id']}") if vcs["vcs"] == "git" else None
    except (ValueError, KeyError, TypeError, UsageError):
        return None


def installed_source() -> Source | None:
    """See `source_of`, for the distribution that runs."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return source_of(distribution("skill-health").read_text("direct_url.json"))
    except PackageNotFoundError:
        return None


def lines(source: Source | None, fixtures: bool) -> list[str]:
    """The entry of `repos` with our hooks; `fixtures` asks for the second one."""
    ids = [name for name in HOOKS if fixtures or name != "skill-health-fixtures"]
    if source:
        head = [f"- repo: {scalar(source.repo)}", f"  rev: {scalar(source.rev)}", "  hooks:"]
        return head + [f"    - id: {name}" for name in ids]
    # No repository is known that it came from: what is installed is what runs.
    text = ["- repo: local  # runs the skill-health that is installed where the commit is made", "  hooks:"]
    for name in ids:
        command, files = HOOKS[name]
        text += [
            f"    - id: {name}", f"      name: {name}", "      language: system", f"      entry: {command}",
            f"      files: {files}", "      require_serial: true",
        ]  # fmt: skip
    return text


def scalar(text: str) -> str:
    """A text as a YAML scalar, quoted where it must be."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def new_file(entry: list[str]) -> str:
    """A .pre-commit-config.yaml with nothing but our hooks."""
    return "repos:\n" + "".join(f"  {line}\n" for line in entry)


def has_hook(text: str) -> bool | None:
    """Whether a .pre-commit-config.yaml uses one of our hooks; None where it cannot be read as one."""
    document = _load(text)
    if document is None:
        return None
    lists = [repo.get("hooks") for repo in document["repos"] if isinstance(repo, dict)]
    hooks = [hook for hooks in lists if isinstance(hooks, list) for hook in hooks if isinstance(hook, dict)]
    return any(str(hook.get("id", "")).startswith("skill-health") for hook in hooks)


def joined(text: str, entry: list[str]) -> str | None:
    """The file with our entry as the last of `repos`, nothing else changed; None where that cannot be done safely."""
    import yaml

    before = _load(text)
    if not before or not before["repos"] or any(mark in text.replace("\r\n", "\n") for mark in _OTHER_BREAKS):
        return None
    if any(isinstance(token, yaml.AnchorToken) for token in yaml.scan(text, Loader=yaml.SafeLoader)):
        return None
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    values = node.value if isinstance(node, yaml.MappingNode) else []
    sequence = next((value for key, value in values if key.value == "repos"), None)
    if not isinstance(sequence, yaml.SequenceNode) or sequence.flow_style:
        return None
    rows = text.split("\n")
    end = min(len(rows), sequence.end_mark.line + (1 if sequence.end_mark.column else 0))
    while end > 0 and (not rows[end - 1].strip() or rows[end - 1].lstrip().startswith("#")):
        end -= 1
    indent = " " * sequence.start_mark.column
    ending = "\r" if rows[0].endswith("\r") else ""
    after = "\n".join(rows[:end] + [f"{indent}{line}{ending}" for line in entry] + (rows[end:] or [""]))
    wanted = yaml.safe_load("\n".join(entry))
    return after if _load(after) == {**before, "repos": before["repos"] + wanted} else None


def _load(text: str) -> dict[str, Any] | None:
    """The mapping with a list `repos` that a text is; None for anything else."""
    import yaml

    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # PyYAML lets some of these escape for values whose tag does not fit them, such as `!!int ""`.
        return None
    return document if isinstance(document, dict) and isinstance(document.get("repos"), list) else None
