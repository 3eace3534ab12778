"""What an effectiveness run is made of, once read: frozen values that every module of it shares."""

from __future__ import annotations

from dataclasses import dataclass, field

from skill_health.effectiveness.tasks._folder import File

CONTROL, TARGET, NEGATIVE, FULL = "control", "target", "negative", "full"
PLUS_ONE, PLUS_UNRELATED = "target_plus_one", "target_plus_unrelated"
CONDITIONS = (CONTROL, TARGET, NEGATIVE, FULL, PLUS_ONE, PLUS_UNRELATED)
"""The six conditions of the plan."""
PLACEBO, AGAIN, LEAVE_OUT, ORDER = "placebo", "aa", "leave_one_out", "order"
SUBSET, JOIN = "subset", "+"
"""The condition with exactly the named skills, and what joins their names, in the order in which they are listed."""
WITHOUT, SELF_GENERATED = "target_without", "self_generated"
FORCED, FORCED_PLACEBO = "forced", "forced_placebo"
"""The conditions whose prompt begins with the order to open the staged skills: the targets, and their placebos."""
EVERY = "all"
"""In the place of the skill that an arm leaves out: one arm for each."""
HINT = "+hint"
FILES, PROMPT, MCP, COMPILED = "files", "prompt", "mcp", "compiled"
DELIVERIES = (FILES, PROMPT, MCP, COMPILED)
"""How staged skills reach an agent: files where it looks for them, text in the prompt, or a server's tools."""
SERVED = (MCP, COMPILED)
"""The deliveries by a server."""


def condition_of(arm: str) -> str:
    """The condition of an arm by its name; a report may name one that there is not."""
    return arm.removesuffix(HINT).partition(":")[0].partition("@")[0]


def delivery_of(arm: str) -> str:
    """The delivery of an arm by its name."""
    _, at, way = arm.removesuffix(HINT).rpartition("@")
    return way if at and way in DELIVERIES else FILES


@dataclass(frozen=True, slots=True)
class SkillCopy:
    """A skill as it is staged: real copies of its files, paths relative to its folder, which has the skill's name.

    `digest` covers the name and every file. `placebo` marks neutral text that stands in for a skill.
    """

    name: str
    description: str
    files: tuple[File, ...] = field(repr=False)
    digest: str
    placebo: bool = False


@dataclass(frozen=True, slots=True)
class Arm:
    """One condition of a run. `argument` is the skill that is left out, the seed of order, or the names of subset.

    It is "" for all others.

    With `hint` the prompt ends with a line that names the staged skills: knowledge instead of discovery. `delivery` is
    one of DELIVERIES.
    """

    condition: str
    argument: str = ""
    hint: bool = False
    delivery: str = FILES

    @property
    def agents(self) -> int:
        """How many agents a trial starts, one after the other: the creator of a skill is one of its own."""
        return 2 if self.condition == SELF_GENERATED else 1

    @property
    def name(self) -> str:
        """The arm in records and on the command line: `target`, `order:7`, `target@mcp`, `leave_one_out:a+hint`."""
        way = "" if self.delivery == FILES else f"@{self.delivery}"
        return f"{self.condition}{':' if self.argument else ''}{self.argument}{way}{HINT if self.hint else ''}"

    @property
    def forced(self) -> bool:
        """Whether the agent is ordered to open what is staged."""
        return self.condition in (FORCED, FORCED_PLACEBO)

    @property
    def served(self) -> bool:
        """Whether a server gives the skills."""
        return self.delivery in SERVED

    @property
    def subset(self) -> tuple[str, ...]:
        """The skills of a subset in listing order; () for every other condition."""
        return tuple(self.argument.split(JOIN)) if self.condition == SUBSET else ()
