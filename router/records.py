"""What a router benchmark is made of, once read: frozen values that every module of it shares, and results as lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from skill_health.bench.http.messages import Usage

NONE = "none"
"""The answer "no skill applies". It is a class of its own, beside the names of the skills."""

Mode = Literal["text", "json_schema"]
Status = Literal[
    "finished", "format_failure", "refusal", "truncated", "model_unavailable", "provider_error", "cancelled", "dry_run"
]
ANSWERED: tuple[Status, ...] = ("finished", "format_failure", "refusal", "truncated")
"""The statuses that are scored: the model answered, well or badly. Every other status is missing data."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One labelled request.

    `expected` is the skill that must come first, None where no skill applies. `known` is False where the label only
    says which skills must not fire (`rejected`): such a prompt has no right answer to count. `family` groups
    paraphrases, which are resampled and split together; "" is a family of its own. `source` is `path:line`.
    """

    prompt_id: str
    text: str
    expected: str | None
    known: bool = True
    acceptable: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    family: str = ""
    tags: tuple[str, ...] = ()
    split: str = ""
    reason: str = ""
    source: str = ""

    @property
    def target(self) -> str | None:
        """The class that is right: a skill's name, NONE, or None where that is not known."""
        return (self.expected or NONE) if self.known else None

    @property
    def cluster(self) -> str:
        """What is resampled as a whole: the family, else the prompt itself."""
        return f"family:{self.family}" if self.family else f"prompt:{self.prompt_id}"


PROMPT_FIELDS = tuple(field.name for field in fields(Prompt))


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """One skill as a host lists it to a model.

    `text` is what is shown of the description (`state`: full, truncated or name-only), hashed with the name. `body` is
    SKILL.md below the frontmatter, `when` says when to use the skill; `aliases` are what else a label may call it.
    """

    name: str
    text: str
    state: str = "full"
    description: str = ""
    body: str = ""
    when: str = ""
    path: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A collection as one host lists it; skills in the order of their paths.

    `listing` is "full" or the key of a host. `omitted` are in the collection and not in the listing.
    """

    shown: tuple[ListedSkill, ...]
    listing: str = "full"
    omitted: tuple[ListedSkill, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are shown."""
        return tuple(skill.name for skill in self.shown)


@dataclass(frozen=True, slots=True)
class RoutingRequest:
    """One question to a router: the labelled prompt, the skills in presentation order, and the text that is sent.

    `schema` is the JSON Schema of the answer in json_schema mode. `attempt` counts from 1; only a format failure has
    a second. `text` holds everything: template, listing and prompt. A router must not look at the prompt's labels.
    """

    prompt: Prompt
    replication: int
    skills: tuple[ListedSkill, ...]
    text: str
    schema: Mapping[str, Any] | None = None
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from one call, before anybody has looked for a ranking in it.

    `status` is "finished" where there is an answer to read, else why there is none; `stop` is "" or what ends the
    whole run. `model` is the id that the provider resolved. `duration_ms` is the time of the request that was
    answered, None where time means nothing (a local computation). `requests` counts what was sent over the wire,
    retries included. `error` is one clear line and holds no key.
    """

    status: Status = "finished"
    text: str = ""
    model: str | None = None
    request_id: str | None = None
    stop_reason: str | None = None
    usage: Usage = Usage()  # noqa: RUF009 - it is frozen
    duration_ms: float | None = None
    requests: int = 1
    error: str = ""
    stop: Literal["", "quota", "auth"] = ""


@dataclass(frozen=True, slots=True)
class RankedReply:
    """A reply as a ranking, or what is wrong with it.

    `ranking` holds names of shown skills and NONE, each once, the best first; it is () unless `kinds` is (). `kinds`
    names each failure of the format, sorted; `notes` what was tolerated.
    """

    ranking: tuple[str, ...] = ()
    confidence: float | None = None
    rationale: str = ""
    kinds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoutingResult:
    """The outcome of one (prompt, model, replication), as a line of results.jsonl holds it.

    `first_status` and `first_kinds` are the first attempt's. Positions count from 1 in presentation order:
    `target_position` of the right skill (None: none applies, unknown or not shown), `picked_position` of the first
    of the ranking (None: NONE or no ranking). `cost_usd` is None where no price or no usage is known.
    """

    prompt_id: str
    model: str
    replication: int
    status: Status
    ranking: tuple[str, ...] = ()
    confidence: float | None = None
    rationale: str = ""
    kinds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    attempts: int = 1
    first_status: Status = "finished"
    first_kinds: tuple[str, ...] = ()
    target_position: int | None = None
    picked_position: int | None = None
    resolved_model: str | None = None
    request_id: str | None = None
    stop_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    duration_ms: float | None = None
    cost_usd: float | None = None
    error: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """What a run has exactly one result for."""
        return (self.prompt_id, self.model, self.replication)

    @property
    def scored(self) -> bool:
        """Whether the model answered, well or badly."""
        return self.status in ANSWERED

    @property
    def primary(self) -> str | None:
        """The first of the ranking, or None."""
        return self.ranking[0] if self.ranking else None


_FIELDS = tuple(field.name for field in fields(RoutingResult))
_TUPLES = ("ranking", "kinds", "notes", "first_kinds")


def to_line(result: RoutingResult) -> dict[str, Any]:
    """A result as a JSON object; tuples are lists, what is not known is null."""
    record = {name: getattr(result, name) for name in _FIELDS}
    for name in _TUPLES:
        record[name] = list(record[name])
    record["usage"] = result.usage.to_json()
    return record


def from_line(record: Mapping[str, Any]) -> RoutingResult:
    """The result that a JSON object of ours holds. Raises ValueError where it is none."""
    try:
        values = {name: record[name] for name in _FIELDS if name in record}
        for name in _TUPLES:
            values[name] = tuple(values.get(name, ()))
        values["usage"] = Usage(**(values.get("usage") or {}))
        return RoutingResult(**values)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"no result: {error}") from None
