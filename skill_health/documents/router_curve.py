"""Routing against the size of the library."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from skill_health.documents._record import CommitText, Count, Figure, Name, Record, TimeText
from skill_health.documents.router_manifest import RouterKind

CURVE = "router-curve.json"
SCHEMA: Final = "skill-health/router-curve/1"


class RouterCurve(Record, frozen=True, kw_only=True):
    """router-curve.json in a folder of reports: the last curve that `router curve` measured."""

    ID: ClassVar = "skill-health/router-curve/1"

    schema: Literal["skill-health/router-curve/1"]
    """The version of this form."""
    created: TimeText
    """When it was measured, in UTC."""
    tool_version: str
    commit: CommitText | None
    """The commit of the collection; null outside git."""
    dirty: bool | None
    """Whether files of the collection differed from the commit; null where that is not known."""
    seed: Count
    """The seed of the libraries, the orders and the samples."""
    mode: str
    listing: str
    """full, or the host whose listing was shown at each size."""
    template: str
    index: str
    """What local routers read."""
    retrieve: Count
    """How many skills a first stage left for each prompt; 0 where there was none."""
    retriever: str
    """The first stage; empty where there was none."""
    prompts: Count
    """Prompts with a right answer to count."""
    null: Count
    """Those of them for which no skill applies."""
    kept: Count
    """Skills that the prompts are about: they are in every library."""
    sizes: tuple[Annotated[int, Meta(ge=1)], ...]
    """Skills in each library, the smallest first; each holds those of the one before."""
    models: tuple[ModelCurve, ...]
    """In the order in which they were named."""
    notes: tuple[str, ...]
    """What a reader must know before any figure."""


class ModelCurve(Record, frozen=True, kw_only=True):
    """One model at each size."""

    model: Name
    kind: RouterKind
    points: tuple[CurvePoint, ...]
    """In the order of the sizes."""


class CurvePoint(Record, frozen=True, kw_only=True):
    """One model in a library of one size."""

    size: Annotated[int, Meta(ge=1)]
    run_id: str
    """The run, and its folder below router-curve/router/ beside the curve."""
    top1: Figure
    """The right answer comes first: a skill, or none where no skill applies."""
    top1_skill: Figure
    """The same over prompts for which a skill applies."""
    false_fire: Figure
    """Of the calls for which no skill applies, the share that picked one which is not acceptable."""
    question_tokens: Figure
    """Median tokens of a question, estimated from its bytes, also where nobody was sent it."""
    input_tokens: Figure
    """Median tokens that a call read, as the provider counts them."""
    cost_usd: Figure
    """Median dollars of a call."""
    spent_usd: Annotated[float, Meta(ge=0)] | None
    """Dollars of all calls whose cost is known."""
    retrieved: Figure | UnsetType = UNSET
    """With two stages: the share of calls whose right skill was retrieved."""
    ranked: Figure | UnsetType = UNSET
    """With two stages: where it was, the share of calls in which it comes first."""
    trusted: bool | None = None
    """Whether the instrument check passed; null where it could not tell."""
