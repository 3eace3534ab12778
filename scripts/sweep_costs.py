"""What one sweep costs by each way of asking: the table of docs/routing.md.

    python -m scripts.sweep_costs

Four models, 500 made prompts of 12 words, three replications, over 100 made skills with descriptions of 50 words,
forecast by the price table that is installed, for typical answers. Nothing is asked.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.settling import simulate
from skill_health.bench.budget import add_known
from skill_health.router.compare.compare import ALPHA
from skill_health.router.plan.choices import RouterOptions, choices
from skill_health.router.plan.prepare import PreparedSweep, prepare, read_inputs, selection_of
from skill_health.router.plan.savings import Savings, find_savings
from skill_health.text.blocks import markdown_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "routing.md"
MODELS = ("openai:gpt-5-mini", "anthropic:claude-sonnet-4-5", "anthropic:claude-haiku-4-5", "gemini:gemini-2.5-flash")
SKILLS, PROMPTS, REPS = 100, 500, 3
MARGIN, RUNS = 0.05, 500
"""The question of a sweep that stops when it is settled, and how many of them are simulated."""
BEGIN, END = "<!-- begin sweep costs -->", "<!-- end sweep costs -->"


def made(root: Path) -> None:
    """A collection of made skills and prompts below `root`."""
    for n in range(SKILLS):
        words = " ".join(f"thing{(n * 7 + at) % 90}" for at in range(50))
        folder = root / "skills" / f"skill-{n}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: skill-{n}\ndescription: {words}.\n---\n# Work\n\nDo it.\n", encoding="utf-8"
        )
    prompts = (
        {
            "prompt_id": f"p{n}", "prompt": " ".join(f"thing{(n * 3 + at) % 90}" for at in range(12)),
            "expected_primary_skill": f"skill-{n % SKILLS}", "acceptable_secondary_skills": [], "rejected_skills": [], "reason": "Made.",
        }
        for n in range(PROMPTS)
    )  # fmt: skip
    (root / "prompts.jsonl").write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts), encoding="utf-8")


def swept(root: Path, models: tuple[str, ...]) -> PreparedSweep:
    """A sweep of these models that is never made."""
    given = RouterOptions(paths=(str(root),), prompt_files=(str(root / "prompts.jsonl"),), models=models, reps=REPS)
    inputs, train = read_inputs(given)
    chosen = choices(given, inputs.config.router)
    return prepare(
        inputs, chosen, str(root / "reports"), datetime(2026, 1, 1, tzinfo=UTC), train=train,
        selection=selection_of(inputs, given), keyless=True,
    )  # fmt: skip


def settled_share() -> float:
    """The share of the prompts that `router sweep --settle` asks where nothing has changed, by simulation."""
    return simulate(MARGIN, 0.0, RUNS, alpha=ALPHA / len(MODELS)).asked


def table(found: dict[str, Savings], version: str, share: float) -> Iterator[str]:
    """The table, with a row for each model and their sum; `share` of the calls is made where it stops early."""
    every = list(found.values())
    total = Savings(*(add_known((getattr(each, name) for each in every), 9) for name in ("plain", "cached", "batched")))
    yield f"{PROMPTS} prompts of 12 words x {REPS} replications over {SKILLS} skills of 50 words, typical answers, prices of {version}:"
    yield ""
    rows = [[f"`{name}`", *_ways(each, share)] for name, each in found.items()]
    head = ("model", "call by call", "`--orders shared`, all caches hit", "`--batch`", f"`sweep --settle {MARGIN}`")
    yield from markdown_table(head, [*rows, ["all four", *_ways(total, share)]], numbers=True)


def _ways(found: Savings, share: float) -> list[str]:
    adaptive = None if found.plain is None else found.plain * share
    return [_dollars(each) for each in (found.plain, found.cached, found.batched, adaptive)]


def _dollars(value: float | None) -> str:
    return "–" if value is None else f"${value:,.2f}"


def main() -> None:
    """Write the table into the page."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        made(root)
        found, version = {}, ""
        for model in MODELS:
            prepared = swept(root, (model,))
            found[model], version = find_savings(prepared.plan, prepared.prices, {}), prepared.prices.version
    told = "\n".join([BEGIN, *table(found, version, settled_share()), END])
    page = PAGE.read_text("utf-8")
    PAGE.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: told, page, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
