"""What a verifier said: rewards read, and the verdict of one verification.

`reward.json` (an object of finite numbers) wins over `reward.txt` (one finite number); the plan's tasks may also write
`.runner/score.json` into the workspace. A missing, an empty and an unparsable reward are three different problems, and
none of them is a reward of zero. `ctrf.json`, the report of a test runner, is counted beside them and decides nothing.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from skill_health.core.files import is_there
from skill_health.core.strict_json import JsonProblem, parse_object
from skill_health.documents._ctrf import CtrfResults, CtrfSummary
from skill_health.documents._record import convert_record
from skill_health.effectiveness.tasks._api import Grading
from skill_health.text.patterns import lazy

MAX_BYTES, MAX_REPORT = 64 << 10, 4 << 20
CTRF = "ctrf.json"
REWARD_JSON, REWARD_TXT = "reward.json", "reward.txt"
RUNNER, SCORE = ".runner", ".runner/score.json"
Outcome = Literal["pass", "fail", "infrastructure", "unjudged"]
PASS: Final = "pass"
FAIL: Final = "fail"
INFRASTRUCTURE: Final = "infrastructure"
UNJUDGED: Final = "unjudged"
CRITERIA: Final = "criteria"
"""The source of a reward that the criteria of a task come to."""
_NUMBER = lazy(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?\Z")
_SCORE_KEYS = ("reward", "score")

Problem = Literal["missing", "empty", "unparsable", "ambiguous"]


@dataclass(frozen=True, slots=True)
class Reward:
    """A reward as it was written. `value` is the one that counts, `values` are all numbers of the file."""

    value: float
    source: str
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NoReward:
    """Why there is none, in a stable word and a sentence."""

    problem: Problem
    message: str


@dataclass(frozen=True, slots=True)
class VerifierResult:
    """The result of one verification.

    `reward` is None where there is none, and always where the outcome is "infrastructure"; such a verification says
    nothing about the agent, as does one that is "unjudged": no criterion could be decided. `source` is "exit" where the
    reward is the exit code's 1 or 0. `problem` is the reason of an outcome that is none, or what is wrong with the
    reward of one that is.
    """

    outcome: Outcome
    reward: float | None
    source: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CtrfReport:
    """The report of a test runner: its bytes, its counts where it has any, and why not where it should."""

    data: bytes = field(default=b"", repr=False)
    summary: CtrfSummary | None = None
    problem: str = ""


def read_ctrf(folder: str) -> CtrfReport:
    """The CTRF report in a folder of rewards, an empty one where there is none."""
    path = os.path.join(folder, CTRF)
    if not is_there(path, links=False):
        return CtrfReport()
    text = _text(path, CTRF, MAX_REPORT)
    if isinstance(text, NoReward):
        return CtrfReport(problem=f"{text.message}: its tests are not counted")
    data = text.encode()
    try:
        summary = convert_record(parse_object(text).get("results"), CtrfResults).summary
    except (JsonProblem, ValueError):
        return CtrfReport(data, problem=f"{CTRF} is no CTRF report with results.summary: its tests are not counted")
    return CtrfReport(data, summary)


def clear_runner(workspace: str) -> None:
    """Delete `.runner` from a workspace: an agent could have written a score there."""
    place = os.path.join(workspace, RUNNER)
    if os.path.islink(place) or os.path.isfile(place):
        os.unlink(place)
    else:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(place)


def read_reward(folder: str, workspace: str = "") -> Reward | NoReward:
    """The reward in a folder of rewards; with a workspace, where that has none, the one of `.runner/score.json`.

    A reward.json that cannot be read is a problem even where a reward.txt stands beside it: which one counts must not
    depend on which one broke.
    """
    if is_there(path := os.path.join(folder, REWARD_JSON), links=False):
        return _read_json(path, REWARD_JSON, ("reward",))
    if is_there(path := os.path.join(folder, REWARD_TXT), links=False):
        return _read_number(path)
    if (
        workspace
        and not os.path.islink(os.path.join(workspace, RUNNER))
        and is_there(path := os.path.join(workspace, SCORE), links=False)
    ):
        return _read_json(path, SCORE, _SCORE_KEYS)
    return NoReward("missing", f"the verifier wrote neither {REWARD_JSON} nor {REWARD_TXT}")


def judge(
    grading: Grading, exit_code: int | None, found: Reward | NoReward, *, stopped: str = "", proved: bool = False
) -> VerifierResult:
    """The verdict on one verification; `exit_code` is None after a timeout and negative after a signal.

    With grading "exit" (the plan's verify.sh) zero passes and all else fails, and a reward only grades it; without one
    the reward is 1 or 0. With grading "reward" (SkillsBench, Harbor) a reward of at least 1 passes, whatever the exit
    code; without a reward nothing is known.

    `stopped` is the limit that the verifier broke, "" for none. Where it did not come to its own end nothing is known,
    unless it is `proved` that it does so over work that is no agent's: then it is an agent's work that fails.
    """
    if cut := _cut_short(exit_code, stopped):
        if proved:
            return VerifierResult(
                FAIL, 0.0, "exit", problem=f"{cut}, which only the agent's work can have brought about"
            )
        return VerifierResult(INFRASTRUCTURE, None, problem=cut)
    if grading == "reward":
        if isinstance(found, NoReward):
            return VerifierResult(INFRASTRUCTURE, None, problem=f"{found.message} (exit code {exit_code})")
        return VerifierResult(PASS if found.value >= 1 else FAIL, found.value, found.source, found.values)
    outcome: Outcome = FAIL if exit_code else PASS
    if isinstance(found, NoReward):
        problem = "" if found.problem == "missing" else found.message
        return VerifierResult(outcome, 0.0 if exit_code else 1.0, "exit", problem=problem)
    problem = ""
    if not 0 <= found.value <= 1:
        problem = f"the reward {found.value:g} does not lie between 0 and 1"
    elif found.value == (1 if exit_code else 0):
        problem = f"the exit code {exit_code} and the reward {found.value:g} contradict each other"
    return VerifierResult(outcome, found.value, found.source, found.values, problem)


def _cut_short(exit_code: int | None, stopped: str) -> str:
    """How a verifier was kept from its own end, "" where it was not."""
    if exit_code is None:
        more = stopped if stopped != "timeout" else ""
        return f"the verifier was stopped: {more}" if more else "the verifier took longer than its time limit"
    return f"the verifier was ended by signal {-exit_code}" if exit_code < 0 else ""


def _read_json(path: str, name: str, keys: tuple[str, ...]) -> Reward | NoReward:
    text = _text(path, name)
    if isinstance(text, NoReward):
        return text
    try:
        data = parse_object(text)
    except JsonProblem as problem:
        return NoReward("unparsable", f"{name}: {problem.message}")
    numbers = {key: float(value) for key, value in data.items() if _is_number(value)}
    if name == REWARD_JSON and len(numbers) < len(data):
        odd = next(key for key in data if key not in numbers)
        return NoReward("unparsable", f"{name}: the value of {odd[:40]!r} is not a finite number")
    if not numbers:
        return NoReward("empty", f"{name} holds no number")
    key = next((key for key in keys if key in numbers), next(iter(numbers)) if len(numbers) == 1 else None)
    if key is None:
        return NoReward("ambiguous", f"{name} holds {len(numbers)} numbers, and none of them is called {keys[0]!r}")
    return Reward(numbers[key], name, numbers)


def _read_number(path: str) -> Reward | NoReward:
    text = _text(path, REWARD_TXT)
    if isinstance(text, NoReward):
        return text
    value = float(text) if _NUMBER.match(text) else math.nan
    if not math.isfinite(value):
        return NoReward("unparsable", f"{REWARD_TXT} holds {text[:40]!r}, not one finite number")
    return Reward(value, REWARD_TXT, {"reward": value})


def _text(path: str, name: str, most: int = MAX_BYTES) -> str | NoReward:
    """The text of a small regular file, stripped; a link is not followed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags)
        with os.fdopen(handle, "rb") as stream:
            regular = stat.S_ISREG(os.fstat(handle).st_mode)
            raw = stream.read(most + 1) if regular else b""
    except OSError as error:
        return NoReward("unparsable", f"{name} cannot be read ({error.strerror or 'unknown error'})")
    if not regular:
        return NoReward("unparsable", f"{name} is not a regular file")
    if len(raw) > most:
        return NoReward("unparsable", f"{name} is larger than {most >> 10} KiB")
    try:
        text = raw.decode("utf-8").strip()
    except UnicodeDecodeError:
        return NoReward("unparsable", f"{name} is not UTF-8 text")
    return text or NoReward("empty", f"{name} is empty")


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
