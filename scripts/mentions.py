"""Draw mentions of files from public collections, to be labelled by hand for tests/rules/links/mentions.jsonl.

    python -m scripts.mentions CHECKOUTS     -> build/mentions.jsonl

Below CHECKOUTS lies each repository as OWNER+NAME. The rules have no part in this: every token of a SKILL.md or of a
bundled Markdown file that looks like a relative path (the target of a link; anything that ends in a known extension,
in inline code, in plain words, or in a command of a code block) is looked up from the folder of its file, from that of
its skill, and from every folder above. A source is a repository, or an owner where a repository gathers the work of
many: the folder of openclaw/skills, the `source` or `author` of a skill of sickn33/antigravity-awesome-skills, the
owner of the repository in the plugin.json of jeremylongshore/claude-code-plugins-plus-skills. The half that a source
is in is drawn by a hash of its name, unless it had labels before. From each source a few mentions of each stratum are
drawn with a fixed seed.

To a drawn mention a reader adds a class and a reason in words of ours, from the text around it; copies of a line are
labelled once. `broken` is what the text takes for a file that is there, and that is not. Left without a label were
binary files of openclaw/skills, which takes text only.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from posixpath import basename, dirname, normpath
from typing import NamedTuple

HERE = Path(__file__).resolve().parents[1]
LABELS = HERE / "tests" / "rules" / "links" / "mentions.jsonl"
SEED = 20261123
EXTENSIONS = (
    "md|mdx|markdown|txt|rst|py|sh|bash|zsh|js|mjs|cjs|ts|tsx|jsx|rb|pl|ps1|r|lua|sql|json|jsonl|yaml|yml|toml|csv|tsv|"
    "xml|html|css|svg|png|jpg|jpeg|gif|pdf|docx|pptx|xlsx|ipynb|tex|j2|jinja|tmpl|template"
)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)")
TOKEN = re.compile(
    rf"(?<![\w./:$~@\\-])[\w.~${{}}<>*@+\-]+(?:/[\w.~${{}}<>*@+\-]+)*\.(?:{EXTENSIONS})\b(?![\w/(:]|\.\w)", re.I
)
FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})([^\n`]*)$")
RUNNER = re.compile(
    r"^[\s$#>]*(?:\w+=\S+\s+)*(?:sudo |time |uv run |npx (?:-y )?|poetry run )?"
    r"(?:python3?|bash|sh|zsh|node|deno run|bun|ruby|perl|Rscript|tsx|ts-node|source|cat|chmod \S+|\.)(?:\s+-\w+)*\s+(\S+)|"
    r"^[\s$]*(\.?\.?/\S+|scripts/\S+)"
)
SHELLS = frozenset(("", "bash", "sh", "shell", "zsh", "console", "terminal"))
MOST_SKILLS = 40
"""How many skills of one source are looked at."""


# What skills bundle is mostly in folders of these names, or named from the file's own folder or a variable for it.
BUNDLED = re.compile(
    r"(?:\./|\.\./|\$?\{?\w*(?:DIR|Dir)\}?/|)(?:\.\./)*"
    r"(?:scripts?|references?|assets?|resources?|examples?|templates?|rules|prompts?|guides?|playbooks?|checklists?|"
    r"schemas?|docs?|workflows?|agents|tools|lib|bin|data|config|skills)/|\.{1,2}/"
)
OF_SOURCE = {"link": 2, "bundled": 3, "command": 1, "bare": 1, "path": 1, "pattern": 1, "found": 1}
"""How many of each stratum may come from one source, and how many of all but the last:"""
OF_ALL = 3
MOST = {"link": 60, "bundled": 140, "command": 50, "bare": 60, "path": 30, "pattern": 8, "found": 12}
"""How many of each stratum are drawn for a half."""


class Drawn(NamedTuple):
    """A mention: where it is, how it is written, and whether it can be found."""

    source: str
    repository: str
    skill: str
    path: str
    line: int
    mention: str
    form: str
    found: str


def files_of(tree: Path) -> tuple[list[str], frozenset[str]]:
    """The files of a repository, and these with their folders, relative to it."""
    files = sorted(str(p.relative_to(tree)) for p in tree.rglob("*") if ".git/" not in f"{p}/" and p.is_file())
    folders = {dirname(file) for file in files}
    for folder in list(folders):
        while folder:
            folder = dirname(folder)
            folders.add(folder)
    return files, frozenset(files) | folders


def source_of(repository: str, tree: Path, skill: str) -> str:
    """The source that a skill counts for."""
    parts = skill.split("/")
    if repository == "openclaw/skills":
        return f"{repository}/skills/{parts[1]}"
    if repository.startswith("sickn33/"):
        head = (tree / skill).read_text("utf-8", "replace")[:3000]
        named = re.search(r"^\s*(?:source|author):\s*[\"']?([\w.:/-]+)", head, re.M)
        return f"{repository} from {named.group(1)}" if named else repository
    if repository.startswith("jeremylongshore/"):
        folder = dirname(skill)
        while folder:
            manifest = tree / folder / ".claude-plugin" / "plugin.json"
            if manifest.is_file():
                try:
                    owner = re.search(
                        r"github\.com/([\w.-]+)/", str(json.loads(manifest.read_text("utf-8")).get("repository"))
                    )
                except ValueError:
                    owner = None
                if owner and owner.group(1) not in ("jeremylongshore", "username", "test"):
                    return f"{repository} from {owner.group(1)}"
                return repository
            folder = dirname(folder)
    return repository


def half_of(source: str, known: dict[str, str]) -> str:
    """The half that a source is in: that of its labels, if it has any."""
    if source in known:
        return known[source]
    return "sealed" if hashlib.sha256(source.encode()).digest()[0] % 2 else "tuning"


def tokens_of(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, token and form of everything that looks like a relative path."""
    fence, shell = "", False
    for nth, line in enumerate(text.split("\n"), 1):
        mark = FENCE.match(line)
        if mark and not fence:
            fence, shell = mark.group(1), mark.group(2).strip().lower() in SHELLS
            continue
        if fence:
            if mark and mark.group(1)[0] == fence[0] and len(mark.group(1)) >= len(fence) and not mark.group(2).strip():
                fence = ""
            elif (
                shell
                and (run := RUNNER.match(line))
                and TOKEN.fullmatch(word := (run.group(1) or run.group(2)).strip("\"';`"))
            ):
                yield nth, word, "command"
            continue
        taken = []
        for link in LINK.finditer(line):
            target = link.group(1)
            taken.append(link.span())
            if not re.match(r"[a-zA-Z][\w+.-]*:|//|#", target):
                yield nth, target, "link"
        codes = [m.span() for m in re.finditer(r"(`+)(?!`).+?(?<!`)\1(?!`)", line)]
        for token in TOKEN.finditer(line):
            if any(start <= token.start() < end for start, end in taken):
                continue
            if "://" in line[max(0, line.rfind(" ", 0, token.start())) : token.start()]:
                continue
            coded = any(start < token.start() < end for start, end in codes)
            yield nth, token.group(), "code" if coded else "words"


