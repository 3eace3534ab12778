"""Are tasks fit to measure with? Each is read, audited for leaks, and tried with nothing done and with its oracle."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from skill_health.documents._record import encode_record
from skill_health.documents._targets import write_targets
from skill_health.documents.effect_check import (
    CheckedTask,
    TaskCheckReport,
    TaskFault,
    TaskFinding,
    UnreadableTask,
    VerifierVerdict,
)
from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.check.hacks import buy
from skill_health.effectiveness.check.leaks import hidden_values, overlaps, shared_answers, texts_of
from skill_health.effectiveness.check.skills import (
    SkillIndex,
    own_skills,
    skill_faults,
    skill_notes,
    skill_texts,
)
from skill_health.effectiveness.check.unmet import NeededByTargets, unmet_needs
from skill_health.effectiveness.check.verifier_code import verifier_findings
from skill_health.effectiveness.check.verifier_runs import VerifiedState, nothing_done, solved
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.trial.rewards import CRITERIA, INFRASTRUCTURE, PASS
from skill_health.effectiveness.trial.verify import Verified
from skill_health.effectiveness.workspace.scripts import ScriptOptions, last_line
from skill_health.registries.records import BadRecord, problem_line
from skill_health.skill.model import Skill
from skill_health.text.numbers import count
from skill_health.text.terminal import clean

# Folders where agents look for skills and settings: every arm would have what lies there.
_AGENT_FOLDERS = frozenset((".agents", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".qwen"))
_AGENT_FILES = frozenset(("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", ".cursorrules"))
_MOST_PATHS = 3


@dataclass(frozen=True, slots=True)
class TaskCheck:
    """What the check of one task found. `nothing_done` and `solved` are None where the task was not run."""

    task: Task
    faults: tuple[TaskFault, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[TaskFinding, ...] = ()
    nothing_done: VerifiedState | None = None
    solved: VerifiedState | None = None

    @property
    def ok(self) -> bool:
        """Whether a run may use the task."""
        return not self.faults


def check_tasks(
    tasks: Sequence[Task], skills: Sequence[Skill], root: str = "", terms: ScriptOptions | None = None
) -> tuple[TaskCheck, ...]:
    """Check tasks, in their order, against all skills of the collection; their files are read below `root`.

    On these `terms` the oracle and the verifier of each task, which is code of the task, are run: in a sandbox as in a
    trial, in fresh folders outside the repository. Without any, nothing is run. To be called from the main thread,
    where no event loop runs.

    Raises AbortedError where the temporary folder is no place for that.
    """
    given = SkillIndex(skill_texts(skills, root))
    names = {one.name for one in given.skills}
    needed = NeededByTargets(skills, root)

    def look(task: Task) -> TaskCheck:
        own = [skill for skill in own_skills(task) if skill.name not in names]
        index = SkillIndex((*given.skills, *own)) if own else given
        found = [*_static(task, index.names)]
        material = texts_of(task)
        hidden = hidden_values(material)
        told = list(dict.fromkeys(overlaps(task, material, hidden, index)))
        findings = []
        for each in told:
            if each.weight == "leak" or each.weight == "named":
                found.append(TaskFault("leak" if each.weight == "leak" else "skill-named", each.message))
            else:
                findings.append(TaskFinding(each.kind, each.weight, each.message))
        findings += [
            *verifier_findings(task),
            *shared_answers(material, hidden),
            *unmet_needs(task, needed(task), terms),
        ]
        return TaskCheck(task, tuple(found), tuple(_notes(task)), tuple(findings))

    return tuple(map(look, tasks)) if terms is None else asyncio.run(_tried(tasks, look, terms))


async def _tried(
    tasks: Sequence[Task], look: Callable[[Task], TaskCheck], terms: ScriptOptions
) -> tuple[TaskCheck, ...]:
    """Each task looked at and tried, some at once: while one is looked at, the scripts of others go on."""
    slots = asyncio.Semaphore(terms.at_once)

    async def one(task: Task) -> TaskCheck:
        async with slots:
            checked = look(task)
            if not task.runnable or not _is_decided(task):
                return checked
            start = await nothing_done(task, terms)
            end = await solved(task, terms) if task.oracle is not None else None
            found = dict.fromkeys([*_start_faults(start, task), *(_end_faults(end) if end else ())])
            # Verifiers written for containers write beside the work; in a trial each runs once, over work that is kept.
            changing = [each for each in found if each.kind == "verifier-changes" and task.recipe is not None]
            found = dict.fromkeys(each for each in found if each not in changing)
            # Who passes nothing done is bought by everything, and a judge's part is not played.
            if end is not None and not found and not (task.rubric is not None and task.rubric.judged):
                bought = await buy(task, terms, end.answers)
                found.update(dict.fromkeys(TaskFault("verifier-bought", each.message) for each in bought))
        return replace(
            checked, faults=(*checked.faults, *found),
            notes=(*checked.notes, *(each.message for each in changing), *_state_notes(start, end)),
            nothing_done=start, solved=end,
        )  # fmt: skip

    return tuple(await asyncio.gather(*map(one, tasks)))


def _is_decided(task: Task) -> bool:
    """Whether a program decides at least a part of the task."""
    return task.verifier is not None or (task.rubric is not None and bool(task.rubric.checked))


def _static(task: Task, names: Sequence[str]) -> Iterator[TaskFault]:
    yield from (TaskFault("not-runnable", line) for line in task.blockers)
    yield from (TaskFault("skills", line) for line in skill_faults(task, names))
    for file in task.files:
        top = next((part for part in file.path.split("/")[:-1] if part in _AGENT_FOLDERS), "")
        if top:
            yield TaskFault("visible", f"the starting file {file.path} lies where agents look for skills and settings")
            break
    if task.oracle is None and task.runnable and task.verifier is not None:
        yield TaskFault("no-oracle", "there is no oracle, so nothing shows that the task can be solved")


def _notes(task: Task) -> Iterator[str]:
    yield from (f"not supported: {line}" for line in task.unsupported)
    yield from _rubric_notes(task)
    yield from skill_notes(task)
    for file in task.files:
        if file.path.rpartition("/")[2] in _AGENT_FILES:
            yield f"the starting file {file.path} is read by some agents as instructions, in every arm"


def _rubric_notes(task: Task) -> Iterator[str]:
    if task.rubric is None:
        return
    total, judged = len(task.rubric.criteria), len(task.rubric.judged)
    if judged == total:
        yield f"all {total} criteria need a judge: a trial stays unjudged until one has read it"
    elif judged:
        yield f"{judged} of {total} criteria need a judge: without one the others decide"


def _start_faults(state: VerifiedState, task: Task) -> Iterator[TaskFault]:
    """What is wrong when nothing was done."""
    yield from _verifier_faults(state, "nothing done")
    # Where a judge has a part, the rest may well hold of nothing done.
    judged = task.verifier is None and task.rubric is not None and bool(task.rubric.judged)
    if not judged and any(one.verdict.outcome == PASS for one in _verified(state)):
        yield TaskFault("no-op-passes", "the verifier passes although nothing was done")


def _end_faults(state: VerifiedState) -> Iterator[TaskFault]:
    """What is wrong after the oracle."""
    ran = state.oracle
    if ran is not None and ran.exit_code != 0:
        yield TaskFault("oracle-error", f"the oracle {_how(ran)}{_said(ran)}")
    yield from _verifier_faults(state, "the oracle's work done")
    worst = next((one for one in _verified(state) if one.verdict.outcome != PASS), None)
    if worst and worst.verdict.outcome != INFRASTRUCTURE:
        yield TaskFault("oracle-fails", f"the verifier fails the oracle{_said(worst.output)}")
    elif worst is None and (reward := state.tried[0].verified.verdict.reward) != 1:
        yield TaskFault("oracle-reward", f"the oracle's reward is {reward:g}, not 1")


def _verifier_faults(state: VerifiedState, when: str) -> Iterator[TaskFault]:
    first = state.tried[0].verified
    for one in _verified(state):
        if one.verdict.outcome == INFRASTRUCTURE:
            yield TaskFault("verifier-error", f"with {when}: {one.verdict.problem}{_said(one.output)}")
            break
        if one.verdict.problem and one.verdict.source != CRITERIA:
            yield TaskFault("reward", f"with {when}: {one.verdict.problem}")
            break
    if any(_result(one) != _result(first) for one in _verified(state)):
        results = ", ".join(f"{one.verdict.outcome} ({_shown(one.verdict.reward)})" for one in _verified(state))
        yield TaskFault("verifier-varies", f"with {when} the verifier does not say the same each time: {results}")
    if changed := next((one.changed for one in state.tried if one.changed), ()):
        more = f" and {len(changed) - _MOST_PATHS} more" if len(changed) > _MOST_PATHS else ""
        yield TaskFault(
            "verifier-changes", f"the verifier changes the workspace: {', '.join(changed[:_MOST_PATHS])}{more}"
        )


def _state_notes(start: VerifiedState, end: VerifiedState | None) -> Iterator[str]:
    if end is not None and not end.changes:
        yield "the oracle changes no file: the final message alone is judged"
    for state in filter(None, (start, end)):
        if len({(one.output.stdout, one.output.stderr) for one in _verified(state)}) > 1:
            yield "the verifier's output differs from run to run; its verdict does not"
            return


def _result(one: Verified) -> tuple[object, ...]:
    verdict = one.verdict
    return verdict.outcome, verdict.reward, tuple(sorted(verdict.values.items())), one.output.exit_code


def _verified(state: VerifiedState) -> list[Verified]:
    return [one.verified for one in state.tried]


def _how(ran: ProgramOutput) -> str:
    """How a program came to an end that is not the right one."""
    if ran.exit_code is not None:
        return f"ended with exit code {ran.exit_code}"
    return f"was stopped: {ran.stopped}" if ran.stopped not in ("", "timeout") else "did not end within its time limit"


def _said(ran: ProgramOutput) -> str:
    words = last_line(ran)
    return f"; it said: {words}" if words else ""


def _shown(reward: float | None) -> str:
    return "no reward" if reward is None else f"{reward:g}"


def as_text(checked: Sequence[TaskCheck], bad: Sequence[BadRecord], notes: bool, prefix: str = "") -> str:
    """One line for each problem, with notes where they are wanted, and a last line with the count.

    `prefix` stands in front of every path: what leads from here to the folder that paths are relative to.
    """
    return "".join(f"{line}\n" for line in _lines(checked, bad, notes, prefix))


def _lines(checked: Sequence[TaskCheck], bad: Sequence[BadRecord], notes: bool, prefix: str) -> Iterator[str]:
    yield from (problem_line(one._replace(path=f"{prefix}{one.path}")) for one in bad)
    shared = Counter(one.task.path for one in checked)
    for one in checked:
        # A file may hold many tasks.
        path = f"{prefix}{one.task.path}{f': {one.task.id}' if shared[one.task.path] > 1 else ''}"
        yield from (_line(path, f"{fault.kind}: {fault.message}") for fault in one.faults)
        for each in one.findings:
            if notes or each.level == "warning":
                yield _line(path, f"{each.level}: {each.kind}: {each.message}")
        if notes:
            yield from (_line(path, f"note: {note}") for note in one.notes)
    total, good = len(checked) + len(bad), sum(one.ok for one in checked)
    ran = sum(one.nothing_done is not None for one in checked)
    told = "" if notes or not (noted := sum(map(_noted, checked))) else f"; {count(noted, 'note')} (--notes)"
    yield f"{total} task{'s' * (total != 1)}, {good} fit to use, {ran} tried{told}"


def _noted(one: TaskCheck) -> int:
    return len(one.notes) + sum(each.level == "info" for each in one.findings)


def _line(path: str, text: str) -> str:
    return clean(" ".join(f"{path}: {text}".split()))


def as_json(checked: Sequence[TaskCheck], bad: Sequence[BadRecord]) -> str:
    """The same in full."""
    return encode_record(
        TaskCheckReport(
            schema="skill-health/effectiveness-check/1",
            tasks=tuple(map(checked_task, checked)),
            bad=tuple(UnreadableTask(path=one.path, line=one.line, message=one.message, help=one.help) for one in bad),
            ok=not bad and all(one.ok for one in checked),
        )
    )


def checked_task(one: TaskCheck) -> CheckedTask:
    """What was found of a task, as a document holds it."""
    task = one.task
    return CheckedTask(
        id=task.id,
        path=task.path,
        format=task.format,
        target_skill=write_targets(task.target_skills),
        digest=task.digest,
        verifier_digest=task.verifier_digest,
        runnable=task.runnable,
        ok=one.ok,
        problems=one.faults,
        notes=one.notes,
        findings=one.findings,
        nothing_done=_verdicts(one.nothing_done),
        solved=_verdicts(one.solved),
    )


def _verdicts(state: VerifiedState | None) -> tuple[VerifierVerdict, ...] | None:
    if state is None:
        return None
    verdicts = (one.verified.verdict for one in state.tried)
    return tuple(VerifierVerdict(outcome=each.outcome, reward=each.reward) for each in verdicts)
