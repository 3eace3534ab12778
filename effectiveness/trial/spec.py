"""One cell of a run: everything that one trial depends on, decided before anything is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skill_health.documents.effect_result import Key
from skill_health.effectiveness.records import FILES, Arm, SkillCopy
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.tasks._api import Task

if TYPE_CHECKING:
    from skill_health.bench.prices import TieredPrice
    from skill_health.effectiveness.agents._load import AgentChoice
    from skill_health.effectiveness.gateway._api import Upstream
    from skill_health.effectiveness.gateway.far import FarLine


@dataclass(frozen=True, slots=True)
class TrialSpec:
    """Task x arm x model x replication, with all that it takes to run it.

    `skills` are those that the arm stages, in listing order, `collection` the names of all skills of the run with their
    descriptions: none of them that is not staged may be seen. `prompt` is what the agent is told. `program` is the
    absolute path of the agent's executable ("" for one of our own), `version` what it says of itself (None: not known).
    `back_end` names the sandbox. `limits` are the trial's; a `timeout_sec` above the task's own ends at the task's.

    `upstream` is the server behind the gateway with its real key, None for an agent that asks no model. `price` and
    `max_usd` bound what the trial may spend (None: not known, no cap). `attempt` counts the trials of this cell from 1.
    `secrets` are words that must be in no file. `expected` are the names that the probe found an agent to list beside
    skills of the run (built-in ones), None before there was a probe. `image` is that of the container, where the
    sandbox is one. `settings` are those of the configuration that an agent asks for. `creating` marks a
    session in which an agent writes a skill for itself, and does not do the task. `line` leads to where the gateway is,
    with the key, for a trial that is made elsewhere; `upstream` has none there.
    """

    task: Task
    arm: Arm
    choice: AgentChoice
    replication: int
    skills: tuple[SkillCopy, ...]
    prompt: str
    collection: Mapping[str, str] = field(default_factory=dict)
    program: str = ""
    version: str | None = None
    back_end: str = "bubblewrap"
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    seed: int = 1
    upstream: Upstream | None = None
    price: TieredPrice | None = None
    max_usd: float | None = None
    max_output_tokens: int = 0
    attempt: int = 1
    secrets: tuple[str, ...] = field(default=(), repr=False)
    expected: tuple[str, ...] | None = None
    image: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    creating: bool = False
    line: FarLine | None = None

    @property
    def key(self) -> Key:
        """What the run has exactly one result for."""
        return (self.task.id, self.choice.spec, self.arm.name, self.replication)

    @property
    def placed(self) -> tuple[SkillCopy, ...]:
        """The skills that lie where the agent looks for some: all that are staged, or none if delivered otherwise."""
        return self.skills if self.arm.delivery == FILES else ()
