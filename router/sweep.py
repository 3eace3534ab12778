"""After an edit of descriptions: which prompts can tell what it did, and what to compare their answers with.

Pure: what is listed now and was listed then, the prompts and the baseline's results are given. A prompt is affected by
a skill that its label names, and by one that the baseline confused it with. A sample of the others is the control: what
changes there, changes for another reason, or because an edited description takes what is not its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skill_health.core.files import blake2b
from skill_health.router.comparable import Relisted, named
from skill_health.router.records import ListedSkill, Prompt, RoutingResult

AFFECTED, CONTROLS = "affected", "controls"
SETTINGS = ("mode", "listing", "orders", "index", "seed")
"""What a baseline must have in common with a sweep, besides the template and the models."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The prompts of a sweep. `affected` gives each the reasons, in the prompts' order; `controls` are the others."""

    affected: Mapping[str, tuple[str, ...]]
    controls: tuple[str, ...]

    @property
    def prompt_ids(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.affected, *self.controls)

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Both parts by their name; one that is empty is left out."""
        parts = {AFFECTED: tuple(self.affected), CONTROLS: self.controls}
        return {name: prompts for name, prompts in parts.items() if prompts}


def select(
    prompts: Sequence[Prompt], changed: Collection[str], baseline: Iterable[RoutingResult], controls: int, seed: int
) -> Selection:
    """What to run again when the listed texts of these skills have changed.

    `baseline` are the results of before: a prompt is affected, too, where one of them put a changed skill first
    that was not expected. Controls are the first ones by a seeded hash of their id, so that a prompt that is added
    displaces at most one of them; prompts without a right answer to count control nothing.
    """
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    by_id = {prompt.prompt_id: prompt for prompt in prompts}
    for prompt in prompts:
        reasons[prompt.prompt_id] += _named(prompt, changed)
    for prompt_id, skill in sorted(_confusions(by_id, changed, baseline)):
        reasons[prompt_id].append(f"confused with {skill}")
    affected = {prompt.prompt_id: tuple(found) for prompt in prompts if (found := reasons[prompt.prompt_id])}
    free = [prompt.prompt_id for prompt in prompts if prompt.known and prompt.prompt_id not in affected]
    chosen = set(sorted(free, key=lambda prompt_id: (_mark(seed, prompt_id), prompt_id))[:controls])
    return Selection(affected, tuple(prompt_id for prompt_id in free if prompt_id in chosen))


def _named(prompt: Prompt, changed: Collection[str]) -> Iterator[str]:
    if prompt.known and prompt.expected in changed:
        yield f"expects {prompt.expected}"
    yield from (f"accepts {name}" for name in prompt.acceptable if name in changed)
    yield from (f"rejects {name}" for name in prompt.rejected if name in changed)


def _confusions(
    prompts: Mapping[str, Prompt], changed: Collection[str], results: Iterable[RoutingResult]
) -> set[tuple[str, str]]:
    found = set()
    for result in results:
        prompt = prompts.get(result.prompt_id)
        first = result.primary
        if prompt and prompt.known and first is not None and first in changed and first != prompt.expected:
            found.add((result.prompt_id, first))
    return found


def _mark(seed: int, prompt_id: str) -> bytes:
    return blake2b(f"control|{seed}|{prompt_id}".encode("utf-8", "surrogatepass")).digest()


def mismatch(manifest: Mapping[str, Any], asked: Mapping[str, Any], models: Collection[str]) -> str:
    """Why a run cannot be the baseline of a sweep that asks so; "" where it can.

    `asked` has the settings of SETTINGS, `template` (a digest) and `selection` (as a manifest has it); `models` are
    specs that the run must have. A run over all prompts serves any sweep, one over some of them a sweep of the same
    filters; a sweep's own run serves none, since what it left out cannot be compared.
    """
    if manifest.get("imported"):
        return "it was imported"
    selection = manifest["selection"]
    if selection["kind"] != "all" and _filters(selection) != _filters(asked["selection"]):
        return "it asked other prompts"
    differing = [name for name in SETTINGS if manifest.get(name) != asked[name]]
    if manifest["template"]["digest"] != asked["template"]:
        differing.append("template")
    if differing:
        return f"other {' and '.join(differing)}"
    there = {model["spec"] for model in manifest["models"]}
    lacking = [spec for spec in models if spec not in there]
    return f"without {named(lacking)}" if lacking else ""


def _filters(selection: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in selection.items() if key != "of"}


def agrees(then: Iterable[ListedSkill], seen: Iterable[ListedSkill], changed: Iterable[Relisted]) -> bool:
    """Whether a run saw the changed skills as they were listed before the change."""
    texts, listed = ({skill.name: skill.text for skill in skills} for skills in (then, seen))
    return all(listed.get(skill.name) == texts.get(skill.name) for skill in changed)


def sweep_record(
    since: str, changed: Iterable[Relisted], selection: Selection, prompts: Sequence[Prompt], none_allowed: bool
) -> dict[str, Any]:
    """What was selected from these prompts and why, as a comparison holds it."""
    return {
        "since": since,
        "changed": [skill.name for skill in changed],
        "affected": [{"prompt_id": name, "why": list(why)} for name, why in selection.affected.items()],
        "controls": list(selection.controls),
        "of": len(prompts),
        "testable": sum(prompt.known and (none_allowed or prompt.expected is not None) for prompt in prompts),
    }
