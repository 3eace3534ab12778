"""A task and an arm -> the skills that are staged, in listing order, and what the agent is told.

Arms differ in nothing but these. A negative control, a task that no skill should help with, has control, negative and
full only, with or without the hint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b
from skill_health.effectiveness.delivery.served import skill_text
from skill_health.effectiveness.records import (
    AGAIN,
    CONDITIONS,
    CONTROL,
    DELIVERIES,
    EVERY,
    FILES,
    FORCED,
    FORCED_PLACEBO,
    FULL,
    HINT,
    JOIN,
    LEAVE_OUT,
    NEGATIVE,
    ORDER,
    PLACEBO,
    PLUS_ONE,
    PLUS_UNRELATED,
    PROMPT,
    SELF_GENERATED,
    SUBSET,
    TARGET,
    WITHOUT,
    Arm,
    SkillCopy,
)
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.workspace.copies import SKILL, make_copy, skill_md
from skill_health.skill import frontmatter
from skill_health.skill.decode import decode
from skill_health.text.near import did_you_mean, nearest
from skill_health.text.patterns import lazy

_SENTENCES = (
    "A lighthouse is a tower with a lamp at its top, and it stands where ships would otherwise lose their way.",
    "The oldest of them burned wood, later ones coal, and their keepers carried the fuel up by hand.",
    "Oil lamps were brighter and needed less room, but their glass had to be wiped every few hours.",
    "A lens made of many rings throws nearly all the light of a small flame towards the horizon.",
    "Such a lens can weigh several tons, and it used to float on a bath of mercury so that a finger could turn it.",
    "Each tower has its own rhythm of flashes and pauses, which sailors find in a printed list.",
    "By day a tower is known by its paint: bands, spirals, or one plain colour against the cliff.",
    "Fog hides light, so bells, guns and horns were added, and their sound was described in the same lists.",
    "The rooms inside are round, and furniture for them was often built on the spot.",
    "Stairs wind along the wall, and a weight on a chain once hung in the middle of them to drive the clockwork.",
    "Keepers wrote down the weather, the ships they saw and the hours at which the lamp was lit.",
    "On rocks far from the coast two or three keepers lived together for weeks, until the boat came.",
    "In storms the boat could not land, and the relief was late by a month more than once.",
    "Towers on sand stand on iron piles that were screwed into the ground.",
    "Towers on rock were built of stones that lock into each other like the pieces of a puzzle.",
    "Waves reach higher than one would think, and some lanterns have been broken by them forty metres up.",
    "Electric lamps made the keepers' work shorter, and automatic ones ended it.",
    "Many towers are now cared for by societies that paint them and show them to visitors.",
    "Some have become small hotels, where the guests climb the same stairs.",
    "Their light is still on at night, although ships carry other means to know where they are.",
)
_PARAGRAPH = 5


def placebo(skill: SkillCopy) -> SkillCopy:
    """The placebo of a skill; the same one each time."""
    head, body = _split(skill_md(skill.files))
    start = blake2b(skill.name.encode()).digest()[0] % len(_SENTENCES)
    return make_copy(skill.name, skill.description, [File(SKILL, head + _prose(len(body), start))], placebo=True)


def _split(data: bytes) -> tuple[bytes, bytes]:
    """The frontmatter with its fences, and the rest; all is body where there is no frontmatter.

    Cut by position and not written anew: what agents are offered stays the same to the byte.
    """
    text, _, encoding, _ = decode(data)
    above = frontmatter.read(text).first - 1 if encoding == "utf-8" else 0
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:above]), b"".join(lines[above:])


def _prose(size: int, start: int) -> bytes:
    """Prose of exactly so many bytes, cut at a word and filled with full stops."""
    parts: list[str] = []
    length, number = 0, 0
    while length < size:
        parts.append(_SENTENCES[(start + number) % len(_SENTENCES)])
        number += 1
        parts.append("\n\n" if number % _PARAGRAPH == 0 else " ")
        length += len(parts[-2]) + len(parts[-1])
    text = "".join(parts)[: max(size - 1, 0)]
    words = text[: text.rfind(" ")] if size < length and " " in text else text
    return (words.rstrip().ljust(max(size - 1, 0), ".") + "\n").encode("ascii")[:size]


OF_CONTROLS = (CONTROL, NEGATIVE, FULL)
_PLAIN = (*CONDITIONS, PLACEBO, AGAIN, SELF_GENERATED, FORCED, FORCED_PLACEBO)
_LEAVING = (LEAVE_OUT, WITHOUT)
_WITH = {
    **dict.fromkeys(_LEAVING, "the name of a skill"),
    ORDER: "a seed",
    SUBSET: "the names of skills with + between them",
}
OTHER_SKILLS = {NEGATIVE: "irrelevant_skill", PLUS_ONE: "related_skill", PLUS_UNRELATED: "unrelated_skill"}
"""The conditions that stage a skill which a task names beside its targets, and the key by which it does."""


def parse_arm(text: str) -> Arm:
    """The arm that a name means, as `Arm.name` writes it. Raises UsageError with the near names."""
    bare = text.removesuffix(HINT)
    what, at, way = bare.rpartition("@")
    # The name of a skill may hold the sign, too.
    if at and (way in DELIVERIES or ":" not in what):
        _refuse_delivery(way)
    else:
        at = ""
    condition, colon, argument = (what if at else bare).partition(":")
    arm = Arm(condition, argument, bare != text, way if at else FILES)
    if condition in _PLAIN and not colon:
        if condition == CONTROL and arm.hint:
            raise UsageError(f"the arm {text!r} cannot be: without skills there is nothing to hint at")
        if condition == CONTROL and at:
            raise UsageError(f"the arm {text!r} cannot be: without skills there is nothing to deliver")
        if condition == SELF_GENERATED and arm.delivery != FILES:
            raise UsageError(f"the arm {text!r} cannot be: what an agent writes for itself are files")
        if arm.forced and arm.hint:
            raise UsageError(f"the arm {text!r} cannot be: its prompt names the skills already")
        if arm.forced and arm.delivery == PROMPT:
            raise UsageError(f"the arm {text!r} cannot be: a skill that stands in the prompt need not be opened")
        return arm
    if condition == ORDER and not (argument.isascii() and argument.isdigit() and len(argument) < 10):
        raise UsageError(f"the arm {text!r} needs a seed, a whole number: {ORDER}:7")
    if arm.subset and argument and (not all(arm.subset) or len(set(arm.subset)) < len(arm.subset)):
        raise UsageError(f"the arm {text!r} needs names of different skills: {SUBSET}:FIRST{JOIN}SECOND")
    if condition in _WITH and argument:
        return arm
    if condition in _WITH:
        raise UsageError(f"the arm {condition!r} needs {_WITH[condition]}: {condition}:...")
    near = nearest(condition, (*_PLAIN, *_WITH))
    hint = (
        f"did you mean {near!r}?"
        if near
        else f"arms are {', '.join(_PLAIN)}, {LEAVE_OUT}:SKILL, {WITHOUT}:SKILL, {SUBSET}:A+B and {ORDER}:SEED"
    )
    raise UsageError(f"there is no arm {text!r}; {hint}")


def _refuse_delivery(way: str) -> None:
    if way not in DELIVERIES:
        near = nearest(way, DELIVERIES)
        hint = f"did you mean {near!r}?" if near else f"there are {', '.join(DELIVERIES)}"
        raise UsageError(f"there is no delivery {way!r}; {hint}")


def parse_arms(names: Iterable[str], hints: str = "no", deliveries: Sequence[str] = (FILES,)) -> tuple[Arm, ...]:
    """The arms of a run, each once and in this order; `hints` adds ("also") or takes ("only") those with the hint.

    Each arm is there once for each of the `deliveries`, but for those that name one themselves, for skills that the
    agent writes, which are files, and for the target again, which has the first: it measures noise. Where the agent is
    ordered to open the skills there is no hint, and no delivery in the prompt. The control has neither, and is always
    among them: everything is compared with it. Raises UsageError.
    """
    given = [parse_arm(name) for name in names]
    for way in deliveries:
        _refuse_delivery(way)
    arms = [Arm(CONTROL)]
    for arm in (each for each in given if each.condition != CONTROL):
        own = arm.delivery != FILES or arm.condition == SELF_GENERATED
        ways = (arm.delivery,) if own else deliveries[:1] if arm.condition == AGAIN else deliveries
        if arm.forced and not (ways := tuple(way for way in ways if way != PROMPT)):
            raise UsageError(
                f"the arm {arm.name!r} cannot be delivered in the prompt alone: a skill that stands there need not be opened"
            )
        arms += [replace(arm, delivery=way) for way in ways]
    if hints != "no":
        hinted = [arm if arm.forced else replace(arm, hint=True) for arm in arms[1:]]
        arms = [arms[0], *hinted] if hints == "only" else [*arms, *hinted]
    return tuple(dict.fromkeys(arms))


def expand_arms(arms: Iterable[Arm], names: Iterable[str], bundled: Iterable[str]) -> tuple[Arm, ...]:
    """The arms, with one for each skill in the place of one that leaves out `all`.

    `names` are the skills of the collection, `bundled` those of tasks with several targets. Raises UsageError where
    there is nothing to leave out.
    """
    every = {LEAVE_OUT: sorted(names), WITHOUT: sorted(bundled)}
    found: list[Arm] = []
    for arm in arms:
        if arm.condition not in every or arm.argument != EVERY:
            found.append(arm)
        elif skills := every[arm.condition]:
            found += [replace(arm, argument=name) for name in skills]
        else:
            raise UsageError(f"the arm {arm.name!r} has no skill to leave out: no task has several targets")
    return tuple(dict.fromkeys(found))


def refuse_unknown(arms: Iterable[Arm], names: Collection[str]) -> None:
    """Raise UsageError for an arm that names a skill which is not there; `names` are those that are."""
    for arm in arms:
        for name in (arm.argument,) if arm.condition in _LEAVING else arm.subset:
            if name not in names:
                hint = did_you_mean(name, names)
                verb = "leaves out" if arm.condition in _LEAVING else "stages"
                raise UsageError(f"the arm {arm.name!r} {verb} a skill that is not in the collection{hint}")


def concerns(task: Task, arm: Arm, arms: Iterable[Arm]) -> bool:
    """Whether a task is tried in an arm of a run; only a subset is not tried everywhere.

    It is tried on the tasks of its own skills, and of those that it is held against in a larger subset of the run.
    """
    own = set(arm.subset)
    return not own or any(
        own <= set(other.subset) and set(other.subset) & set(task.target_skills or ()) for other in arms
    )


def staged(task: Task, arm: Arm, copies: Mapping[str, SkillCopy]) -> tuple[SkillCopy, ...] | str:
    """The skills of an arm in listing order, which is that of their names but for `order` and `subset`.

    A text says why this task has no such arm. `copies` are the whole collection by name.
    """
    if task.is_control and arm.condition not in OF_CONTROLS:
        return "a negative control has no target"
    if not task.is_control and task.target_skills is None and arm.condition not in (*OF_CONTROLS, SELF_GENERATED):
        return "the task names no target_skill"
    names = _names(task, arm, copies)
    if isinstance(names, str):
        return names
    if missing := [name for name in names if name not in copies]:
        return f"the skill {missing[0]!r} is not in the collection"
    found = [copies[name] for name in (names if arm.subset else sorted(set(names)))]
    if arm.condition in (PLACEBO, FORCED_PLACEBO):
        return tuple(map(placebo, found))
    if arm.condition == ORDER:
        # Another order for each task: one seed must not put the same skill first in all of them.
        found.sort(key=lambda skill: blake2b(f"{arm.argument}|{task.id}|{skill.name}".encode()).digest())
    return tuple(found)


def _names(task: Task, arm: Arm, copies: Mapping[str, SkillCopy]) -> Sequence[str] | str:
    condition, targets = arm.condition, task.target_skills or ()
    if arm.subset:
        return arm.subset
    # What an agent writes for itself is staged when it has written it.
    if condition in (CONTROL, SELF_GENERATED):
        return ()
    if condition in (FULL, ORDER):
        return list(copies)
    if condition == LEAVE_OUT:
        if arm.argument not in copies:
            return f"the skill {arm.argument!r} is not in the collection"
        return [name for name in copies if name != arm.argument]
    if condition == WITHOUT:
        if arm.argument not in targets or len(targets) == 1:
            return f"{arm.argument!r} is not one of several targets of the task"
        return [name for name in targets if name != arm.argument]
    if condition in (TARGET, AGAIN, PLACEBO, FORCED, FORCED_PLACEBO):
        return targets
    other: str | None = getattr(task, OTHER_SKILLS[condition])
    if other is None:
        return f"the task names no {OTHER_SKILLS[condition]}"
    return (other,) if condition == NEGATIVE else (*targets, other)


def prompt_of(task: Task, arm: Arm, skills: Sequence[SkillCopy]) -> str:
    """What the agent is told: the task, the skills where they are delivered so, and with the hint a line with names.

    In a forced arm the order to open them comes first.
    """
    names = [skill.name for skill in skills]
    if arm.forced and skills:
        return f"{forcing_line(names)}\n\n{task.prompt}"
    parts = [skill_frame(skills)] if arm.delivery == PROMPT and skills else []
    parts += [hint_line(names)] if arm.hint and skills else []
    return "\n\n".join([task.prompt.rstrip(), *parts]) + "\n" if parts else task.prompt


_FRAME = "These are instructions for tasks of a certain kind, called skills. When one fits the task, do as it says."


def skill_frame(skills: Sequence[SkillCopy]) -> str:
    """The texts of skills as they stand in a prompt, between marks that no text of theirs can hold."""
    texts = [(skill.name, " ".join(skill.description.split()), skill_text(skill).rstrip()) for skill in skills]
    mark = blake2b(repr(texts).encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()
    lines = [f"<skills {mark}>", _FRAME]
    for name, description, text in texts:
        lines += [f"<skill {mark}>", f"{name}: {description}", "", text, f"</skill {mark}>"]
    return "\n".join([*lines, f"</skills {mark}>"])


_END = lazy(r"\n</skills ([0-9a-f]{12})>")


def frame_in(prompt: str) -> str:
    """The skills in a prompt as `skill_frame` wrote them, with the blank line above; "" for none."""
    mark = next((match.group(1) for match in reversed([*_END.finditer(prompt)])), "")
    start, end = prompt.find(f"\n\n<skills {mark}>"), prompt.rfind(f"</skills {mark}>")
    return prompt[start : end + len(f"</skills {mark}>")] if mark and 0 <= start < end else ""


def hint_line(skills: Sequence[str]) -> str:
    """The line of the hint that names these skills."""
    names = ", ".join(skills)
    line = f"The skill {names} is" if len(skills) == 1 else f"These skills are: {names}. They are"
    tail = "there for this task: read it first." if len(skills) == 1 else "there for you: read what fits first."
    return f"{line} {tail}"


def forcing_line(skills: Sequence[str]) -> str:
    """The line that orders to open these skills by the agent's own means, before anything else.

    It names no command of any program. `/name` and `$name` would have the program paste the text itself, which is the
    delivery in the prompt: nothing is opened, no stream shows it, and there is no such command for a server's skills.
    """
    names = ", ".join(skills)
    many = len(skills) != 1
    what, each = ("skills", "each") if many else ("skill", "the skill")
    return (
        f"Before anything else, open the {what} {names}: with your tool for skills if you have one, else by reading "
        f"{each}'s SKILL.md. Then do the following task as {'they say' if many else 'it says'}."
    )
