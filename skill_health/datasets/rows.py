"""The rows of a data set, one type for each of its tables.

A column has the same type in every row, and nothing is nested deeper than a list of structures, so that any reader of
tables takes them.
"""

from __future__ import annotations

from skill_health.documents._record import Record


class FileRow(Record, frozen=True, kw_only=True):
    """A file of a task."""

    path: str
    encoding: str
    """utf-8, or base64 for what is no text."""
    content: str
    executable: bool


class CriterionRow(Record, frozen=True, kw_only=True):
    """A criterion of a task's rubric."""

    id: str
    text: str
    group: str
    """goal or instruction."""
    points: float
    """Of the 100 of its group."""
    check: str
    """The deterministic check that decides it; empty where a judge does."""


class TaskRow(Record, frozen=True, kw_only=True):
    """A task."""

    id: str
    prompt: str
    skills: list[str]
    """The skills that should help, in order; none for a negative control."""
    category: str
    difficulty: str
    format: str
    """The form that it was read from."""
    theme: str
    """That of its first skill; empty where there is none."""
    files: list[FileRow]
    """What a trial starts from."""
    verifier: list[str]
    """The command that verifies the work; empty where criteria alone do."""
    verifier_files: list[FileRow]
    oracle: list[str]
    """The command that does the task; empty where there is none."""
    oracle_files: list[FileRow]
    rubric: list[CriterionRow]
    digest: str
    """A hash of what a trial depends on before it is verified."""


class SkillRow(Record, frozen=True, kw_only=True):
    """A skill."""

    name: str
    description: str
    licence: str
    """As it was declared, or as the publisher says of all that declare none."""
    theme: str
    text: str
    """SKILL.md as it stands."""
    files: list[str]
    """The other files of its folder, by name."""


class ResultRow(Record, frozen=True, kw_only=True):
    """A trial."""

    run: str
    task: str
    model: str
    """Agent and model."""
    simulated: bool
    """True where it says nothing about any model."""
    arm: str
    replication: int
    outcome: str
    reward: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    duration_ms: float | None
    turns: int | None
    tool_calls: int | None
    invoked: str


TABLES: dict[str, type[Record]] = {"tasks": TaskRow, "skills": SkillRow, "results": ResultRow}
"""The tables of a data set by their names."""
