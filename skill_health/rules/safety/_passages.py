"""The texts of a skill that an agent follows or runs, and whether a passage of them only speaks of an attack.

Texts that an agent is given to read or run count: SKILL.md, bundled Markdown, scripts, and the manifests that
programs run. Data does not, nor do tests with theirs: a scanner's samples are attacks by design.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.leakage._bundled import all_texts
from skill_health.rules.links._memo import remembered
from skill_health.rules.safety._hosts import Address, addresses
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

_MARKDOWN = frozenset("md mdx markdown txt rst".split())
_SCRIPTS = frozenset(
    "py pyi sh bash zsh fish ps1 bat cmd js mjs cjs ts tsx jsx rb go rs java kt php pl lua swift scpt applescript html "
    "htm svg ipynb".split()
)
_MANIFESTS = frozenset(
    {"package.json", "hooks.json", "settings.json", "settings.local.json", "plugin.json", "mcp.json", ".mcp.json",
     "Makefile", "Dockerfile", ".envrc"}
)  # fmt: skip
_TESTS = frozenset(
    "test tests testdata test-data test_data test-fixtures fixtures __tests__ spec specs eval evals evaluations benchmark "
    "benchmarks node_modules".split()
)
_TEST_FILE = lazy(r"\Atest_|[._-](?:test|tests|spec)\.\w{1,4}\Z|\Aconftest\.py\Z")
MAX_SVGS = 20

# Words of those who warn of attacks or look for them. What an attacker says to hurry a reader (never skip, must, do not
# proceed) is none of them.
_SPEAKS_OF_ATTACKS = lazy(
    r"\b(?:detect(?:s|ed|ing|ion|or|ors)?|malicious(?:ly)?|malware|attack(?:s|er|ers|ing)?|exploit(?:s|ed|ation|ing)?|"
    r"vulnerab\w{1,10}|(?:prompt|command|code|sql) injections?|suspicious|red[ -]flags?|threats?|anti-?patterns?|unsafe|"
    r"insecure|dangerous|obfuscat\w{1,6}|exfiltrat\w{1,6}|forbidden|adversar\w{1,6}|phishing|social engineering|"
    r"reverse shells?|bad (?:example|practice)s?|(?:bad|wrong|incorrect)(?=:)|red team\w{0,4}|pentest\w{0,4}|"
    r"penetration test\w{0,4}|indicators? of compromise|supply[ -]chain|untrusted|privilege escalation|ctf|yara|"
    r"(?:do not|don'?t|never|avoid|should not|shouldn'?t|must not) (?:ever )?(?:run|running|use|using|pipe|piping|execute|"
    r"executing|curl|install|installing|download|downloading|follow|following|send|sending|paste|pasting|trust|do this)"
    r"(?! (?:this|the) skill))\b|[\u274c\u26d4\U0001f6ab\U0001f6a9]",
    re.IGNORECASE,
)
_CODE_SPEAKS_OF_ATTACKS = lazy(
    r"malicious|malware|attack|\bdetect|suspicious|dangerous|vulnerab|injection", re.IGNORECASE
)
# What a list of patterns to look for is made of, and no command.
_PATTERN_LIKE = lazy(r"\\[sbSdwW.|(\[](?![a-z])|\.\*|\[\^|\(\?[:!=i]|regex|\bgrep\b[^\n]{0,40} -\w*[EPr]")
_CODE_COMMENT = lazy(r"[ \t]{0,200}(?:#(?!!)|//|\*|/\*|--|;|<!--)")
_HEADING = "\n#"
# A host by whose name a sample says that it is one.
_SAMPLE_HOST = lazy(r"evil|attacker|malicious|hacker|badguy|bad-actor|exfil", re.IGNORECASE)
# The other letters that a pattern without case takes for one of ASCII.
_LIKE_ASCII = {"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"}
_ABOVE, _FAR, _LINE, _NEXT = 300, 20_000, 400, 120


class SafetyText(NamedTuple):
    """A text that is followed or run.

    `path` is None for SKILL.md, as in a Hit; `joined` has the same positions, with lines that a backslash continues
    made one; `lower` is for looking for literals: ASCII, with "?" for other letters; `urls` are its addresses;
    `about` is what the skill says of itself. `looked` keeps which literals occur.
    """

    path: str | None
    markdown: bool
    text: str
    joined: str
    lower: str
    urls: tuple[Address, ...]
    about: str
    looked: dict[str, bool]

    def has(self, *literals: str) -> bool:
        """Whether any of these lower-case literals occurs: the test before each pattern. Rules share many of them."""
        looked = self.looked
        for literal in literals:
            occurs = looked.get(literal)
            if occurs is None:
                occurs = looked[literal] = literal in self.lower
            if occurs:
                return True
        return False

    def has_within(self, region: tuple[int, int], literals: Iterable[str]) -> bool:
        """Whether any of these lower-case literals occurs in a part."""
        return any(self.lower.find(literal, *region) >= 0 for literal in literals)

    def runs_netcat(self) -> bool:
        """Whether it may run netcat, by one of its names."""
        if self.has("netcat", "ncat"):
            return True
        known = self.looked.get("nc ")
        if known is None:
            known = self.looked["nc "] = any(not self.lower[at - 1].isalnum() for at in self._places("nc ") if at)
        return known

    def _places(self, literal: str) -> Iterator[int]:
        at = self.lower.find(literal)
        while at >= 0:
            yield at
            at = self.lower.find(literal, at + 1)

    def hints_at(self, hints: Iterable[str | re.Pattern[str]]) -> bool:
        """Whether any of these hints occurs: a literal, or a pattern that begins with one, in lower case.

        That makes looking for a pattern as fast as looking for that literal, some eight times faster than without.
        """
        lower = self.lower
        return any(self.has(hint) if isinstance(hint, str) else hint.search(lower) for hint in hints)

    def hinted(self, hints: Iterable[str | re.Pattern[str]]) -> list[int]:
        """Where these hints occur, each as for `hints_at`."""
        found: list[int] = []
        for hint in hints:
            if not isinstance(hint, str):
                found.extend(match.start() for match in hint.finditer(self.lower))
            elif self.has(hint):
                found.extend(self._places(hint))
        return found

    def regions(self, literals: Iterable[str], before: int, after: int) -> list[tuple[int, int]]:
        """What lies around these lower-case literals, merged where it overlaps: patterns look nowhere else."""
        looked = self.looked
        return self.around(
            (at for literal in literals if looked.get(literal, True) for at in self._places(literal)), before, after
        )

    def around(self, places: Iterable[int], before: int, after: int) -> list[tuple[int, int]]:
        """What lies around these places, merged where it overlaps."""
        regions: list[tuple[int, int]] = []
        for at in sorted(places):
            low, high = max(0, at - before), min(len(self.lower), at + after)
            if regions and low <= regions[-1][1]:
                regions[-1] = (regions[-1][0], high)
            else:
                regions.append((low, high))
        return regions

    def lines(self, literals: Iterable[str]) -> Iterator[tuple[int, int]]:
        """The lines that contain one of these lower-case literals; a long one in pieces that overlap."""
        done = -1
        for low, high in self.regions(literals, 0, 1):
            for at in range(low, high, _LINE):
                if at < done:
                    continue
                last = self.joined.find("\n", at, at + 2 * _LINE)
                yield self.line_start(at, _LINE), last if last >= 0 else min(len(self.joined), at + 2 * _LINE)
                done = last if last >= 0 else at + _LINE

    def line_start(self, at: int, most: int) -> int:
        """Where the line of a place starts, or `most` characters before it."""
        low = max(0, at - most)
        return max(self.joined.rfind("\n", low, at) + 1, low)


@remembered
def safety_texts(skill: Skill, context: Context) -> tuple[SafetyText, ...]:
    """The texts of a skill that an agent follows or runs, SKILL.md first."""
    return tuple(_read(skill, context))


def _read(skill: Skill, context: Context) -> Iterator[SafetyText]:
    inside = len(skill.folder) + 1 if skill.folder else 0
    about = (skill.description or skill.text)[:1000]
    for path, text in all_texts(skill, context):
        if path is None:
            yield _as_text(None, True, text, about)
        elif kind := _kind(path[inside:]):
            yield _as_text(path, kind == "markdown", text, about)
    # Pictures that can hold scripts; only a browser would run them, so only these rules read them.
    svgs = (file for file in skill.files if file.lower().endswith(".svg") and _kind(file))
    for file, _ in zip(svgs, range(MAX_SVGS), strict=False):
        picture = skill.path_of(file)
        drawn = context.read(picture)
        if drawn:
            yield _as_text(picture, False, drawn, about)


def _as_text(path: str | None, markdown: bool, text: str, about: str) -> SafetyText:
    joined, lower = text, _lower(text)
    if "\\" in lower and "\\\n" in lower:
        joined, lower = text.replace("\\\n", "  "), lower.replace("\\\n", "  ")
    urls: tuple[Address, ...] = ()
    if "://" in lower:
        # The only letter that is longer in lower case.
        whole = lower if joined.isascii() else joined.replace("\u0130", "I").lower()
        urls = tuple(url._replace(shown=joined[url.start : url.end]) for url in addresses(whole))
    return SafetyText(path, markdown, text, joined, lower, urls, about, {})


def _lower(text: str) -> str:
    """A text in lower case in as many letters, in ASCII: looking for literals is faster in it, and making it is."""
    if not text.isascii():
        for letter, plain in _LIKE_ASCII.items():
            text = text.replace(letter, plain)
    return text.encode("ascii", "replace").lower().decode("ascii")


def _kind(file: str) -> str:
    """Whether a bundled file is markdown or a script; "" for data and for what belongs to tests."""
    *folders, name = file.split("/")
    if not _TESTS.isdisjoint(folders) or _TEST_FILE.search(name):
        return ""
    if name in _MANIFESTS:
        return "script"
    extension = name.rpartition(".")[2].lower()
    return "markdown" if extension in _MARKDOWN else "script" if extension in _SCRIPTS else ""


def is_quoted(text: SafetyText, start: int, end: int) -> bool:
    """Whether characters `start` to `end` are shown as an attack, and not meant to be followed or run.

    They are in a comment of a script or a list of patterns to look for, or the rest of their line, the lines right
    above or the headings above them speak of attacks, or say not to do it.
    """
    whole = text.text
    first = text.line_start(start, _LINE)
    last = whole.find("\n", end, end + _LINE)
    before, after = whole[first:start], whole[end : last if last >= 0 else end + _LINE]
    if _SAMPLE_HOST.search(whole, start, end + _NEXT) and _SPEAKS_OF_ATTACKS.search(text.about):
        return True
    speaks = _SPEAKS_OF_ATTACKS if text.markdown else _CODE_SPEAKS_OF_ATTACKS
    if speaks.search(before) or speaks.search(after):
        return True
    if _PATTERN_LIKE.search(before) or _PATTERN_LIKE.search(whole[start:end]) or _PATTERN_LIKE.search(after):
        return True
    if not text.markdown:
        return _CODE_COMMENT.match(before or whole[start:end]) is not None
    above = [line for line in whole[max(0, first - _ABOVE) : first].split("\n") if line.strip("`~ \t")]
    if any(_SPEAKS_OF_ATTACKS.search(line) for line in above[-2:]):
        return True
    return any(_SPEAKS_OF_ATTACKS.search(heading) for heading in _headings(whole, first))


def _headings(whole: str, at: int) -> Iterator[str]:
    """The two headings above a place, or what looks like one."""
    low = max(0, at - _FAR)
    for _ in range(2):
        at = whole.rfind(_HEADING, low, at)
        if at < 0:
            return
        stop = whole.find("\n", at + 1, at + _LINE)
        yield whole[at + 1 : stop if stop >= 0 else at + _LINE]
