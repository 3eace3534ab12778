"""A task as it was drafted, before it is one: what a model or a template gave, with everything in limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from skill_health.documents._drafting import FLAW_KINDS, DraftFlaw, FlawKind
from skill_health.effectiveness.rubric.model import WHOLE, Criterion, CriterionGroup
from skill_health.effectiveness.tasks._folder import File, is_inside
from skill_health.effectiveness.tasks.plan_directory import ORACLE

MOST_INSTRUCTION = 8_000
MOST_FILES, MOST_FILE, MOST_TOTAL = 40, 256 << 10, 1 << 20
MOST_PATH, MOST_DEPTH = 160, 8
LEAST_POINTS, MOST_POINTS = 1, 10
_BLANKS = "\n\t\xa0\u2009\u202f\u3000"
SOLUTION = ORACLE.rpartition("/")[2]
"""The program of a reference solution, in its folder."""


@dataclass(frozen=True, slots=True)
class DraftedTask:
    """A task before it is written. `files` are what it starts from, `solution` those of its reference solution.

    `minutes` is how long an agent may take.
    """

    instruction: str
    files: tuple[File, ...] = field(repr=False)
    criteria: tuple[Criterion, ...] = field(repr=False)
    solution: tuple[File, ...] = field(repr=False)
    category: str = ""
    minutes: int = 10

    def items(self, group: CriterionGroup) -> tuple[Criterion, ...]:
        """The criteria of one rubric."""
        return tuple(each for each in self.criteria if each.group == group)


def flaw(kind: FlawKind, message: str) -> DraftFlaw:
    """A flaw, its message on one line and cut."""
    words = " ".join(message.split())
    return DraftFlaw(kind=kind, message=words if len(words) <= 400 else f"{words[:399]}…")


def sort_flaws(flaws: list[DraftFlaw]) -> tuple[DraftFlaw, ...]:
    """Flaws in the order in which they are counted, each once."""
    return tuple(sorted(dict.fromkeys(flaws), key=lambda each: FLAW_KINDS.index(each.kind)))


def find_form_flaws(task: DraftedTask) -> list[DraftFlaw]:
    """What is wrong with a task by itself: paths, sizes, control characters, points, and what has to be there."""
    found = [*_path_flaws("a starting file", task.files), *_path_flaws("a file of the solution", task.solution)]
    if len(task.instruction) > MOST_INSTRUCTION:
        found.append(
            flaw(
                "too-large",
                f"the instruction has {len(task.instruction):,} characters, not {MOST_INSTRUCTION:,} at most",
            )
        )
    if not task.instruction.strip():
        found.append(flaw("wrong-form", "the instruction is empty"))
    if has_controls(task.instruction):
        found.append(flaw("control-characters", "the instruction holds control characters"))
    if any(has_controls(each.text) for each in task.criteria):
        found.append(flaw("control-characters", "a criterion holds control characters"))
    if not any(file.path == SOLUTION for file in task.solution):
        found.append(flaw("wrong-form", f"the reference solution has no {SOLUTION}"))
    for group in ("goal", "instruction"):
        found += _point_flaws(group, task.items(group))
    if not any(each.check for each in task.items("goal")):
        message = "no item of the goal has a check: nothing shows that it can be reached, or that doing nothing fails"
        found.append(flaw("no-check", message))
    return found


def has_controls(text: str) -> bool:
    """Whether a text holds control or format characters; blanks, tabs and new lines are none."""
    return any(not char.isprintable() and char not in _BLANKS for char in text)


def _path_flaws(what: str, files: tuple[File, ...]) -> list[DraftFlaw]:
    found = []
    if len(files) > MOST_FILES:
        found.append(flaw("too-large", f"{len(files)} files; {MOST_FILES} are the limit"))
    if (total := sum(len(file.data) for file in files)) > MOST_TOTAL:
        found.append(flaw("too-large", f"the files have {total:,} bytes together; {MOST_TOTAL:,} are the limit"))
    seen: set[str] = set()
    folders = {path.rpartition("/")[0] for path in (file.path for file in files) if "/" in path}
    folders |= {"/".join(path.split("/")[:end]) for path in folders for end in range(1, path.count("/") + 1)}
    lowered = {folder.casefold() for folder in folders}
    for file in files:
        if why := bad_path(file.path):
            found.append(flaw("path", f"{what} is called {file.path[:80]!r}: {why}"))
        elif (low := file.path.casefold()) in seen or low in lowered:
            found.append(flaw("path", f"two files, or a file and a folder, are called {file.path!r}"))
        seen.add(file.path.casefold())
        if len(file.data) > MOST_FILE:
            found.append(
                flaw("too-large", f"{file.path[:80]} has {len(file.data):,} bytes; {MOST_FILE:,} are the limit")
            )
        if b"\0" in file.data:
            found.append(flaw("control-characters", f"{file.path[:80]} holds a character that no text has"))
    return found


def bad_path(path: str) -> str:
    """Why a file of a draft cannot be called so, "" where it can."""
    if not is_inside(path) or path.startswith("~"):
        return "it leads out of its folder, or is no name of a file"
    if len(path) > MOST_PATH or path.count("/") >= MOST_DEPTH:
        return f"longer than {MOST_PATH} characters, or more than {MOST_DEPTH} folders deep"
    if any(part != part.strip() or part.endswith(".") or len(part.encode()) > 200 for part in path.split("/")):
        return "blanks or a dot at the end of a name, or a name that is too long"
    return ""


def _point_flaws(group: CriterionGroup, items: tuple[Criterion, ...]) -> list[DraftFlaw]:
    """Both rubrics have whole points from 1 to 10 an item, 100 together."""
    odd = next(
        (each for each in items if not (LEAST_POINTS <= each.points <= MOST_POINTS and each.points % 1 == 0)), None
    )
    if odd is not None:
        return [
            flaw(
                "points", f"{odd.id} has {odd.points:g} points, not a whole number from {LEAST_POINTS} to {MOST_POINTS}"
            )
        ]
    total = sum(each.points for each in items)
    if total != WHOLE:
        return [flaw("points", f"the {len(items)} items of the group {group!r} have {total:g} points, not {WHOLE:g}")]
    return []


def spread_points(count: int) -> list[int]:
    """Points of so many items, 100 together, as even as can be. Raises ValueError where 1 to 10 each do not do."""
    if not 10 <= count <= 100:
        raise ValueError(f"{count} items cannot have 1 to 10 points each and 100 together")
    each, more = divmod(100, count)
    return [each + (nth < more) for nth in range(count)]
