"""Is the instrument to be trusted? Asked before money is spent, with planted skills and prompts, and of a finished run.

Before the first call of a run `instrument_run.check_plan` asks each model at most six questions over the catalogue
with a skill that nobody has (`sentinel.plant`), by the same pipeline as all others, and `planted.judge_planted` judges
the answers. `degenerate.judge_finished(sheet, planted_verdicts)` judges the finished run.

A Verdict is `trusted` where nothing speaks against the model, `failed` where something does, and neither where nobody
answered (`tested` False: a model that is gone, a server that is down). A run stops before its first paid call where a
priced model's verdict is `failed`, unless told to go on; for everything that is free the verdict only marks the report.
`check.json` is `to_record(planted_verdicts, finished_verdicts)`; `lines(verdicts)` is what people read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from skill_health.text.terminal import clean

VERSION = 1

SENTINEL_MISSED, FALSE_FIRES, ALWAYS_NONE, ONE_ANSWER = "sentinel_missed", "false_fires", "always_none", "one_answer"
FIRST_POSITION, RECALL_ZERO, MISSING, NO_ANSWER = "first_position", "recall_zero", "missing", "no_answer"
FAILURES: Mapping[str, str] = {
    "format_failure": "format_failures", "truncated": "truncations", "refusal": "refusals",
}  # fmt: skip
"""The keys of the findings, the last three by the status that they count."""


@dataclass(frozen=True, slots=True)
class InstrumentFinding:
    """What speaks against trusting a model (`level` "fail"), or is worth knowing about it ("note").

    `hits` of `n` calls showed it. `text` is one sentence in plain words, safe to print.
    """

    key: str
    text: str
    hits: int
    n: int
    level: Literal["fail", "note"] = "fail"


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """What a check found of one model.

    `asked` calls were planned and `answered` came back with an answer, well or badly formed. `tested` is False where
    too few did to say anything; `untested` names what could not be looked for, and why. `cost_usd` is what the check
    itself cost, None where that is not known.
    """

    model: str
    asked: int
    answered: int
    tested: bool
    findings: tuple[InstrumentFinding, ...] = ()
    untested: tuple[str, ...] = ()
    cost_usd: float | None = None

    @property
    def failed(self) -> bool:
        """Whether something speaks against the model."""
        return any(finding.level == "fail" for finding in self.findings)

    @property
    def trusted(self) -> bool:
        """Whether there were answers, and nothing speaks against the model."""
        return self.tested and not self.failed


def quote_model(name: str) -> str:
    """A name from a collection, safe to print and short."""
    return clean(name if len(name) <= 80 else name[:79] + "…")


def lines(verdicts: Iterable[ModelVerdict]) -> list[str]:
    """The verdicts for people: a line for each model and one for each finding."""
    found = []
    for verdict in verdicts:
        word = "trusted" if verdict.trusted else "not to be trusted" if verdict.failed else "not tested"
        found.append(f"{quote_model(verdict.model)}: {word} ({verdict.answered} of {verdict.asked} answered)")
        found += [f"  {finding.level}  {finding.key}: {finding.text}" for finding in verdict.findings]
        found += [f"  not testable  {text}" for text in verdict.untested]
    return found


def to_json(verdict: ModelVerdict) -> dict[str, Any]:
    """A verdict as a record holds it."""
    words = {"trusted": verdict.trusted, "failed": verdict.failed}
    lists = {"findings": [asdict(each) for each in verdict.findings], "untested": list(verdict.untested)}
    return asdict(verdict) | lists | words


def from_json(record: Mapping[str, Any]) -> ModelVerdict:
    """The verdict that a record holds. Raises KeyError or TypeError where it is none of ours."""
    return ModelVerdict(
        record["model"],
        record["asked"],
        record["answered"],
        record["tested"],
        tuple(InstrumentFinding(**each) for each in record["findings"]),
        tuple(record["untested"]),
        record["cost_usd"],
    )


def to_record(planted: Iterable[ModelVerdict], finished: Iterable[ModelVerdict] = ()) -> dict[str, Any]:
    """What check.json holds: the verdicts from before the run, those on the finished run, and what they come to.

    `trusted` maps each model of the finished run (before it is finished: each that was asked) to whether its figures
    are to be trusted: its calls look sound, and it did not fail on what was planted.
    """
    before, after = list(planted), list(finished)
    failed = {verdict.model for verdict in before if verdict.failed}
    return {
        "version": VERSION,
        "planted": [to_json(each) for each in before],
        "finished": [to_json(each) for each in after],
        "trusted": {each.model: each.trusted and each.model not in failed for each in after or before},
    }
