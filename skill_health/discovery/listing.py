"""What one folder holds, by kind, and which of its subfolders may hold skills."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from itertools import islice

from skill_health.core.boundary import Boundary, git_link, shared_state
from skill_health.core.files import name_defect, refuse_failing
from skill_health.discovery.ignores import Patterns, ignored

# Hidden folders in which agents keep skills or plugins: the project paths of the hosts' own documents and of the
# `skills` installer's table of agents, read 2026-11. No other hidden folder is entered.
AGENT_FOLDERS = frozenset(
    ".adal .agent .agents .aider-desk .amp .antigravity .augment .autohand .bob .claude .claude-plugin .cline "
    ".codeartsdoer .codebuddy .codemaker .codestudio .codewhale .codex .codex-plugin .commandcode .continue "
    ".copilot .cortex .crush .curated .cursor .cursor-plugin .devin .experimental .factory .forge .fx .gemini "
    ".github .goose .grok .hermes .iflow .inferencesh .jazz .junie .kilo .kilocode .kimchi .kiro .kode .lingma "
    ".mcpjam .minimax .moxby .mux .neovate .ona .openclaw .opencode .openhands .pi .pochi .posit .qoder .qwen "
    ".reasonix .roo .rovodev .system .tabnine .terramind .tinycloud .trae .vibe .warp .windsurf .zcode "
    ".zencoder".split()
)
NEVER = frozenset(("node_modules", "bower_components", "venv", "__pycache__", "__pypackages__", "site-packages"))
NEVER_ENDINGS = (".dist-info", ".egg-info")


class Listing:
    """The names in one folder.

    `links` are symbolic links to folders; `linked` those among `files` that are symbolic links to files; `outside` are
    links that lead out of the repository, whatever to; `odd` are broken links, sockets and the like.
    """

    def __init__(self) -> None:
        self.folders: list[str] = []
        self.files: list[str] = []
        self.links: list[str] = []
        self.linked: list[str] = []
        self.outside: list[str] = []
        self.odd: list[str] = []
        self.size = 0

    def keep(self, wanted: Callable[[str, bool], bool]) -> None:
        """Remove every name but those wanted; asked with a name and whether it is that of a folder."""
        self.folders = [name for name in self.folders if wanted(name, True)]
        self.files = [name for name in self.files if wanted(name, False)]
        self.links = [name for name in self.links if wanted(name, False)]
        self.outside = [name for name in self.outside if wanted(name, False)]
        self.odd = [name for name in self.odd if wanted(name, False)]


def list_folder(directory: str, limit: int, boundary: Boundary) -> Listing:
    """The first `limit` + 1 names of a folder. Raises OSError where the folder cannot be read."""
    listing = Listing()
    with os.scandir(directory) as entries:
        for entry in islice(entries, limit + 1):
            listing.size += 1
            if entry.is_dir(follow_symlinks=False):
                listing.folders.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                listing.files.append(entry.name)
            elif entry.is_symlink() and boundary.leads_out(entry.path):
                listing.outside.append(entry.name)
            else:
                _add_odd(listing, entry)
    return listing


def _add_odd(listing: Listing, entry: os.DirEntry[str]) -> None:
    """File a symbolic link under what it leads to, and anything else that is neither file nor folder."""
    try:
        if entry.is_symlink() and entry.is_dir():
            listing.links.append(entry.name)
        elif entry.is_symlink() and entry.is_file():
            listing.files.append(entry.name)
            listing.linked.append(entry.name)
        else:
            listing.odd.append(entry.name)
    except OSError:
        listing.odd.append(entry.name)


def drop_ignored(listing: Listing, rules: Sequence[Patterns], prefix: str) -> None:
    """Remove what the ignore files leave out. A link to a folder counts as a file, as in git."""
    listing.keep(lambda name, folder: not ignored(rules, prefix + name, name, folder))


def may_hold_skills(name: str) -> bool:
    """Whether a folder of this name may hold skills of the repository that it stands in."""
    return name in AGENT_FOLDERS if name[0] == "." else name not in NEVER and not name.endswith(NEVER_ENDINGS)


def is_foreign(directory: str, files: Sequence[str]) -> bool:
    """Whether a folder is a virtual environment, or another checkout of a repository (a git worktree)."""
    if "pyvenv.cfg" in files:
        return True
    return ".git" in files and bool(shared_state(git_link(directory)))


def is_skill_name(name: str) -> bool:
    """Whether a file of this name makes its folder a skill, in whatever case it is written."""
    return len(name) == 8 and name.lower() == "skill.md"


def has_skill(folder: str) -> bool:
    """Whether a SKILL.md, in whatever case and whatever it is, is directly in this folder.

    Raises UsageError on a failing disk.
    """
    try:
        return any(map(is_skill_name, os.listdir(folder)))
    except OSError as error:
        refuse_failing(folder, error)
        return False


def skill_name(listing: Listing) -> str | None:
    """The name that makes this folder a skill: a file before anything else, the exact spelling before others."""
    if "SKILL.md" in listing.files:
        return "SKILL.md"
    for names in (listing.files, listing.outside, listing.odd, listing.folders, listing.links):
        spellings = [name for name in names if is_skill_name(name)]
        if spellings:
            return min(spellings, key=lambda name: (name != "SKILL.md", name))
    return None


def examine(path: str) -> tuple[str, int]:
    """What is wrong with a SKILL.md ("", directory, dangling, loop or unreadable), and its size in bytes."""
    try:
        status = os.stat(path)
    except OSError as error:
        return name_defect(error), 0
    if stat.S_ISDIR(status.st_mode):
        return "directory", 0
    readable = stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK)
    return ("" if readable else "unreadable"), status.st_size