def look_up(mention: str, path: str, folder: str, known: frozenset[str], names: dict[str, list[str]]) -> str:
    """Where a mention leads: found, elsewhere (a file with that ending), name (one of that name), or nowhere."""
    target = mention.partition("#")[0].partition("?")[0].lstrip("@")
    target = re.sub(r"^(\$?\{?\w*(?:DIR|Dir|ROOT|_PATH)\}?)/", "", target)
    base = dirname(path)
    for place in (base, folder):
        full = normpath(f"{place}/{target}" if place else target)
        if full in known:
            return "found"
    above = folder
    while above:
        above = dirname(above)
        if normpath(f"{above}/{target}" if above else target) in known:
            return "found"
    clean = re.sub(r"^(\.{1,2}/)+", "", normpath(target)).lstrip("/")
    same = names.get(basename(clean), ())
    if any(one == clean or one.endswith("/" + clean) for one in same):
        return "elsewhere"
    return "name" if same else "nowhere"


def collect(tree: Path) -> Iterator[Drawn]:
    """Every mention of a repository, of at most MOST_SKILLS skills of one source."""
    repository = tree.name.replace("+", "/", 1)
    files, known = files_of(tree)
    skills = [file for file in files if basename(file).lower() == "skill.md"]
    by_source = defaultdict(list)
    for skill in skills:
        by_source[source_of(repository, tree, skill)].append(skill)
    top = {dirname(skill): skill for skill in skills}
    inside = defaultdict(list)
    for file in files:
        folder = dirname(file)
        while folder not in top and folder:
            folder = dirname(folder)
        if folder in top:
            inside[folder].append(file)
    for source in sorted(by_source):
        stream = random.Random(f"{SEED} {source}")
        chosen = stream.sample(by_source[source], min(MOST_SKILLS, len(by_source[source])))
        owner = f"skills/{source.rpartition('/')[2]}/" if repository == "openclaw/skills" else ""
        for skill in sorted(chosen):
            folder = dirname(skill)
            names = defaultdict(list)
            for file in files if not owner else inside_owner(files, owner):
                names[basename(file)].append(file)
            for file in inside[folder]:
                if not file.lower().endswith((".md", ".mdx")):
                    continue
                if re.match(r"(README|CHANGELOG|LICENSE|CONTRIBUTING)", basename(file), re.I):
                    continue
                text = (tree / file).read_text("utf-8", "replace")[:200_000]
                seen = set()
                for line, mention, form in tokens_of(text):
                    if (mention, form) not in seen:
                        seen.add((mention, form))
                        yield Drawn(
                            source,
                            repository,
                            skill,
                            file,
                            line,
                            mention,
                            form,
                            look_up(mention, file, folder, known, names),
                        )


