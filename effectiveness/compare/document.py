"""A comparison of two runs as a document: what differs, what changed by how much, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from skill_health.documents.effect_comparison import (
    ComparedArm,
    ComparedContrast,
    ComparedEffectRun,
    ComparedModelEffect,
    ComparedSkillEffect,
    ComparedStagedSkill,
    ContrastFigure,
    EffectComparisonReport,
    TaskFlip,
    TaskPasses,
    VerdictChange,
)
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock
from skill_health.text.near import list_some
from skill_health.text.numbers import bracket, count, p_value, points, share

_HEAD = ("contrast", "before", "after", "change, points", "Student's interval", "changed", "p", "p corrected")


def document(found: EffectComparisonReport) -> Iterator[Block]:
    """The whole comparison."""
    yield TitleBlock(f"Effectiveness: {found.run.run_id} against {found.baseline.run_id}", 1)
    yield from (Sentence(f"Run: {_run(found.run)}."), Sentence(f"Baseline: {_run(found.baseline)}."))
    yield from _settings(found)
    for model in found.models:
        yield from _model(model)
    yield from _verdict(found)


def _run(run: ComparedEffectRun) -> str:
    commit = f", commit {run.commit[:12]}" if run.commit else ""
    dirty = " with uncommitted changes" if run.dirty else ""
    created = f" of {run.created}" if run.created else ""
    return f"{run.run_id}{created}{commit}{dirty}"


def _settings(found: EffectComparisonReport) -> Iterator[Block]:
    skills, tasks = found.skills, found.tasks
    yield TitleBlock(f"Skills: {len(skills)} changed, {found.same_skills} the same")
    yield Items([_skill(skill) for skill in skills], most=40)
    yield Sentence(f"Tasks: {len(tasks.common)} are the same in both runs, {tasks.compared} of them for a skill.")
    if tasks.changed:
        yield Sentence("Left out, since they are other tasks now:")
        yield Items([f"{task.task_id}: {task.what} changed" for task in tasks.changed], most=40)
    for only, what in ((tasks.only_run, "the run"), (tasks.only_baseline, "the baseline")):
        if only:
            yield Sentence(f"In {what} only: {list_some(only, 12)}.")
    if found.differences:
        yield Sentence("What else is not the same, and may be behind a change just as well:")
        yield Items(found.differences, most=40)
    if found.cautions:
        yield Sentence("Careful:", strong=True)
        yield Items(found.cautions, most=40)


def _skill(skill: ComparedStagedSkill) -> str:
    if skill.kind != "edited":
        return f"{skill.name}: {skill.kind}"
    return f"{skill.name}: edited{', its description among it' if skill.description else ''}"


def _model(model: ComparedModelEffect) -> Iterator[Block]:
    simulated = ", SIMULATED" if model.simulated.before or model.simulated.after else ""
    yield TitleBlock(f"{model.model}{simulated}")
    sides = [f"{side.scored:,} of {side.planned:,}" for side in (model.coverage.before, model.coverage.after)]
    yield Sentence(
        f"Trials scored: {sides[0]} before, {sides[1]} after. Verdict on the collection: {_turn(model.verdict)}."
    )
    yield from _table(model.contrasts, "No contrast has scored trials on all sides of any common task.")
    if model.arms:
        yield Sentence("Each arm by itself, success in per cent:")
        yield Table(("arm", *_HEAD[1:]), [_row(each, each.arm, share) for each in model.arms])
    yield from _skills(model.skills)
    if flips := _flips(model.flips):
        yield Sentence(f"Tasks that pass more or less often now ({len(flips)}), the greatest losses first:")
        yield Items(flips)


def _skills(skills: Sequence[ComparedSkillEffect]) -> Iterator[Block]:
    """The deciding contrast of each skill that has changed; all others are in the JSON form."""
    moved = [skill for skill in skills if _moved(skill)]
    rows = [
        (skill.skill, _turn(skill.verdict), *_row(each, "", points)[1:])
        for skill in moved
        for each in skill.contrasts
        if each.kind == "primary"
    ]
    if rows:
        yield Sentence("Each skill by itself, target - control:")
        yield Table(("skill", "verdict", *_HEAD[1:]), rows)
    if same := len(skills) - len(moved):
        yield Sentence(f"No change in {count(same, 'skill')}.")


def _moved(skill: ComparedSkillEffect) -> bool:
    return skill.verdict.before != skill.verdict.after or any(each.differing for each in skill.contrasts)


def _turn(verdict: VerdictChange) -> str:
    before, after = (word or "not measured" for word in (verdict.before, verdict.after))
    return f"{after}, as before" if before == after else f"{before} -> {after}"


def _table(contrasts: Sequence[ComparedContrast], nothing: str) -> Iterator[Block]:
    if contrasts:
        yield Table(_HEAD, [_row(each, f"{each.arm} - {each.against}", points) for each in contrasts])
    elif nothing:
        yield Sentence(nothing)


def _row(each: ComparedArm, name: str, side: Callable[[ContrastFigure], str]) -> tuple[str, ...]:
    """One change. No p-value is shown for what is not testable."""
    ps = (each.delta.p, each.delta.p_adjusted) if each.testable else (None, None)
    return (
        name, side(each.before), side(each.after), points(each.delta), bracket(each.t),
        f"{each.differing} of {each.tasks}", *map(p_value, ps),
    )  # fmt: skip


def _flips(flips: Sequence[TaskFlip]) -> list[str]:
    """One line for each task, with all its arms."""
    found: dict[str, list[TaskFlip]] = {}
    for flip in flips:
        found.setdefault(flip.task_id, []).append(flip)
    return [f"{task}{_for(own[0])}: {', '.join(map(_flip, own))}" for task, own in found.items()]


def _for(flip: TaskFlip) -> str:
    return f" ({flip.skill})" if flip.skill else ""


def _flip(flip: TaskFlip) -> str:
    return f"{flip.arm} {_passes(flip.before)} -> {_passes(flip.after)}"


def _passes(found: TaskPasses) -> str:
    return f"{found.passes}/{found.n}"


def _verdict(found: EffectComparisonReport) -> Iterator[Block]:
    yield TitleBlock("Verdict")
    for each in found.worse:
        what = each.skill or "the collection as a whole"
        yield Sentence(
            f"Worse: {what}, {each.model}: {points(each.delta)} points over {count(each.tasks, 'task')}, "
            f"p {p_value(each.delta.p_adjusted)} after correction.",
            strong=True,
        )
    tried = [skill for model in found.models for skill in model.skills]
    primary = [each for skill in tried for each in skill.contrasts if each.kind == "primary"]
    if not found.worse and not primary:
        yield Sentence("No skill is compared by itself: no task has target and control scored in both runs.")
    elif not found.worse:
        yield Sentence("No skill is shown to have got worse. That does not show that none has.")
    untested = [
        skill.skill for skill in tried if not any(each.testable for each in skill.contrasts if each.kind == "primary")
    ]
    if untested and primary:
        names = list(dict.fromkeys(untested))
        yield Sentence(f"Not testable, because too few of their tasks changed (6 are needed): {list_some(names, 12)}.")
    yield Sentence(
        "A change is the mean over tasks of what an arm adds after, less what it added before, in percentage points. changed "
        "counts the tasks that it rests on; p is a sign-flip test's over them. The target against the control decides, "
        "corrected by Holm; below 30 tasks by Student's interval."
    )
