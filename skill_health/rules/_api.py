"""The interface of a rule: what it receives and what it returns.

A rule is a module `rules/<family>/<name>.py` with a docstring (title, then the headings What, Why,
Bad, Good, Fix, Source) and these names:

    CODE = "FM001"              family prefix and three digits; never reused
    SEVERITY = Severity.ERROR
    SINCE = "0.1.0"
    DEFAULT = True              False: opt-in (an opinion)

and one of

    def check(skill: Skill, context: Context) -> Iterator[Hit]
    def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]
    def check_repository(repository: Repository) -> Iterator[Hit]

A rule about files that stand in skills and around them has the first and the third.

The second kind sees a summary of every skill. If it needs more, it collects that once per skill with
`def collect(skill: Skill, context: Context) -> JSON value`; the value is cached and becomes `summary.facts[CODE]`.
A commit asks for the findings of a few skills. The facts of others are then collected when the rule looks at them: it
should look at no more than it needs (see `Corpus.shows`).
The third kind sees what skills ship in (`rules/repository/_repository.py`): manifests, hooks, commands, subagents and
catalogues, each read once and only when a rule looks at it. It runs where such a file was asked for.
`REDACT = True` keeps the source line of its hits out of every output. `FAULTS` are the faults (`hosts/_api.py`) that a
rule reports: its findings then name the hosts that skip a skill because of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

# A run with a full cache parses nothing, so it never loads the model of a skill.
if TYPE_CHECKING:
    from skill_health.config.settings import Config
    from skill_health.hosts._api import Fault
    from skill_health.registries.records import Registries
    from skill_health.rules.repository._repository import Repository
    from skill_health.skill.model import Document, Skill, Span


CUSTOM = "custom"
"""The family of the rules that a repository's own configuration adds."""


class Severity(str, Enum):
    """How serious: an error breaks a host or leaks something, a warning costs quality, info is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """The sort key: 0 is the most severe."""
        return ("error", "warning", "info").index(self.value)


def named_by(selector: str, code: str, name: str, family: str = "") -> bool:
    """Whether a selector matches a rule: by its code, a prefix of the code, its name, its family, or ALL."""
    return selector in ("ALL", name) or selector == family or (selector[:1].isupper() and code.startswith(selector))


class Edit(NamedTuple):
    """Replace the text of `span` (in the decoded file, newlines as in the file) with `text`."""

    span: "Span"
    text: str


class Fix(NamedTuple):
    """A fix: edits of one file, or a rename (`rename` is the new name of the file or folder at `path`).

    A safe fix cannot change what the skill means to a reader or a host.
    """

    message: str
    edits: tuple[Edit, ...] = ()
    safe: bool = False
    rename: tuple[str, str] | None = None


class Hit(NamedTuple):
    """What a rule yields: where, what is wrong, and what to do about it.

    `path` is relative to the root; None means the skill's own file. `severity` overrides the rule's own, for rules with
    two severities. `also` lists the SKILL.md of the other skills that a collection-wide finding is about: it is shown
    if any of them was asked for. `hosts` are the keys of the hosts that skip the skill because of it, `fault` what they
    mind; the engine adds hosts where a rule declares its `FAULTS`.
    """

    span: "Span"
    message: str
    help: str = ""
    path: str | None = None
    fix: Fix | None = None
    severity: Severity | None = None
    also: tuple[str, ...] = ()
    fault: "Fault | None" = None
    hosts: tuple[str, ...] = ()


class Finding(NamedTuple):
    """A hit with its rule: what every format prints. `source` is the line it points at.

    `skill` is the path of the SKILL.md it belongs to ("" for a registry or the whole collection); `key` identifies it
    by content, so it survives when lines move. `hosts` are the keys of the hosts that skip the skill because of it.
    `fixable` says that there is a fix, and `safe` that it is a safe one, also where `fix` itself is not kept.
    """

    code: str
    rule: str
    family: str
    severity: Severity
    path: str
    line: int
    col: int
    end_line: int
    end_col: int
    message: str
    help: str = ""
    source: str = ""
    skill: str = ""
    key: str = ""
    fix: Fix | None = None
    fixable: bool = False
    also: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    safe: bool = False


class Context(Protocol):
    """What a per-skill rule may ask beyond the skill. Every answer becomes part of the cache key."""

    config: "Config"
    registries: "Registries"

    def exists(self, path: str) -> bool:
        """Whether a file or folder exists at this path, relative to the root (`..` allowed), in the repository."""

    def leads_out(self, path: str) -> bool:
        """Whether a path, relative to the root, leads out of the repository, by itself or through a link."""

    def read(self, path: str) -> str | None:
        """The text of a file, relative to the root; None if it is missing, binary or over 1 MiB."""

    def content(self, path: str) -> bytes | None:
        """The bytes of a file, relative to the root; None if it is missing or over 1 MiB."""

    def is_executable(self, path: str) -> bool:
        """Whether a file, relative to the root, may be run by its name; all may on Windows."""

    def document(self, path: str) -> "Document | None":
        """The parsed Markdown of a file, relative to the root; parsed once per run."""


class SkillSummary(NamedTuple):
    """What the collection-wide rules know of one skill."""

    path: str
    folder: str
    name: str
    description: str
    name_span: "Span"
    description_span: "Span"
    digest: str = ""
    hidden: bool = False
    facts: Mapping[str, Any] = {}


class Corpus(NamedTuple):
    """All skills of a collection in the order of their paths.

    Of `skills` each summary is made when it is looked at: a rule keeps places in it, and looks again where it reports.
    `shown` names the files asked for (None: all), `unread` the folders (path, reason) that were not searched.
    """

    skills: Sequence[SkillSummary]
    shown: frozenset[str] | None = None
    unread: tuple[tuple[str, str], ...] = ()

    def wanted(self) -> Iterator[SkillSummary]:
        """The skills whose findings are wanted."""
        return (skill for skill in self.skills if self.shows(skill.path))

    def shows(self, *paths: str) -> bool:
        """Whether a finding about these files is wanted. A rule may leave out others, and what they would cost."""
        return self.shown is None or not self.shown.isdisjoint(paths)


class CorpusContext(Protocol):
    """What a collection-wide rule may ask beyond the summaries; answers become part of the cache key.

    `as_of` is the day as of which claims are judged.
    """

    config: "Config"
    registries: "Registries"
    as_of: date

    def exists(self, path: str) -> bool:
        """Whether a file or folder exists at this path, relative to the root."""

    def read(self, path: str) -> str | None:
        """The text of a file, relative to the root; None if it is missing, binary or over 1 MiB."""


class Rule(NamedTuple):
    """A loaded rule module."""

    code: str
    name: str
    family: str
    severity: Severity
    since: str
    default: bool
    doc: str
    check: "Callable[[Skill, Context], Iterable[Hit]] | None" = None
    check_corpus: Callable[[Corpus, CorpusContext], Iterable[Hit]] | None = None
    check_repository: "Callable[[Repository], Iterable[Hit]] | None" = None
    collect: "Callable[[Skill, Context], Any] | None" = None
    redact: bool = False
    faults: "frozenset[Fault]" = frozenset()
