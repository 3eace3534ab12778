"""What failed in the trials of a task: by test, with what the verifier says and a trial as evidence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec import structs

from skill_health.documents.task_review import ArmFailures, FailingTrial, FailureCause, TestFailure
from skill_health.text.patterns import lazy
from skill_health.text.terminal import one_line
from skill_health.trials.reading import KeptTrial, TrialCheck

# What pytest and CTRF call a test that did not pass; one that is skipped or pending decided nothing.
_FAILED = {"test": ("failed", "other"), "criterion": ("not met",)}
_MOST_SAID, _MOST_LAST, _MOST_LINES = 400, 240, 6
_MISSING = ("FileNotFoundError", "NotADirectoryError")
_ERROR = lazy(r"\b(?:[A-Z][A-Za-z]{2,40}(?:Error|Exception|Exit|Timeout)|assert)\b")
_NO_FILE = lazy(r"(?i)\b(?:no such file|does not exist|files? not found|was not created|is missing|missing file)\b")


@dataclass(frozen=True, slots=True)
class ReviewedTrial:
    """A scored trial of the task, with the run that it is of."""

    run: str
    kept: KeptTrial


def find_failures(trials: Sequence[ReviewedTrial]) -> tuple[TestFailure, ...]:
    """What failed in scored trials, the commonest first, then by name."""
    counted = Counter(each.kept.trial.line.arm for each in trials)
    found: dict[tuple[str, FailureCause], list[tuple[ReviewedTrial, str]]] = defaultdict(list)
    for each in trials:
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
    """What failed in one trial: each by its name, its cause, and what was said."""
    line = kept.trial.line
    if line.outcome == "pass":
        return
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


def _evidence(trial: ReviewedTrial) -> FailingTrial:
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
