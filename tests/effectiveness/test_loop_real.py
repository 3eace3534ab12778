"""The agent `loop` with a real model, which cannot do the tasks: every trial ends, and ends as what it was."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import local_model
import pytest
from scripted_bench import task_folder

from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.providers.openai import PROVIDER
from skill_health.config.settings import Provider, RouterSettings
from skill_health.documents.effect_result import SCORED, TrialResult
from skill_health.effectiveness.agents._load import resolve
from skill_health.effectiveness.gateway._api import Upstream
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.run.probes import run_probe
from skill_health.effectiveness.sandbox import bubblewrap
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.trial.trial import run_trial
from skill_health.effectiveness.workspace.copies import make_copy
from skill_health.effectiveness.workspace.staging import parse_arm, prompt_of, staged

pytestmark = [pytest.mark.real, pytest.mark.skipif(not local_model.available(), reason=local_model.MISSING)]

KEY = "a-real-key-that-nobody-may-see-0123456789"
ABOUT = "Tidies lists. Use when a list is out of order."
PROMPTS = {
    "sort": "Sort the lines of list.txt into out.txt.",
    "greet": "Write the word hello into out.txt.",
    # More than the model reads: its server refuses it.
    "endless": "Sort these words into out.txt: " + "pear apple plum " * 2_000,
}
ARMS = ("control", "target")
SECONDS = 25.0


def cells(root: Path, address: str, back_end: str) -> list[TrialSpec]:
    """Three tasks under two conditions."""
    text = f"---\nname: tidy\ndescription: {ABOUT}\n---\n# Tidy\n\nUse sort.\n"
    copies: dict[str, SkillCopy] = {"tidy": make_copy("tidy", ABOUT, [File("SKILL.md", text.encode())])}
    choice = resolve("loop:local:smollm2", RouterSettings(providers={"local": Provider("openai", base_url=address)}))
    upstream = Upstream(Endpoint(address, KEY, PROVIDER.build_key_header(KEY), timeout=SECONDS), "openai")
    found = []
    for name, prompt in PROMPTS.items():
        task = task_folder(root / name, name, prompt, target="tidy", verify="test -s out.txt\n")
        for arm in map(parse_arm, ARMS):
            skills = staged(task, arm, copies)
            assert not isinstance(skills, str)
            cell = TrialSpec(
                task=task, arm=arm, choice=choice, replication=0, skills=skills, prompt=prompt_of(task, arm, skills),
                collection={"tidy": ABOUT}, back_end=back_end, limits=SandboxLimits(timeout_sec=SECONDS),
                upstream=upstream, max_output_tokens=60, secrets=(KEY,),
            )  # fmt: skip
            found.append(cell)
    return found


def test_trials_with_a_real_model_end_as_what_they_are(tmp_path: Path) -> None:
    back_end = "bubblewrap" if bubblewrap.found() else "none"
    kept = tmp_path / "trials"
    kept.mkdir()

    async def all_of_them(address: str) -> list[TrialResult]:
        planned = cells(tmp_path / "tasks", address, back_end)
        for cell in planned[:2]:
            probe = await run_probe(cell)
            names = tuple(skill.name for skill in cell.skills)
            assert (probe.error, probe.listed, probe.offered) == ("", names, names)
        return [await run_trial(cell, str(kept / f"{number}")) for number, cell in enumerate(planned)]

    with local_model.serve() as address:
        found = asyncio.run(all_of_them(address))

    outcomes = Counter(result.outcome for result in found)
    assert set(outcomes) <= {*SCORED, "infrastructure"}
    for number, result in enumerate(found):
        refused = result.task_id == "endless"
        assert (result.outcome == "infrastructure") == refused, result
        assert result.seen == (("tidy",) if result.arm == "target" else ())
        if refused:
            assert "400" in result.error and "\n" not in result.error
            assert result.usage.input_tokens is None
        else:
            assert result.error == "" or result.outcome == "timeout"
            assert (result.usage.input_tokens or 0) > 50 and (result.usage.output_tokens or 0) > 0
            assert result.turns and result.duration_ms and result.stop_reason
        trajectory = json.loads((kept / f"{number}" / "trajectory.json").read_text(encoding="utf-8"))
        assert trajectory["steps"][0]["source"] == "system"
        assert ("available_skills" in trajectory["steps"][0]["message"]) == (result.arm == "target")
    everything = b"".join(path.read_bytes() for path in kept.rglob("*") if path.is_file())
    assert KEY.encode() not in everything
