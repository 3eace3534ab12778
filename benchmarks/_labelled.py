"""Public collections with labelled prompts -> a catalogue and its prompts, each as its authors wrote them.

The sets are checked-out repositories OWNER+NAME below one folder. Positives say which skill is right and nulls that
none is; a prompt that only says which skill is wrong has no right answer, and is left out. Each set is split in two by
a hash of the prompt: settings were only ever chosen on the half "tune".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import yaml

from skill_health.bench.collection import read_collection
from skill_health.discovery.corpus import discover
from skill_health.lint.pipeline import configure
from skill_health.router.inputs import with_namesakes
from skill_health.router.lexicon.references import add_references
from skill_health.router.listing import catalogue
from skill_health.router.records import Catalogue, Prompt

TUNE, SEALED = "tune", "sealed"
Row = tuple[str, str | None]
"""A request and the skill that is right, None where none is."""


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A catalogue with references, and its labelled prompts in the order of their ids; `split` is tune or sealed."""

    name: str
    catalogue: Catalogue
    prompts: tuple[Prompt, ...]
    dropped: int


@dataclass(frozen=True, slots=True)
class _Source:
    repository: str
    skills: str
    rows: Callable[[Path], Iterator[Row]]
    nameless: bool = False


def load_sets(folder: Path, names: list[str] | None = None) -> Iterator[LabelledSet]:
    """The sets whose repository is below `folder`; `names` chooses some."""
    for name, source in SOURCES.items():
        root = folder / source.repository
        if root.is_dir() and (not names or name in names):
            yield _load(name, source, root)


def _load(name: str, source: _Source, root: Path) -> LabelledSet:
    place = str(root / source.skills)
    base, config = configure((place,), None, {})
    config = with_namesakes(config, "skip")
    discovery, found = read_collection(discover((place,), config, base), config.router.namesakes)
    listed = add_references(catalogue(found.skills, names=found.names), found.skills, discovery.root)
    known: dict[str, str] = {}
    for skill in listed.shown:
        for alias in (skill.name, *skill.aliases, skill.path.rpartition("/")[0].rpartition("/")[2]):
            known.setdefault(alias, skill.name)
    prompts: dict[str, Prompt] = {}
    dropped = 0
    for text, label in source.rows(root):
        expected = None if label is None else known.get(label)
        if label is not None and expected is None:
            dropped += 1
            continue
        if source.nameless and expected:
            text = _without(text, expected)
        digest = blake2b(" ".join(text.casefold().split()).encode("utf-8", "replace"), digest_size=8)
        half = TUNE if digest.digest()[0] < 128 else SEALED
        prompts.setdefault(digest.hexdigest(), Prompt(digest.hexdigest(), text, expected, split=half))
    return LabelledSet(name, listed, tuple(prompts[key] for key in sorted(prompts)), dropped)


def _without(text: str, name: str) -> str:
    """A prompt without the name of its skill, which would give the answer away."""
    plain = name.rpartition(":")[2]
    for form in sorted({plain, plain.replace("-", " "), plain.replace("-", "_")}):
        text = re.sub(r"[$/]?" + re.escape(form), " ", text, flags=re.IGNORECASE)
    return text


def _activation(root: Path) -> Iterator[Row]:
    for path in sorted((root / "tests/tasks/activation").glob("*.jsonl")):
        for line in path.read_text("utf-8").split("\n"):
            if line.startswith("{"):
                row = json.loads(line)
                yield row["prompt"], row["expected_skill"] or None


def _trigger_lists(root: Path, pattern: str) -> Iterator[Row]:
    for path in sorted(root.glob(pattern)):
        skill = next(part for part in reversed(path.parts[:-1]) if part not in ("evals", "tests"))
        data = json.loads(path.read_text("utf-8"))
        for row in data if isinstance(data, list) else ():
            if row.get("should_trigger"):
                yield row["query"], skill


def _kouko(root: Path) -> Iterator[Row]:
    yield from _trigger_lists(root, "**/*trigger-eval*.json")
    for path in sorted(root.glob("**/trigger-corpus.json")):
        for row in json.loads(path.read_text("utf-8")).get("queries", ()):
            if "route_to" in row:
                yield row["query"], row["route_to"]


def _eval_sets(root: Path) -> Iterator[Row]:
    for path in sorted([*root.glob("skills/**/evals/*evals*.json")]):
        data = json.loads(path.read_text("utf-8"))
        named: dict[str, Any] = data if isinstance(data, dict) else {"evals": data}
        for row in named.get("evals", ()):
            text = row.get("prompt") or row.get("question")
            if not text or ("expected_skill" not in row and row.get("should_trigger") is False):
                continue
            yield text, row.get("expected_skill", named.get("skill_name") or path.parts[-3])


def _routing_cases(root: Path) -> Iterator[Row]:
    for row in json.loads((root / "evals/skill-routing-cases.json").read_text("utf-8"))["cases"]:
        yield row["prompt"], row["expected_owner"]


def _invocations(root: Path) -> Iterator[Row]:
    for path in sorted((root / "evals").glob("*/*/eval.yaml")):
        for row in yaml.safe_load(path.read_text("utf-8")).get("stimuli") or ():
            for grader in row.get("graders") or ():
                required = (grader.get("config") or {}).get("required") or ()
                if grader.get("type") == "skill-invocation" and len(required) == 1 and row.get("prompt"):
                    yield row["prompt"], required[0]


SOURCES = {
    "UiPath": _Source("UiPath+skills", "skills", _activation),
    "kouko": _Source("kouko+monkey-skills", ".", _kouko),
    "elevenlabs": _Source("elevenlabs+skills", ".", lambda root: _trigger_lists(root, "**/trigger_eval.json")),
    "NVIDIA": _Source("NVIDIA+skills", "skills", _eval_sets, nameless=True),
    "idaibin": _Source("idaibin+skills", ".", _routing_cases),
    "azure": _Source("microsoft+GitHub-Copilot-for-Azure", ".", _invocations, nameless=True),
}
