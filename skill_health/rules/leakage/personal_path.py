"""A path names somebody's home folder

## What
Reports paths into a named person's home folder (`/Users/amiller/...`, `/home/bobby/...`, `C:\\Users\\cwong\\...`) in
SKILL.md and in the text files beside it. Left alone: `~` and `$HOME`, placeholders (`/home/user`, `/Users/you`,
`/home/<name>`, `/home/$USER`), the names of examples (alice, bob, john.doe), accounts of images and services
(`/home/runner`, `/home/ubuntu`, `/home/node` ...), and addresses such as `/users/42` or `https://host/home/news`.
Where the line or the one before calls it an example or a mistake, and in data files and test data, it is information.

## Why
The path exists on one machine. An agent that follows it fails or invents a replacement, and the path tells every reader
who wrote the skill.

## Bad
```markdown
Read `/Users/amiller/work/acme/schema.sql` first.
```

## Good
```markdown
Read `references/schema.sql` first.
```

## Fix
Bundle the file and name it relative to the skill, or write `~` or a placeholder. There is no automatic fix.

## Source
SHOULD · Agent Skills specification, "file references: use relative paths from the skill root", agentskills.io
(2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.leakage._bundled import all_texts, is_data, is_sample, span_of
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

CODE = "LE002"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

_UNIX = lazy(r"(?<![\w/.:}>)\]*~-])/(?P<root>Users|home)/(?P<name>[A-Za-z0-9_.-]{2,64})(?=/[\w.@~-])")
_WINDOWS = lazy(r"(?<![\w/])[A-Za-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/)(?P<name>[A-Za-z0-9_.-]{2,64})(?=\\|/)")

_DRIVE_ROOTS = (":\\Users", ":\\\\Users", ":/Users")
# Names of nobody in particular: those in documentation, and the accounts of images, services and examples.
_NOBODY = frozenset(
    "user users username user-name user_name your you yourname your-name your_name your-username your_username yourusername "
    "yourself me myself name myname my-name myuser my-user someone somebody foo bar baz xxx xx example demo sample test "
    "tester testuser owner admin administrator shared public default default_user all-users guest root home dev developer "
    "devuser coder code vscode node app appuser application web www www-data nginx runner runneradmin ci circleci jenkins "
    "gitlab gitlab-runner github build builder agent claude codex sandbox worker container docker podman ubuntu debian "
    "centos fedora ec2-user ec2_user azureuser opc pi jovyan jupyter airflow spark hadoop postgres mysql redis deploy "
    "deployer git hermes work site vst workspace openclaw clawdbot clawd claw moltbot molt alice bob carol charlie dave eve "
    "mallory john jane joe jdoe johndoe janedoe john.doe jane.doe johnsmith john.smith mustermann acme openhands daytona "
    "gitpod codespace linuxbrew homebrew nonroot nobody steam vagrant oracle service svc bot nvidia".split()
)
_HELP = "Bundle the file and name it relative to the skill, or write ~ or a placeholder such as <name>."


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the first mention of each home folder in each file, with the number of mentions."""
    for path, text in all_texts(skill, context):
        if "/Users/" not in text and "/home/" not in text and "Users\\" not in text:
            continue
        found: dict[str, list[tuple[int, int]]] = {}
        for match in (*_unix_paths(text), *_windows_paths(text)):
            if _somebody(match["name"]):
                found.setdefault(match.group(), []).append(match.span())
        for folder, spans in sorted(found.items(), key=lambda item: item[1][0]):
            times = f", {len(spans)} times in this file" if len(spans) > 1 else ""
            sample = is_data(path) or all(is_sample(text, start, path) for start, _ in spans)
            message = f"path into somebody's home folder, {folder!r}{times}"
            yield Hit(span_of(text, *spans[0]), message, _HELP, path, severity=Severity.INFO if sample else None)


def _unix_paths(text: str) -> Iterator[re.Match[str]]:
    """What `_UNIX.finditer` finds, tried only where such a path may begin: that is far cheaper than everywhere."""
    done = 0
    for at in sorted((*_places(text, "/Users/"), *_places(text, "/home/"))):
        match = _UNIX.match(text, at) if at >= done else None
        if match:
            done = match.end()
            yield match


def _windows_paths(text: str) -> Iterator[re.Match[str]]:
    return _WINDOWS.finditer(text) if any(root in text for root in _DRIVE_ROOTS) else iter(())


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _somebody(name: str) -> bool:
    plain = name.lower().strip("._-")
    letters = sum(char.isalpha() for char in plain)
    return letters >= 2 and plain not in _NOBODY and plain.rstrip("0123456789") not in _NOBODY and "your" not in plain
