"""The manifest of an activation run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import CommitText, OpenRecord, RunIdText, TimeText
from skill_health.documents.effect_manifest import FrozenAgent, FrozenSandbox, FrozenSkill
from skill_health.documents.router_manifest import CatalogueSkill, FrozenSelection, Prompt

SkillDelivery = Literal["files", "mcp", "compiled"]


class ActivationManifest(OpenRecord, frozen=True, kw_only=True, omit_defaults=False):
    """manifest.json of a run: which agents are given which requests, frozen before the first of them is started.

    Reports need it and the results, nothing else.
    """

    ID: ClassVar = "skill-health/activation-manifest/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["activation"]
    """Which benchmark the run is of."""
    run_id: RunIdText
    """The name of the run, and of its folder."""
    created: TimeText
    """When the run began, in UTC."""
    tool_version: str
    """The version of skill-health that wrote the manifest."""
    python: str
    """The version of Python."""
    commit: CommitText | None
    """The commit of the collection; null outside git."""
    dirty: bool | None
    """Whether files of the collection differed from the commit; null where that is not known."""
    seed: int
    """The seed of orders and of smaller collections."""
    replications: Annotated[int, Meta(ge=1)]
    """How often each request is made of each agent."""
    turns: Annotated[int, Meta(ge=1)]
    """After so many answers of its model an agent that has opened no skill is taken to open none."""
    timeout_sec: Annotated[float, Meta(gt=0)]
    """The seconds that an agent has for a request."""
    sizes: tuple[Annotated[int, Meta(ge=1)], ...]
    """How many skills are staged, each size a condition of its own; the last is the whole collection."""
    delivery: SkillDelivery
    """How the skills reach the agents."""
    listing: str
    """What routers rank: full, or the host whose budget the listing keeps."""
    sandbox: FrozenSandbox
    hashes: Mapping[str, str | None]
    """Hashes of what the run rests on (catalogue, prompts, skills, config, prices)."""
    models: tuple[FrozenAgent, ...]
    """The agents with their models, in the order of the results."""
    price_table: str | None
    """The version of the table of prices."""
    skills: tuple[FrozenSkill, ...]
    """The skills that are staged, by name."""
    catalogue: tuple[CatalogueSkill, ...]
    """The same as they are listed to a router."""
    prompts: tuple[Prompt, ...]
    """The requests with their labels, in the order of the results."""
    selection: FrozenSelection
