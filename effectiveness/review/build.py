"""A task, its check and its trials in finished runs -> the six parts of a review."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec import structs

from skill_health.documents._record import NotedFigure
from skill_health.documents.task_review import (
    ArmFailures,
    FailingTrial,
    FailureCause,
    ReviewedArm,
    ReviewedMetadata,
    ReviewedOracle,
    SkillsImpact,
    TaskReview,
    TestFailure,
)
from skill_health.effectiveness.check.check import TaskCheck, checked_task
from skill_health.effectiveness.check.verifier_code import count_tests
from skill_health.effectiveness.check.verifier_runs import VerifiedState
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.effectiveness.records import CONTROL, TARGET
from skill_health.effectiveness.review.criteria import CATEGORIES, ReviewFacts, judge_task, recommend
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.trial.files import tally_of
from skill_health.effectiveness.trial.rewards import PASS
from skill_health.stats.hypothesis_tests import stratified_difference
from skill_health.stats.intervals import wilson_interval
from skill_health.text.numbers import amount
from skill_health.text.patterns import lazy
from skill_health.text.terminal import one_line
from skill_health.trials.kept_files import ReportFolders
from skill_health.trials.reading import WHOLE, KeptTrial, TrialCheck, read_trial
from skill_health.trials.results import Trial, order, read_trials, shelf_of

# Formats whose categories are those of SkillsBench.
_CLOSED = ("harbor", "skillsbench")
# What pytest and CTRF call a test that did not pass; one that is skipped or pending decided nothing.
_FAILED = {"test": ("failed", "other"), "criterion": ("not met",)}
_MOST_SAID, _MOST_LAST, _MOST_LINES = 400, 240, 6
_MISSING = ("FileNotFoundError", "NotADirectoryError")
_ERROR = lazy(r"\b(?:[A-Z][A-Za-z]{2,40}(?:Error|Exception|Exit|Timeout)|assert)\b")
_NO_FILE = lazy(r"(?i)\b(?:no such file|does not exist|files? not found|was not created|is missing|missing file)\b")


@dataclass(frozen=True, slots=True)
class ReviewedRun:
    """A run whose trials are evidence: its manifest, the trials of it by task, and where their folders are."""

    run: EffectRun
    shelf: ReportFolders
    trials: Mapping[str, tuple[Trial, ...]]

    @classmethod
    def open(cls, run: EffectRun) -> ReviewedRun:
        """The trials of a run that its manifest knows."""
        shelf, runs, name = shelf_of(run.folder)
        by_task: dict[str, list[Trial]] = defaultdict(list)
        for (_, task), some in read_trials(shelf, name, runs).items():
            by_task[task] += some
        return cls(run, shelf, {task: tuple(sorted(some, key=order)) for task, some in by_task.items()})

    def of(self, task: Task) -> tuple[Trial, ...]:
        """Its trials of a task as that is now; none where the run had another state of the task."""
        frozen = next((each for each in self.run.manifest.tasks if each.id == task.id), None)
        states = {(state.digest, state.verifier_digest or "") for state in (task, task.in_container())}
        same = frozen is not None and (frozen.digest, frozen.verifier_digest) in states
        return self.trials.get(task.id, ()) if same else ()

    def is_simulated(self, model: str) -> bool:
        """Whether the results of an agent say nothing about any model."""
        return any(each.simulated for each in self.run.manifest.models if each.spec == model)


def review_task(
    task: Task, checked: TaskCheck, runs: Sequence[ReviewedRun], skill_errors: Mapping[str, int]
) -> TaskReview:
    """The review of a task as it was read, by its check and by the trials of it in these runs.

    `skill_errors` counts the errors that lint finds in each skill that should help, as far as the skills were found.
    """
    trials = [(run, trial) for run in runs for trial in run.of(task)]
    agents, impact = tuple(_arms(trials)), tuple(_impact(trials))
    facts = ReviewFacts(
        metadata := _metadata(task),
        task.about,
        checked_task(checked),
        oracle := _oracle(task, checked.solved),
        agents,
        impact,
        skill_errors,
        CATEGORIES if task.format in _CLOSED else (),
    )
    criteria = judge_task(facts)
    return TaskReview(
        metadata=metadata,
        oracle=oracle,
        agents=agents,
        impact=impact,
        failures=find_failures(trials),
        criteria=criteria,
        recommendation=recommend(criteria),
        check=facts.check,
    )


def _metadata(task: Task) -> ReviewedMetadata:
    criteria = task.rubric.criteria if task.rubric else ()
    return ReviewedMetadata(
        id=task.id,
        path=task.path,
        format=task.format,
        category=task.category,
        difficulty=task.difficulty,
        tags=task.about.tags,
        instruction_by=task.about.instruction_by,
        instruction_words=len(task.prompt.split()),
        skills=task.target_skills,
        tests=count_tests(task),
        criteria=len(criteria),
        judged=len(task.rubric.judged) if task.rubric else 0,
        requirements=tuple(_requirements(task)),
    )


def _requirements(task: Task) -> Iterator[str]:
    whole = task.in_container()
    if whole.recipe is not None:
        yield "an image of its own"
    if (needs := whole.resources) is not None:
        if needs.cpus:
            yield f"{needs.cpus:g} processors"
        if needs.memory_bytes:
            yield f"{needs.memory_bytes / 2**30:.3g} GB of memory"
        yield "no network" if needs.network == "none" else f"network: {', '.join(needs.hosts) or needs.network}"
    yield f"agent {amount(task.agent_timeout_sec)} s"
    if task.verifier:
        yield f"verifier {amount(task.verifier.timeout_sec)} s"


def _oracle(task: Task, state: VerifiedState | None) -> ReviewedOracle:
    if state is None:
        return ReviewedOracle(
            state="none" if task.oracle is None else "not run", reward=None, tests=None, seconds=None
        )  # fmt: skip
    verdicts = [each.verified.verdict for each in state.tried]
    took = state.oracle.duration_ms if state.oracle else None
    return ReviewedOracle(
        state="passes" if all(each.outcome == PASS for each in verdicts) else "fails",
        reward=verdicts[0].reward,
        tests=tally_of(state.tried[0].verified.ctrf) or None,
        seconds=None if took is None else round(took / 1000, 1),
    )


def _arms(trials: Sequence[tuple[ReviewedRun, Trial]]) -> Iterator[ReviewedArm]:
    groups: dict[tuple[str, str, str], list[tuple[ReviewedRun, Trial]]] = defaultdict(list)
    for run, trial in trials:
        groups[run.run.run_id, trial.line.model, trial.line.arm].append((run, trial))
    for (name, model, arm), some in groups.items():
        scored = [trial.line for _, trial in some if trial.line.scored]
        times = [line.duration_ms for line in scored if line.duration_ms is not None]
        tokens = [
            line.usage.input_tokens + line.usage.output_tokens
            for line in scored
            if line.usage.input_tokens is not None and line.usage.output_tokens is not None
        ]
        yield ReviewedArm(
            run=name,
            model=model,
            simulated=some[0][0].is_simulated(model),
            arm=arm,
            passed=_share(sum(line.outcome == "pass" for line in scored), len(scored)),
            missing=len(some) - len(scored),
            seconds=round(fmean(times) / 1000, 3) if times else None,
            tokens=round(fmean(tokens), 1) if tokens else None,
        )


def _share(passed: int, n: int) -> NotedFigure:
    if n == 0:
        return NotedFigure(value=None, low=None, high=None, n=0, clusters=0, note="no trial was scored")
    low, high = wilson_interval(passed, n)
    return NotedFigure(
        value=round(passed / n, 6), low=round(low, 6), high=round(high, 6), n=n, clusters=1, note=""
    )  # fmt: skip


def _impact(trials: Sequence[tuple[ReviewedRun, Trial]]) -> Iterator[SkillsImpact]:
    """What each model gains by the skills, and all that are not simulated together."""
    counts: dict[tuple[str, str, bool], dict[str, list[int]]] = defaultdict(lambda: {TARGET: [0, 0], CONTROL: [0, 0]})
    for run, trial in trials:
        line = trial.line
        if line.arm in (TARGET, CONTROL) and line.scored:
            cell = counts[run.run.run_id, line.model, run.is_simulated(line.model)][line.arm]
            cell[0] += line.outcome == "pass"
            cell[1] += 1
    pairs = {
        key: ((cells[TARGET][0], cells[TARGET][1]), (cells[CONTROL][0], cells[CONTROL][1]))
        for key, cells in counts.items()
    }
    for (name, model, simulated), pair in pairs.items():
        delta = full_figure(stratified_difference([pair]))
        yield SkillsImpact(run=name, model=model, simulated=simulated, delta=delta)
    real = [pair for (_, _, simulated), pair in pairs.items() if not simulated]
    if len(real) > 1:
        yield SkillsImpact(run="", model="", simulated=False, delta=full_figure(stratified_difference(real)))


@dataclass(frozen=True, slots=True)
class _FailedTrial:
    """A failing trial of the task, with the run that it is of."""

    run: str
    kept: KeptTrial


def find_failures(trials: Iterable[tuple[ReviewedRun, Trial]]) -> tuple[TestFailure, ...]:
    """What failed in scored trials, the commonest first, then by name. Only failing ones are read."""
    counted: Counter[str] = Counter()
    found: dict[tuple[str, FailureCause], list[tuple[_FailedTrial, str]]] = defaultdict(list)
    for run, trial in trials:
        counted[trial.line.arm] += trial.line.scored
        if trial.failed:
            each = _FailedTrial(run.run.run_id, read_trial(run.shelf, trial, WHOLE))
            for name, cause, said in _failures(each.kept):
                found[name, cause].append((each, said))
    listed = []
    for (name, cause), some in found.items():
        arms = Counter(each.kept.trial.line.arm for each, _ in some)
        said, _ = Counter(text for _, text in some).most_common(1)[0]
        example = next(each for each, text in some if text == said)
        shares = tuple(ArmFailures(arm=arm, failed=arms[arm], of=counted[arm]) for arm in sorted(arms))
        listed.append(
            TestFailure(names=(name,) if name else (), cause=cause, said=said, failed=shares, example=_evidence(example))
        )  # fmt: skip
    return tuple(
        sorted(_joined(listed), key=lambda each: (-sum(arm.failed for arm in each.failed), each.names, each.cause))
    )


def _joined(found: Iterable[TestFailure]) -> Iterator[TestFailure]:
    """Tests that fail alike, and as often, on one line."""
    alike: dict[tuple[str, str, tuple[ArmFailures, ...]], list[TestFailure]] = defaultdict(list)
    for each in found:
        alike[each.cause, each.said, each.failed].append(each)
    for some in alike.values():
        names = tuple(sorted(name for each in some for name in each.names))
        yield structs.replace(some[0], names=names)


def _failures(kept: KeptTrial) -> Iterator[tuple[str, FailureCause, str]]:
    """What failed in a failing trial: each by its name, its cause, and what was said."""
    line = kept.trial.line
    if line.outcome in ("timeout", "refusal"):
        yield "", "time limit" if line.outcome == "timeout" else "refusal", ""
        return
    checks = [check for check in kept.checks if check.said in _FAILED.get(check.kind, ())]
    for check in checks:
        said = _said(check)
        yield check.name, "criterion" if check.kind == "criterion" else cause_of(said), one_line(said, _MOST_SAID)
    if not checks:
        output = next((each.text for each in kept.outputs if each.way[-2:] == ("verifier", "stdout")), "").split("\n")
        last = next((text for text in reversed(output) if text.strip()), "")
        for name, said in _printed(output) or [("", last)]:
            yield name, cause_of(said), one_line(said, _MOST_SAID)


def _printed(output: Sequence[str]) -> list[tuple[str, str]]:
    """The tests whose failures pytest printed, each with the lines that it marks as the error."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in output:
        if line.startswith("___"):
            name = line.strip("_ ")
        elif line.startswith("==="):
            name = ""
        elif line.startswith("E ") and name:
            found.setdefault(name, []).append(line[1:].strip())
    return [(test, " ".join(lines[:_MOST_LINES])) for test, lines in found.items()]


def _said(check: TrialCheck) -> str:
    """What a test says of its failure: the lines that pytest marks as the error, else the message."""
    marked = [line[1:].strip() for line in check.trace.split("\n") if line.startswith("E ")]
    return " ".join(marked[:_MOST_LINES]) or check.why


def cause_of(said: str) -> FailureCause:
    """The cause of a failure by the first error that is named in what was said of it."""
    named = _ERROR.search(said)
    if (named and named.group() in _MISSING) or _NO_FILE.search(said):
        return "missing file"
    if named is None:
        return "not said"
    return "assertion" if named.group() in ("assert", "AssertionError") else "exception"


def _evidence(trial: _FailedTrial) -> FailingTrial:
    line = trial.kept.trial.line
    pieces = [piece for step in trial.kept.steps() for piece in step.pieces if piece.text.strip()]
    last = f"{pieces[-1].label} {pieces[-1].text}" if pieces else ""
    return FailingTrial(
        run=trial.run,
        trial=trial.kept.trial.name,
        model=line.model,
        arm=line.arm,
        outcome=line.outcome,
        opened=tuple(dict.fromkeys(line.invocations)),
        last=one_line(last, _MOST_LAST),
    )
