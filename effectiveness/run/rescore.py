"""Verify the trials of a run again from the workspaces that were kept, with today's verifiers and without any agent."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from msgspec import UNSET, structs

from skill_health.bench import durable
from skill_health.bench.journal import MANIFEST, RESULTS, read_manifest
from skill_health.bench.manifest import digest
from skill_health.bench.run_folder import is_reported
from skill_health.core.files import read_bytes, read_small, write_bytes
from skill_health.core.strict_json import parse_object
from skill_health.documents._record import OpenRecord, decode_record, record_values
from skill_health.documents.effect_criteria import CriteriaVerdict, CriterionVerdict
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_result import Outcome, TrialResult
from skill_health.effectiveness.run.runs import TRIALS
from skill_health.effectiveness.sandbox._run import SandboxError, to_the_end
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import is_inside
from skill_health.effectiveness.trial.files import (
    CRITERIA,
    FINAL,
    MAX_FINAL,
    TRAJECTORY,
    TRIAL,
    VERDICT,
    judgement,
    tally_of,
    to_json,
)
from skill_health.effectiveness.trial.grade import criteria_record, grade, graded
from skill_health.effectiveness.trial.keep import NAME, OUTPUTS, BadArchive, unpack
from skill_health.effectiveness.trial.outcome import VERIFIED, outcome_of
from skill_health.effectiveness.trial.prepare import Preparation, start_again
from skill_health.effectiveness.trial.rewards import INFRASTRUCTURE, UNJUDGED
from skill_health.effectiveness.trial.verify import Verified, make_ready, verify
from skill_health.effectiveness.workspace.scripts import ScriptOptions
from skill_health.effectiveness.workspace.tree import read_tree
from skill_health.effectiveness.workspace.workspace import Workplace, fresh, removed, workplace
from skill_health.text.terminal import clean

Word = Literal["same", "changed", "failed", "skipped"]
NOTE = "verified again"


@dataclass(frozen=True, slots=True)
class Rescored:
    """One trial: as it was recorded, and as it is now.

    `word` says whether the outcome or a reward is another one; "failed" where the verifier could not tell, which
    changes nothing, and "skipped" where there is nothing to verify. `reasons` are short lines: what changed, or why
    nothing could be said. `verified` is the new verification, `verifier_digest` that of the verifier that made it,
    and `criteria` what criteria.json says now where the task has a rubric.
    """

    before: TrialResult
    after: TrialResult
    word: Word
    reasons: tuple[str, ...] = ()
    verified: Verified | None = None
    verifier_digest: str | None = None
    criteria: CriteriaVerdict | None = None


class _KeptTask(OpenRecord, frozen=True, kw_only=True):
    """The task in trial.json."""

    digest: str | None = None


class _KeptTrial(OpenRecord, frozen=True, kw_only=True):
    """What of trial.json matters here."""

    task: _KeptTask | None = None
    skills_folder: str = ""


class _KeptVerdict(OpenRecord, frozen=True, kw_only=True):
    """What of verdict.json matters here."""

    imposed: Outcome | Literal[""]
    verifier_digest: str | None = None


async def rescore(
    folder: str, results: Sequence[TrialResult], tasks: Mapping[str, Task], terms: ScriptOptions
) -> list[Rescored]:
    """Verify the trials of the run in `folder` again, in the order of their results; `tasks` are given by their ids.

    Raises AbortedError where no trial can be run here at all.
    """
    slots = asyncio.Semaphore(terms.at_once)
    starts = _Starts(terms)

    async def one(result: TrialResult) -> Rescored:
        async with slots:
            return await _one(folder, result, tasks.get(result.task_id), terms, starts)

    return list(await asyncio.gather(*map(one, results)))


class _Starts:
    """What trials of each task start from, made once."""

    def __init__(self, terms: ScriptOptions) -> None:
        self._terms = terms
        self._made: dict[str, asyncio.Task[Preparation]] = {}

    async def of(self, task: Task) -> Preparation:
        """That of a task."""
        if task.id not in self._made:
            self._made[task.id] = asyncio.create_task(start_again(task, self._terms.sandbox, self._terms.image))
        return await self._made[task.id]


async def _one(folder: str, result: TrialResult, task: Task | None, terms: ScriptOptions, starts: _Starts) -> Rescored:
    kept = _kept(folder, result, task)
    if isinstance(kept, str) or task is None:
        return Rescored(result, result, "skipped", (str(kept),))
    place, trial, verdict = kept
    digest = task.verifier_digest
    start = await starts.of(task)
    if start.problem:
        return Rescored(result, result, "skipped", (start.problem,))
    try:
        # The check before the run has tried the verifier of then; another one may hang whatever it is given.
        verified, criteria = await _verified(
            place, trial, task, start, terms, result, verdict.verifier_digest == digest
        )
    except (BadArchive, OSError, SandboxError) as error:
        return Rescored(result, result, "skipped", (f"the kept workspace cannot be used: {error}",))
    reasons = [*_causes(trial, task, verdict, digest)]
    open_still = verified.verdict.outcome == UNJUDGED == result.outcome
    if verified.verdict.outcome in (INFRASTRUCTURE, UNJUDGED) and not open_still:
        return Rescored(result, result, "failed", (verified.verdict.problem, *reasons))
    now = verified.verdict
    after = structs.replace(
        result, outcome=outcome_of(verdict.imposed, now), reward=now.reward, rewards=dict(now.values), error=now.problem if open_still else "",
        criteria=criteria or UNSET, tests=tally_of(verified.ctrf),
        notes=tuple(dict.fromkeys((*result.notes, *filter(None, [now.problem]), NOTE))),
    )  # fmt: skip
    differences = [*_differences(result, after)]
    if not differences:
        return Rescored(result, result, "same", tuple(reasons), verified, digest)
    record = criteria_record(task, criteria) if criteria else None
    return Rescored(result, after, "changed", (*differences, *reasons), verified, digest, record)


def _kept(folder: str, result: TrialResult, task: Task | None) -> tuple[str, _KeptTrial, _KeptVerdict] | str:
    """The folder of a trial with what its files say; a text where there is nothing to verify again."""
    if task is None:
        return "its task is not among those that were read"
    if task.verifier is None and task.rubric is None:
        return "its task has no verifier any more"
    if not result.folder or not is_inside(result.folder) or not result.folder.startswith(f"{TRIALS}/"):
        return "its result names no folder of a trial"
    place = os.path.join(folder, result.folder)
    try:
        trial = decode_record(read_small(os.path.join(place, TRIAL)) or b"", _KeptTrial)
        verdict = decode_record(read_small(os.path.join(place, VERDICT)) or b"", _KeptVerdict)
    except ValueError:
        return "its folder is missing or damaged"
    if verdict.imposed not in VERIFIED:
        return f"its agent came to no end of its own ({result.outcome})"
    if not os.path.isfile(os.path.join(place, NAME)):
        return "its workspace was not kept"
    return place, trial, verdict


async def _verified(
    place: str,
    trial: _KeptTrial,
    task: Task,
    start: Preparation,
    terms: ScriptOptions,
    result: TrialResult,
    proved: bool,
) -> tuple[Verified, tuple[CriterionVerdict, ...]]:
    """The verification of a kept workspace, and the verdicts of its criteria. Raises BadArchive and OSError."""
    places = fresh(task, terms.sandbox)
    async with removed(places.base):
        at = workplace(task, places, terms.sandbox, terms.image, os.path.dirname(place))
        await to_the_end(asyncio.to_thread(unpack, os.path.join(place, NAME), places.workspace))
        if at.outputs:
            await to_the_end(asyncio.to_thread(_unpack_outputs, os.path.join(place, OUTPUTS), at))
        final, _ = read_bytes(os.path.join(place, FINAL))
        with open(places.final, "wb") as stream:
            stream.write(final[:MAX_FINAL])
        skills = trial.skills_folder
        given = replace(task, files=tuple(start.before.values()))
        make_ready(given, at, read_tree(places.workspace), skills if skills and is_inside(skills) else "", places.base)
        verified = await verify(task, at, proved=proved) if task.verifier else None
        trajectory, _ = read_bytes(os.path.join(place, TRAJECTORY)) if task.rubric else (b"", False)
        criteria = await grade(task, at, result, trajectory, final[:MAX_FINAL])
        return graded(task, criteria, verified), criteria


def _unpack_outputs(archive: str, at: Workplace) -> None:
    """The output folders outside the workspace as they were kept. Raises BadArchive."""
    if not os.path.isfile(archive):
        raise BadArchive("what the agent left outside its working directory was not kept")
    os.mkdir(at.outside, 0o700)
    unpack(archive, at.outside)
    for place, path in at.outputs:
        if not os.path.isdir(place) or os.path.realpath(place) != os.path.realpath(at.outside) + path:
            raise BadArchive(f"it has no folder {path}")


def _causes(trial: _KeptTrial, task: Task, verdict: _KeptVerdict, digest: str | None) -> Iterable[str]:
    """What is not as it was when the trial was made."""
    if verdict.verifier_digest != digest:
        yield "the verifier is another one"
    if trial.task and trial.task.digest != task.digest:
        yield "the task itself is another one: its prompt, its files or its limits"


def _tests(result: TrialResult) -> str:
    return "none" if result.tests is UNSET else f"{result.tests.passed} of {result.tests.counted}"


def _differences(before: TrialResult, after: TrialResult) -> Iterable[str]:
    if before.outcome != after.outcome:
        yield f"outcome {before.outcome} -> {after.outcome}"
    if before.reward != after.reward:
        yield f"reward {_shown(before.reward)} -> {_shown(after.reward)}"
    for name in sorted({*before.rewards, *after.rewards}):
        was, now = before.rewards.get(name), after.rewards.get(name)
        if was != now and name != "reward":
            yield f"{name} {_shown(was)} -> {_shown(now)}"
    was_tests, now_tests = (_tests(one) for one in (before, after))
    if was_tests != now_tests:
        yield f"tests passed {was_tests} -> {now_tests}"
    old, new = (
        {each.id: each.answer for each in (() if one.criteria is UNSET else one.criteria)} for one in (before, after)
    )
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield f"criterion {name} {old.get(name, 'none')} -> {new.get(name, 'none')}"


def _shown(number: float | None) -> str:
    return "none" if number is None else f"{number:g}"


_JUDGED = ("pass", "fail", "timeout")


def as_text(trials: Sequence[Rescored], written: bool) -> str:
    """Lines about the trials that are not as they were, and a summary."""
    counts = Counter(trial.word for trial in trials)
    lines = [line for trial in trials if trial.word in ("changed", "failed") for line in _lines(trial)]
    left_out = Counter(trial.reasons[0] for trial in trials if trial.word == "skipped")
    lines += [f"left out, {count}: {clean(reason)}" for reason, count in sorted(left_out.items())]
    done = len(trials) - counts["skipped"]
    lines.append(
        f"{done} of {len(trials)} trials verified again: {counts['same']} as they were, {counts['changed']} changed"
    )
    if counts["failed"]:
        lines[-1] += f", {counts['failed']} could not be judged and stay as they were"
    if counts["changed"]:
        lines.append("the results were replaced" if written else "nothing was written: --write replaces the results")
    elif written:
        lines.append("the results are as they were; the manifest names the verifiers that confirmed them")
    return "\n".join(lines) + "\n"


def as_json(trials: Sequence[Rescored], written: bool) -> dict[str, Any]:
    """All trials, in the order of the results."""
    return {
        "version": 1,
        "kind": "effectiveness-rescore",
        "written": written,
        "trials": [
            {
                "key": list(trial.before.key),
                "word": trial.word,
                "reasons": list(trial.reasons),
                "verifier_digest": trial.verifier_digest,
                "before": {"outcome": trial.before.outcome, "reward": trial.before.reward},
                "after": {"outcome": trial.after.outcome, "reward": trial.after.reward},
            }
            for trial in trials
        ],
    }


def replace_results(folder: str, manifest: EffectManifest, trials: Sequence[Rescored]) -> None:
    """Replace the results of a run, its verdicts, the verifiers in its manifest, and its report where it has one.

    A comparison goes by the verifiers that the manifest names, so it comes first: a process that is killed behind it
    leaves results that the same command finds to be others and replaces. They are replaced as a whole. Where the run
    is the history's last word on a model and skill, the new word is appended. Raises OSError.
    """
    if (now := verified_now(manifest, trials)) != manifest:
        durable.replace(
            os.path.join(folder, MANIFEST), f"{durable.to_json(read_manifest(folder) | record_values(now))}\n".encode()
        )
    lines = (durable.to_json(record_values(trial.after)) + "\n" for trial in trials)
    durable.replace(os.path.join(folder, RESULTS), "".join(lines).encode("utf-8", "replace"))
    for trial in trials:
        if trial.word == "changed":
            replace_verdict(os.path.join(folder, trial.after.folder), trial)
    if is_reported(folder):
        _report(folder, now, trials)


def verified_now(manifest: EffectManifest, trials: Sequence[Rescored]) -> EffectManifest:
    """The manifest with the verifiers that judged these trials; a hash of both where some kept the old verdict."""
    found: dict[str, set[str]] = {}
    old = {task.id: task.verifier_digest for task in manifest.tasks}
    for trial in trials:
        name = trial.before.task_id
        if trial.word in ("same", "changed"):
            found.setdefault(name, set()).add(trial.verifier_digest or "")
        elif trial.before.outcome in _JUDGED:
            found.setdefault(name, set()).add(old.get(name, ""))
    tasks = tuple(
        structs.replace(task, verifier_digest=next(iter(by)) if len(by) == 1 else digest(sorted(by)))
        if (by := found.get(task.id))
        else task
        for task in manifest.tasks
    )
    if tasks == manifest.tasks:
        return manifest
    hashes = {**manifest.hashes, "tasks": digest(list(map(record_values, tasks)))}
    return structs.replace(manifest, tasks=tasks, hashes=hashes)


def replace_verdict(place: str, trial: Rescored) -> None:
    """Replace the verdict in the folder of a trial by that of its new verification, if there was one."""
    verified = trial.verified
    if verified is None:
        return
    verdict = verified.verdict
    record = parse_object((read_small(os.path.join(place, VERDICT)) or b"{}").decode("utf-8"))
    record |= {
        "outcome": trial.after.outcome, "reward": verdict.reward, "rewards": dict(verdict.values),
        "verdict": verdict.outcome, "source": verdict.source, "problem": verdict.problem,
        "verifier_digest": trial.verifier_digest, "error": "", "notes": list(trial.after.notes),
    }  # fmt: skip
    shutil.rmtree(os.path.join(place, "verifier"), ignore_errors=True)
    kept = {CRITERIA: to_json(record_values(trial.criteria))} if trial.criteria else {}
    for path, data in {**judgement(verified), **kept, VERDICT: to_json(record)}.items():
        write_bytes(os.path.join(place, path), data)


def _report(folder: str, manifest: EffectManifest, trials: Sequence[Rescored]) -> None:
    from skill_health.effectiveness.effects.build import build_report
    from skill_health.effectiveness.reports import write_reports
    from skill_health.effectiveness.run.history import record_again

    results = [trial.after for trial in trials]
    report = build_report(manifest, results)
    write_reports(folder, report)
    record_again(os.path.dirname(os.path.dirname(os.path.abspath(folder))), manifest, report, results)


def _lines(trial: Rescored) -> Iterator[str]:
    task_id, model, arm, replication = trial.before.key
    name = clean(f"{task_id}, {model}, {arm}, replication {replication}")
    word = "" if trial.word == "changed" else "could not be judged: "
    yield f"{name}: {word}{clean('; '.join(trial.reasons))}"
