"""What a router benchmark is made of, once read: frozen values that every module of it shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from skill_health.bench.http.messages import Usage
from skill_health.documents.router_manifest import NONE as NONE
from skill_health.documents.router_manifest import Prompt as Prompt
from skill_health.documents.router_result import ANSWERED as ANSWERED
from skill_health.documents.router_result import RoutingResult as RoutingResult
from skill_health.documents.router_result import Status as Status

Mode = Literal["text", "json_schema"]
FROM_TEMPLATE = "from-template"
"""The tag of requests that were filled from what a skill says of itself."""


def warn_of_templates(prompts: Sequence[Prompt]) -> Iterator[str]:
    """What figures on requests from templates lack, with how many these are; nothing where there is none."""
    if filled := sum(FROM_TEMPLATE in prompt.tags for prompt in prompts):
        yield (
            f"{filled} of {len(prompts)} prompts come{'s' * (filled == 1)} from templates: they share words "
            "with the descriptions, so that they are found more easily than what people write."
        )


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """One skill as a host lists it to a model.

    `text` is what is shown of the description (`state`: full, truncated or name-only), hashed with the name. `body` is
    SKILL.md below the frontmatter, `when` says when to use the skill; `aliases` are what else a label may call it.
    `references` is the text of the Markdown files beside SKILL.md, read only for routers that search it.

    No two skills of a catalogue have one `name`. Where a host lists several by one name, `shared` is that, and `name`
    tells them apart by their folders; it is "" for all others.
    """

    name: str
    text: str
    state: str = "full"
    description: str = ""
    body: str = ""
    when: str = ""
    path: str = ""
    aliases: tuple[str, ...] = ()
    references: str = ""
    shared: str = ""

    @property
    def listed_as(self) -> str:
        """The name that a model reads, and answers with."""
        return self.shared or self.name


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
    a second. `text` holds everything: template, listing and prompt; where orders are shared, other requests begin with
    the same `shared` characters. A router must not look at the prompt's labels.
    """

    prompt: Prompt
    replication: int
    skills: tuple[ListedSkill, ...]
    text: str
    schema: Mapping[str, Any] | None = None
    attempt: int = 1
    shared: int = 0


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
