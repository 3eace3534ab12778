"""What names a person in a text: home folders and e-mail addresses; not those of nobody in particular."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.text.patterns import lazy

_UNIX = lazy(r"(?<![\w/.:}>)\]*~-])/(?P<root>Users|home)/(?P<name>[A-Za-z0-9_.-]{2,64})(?=/[\w.@~-])")
_WINDOWS = lazy(r"(?<![\w/])[A-Za-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/)(?P<name>[A-Za-z0-9_.-]{2,64})(?=\\|/)")

_DRIVE_ROOTS = (":\\Users", ":\\\\Users", ":/Users")
# Names of nobody in particular: those in documentation, and the accounts of images, services and examples.
_ACCOUNTS = frozenset(
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
_ADDRESS = lazy(
    r"(?<![\w.+%/@:-])[\w.+-]{1,64}+@(?P<host>(?:[a-z0-9][a-z0-9-]{0,62}\.){1,5}[a-z]{2,24})(?![\w.:/-]*[\w:/])",
    re.IGNORECASE,
)
_NOBODY = lazy(
    r"example|sample|your|company|corp\b|acme|domain|email|test|invalid|localhost|placeholder|\bfoo|\bbar\b|org\.com|^co\.com"
    r"|service\.|gserviceaccount|yourapp|startup|\.local$|\.internal$|\.(?:js|ts|py|md|json|git|sh|png|svg|zip)$",
    re.IGNORECASE,
)
_ROLE = frozenset(
    "git info support help security abuse noreply no-reply donotreply contact hello team sales press legal privacy user users "
    "admin postmaster webmaster root name first.last firstname.lastname you me someone somebody john jane john.doe jane.doe "
    "alice bob carol dev devs ops feedback maintainers".split()
)


def find_home_folders(text: str) -> Iterator[re.Match[str]]:
    """Paths to somebody's home folder, each as long as its `name`: first those of Unix, then those of Windows."""
    if "/Users/" in text or "/home/" in text or "Users\\" in text:
        yield from (match for match in (*_unix_paths(text), *_windows_paths(text)) if _somebody(match["name"]))


def find_addresses(text: str) -> Iterator[re.Match[str]]:
    """E-mail addresses of persons, in order; roles, services and examples are left out."""
    if "@" in text:
        yield from (match for match in _ADDRESS.finditer(text) if not _public(match.group().lower(), match["host"]))


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
    return (
        letters >= 2 and plain not in _ACCOUNTS and plain.rstrip("0123456789") not in _ACCOUNTS and "your" not in plain
    )


def _public(address: str, host: str) -> bool:
    return address.partition("@")[0] in _ROLE or bool(_NOBODY.search(host))
