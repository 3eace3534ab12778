"""Finished runs on disk whose trials were never made: what agents left is written down, for judges to look at."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from effects_made import replace
from judge_made import criterion, reply, rubric
from loopback import Reaction, Seen, answer
from msgspec import UNSET
from nursery import NURSERY, Nursery, python
from run_made import TASKS, a_model, a_plan, manifest_of

from skill_health.documents._record import convert_record, record_values
from skill_health.documents.effect_criteria import CriterionVerdict
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.commands.judge import command
from skill_health.effectiveness.plan.plan import keys
from skill_health.effectiveness.rubric.model import Rubric
from skill_health.effectiveness.run.runs import folder_of
from skill_health.effectiveness.tasks._api import Task

WORDS = ("apples", "brooms", "cables", "drums")
RUBRIC = rubric(
    criterion("a", "apples"), criterion("b", "brooms", 3), criterion("c", "cables", 1, "instruction"), goal_weight=0.75
)
RUN_ID = "20260301T000000Z-0000abcd"
TrialKey = tuple[str, str, str, int]
Work = Callable[[TrialKey], Sequence[str]]
"""The words that the work of a trial says."""


def plain_work(key: TrialKey) -> Sequence[str]:
    """The target says all of the words, the control the first one alone."""
    return WORDS if key[2] == "target" else WORDS[:1]


def make_run(
    reports: Path,
    work: Work = plain_work,
    tasks: Sequence[Task] = TASKS,
    arms: Sequence[str] = ("control", "target"),
    reps: int = 2,
    model: str = "llama-3",
    outcomes: Mapping[TrialKey, str] | None = None,
    more: Mapping[TrialKey, Mapping[str, str]] | None = None,
    criteria: Sequence[CriterionVerdict] = (),
    run_id: str = RUN_ID,
    extends: Sequence[str] = (),
    taken: Collection[TrialKey] = (),
) -> Path:
    """The folder of a finished run below the reports; `more` are files of a trial in place of those that are made.

    Of a run that `extends` others these trials were `taken` over from the last of them.
    """
    made = a_model("made:m")
    made = replace(made, choice=replace(made.choice, model=model))
    manifest = manifest_of(a_plan(made, tasks=tasks, arms=arms, reps=reps))
    manifest |= {"run_id": run_id, "extends": list(extends)}
    folder = reports / "effectiveness" / run_id
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    results = []
    for key in keys(convert_record(manifest, EffectManifest)):
        place = folder_of(key)
        outcome: Any = (outcomes or {}).get(key, "pass")
        maker = extends[-1] if key in taken else UNSET
        results.append(
            TrialResult(*key, outcome=outcome, folder=place, criteria=tuple(criteria) or UNSET, taken_from=maker)
        )
        files = {
            "trial.json": json.dumps({"prompt": f"Do {key[0]}."}),
            "final.txt": "I did it.\n",
            "diff.patch": "".join(f"+here are {word}\n" for word in work(key)),
            "trajectory.json": json.dumps({"steps": [{"step_id": 1, "source": "agent", "message": "So be it."}]}),
        }
        (folder / place).mkdir(parents=True)
        for name, text in {**files, **(more or {}).get(key, {})}.items():
            (folder / place / name).write_text(text, "utf-8")
    lines = (json.dumps(record_values(result)) + "\n" for result in results)
    (folder / "results.jsonl").write_text("".join(lines), "utf-8")
    return folder


def rubrics(tasks: Sequence[Task] = TASKS, found: Rubric = RUBRIC) -> dict[str, Rubric]:
    """The same rubric for each of these tasks."""
    return {task.id: found for task in tasks}


def the_judging(tmp_path: Path, kind: str = "judging") -> Path:
    """The folder of the only judging of this kind."""
    (folder,) = (tmp_path / "reports" / "effectiveness").glob(f"*/{kind}/*")
    return folder


def report_of(tmp_path: Path, kind: str = "judging") -> Any:
    """The report of that judging, as JSON values."""
    return json.loads((the_judging(tmp_path, kind) / "report.json").read_text())


def ask_one_judge(url: str, *more: str) -> Result:
    """Have the one server judge the last run of this folder."""
    Path("s.toml").write_text(settings(url, "one"), "utf-8")
    given = ["--judges", "one:m", "--family", "one:m=qwen", "--config", "s.toml", "--max-runs", "99", "--quiet"]
    return CliRunner().invoke(command, ["last", *given, *more], standalone_mode=False)


def judge(seen: Seen) -> Reaction:
    """The script that keeps to the rules, over HTTP."""
    return answer(seen, reply(seen.text))


def settings(url: str, *names: str, price: float = 10.0, **more: Any) -> str:
    """A configuration with judges of these names, each below a path of its own."""
    extra = "".join(f"{key} = {json.dumps(value)}\n" for key, value in more.items())
    return "".join(
        f'[router.providers.{name}]\nprotocol = "openai"\nbase-url = "{url}/{name}"\nconcurrency = 16\n{extra}'
        f'[router.prices."{name}:m"]\ninput = {price}\noutput = {price}\n'
        for name in names
    )


# The command with the rubrics of the tests: no task has to be read for them.
WITH_RUBRICS = """
sys.path[:0] = [f"{simulators.__path__[0]}/../tests/effectiveness", f"{simulators.__path__[0]}/../tests/router"]
import judge_runs
import skill_health.effectiveness.commands.judge as judging
judging.load_tasks_of = lambda *_: ()
judging.rubrics_of = lambda _: judge_runs.rubrics()
"""


class JudgeNursery(Nursery):
    """Processes of `effectiveness judge` that can be killed."""

    def __init__(self, folder: Path, first: Sequence[str]) -> None:
        import subprocess

        self.process = python(WITH_RUBRICS + NURSERY, json.dumps(list(first)), stdin=subprocess.PIPE, stderr=None)
        self.out, self.err = folder / "stdout", folder / "stderr"
