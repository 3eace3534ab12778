"""What the page is made of: the documents that it rests on, and the parts that it shows."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import msgspec

from skill_health.core.strict_json import escape_surrogates
from skill_health.documents._record import OpenRecord, Record
from skill_health.documents.activation_report import ActivationReport
from skill_health.documents.daily_run import DailyRun
from skill_health.documents.effect_configurations import EffectConfigurations
from skill_health.documents.effect_history import EffectHistoryLine
from skill_health.documents.effect_report import EffectReport, VerdictWord
from skill_health.documents.lint_report import LintDocument
from skill_health.documents.needs_report import NeedsReport
from skill_health.documents.page_data import PageData, VerdictRecord
from skill_health.documents.router_curve import RouterCurve
from skill_health.documents.router_history import RouterHistoryLine
from skill_health.documents.router_report import RouterReport
from skill_health.documents.skill_grades import SkillGrade
from skill_health.documents.skill_record import SkillRecords
from skill_health.trials.find import KeptRuns
from skill_health.trials.kept_files import ReportFolders


class Origins:
    """Where each figure comes from: the document's name, "#", and a JSON pointer (RFC 6901) into it.

    The names of documents are: status (`status --format json`), lint (`lint --score --format json`), history (the daily
    runs as a list, oldest first), router-history and effectiveness-history (the lines of these files likewise),
    effectiveness-configurations and router-curve (the files of these names), needs (`needs --format json`), router/RUN,
    effectiveness/RUN and activation/RUN (the report.json of that run), page (what `report --format json` adds).
    """

    def __init__(self, documents: Mapping[str, Record | OpenRecord | Sequence[Record | OpenRecord]]) -> None:
        """The documents by name; a history is the sequence of its lines. They live as long as this does."""
        # A record is found by its identity, which is its own as long as it lives.
        self._pointers: dict[int, str] = {}
        self._unread: deque[Record | OpenRecord] = deque()
        for name, document in documents.items():
            whole = isinstance(document, Record | OpenRecord)
            for at, record in enumerate((document,) if isinstance(document, Record | OpenRecord) else document):
                self._pointers.setdefault(id(record), f"{name}#" if whole else f"{name}#/{at}")
                self._unread.append(record)

    def of(self, record: Record | OpenRecord, *names: str) -> str:
        """The origin of a part of a document, or of what `names` lead to below it. Raises KeyError for any other."""
        # Documents are gone through once they are asked for: most lines of a history never are.
        while id(record) not in self._pointers and self._unread:
            document = self._unread.popleft()
            self._add(document, self._pointers[id(document)])
        return "/".join((self._pointers[id(record)], *map(_escaped, names)))

    def _add(self, value: Any, pointer: str) -> None:
        """Take up the records below a value that stands at this place."""
        if isinstance(value, msgspec.Struct):
            self._pointers.setdefault(id(value), pointer)
            for name, key in _inner_fields(type(value)):
                self._add(getattr(value, name), f"{pointer}/{key}")
        elif isinstance(value, Mapping):
            for key, each in value.items():
                self._add(each, f"{pointer}/{_escaped(key)}")
        elif isinstance(value, tuple):
            for at, each in enumerate(value):
                self._add(each, f"{pointer}/{at}")


@cache
def _inner_fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """The fields of a record that hold records, at any depth: their names, and as they are written."""
    found = msgspec.inspect.type_info(kind)
    assert isinstance(found, msgspec.inspect.StructType)
    return tuple((each.name, each.encode_name) for each in found.fields if _holds_records(each.type))


def _holds_records(kind: Any) -> bool:
    inner = (*getattr(kind, "types", ()), getattr(kind, "item_type", None), getattr(kind, "value_type", None))
    return isinstance(kind, msgspec.inspect.StructType) or any(map(_holds_records, filter(None, inner)))


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


Tone = Literal["good", "warn", "bad", "unknown"]
TONES: tuple[Tone, ...] = ("bad", "warn", "unknown", "good")
"""The most in need first."""
GRADE_TONES: Mapping[SkillGrade, Tone] = {
    SkillGrade.FAIL: "bad", SkillGrade.NEEDS_WORK: "warn", SkillGrade.NOT_MEASURED: "unknown", SkillGrade.PASSING: "good",
}  # fmt: skip
TOPICS = {1: "Lint", 2: "Routing", 3: "Effect", 4: "Composition"}
"""What the four questions are about, in a word."""
LIVE = 5
SKILL_TOPICS = TOPICS | {LIVE: "Activation"}
"""The same, and what is asked of a skill besides: whether live agents load it."""
QUESTIONS = {
    1: "Did it pass the deterministic gates?",
    2: "Do the descriptions route?",
    3: "Does each skill help?",
    4: "Do skills compose?",
}


@dataclass(frozen=True, slots=True)
class PageCell:
    """A cell of a table or a figure in a text. `text` is shown as it is, whatever it holds.

    `value` sorts, and is the raw number where it is one (None: missing, sorts last). `origin` (see Origins) is that of
    the value or of the estimate (an object with value, low and high) that it shows, "" where it shows no figure. `tone`
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
    all numbers of the picture, each cell with its origin. `note` says what to mind, below the picture. With
    `question` 0 it is shown by a section of its own.
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
    """The verdict on a skill, or the answer to a question about all: its `grade`, and why.

    `question` (1 to 4) is what it answers, `detail` is what was found in a word or two, "" where the grade says it all.

    `command` is what to run next, "" where nothing is to be done; `advice` says what for. `effect` is the verdict of
    the benchmark that it rests on, where that is about the skill as it is now; `preliminary` says that it may change.
    """

    grade: SkillGrade
    detail: str
    question: int
    reason: str
    advice: str = ""
    command: str = ""
    effect: VerdictWord | None = None
    preliminary: bool = False

    @property
    def word(self) -> str:
        """The grade as it is shown."""
        return self.grade.value

    @property
    def tone(self) -> Tone:
        """The tone of the grade."""
        return GRADE_TONES[self.grade]

    @property
    def need(self) -> int:
        """Sorts verdicts: bad ones first, and of those the ones about the earlier questions."""
        return TONES.index(self.tone) * 10 + self.question

    @property
    def record(self) -> VerdictRecord:
        """The verdict as the page's document has it."""
        return VerdictRecord(
            grade=self.grade, detail=escape_surrogates(self.detail), question=self.question,
            reason=escape_surrogates(self.reason), advice=escape_surrogates(self.advice),
            command=escape_surrogates(self.command),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class DueSkills:
    """A step, with the names of the skills that it is for. `command` is "" where no command does it."""

    gap: str
    advice: str
    command: str
    skills: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that the page rests on. All of it is what others wrote: data, never markup.

    `status` is the joined record, `lint` the scored report of now; both cover the same skills, in the order of their
    paths. The histories are lines, oldest first, as far as they fit their type; `history` ends with the last daily
    run, which may be older than now. `router` and `effects` are the reports of the runs that the last lines of the
    histories name, the latest first, and so are those of `activation`. Reports that are absent or break their schema
    are left out, with a line in `notes`. `configurations` is what was saved of them side by side, and `curve` the
    router's curve that was saved, None for nothing. `needs` is what the same skills need of their environment, None
    where that was not asked. `lost` is what is damaged, as in `CollectionStatus`.

    `own` is what only the page knows. `verdicts` are by the path of SKILL.md, `due` is every step to take, in the
    order of the questions. `folder` is the folder of the reports, `base` the folder that the page is written to; both
    absolute, "" for none. `origins` tells where each of these records stands, `runs` what was kept of the trials.
    """

    title: str
    version: str
    as_of: str
    status: SkillRecords
    lint: LintDocument
    history: tuple[DailyRun, ...]
    router_history: tuple[RouterHistoryLine, ...]
    effect_history: tuple[EffectHistoryLine, ...]
    router: tuple[RouterReport, ...]
    effects: tuple[EffectReport, ...]
    own: PageData
    verdicts: Mapping[str, SkillVerdict] = field(default_factory=dict)
    answers: Mapping[int, SkillVerdict] = field(default_factory=dict)
    due: tuple[DueSkills, ...] = ()
    notes: tuple[str, ...] = ()
    folder: str = ""
    base: str = ""
    configurations: EffectConfigurations | None = None
    needs: NeedsReport | None = None
    activation: tuple[ActivationReport, ...] = ()
    curve: RouterCurve | None = None
    lost: Mapping[str, str] = field(default_factory=dict)
    origins: Origins = field(init=False, repr=False, compare=False)
    runs: KeptRuns = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Name the documents, the small ones first."""
        documents: dict[str, Record | OpenRecord | Sequence[Record | OpenRecord]] = {
            "page": self.own, "status": self.status, "lint": self.lint,
            **{f"effectiveness/{each.run_id}": each for each in self.effects},
            **{f"router/{each.run.run_id}": each for each in self.router},
            **({"effectiveness-configurations": self.configurations} if self.configurations else {}),
            **({"router-curve": self.curve} if self.curve else {}),
            **({"needs": self.needs} if self.needs else {}),
            **{f"activation/{each.run_id}": each for each in self.activation},
            "router-history": self.router_history, "effectiveness-history": self.effect_history, "history": self.history,
        }  # fmt: skip
        object.__setattr__(self, "origins", Origins(documents))
        object.__setattr__(self, "runs", KeptRuns(ReportFolders(self.folder, self.base)))

    def by_need(self) -> list[str]:
        """The paths of the skills, the most in need first."""
        unknown = SkillVerdict(SkillGrade.NOT_MEASURED, "", 1, "")
        needs = {each.path: self.verdicts.get(each.path, unknown).need for each in self.status.skills}
        return sorted(needs, key=lambda path: (needs[path], path))


def anchor(path: str) -> str:
    """The id of a skill's part of the page, by the path of its SKILL.md: names may repeat and hold anything."""
    digest = hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"skill-{digest}"
