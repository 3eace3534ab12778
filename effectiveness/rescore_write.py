"""What `rescore` says, and how it replaces results."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.bench import durable
from skill_health.bench.journal import MANIFEST, RESULTS
from skill_health.bench.manifest import digest
from skill_health.core.files import read_small, write_bytes
from skill_health.core.strict_json import parse_object
from skill_health.effectiveness.rescore import Rescored
from skill_health.effectiveness.results import to_line
from skill_health.effectiveness.trial_files import VERDICT, judgement, to_json
from skill_health.text.terminal import clean

REPORTS = ("report.json", "report.md")
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


def write(folder: str, manifest: Mapping[str, Any], trials: Sequence[Rescored]) -> None:
    """Replace the results of a run, its verdicts, the verifiers in its manifest, and its report where it has one.

    A comparison goes by the verifiers that the manifest names, so it comes first: a process that is killed behind it
    leaves results that the same command finds to be others and replaces. They are replaced as a whole. Where the run
    is the history's last word on a model and skill, the new word is appended. Raises OSError.
    """
    if (now := verified_now(manifest, trials)) != manifest:
        durable.replace(os.path.join(folder, MANIFEST), f"{durable.to_json(now)}\n".encode())
    lines = (durable.to_json(to_line(trial.after)) + "\n" for trial in trials)
    durable.replace(os.path.join(folder, RESULTS), "".join(lines).encode("utf-8", "replace"))
    for trial in trials:
        if trial.word == "changed":
            _replace_verdict(folder, trial)
    if all(os.path.exists(os.path.join(folder, name)) for name in REPORTS):
        _report(folder, now, trials)


def verified_now(manifest: Mapping[str, Any], trials: Sequence[Rescored]) -> dict[str, Any]:
    """The manifest with the verifiers that judged these trials; a hash of both where some kept the old verdict."""
    found: dict[str, set[str]] = {}
    old = {str(task["id"]): str(task["verifier_digest"]) for task in manifest["tasks"]}
    for trial in trials:
        name = trial.before.task_id
        if trial.word in ("same", "changed"):
            found.setdefault(name, set()).add(trial.verifier_digest or "")
        elif trial.before.outcome in _JUDGED:
            found.setdefault(name, set()).add(old.get(name, ""))
    tasks = [
        {**task, "verifier_digest": next(iter(by)) if len(by) == 1 else digest(sorted(by))}
        if (by := found.get(str(task["id"])))
        else task
        for task in manifest["tasks"]
    ]
    if tasks == manifest["tasks"]:
        return dict(manifest)
    return {**manifest, "tasks": tasks, "hashes": {**manifest["hashes"], "tasks": digest(tasks)}}


def _replace_verdict(folder: str, trial: Rescored) -> None:
    place, verified = os.path.join(folder, trial.after.folder), trial.verified
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
    for path, data in {**judgement(verified), VERDICT: to_json(record)}.items():
        write_bytes(os.path.join(place, path), data)


def _report(folder: str, manifest: Mapping[str, Any], trials: Sequence[Rescored]) -> None:
    from skill_health.effectiveness.effects.build import build_report
    from skill_health.effectiveness.history import record_again
    from skill_health.effectiveness.reports import write_reports

    results = [trial.after for trial in trials]
    report = build_report(manifest, results)
    write_reports(folder, report)
    record_again(os.path.dirname(os.path.dirname(os.path.abspath(folder))), manifest, report, results)


def _lines(trial: Rescored) -> Iterator[str]:
    task_id, model, arm, replication = trial.before.key
    name = clean(f"{task_id}, {model}, {arm}, replication {replication}")
    word = "" if trial.word == "changed" else "could not be judged: "
    yield f"{name}: {word}{clean('; '.join(trial.reasons))}"
