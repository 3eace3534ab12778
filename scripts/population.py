"""Score public skills, for the place of a score among them.

    python -m scripts.population CHECKOUTS     -> skill_health/score/population.json

Below CHECKOUTS lies each repository of REPOSITORIES at its commit, as OWNER+NAME. All repositories weigh the same,
whatever their size, and so do, in a repository where each owner has a folder, its owners; each owner is a collection of
its own. No text of theirs is kept.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from math import fsum
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from skill_health.config.settings import Config
from skill_health.lint.pipeline import lint
from skill_health.score.population import hundredths

AS_OF = "2026-11-23"
OUT = Path(__file__).resolve().parents[1] / "skill_health" / "score" / "population.json"


class PublicRepository(NamedTuple):
    """A repository at a commit. `owners` is the folder that holds one for each owner."""

    name: str
    commit: str
    owners: str = ""


REPOSITORIES = (
    PublicRepository("BuidlGuidl/ethskills-evals", "9a129f13761b5eed58443288ef3d9590cb2ab533"),
    PublicRepository("KaiserWhoLearns/skillsbench", "037a854d3d15ef93a016bb8425124a195e7d5ad9"),
    PublicRepository("NVIDIA/skills", "7149a886d50da8db72cdc1f20ff01cefeadfe6a9"),
    PublicRepository("UiPath/skills", "b1206c8b6f9a15589d1d9c30116c4d006e4e9fc2"),
    PublicRepository("alirezarezvani/claude-skills", "7d493fed97e4d57553630e1a2432c1c02bf5b2b3"),
    PublicRepository("anthropics/claude-plugins-official", "340e33aef211d95769d252324854497af871dafe"),
    PublicRepository("anthropics/skills", "9d2f1ae187231d8199c64b5b762e1bdf2244733d"),
    PublicRepository("benchflow-ai/benchflow", "62cc7e417c67ed6aaab2dc50a0bb642b2b77a3d2"),
    PublicRepository("coreyhaines31/marketingskills", "c21a984a56da10fb6085e6334f6f60929220a4da"),
    PublicRepository("daymade/claude-code-skills", "723a962ddca0f89a67f43963b20fc8949a2c79e1"),
    PublicRepository("dotnet/skills", "1b8f2aa1e4e691c8176312829f67e367cdfc1862"),
    PublicRepository("dtsong/data-engineering-skills", "146248a7b8d7e334bc3bb0e5bedd213a4bc7223e"),
    PublicRepository("elevenlabs/skills", "a3bbe2104f3c9828bfa4014149f755753842a1d0"),
    PublicRepository("idaibin/skills", "5573877c2df129a3cf6115d6a8ec60802b36b5bc"),
    PublicRepository("jeremylongshore/claude-code-plugins-plus-skills", "22fc789350af7c18c233242da6f7b578dbf59fce"),
    PublicRepository("kouko/monkey-skills", "9b8f2b7db3454f7e571aa7df392b5da47c6ac28a"),
    PublicRepository("microsoft/GitHub-Copilot-for-Azure", "72d2d140cdf7d60b60fc873fa0205cde54ba863a"),
    PublicRepository("microsoft/waza", "091a1f9e406998ca62879953650e176d54dd6aa5"),
    PublicRepository("novotnyllc/dotnet-marketplace", "532ed78a8716752cb99ba3a58c0d1eca11bd665a"),
    PublicRepository("obra/superpowers", "44c9b2d6e889982ac18c27d05a19fefe335194e1"),
    PublicRepository("openai/skills", "f6b8344b4e519f964d8884d6f60b57991f3f4993"),
    PublicRepository("openclaw/skills", "3a5f649f604cb32910dc9ddb81d9be873b2c3d42", "skills"),
    PublicRepository("sickn33/antigravity-awesome-skills", "e1dd8f41bcb43c3bb025d5056183729a626b696d"),
    PublicRepository("trailofbits/skills", "293fb74c3151cceda32a85a545fe8acd67f8f5c6"),
    PublicRepository("wshobson/agents", "367cb6a4a182cf7e9b0a17c9429f7411ddd9cf35"),
)


class _Scored(NamedTuple):
    """One skill: its score, and the owner within the repository."""

    owner: str
    value: float


def main(checkouts: str) -> None:
    """Score every repository and write what came out."""
    shares: defaultdict[int, list[float]] = defaultdict(list)
    rows = []
    for repository in REPOSITORIES:
        skills = list(_score(repository, Path(checkouts) / repository.name.replace("/", "+")))
        owners: defaultdict[str, list[float]] = defaultdict(list)
        for owner, value in skills:
            owners[owner].append(value)
        for values in owners.values():
            for value in values:
                shares[hundredths(value)].append(1 / len(REPOSITORIES) / len(owners) / len(values))
        rows.append(
            {
                "name": repository.name,
                "commit": repository.commit,
                "skills": len(skills),
                "mean": round(fmean(fmean(values) for values in owners.values()), 4),
                "whole": round(fmean(fmean(value == 1 for value in values) for values in owners.values()), 4),
            }
        )
        print(rows[-1])
    steps = [[step, round(fsum(weights), 8)] for step, weights in sorted(shares.items())]
    data = {"date": AS_OF, "profile": Config().profile, "repositories": rows, "shares": steps}
    lines = ",\n".join(f' "{key}": {_lines(value)}' for key, value in data.items())
    OUT.write_text("{\n" + lines + "\n}\n", "utf-8")


def _score(repository: PublicRepository, tree: Path) -> Iterator[_Scored]:
    """The skills of a repository; where each owner has a folder, each of these is a collection of its own."""
    top = tree / repository.owners
    folders = sorted(top.iterdir()) if repository.owners else [tree]
    for folder in folders:
        if not any(path.name.lower() == "skill.md" for path in folder.rglob("*.[mM][dD]")):
            continue
        report, _ = lint([str(folder)], str(folder), Config(), date.fromisoformat(AS_OF), use_cache=False, score=True)
        assert report.scores is not None
        for _, score in sorted(report.scores.skills.items()):
            yield _Scored(folder.name if repository.owners else "", score.value)


def _lines(value: object) -> str:
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"  {json.dumps(each)}" for each in value) + "\n ]"
    return json.dumps(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
