"""What the page is made of: the documents that it rests on, and the parts that it shows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A JSON value and its `origin`: the document's name, "#", and a JSON pointer (RFC 6901) into it.

    The names of documents are: status (`status --format json`), lint (`lint --score --format json`), history (the
    lines of skill-health-history.jsonl as a list, oldest first), router-history and effectiveness-history likewise,
    router/RUN and effectiveness/RUN (the report.json of that run), page (what `report --format json` adds).
    """

    value: Any
    origin: str

    def __getitem__(self, key: str | int) -> JsonNode:
        """A part of it. Raises KeyError or IndexError where there is none."""
        return JsonNode(self.value[key], f"{self.origin}/{_escaped(key)}")

    def get(self, key: str) -> JsonNode:
        """A part of an object; a Doc of None where it has none."""
        return JsonNode((self.value or {}).get(key), f"{self.origin}/{_escaped(key)}")

    def __iter__(self) -> Iterator[JsonNode]:
        """The items of a list, in order."""
        return (self[at] for at in range(len(self.value or ())))

    def __bool__(self) -> bool:
        """Whether there is a value, and one that is not empty."""
        return bool(self.value)

    def items(self) -> Iterator[tuple[str, JsonNode]]:
        """The keys and values of an object."""
        return ((key, self[key]) for key in self.value or {})

    def where(self, key: str, value: Any) -> JsonNode | None:
        """The first item of a list of objects whose `key` is `value`; None where there is none."""
        return next((each for each in self if each.value.get(key) == value), None)


def document(name: str, value: Any) -> JsonNode:
    """A whole document."""
    return JsonNode(value, f"{name}#")


def _escaped(key: str | int) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


Tone = Literal["good", "warn", "bad", "unknown"]
TONES: tuple[Tone, ...] = ("bad", "warn", "unknown", "good")
"""The most in need first."""
QUESTIONS = {
    1: "Did it pass the deterministic gates?",
    2: "Do the descriptions route?",
    3: "Does each skill help?",
    4: "Do skills compose?",
}


@dataclass(frozen=True, slots=True)
class PageCell:
    """A cell of a table or a figure in a text. `text` is shown as it is, whatever it holds.

    `value` sorts, and is the raw number where it is one (None: missing, sorts last). `origin` is the Doc.origin of the
    value or of the estimate (an object with value, low and high) that it shows, "" where it shows no figure. `tone`
    colours it; never alone, the text says the same.
    """

    text: str
    value: float | str | None = None
    origin: str = ""
    tone: Tone | Literal[""] = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class NumberTable:
    """Numbers as a table: the heads of the columns, and rows of as many cells. `caption` says what it shows."""

    head: tuple[str, ...]
    rows: tuple[tuple[PageCell, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture before it is drawn.

    `name` is unique on the page and made of a-z, 0-9 and hyphens. `alt` says in a sentence or two what is to be seen,
    with the main figures. `spec` is a Vega-Lite specification without a theme, whose data are inline and in which all
    text of skills, prompts and models stands as data only, never as a field's name or in an expression. `table` holds
    all numbers of the picture, each cell with its origin. `note` says what to mind, below the picture.
    """

    name: str
    title: str
    alt: str
    spec: Mapping[str, Any]
    table: NumberTable
    question: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class SkillVerdict:
    """The verdict on a skill: a `word`, its `tone`, the `question` (1 to 4) that it answers, and why.

    `command` is what to run next, "" where nothing is to be done; `advice` says what for.
    """

    word: str
    tone: Tone
    question: int
    reason: str
    advice: str = ""
    command: str = ""

    @property
    def need(self) -> int:
        """Sorts verdicts: bad ones first, and of those the ones about the earlier questions."""
        return TONES.index(self.tone) * 10 + self.question


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that the page rests on. All of it is what others wrote: data, never markup.

    `status` is the joined record, `lint` the scored report of now; both cover the same skills, in the order of their
    paths. The histories are lists of lines, oldest first, as far as they fit their schema; `history` ends with the
    last daily run, which may be older than now. `router` and `effects` are the reports of the runs that the last
    lines of the histories name, the latest first. Reports that are absent or break their schema are left out, with a
    line in `notes`.

    `own` is what only the page knows (schema page): listing (hosts and tokens of each skill), claims (their age),
    changes (since the last page; null where there is none), trends. `verdicts` are by the path of SKILL.md.
    `folder` is the folder of the reports, `base` the folder that the page is written to; both absolute, "" for none.
    """

    title: str
    version: str
    as_of: str
    status: JsonNode
    lint: JsonNode
    history: JsonNode
    router_history: JsonNode
    effect_history: JsonNode
    router: tuple[JsonNode, ...]
    effects: tuple[JsonNode, ...]
    own: JsonNode
    verdicts: Mapping[str, SkillVerdict] = field(default_factory=dict)
    answers: Mapping[int, SkillVerdict] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    folder: str = ""
    base: str = ""


def anchor(path: str) -> str:
    """The id of a skill's part of the page, by the path of its SKILL.md: names may repeat and hold anything."""
    digest = hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"skill-{digest}"
