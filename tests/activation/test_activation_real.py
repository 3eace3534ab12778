"""Three real agents over the twelve fixture skills and their 60 prompts, against models of planted habits; killed
often.

What the models do is known, so that every figure of the report can be held against it: what each agent opened, how
often calls were paid, and what of one request could be seen in another.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from activation_bench import PROGRAMS, ROOT, agent_module, fixture_prompts
from agent_trials import KEY, plant, program
from loading_server import SEARCH, Habit, LoadingServer
from trial_bench import needs_bubblewrap

from simulators.agents.planted import LoadingHabits, draw_load
from skill_health.activation.report import build_activation_report
from skill_health.activation.run.runs import load_activation_run
from skill_health.documents._record import Figure
from skill_health.documents.router_manifest import Prompt
from skill_health.effectiveness.sandbox._quota import remove_mounted

pytestmark = pytest.mark.real

AGENTS = {"claude-code": "anth", "codex": "resp", "gemini-cli": "gem"}
"""The agents, each with the name of its provider in the configuration."""
HABITS = LoadingHabits(recall=0.75, confuse=0.12, near=0.1, stray=0.2)
RATES = {"recall": 0.75, "other_first": 0.12, "silent": 0.13, "false_fire_none": 0.1 + 0.9 * 0.2}
"""What the habits come to: where no skill applies, each of these prompts is a near miss of one first."""
# Tests see no variable of ours, so it is read before they begin.
KILLS = int(os.environ.get("SKILL_HEALTH_KILLS", "3"))
WAYS = ("skill", "shell", "file")


@dataclass(frozen=True)
class Planted:
    """One agent with its server, and what its model does with each prompt."""

    agent: str
    provider: str
    server: LoadingServer
    habits: Mapping[str, Habit]

    @property
    def spec(self) -> str:
        return f"{self.agent}:{self.provider}:some-model-1"


def canary(prompt_id: str) -> str:
    return f"CANARY-{prompt_id}"


def planted_habits(prompts: tuple[Prompt, ...], names: tuple[str, ...], seed: int) -> dict[str, Habit]:
    """What a model of these habits does, by lot; before that it looks for what others left, and leaves something."""
    found = {}
    for nth, prompt in enumerate(prompts):
        near = prompt.rejected[0] if prompt.rejected else None
        drawn = draw_load(
            LoadingHabits(**{**{f: getattr(HABITS, f) for f in ("recall", "confuse", "near", "stray")}, "seed": seed}),
            prompt.prompt_id, prompt.expected, near, names, (0, 1),
        )  # fmt: skip
        mark = canary(prompt.prompt_id)
        # Every third request leaves something in the workspace, which is then given up; all do at home.
        places = ["$HOME/left.txt", "$TMPDIR/left.txt", *(["notes.txt"] if nth % 3 == 0 else [])]
        leave = "; ".join(f'echo {mark} >> "{place}"' for place in places)
        opens = (drawn.opened,) if drawn.opened else ()
        way = WAYS[nth % len(WAYS)] if opens else "skill"
        found[prompt.prompt_id] = Habit(opens, way, first=(f"{SEARCH}; {leave}",))  # type: ignore[arg-type]
    return found


def near_rate(prompts: tuple[Prompt, ...]) -> float:
    """How often a skill that must not fire is opened: by confusion, as a near miss, or as any other."""
    others = 11
    rates = [
        HABITS.confuse * len(prompt.rejected) / others
        if prompt.expected
        else HABITS.near + (1 - HABITS.near) * HABITS.stray * (len(prompt.rejected) - 1) / others
        for prompt in prompts
    ]
    return sum(rates) / len(rates)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Planted]]:
    needs_bubblewrap()
    plant(monkeypatch, tmp_path / "home")
    # What is killed leaves workspaces behind, each a file system of its own where one can be mounted.
    (jobs := tmp_path / "jobs").mkdir()
    monkeypatch.setenv("TMPDIR", str(jobs))
    prompts = fixture_prompts()
    names = tuple(sorted(path.name for path in (ROOT / "fixtures" / "skills").iterdir()))
    with ExitStack() as stack:
        found = []
        for nth, (agent, provider) in enumerate(AGENTS.items()):
            habits = planted_habits(prompts, names, 11 + nth)
            texts = {prompt.prompt_id: prompt.text for prompt in prompts}
            server = stack.enter_context(LoadingServer(texts, habits, agent_module(agent).SKILLS))
            found.append(Planted(agent, provider, server, habits))
        yield found
    remove_mounted(str(jobs))


def write_collection(folder: Path, planted: list[Planted]) -> Path:
    shutil.copytree(ROOT / "fixtures" / "skills", folder / "skills")
    (folder / "registries").mkdir()
    shutil.copy(ROOT / "fixtures" / "registries" / "prompts.jsonl", folder / "registries")
    lines = []
    for each in planted:
        protocol = agent_module(each.agent).PROTOCOLS[0]
        lines += [
            f"[router.providers.{each.provider}]", f'protocol = "{protocol}"', f'base-url = "{each.server.url}"',
            f'key-env = "KEY_OF_{each.provider.upper()}"', f'[router.prices."{each.provider}:some-model-1"]',
            "input = 0", "output = 0",
        ]  # fmt: skip
    (folder / "skill-health.toml").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def begin(collection: Path, planted: list[Planted], *more: str) -> subprocess.Popen[str]:
    folders = [os.path.dirname(shutil.which(PROGRAMS[each.agent]) or program(PROGRAMS[each.agent])) for each in planted]
    links = collection.parent / "bin"
    links.mkdir(exist_ok=True)
    for each in planted:
        if not (link := links / PROGRAMS[each.agent]).exists():
            link.symlink_to(program(PROGRAMS[each.agent]))
    command = [
        sys.executable, "-m", "skill_health", "activation", "run", str(collection), "--config",
        str(collection / "skill-health.toml"), "--agents", ",".join(each.spec for each in planted), "--sandbox",
        "bubblewrap", "--quiet", "--concurrency", "3", "--format", "json", "--out", str(collection / "reports"), *more,
    ]  # fmt: skip
    env = os.environ | {
        "PYTHONPATH": str(ROOT), "PATH": os.pathsep.join([str(links), *folders, os.environ["PATH"]]),
        **{f"KEY_OF_{each.provider.upper()}": KEY for each in planted},
    }  # fmt: skip
    return subprocess.Popen(command, cwd=collection, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def asked(planted: list[Planted]) -> int:
    return sum(len(each.server.requests) for each in planted)


def kill_and_resume(collection: Path, planted: list[Planted], kills: int) -> tuple[str, int]:
    """Run to the end, killed so often on the way; what the last process printed, and how often it was killed."""
    draw, done = random.Random(5), 0
    # A request takes some three calls, and as many kills as there are must fall into what is left.
    share = max(1, 3 * len(fixture_prompts()) * len(planted) // (kills + 1))
    while True:
        process = begin(collection, planted)
        # Some are killed at once, in the middle of a first request; others once they got on.
        enough = asked(planted) + draw.choice((1, 2, *(draw.randint(1, share) for _ in range(3))))
        while done < kills and process.poll() is None:
            if asked(planted) >= enough:
                time.sleep(draw.uniform(0, 0.5))
                process.send_signal(signal.SIGKILL)
                done += 1
                break
            time.sleep(0.02)
        out, err = process.communicate(timeout=7200)
        if process.returncode != -signal.SIGKILL:
            assert process.returncode == 0, err
            return out, done


@pytest.mark.exhaustive
def test_every_rate_is_recovered_through_kills(
    planted: list[Planted], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = fixture_prompts()
    collection = write_collection(tmp_path / "collection", planted)
    whole = len(prompts) * len(planted)
    out, killed = kill_and_resume(collection, planted, KILLS)
    assert [each.server.faults for each in planted] == [[] for _ in planted]
    (folder,) = (
        path for path in (collection / "reports" / "activation").iterdir() if (path / "manifest.json").exists()
    )
    run = load_activation_run(str(folder))
    report = build_activation_report(run.manifest, run.results)
    assert json.loads(out)["run_id"] == run.run_id and killed == KILLS

    # Nothing is lost, and nothing is there twice.
    keys = [result.key for result in run.results]
    assert len(keys) == len(set(keys)) == whole
    starts, ends = attempts_of(folder)
    assert sum(ends.values()) >= whole and max(Counter(key for key, _ in ends).values()) == 1
    assert sum(starts.values()) <= whole + 3 * KILLS, "what was paid twice was in flight when the run was killed"

    # Each detector tells what the model did, and each rate is that of the planted habits.
    by_model = {model.model: model for model in report.models}
    for each in planted:
        own = {result.prompt_id: result for result in run.results if result.model == each.spec}
        wanted = {name: habit.opens[0] if habit.opens else None for name, habit in each.habits.items()}
        assert {name: result.first for name, result in own.items()} == wanted
        assert {result.loaded for result in own.values()} <= {"yes", "no"}
        metrics = by_model[each.spec].metrics
        for name, rate in {**RATES, "false_fire_near": near_rate(prompts)}.items():
            figure: Figure = getattr(metrics, name)
            assert figure.low is not None and figure.high is not None, (each.spec, name)
            assert figure.low <= rate <= figure.high, (each.spec, name, figure)
        assert by_model[each.spec].known == len(prompts)

    # No request could see anything of another one: not what it left, and not its text.
    for each in planted:
        for prompt_id, texts in each.server.texts.items():
            found = {mark for text in texts for mark in re.findall(r"CANARY-[A-Za-z0-9]+", text)}
            assert found <= {canary(prompt_id)}, (each.spec, prompt_id)
    proof = report.isolation
    assert proof.calls == proof.proved == proof.seen == whole and proof.trees == len(planted)
    assert proof.reused > 0 and proof.renewed > 0

    # What the cheap ranking says of the live agents.
    for model in report.models:
        (calibration,) = model.calibration
        assert calibration.prompts == 46
        assert calibration.place_auc.value is not None and calibration.place_correlation.value is not None
    with capsys.disabled():
        print(f"\n{whole} requests, {killed} kills, {sum(starts.values())} attempts")


def attempts_of(folder: Path) -> tuple[Counter[tuple[object, ...]], Counter[tuple[object, ...]]]:
    """How often each (key, attempt) was begun, and ended."""
    starts: Counter[tuple[object, ...]] = Counter()
    ends: Counter[tuple[object, ...]] = Counter()
    for line in (folder / "attempts.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        (starts if record["event"] == "start" else ends)[tuple(record["key"]), record["attempt"]] += 1
    return starts, ends