def inside_owner(files: list[str], owner: str) -> list[str]:
    """The files below a folder."""
    return files[bisect_left(files, owner) : bisect_left(files, owner[:-1] + "0")]


def stratum_of(mention: Drawn) -> str:
    """The stratum of a mention: what it is by its form, whatever the words around it say."""
    target = mention.mention
    if mention.found == "found":
        return "found"
    if mention.form in ("link", "command"):
        return mention.form
    if "/" not in target:
        return "bare"
    if re.search(r"[<>{}*$]", re.sub(r"^\$?\{?\w*(?:DIR|Dir)\}?/", "", target)):
        return "pattern"
    return "bundled" if BUNDLED.match(target) else "path"


def draw(mentions: list[Drawn], known: dict[str, str]) -> Iterator[tuple[str, str, Drawn]]:
    """Half, stratum and mention: a few of each source, and of each stratum no more than MOST; the same words once."""
    by_source: dict[str, list[Drawn]] = defaultdict(list)
    for mention in mentions:
        by_source[mention.source].append(mention)
    order = sorted(by_source, key=lambda source: hashlib.sha256(f"{SEED} {source}".encode()).digest())
    left = {half: dict(MOST) for half in ("tuning", "sealed")}
    drawn: set[tuple[str, str]] = set()
    for source in order:
        stream = random.Random(f"{SEED} draw {source}")
        half, taken = half_of(source, known), 0
        pool = stream.sample(by_source[source], len(by_source[source]))
        for stratum, most in OF_SOURCE.items():
            here = 0
            for one in pool:
                key = (basename(dirname(one.skill)), one.mention)
                if here == most or not left[half][stratum] or (stratum != "found" and taken == OF_ALL):
                    break
                if stratum_of(one) == stratum and key not in drawn:
                    drawn.add(key)
                    left[half][stratum] -= 1
                    here, taken = here + 1, taken + (stratum != "found")
                    yield half, stratum, one


if __name__ == "__main__":
    rows: list[Drawn] = []
    for tree in sorted(Path(sys.argv[1]).iterdir()):
        if "+" in tree.name:
            rows += collect(tree)
            print(tree.name, len(rows), file=sys.stderr, flush=True)
    out = HERE / "build" / "mentions.jsonl"
    labels = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    known = {label["source"]: label["half"] for label in labels if "drawn" not in label}
    lines = [json.dumps({"half": half, "stratum": stratum} | one._asdict()) for half, stratum, one in draw(rows, known)]
    out.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(len(lines), out)
