"""Public labelled prompts in a large library: free routers as it grows, and what two stages could reach at best.

`python -m benchmarks library_curve --tree FOLDER`; FOLDER holds checked-out repositories OWNER+NAME, see _labelled.py.
Each library is a labelled collection and skills of openclaw/skills, which nobody has labelled. Retrieval is real; the
second stage is a script on 127.0.0.1 that picks the right skill wherever it is shown, and is no model of anybody's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

from benchmarks._labelled import TUNE, LabelledSet, load_sets
from benchmarks._measure import ROOT, Failed, Options
from skill_health.config.settings import Config, ModelPrice, Provider, RouterSettings
from skill_health.documents.router_manifest import FrozenSelection
from skill_health.router.curve.document import blocks
from skill_health.router.curve.measure import measure_curve, nested_libraries, prepare_curve
from skill_health.router.inputs import RouterInputs, load_listing
from skill_health.router.instrument.planted import NAME
from skill_health.router.plan.choices import RouterOptions, choices
from skill_health.router.records import NONE, Catalogue, Prompt
from skill_health.router.routers._load import open_choice, resolve
from skill_health.router.routers._local import LocalRouter
from skill_health.router.run.conduct import RouterRunOptions
from skill_health.stats.intervals import clustered_proportion, wilson_interval
from skill_health.text.blocks import as_markdown

TITLE = "Labelled prompts in a large library"
ROUNDS = 1
LIBRARY = "openclaw+skills"
SETS = ["UiPath", "kouko", "elevenlabs", "NVIDIA"]
SIZES = (50, 200, 1_000)
ROUTERS = (
    ("lexical:bm25", "description"), ("lexical", "description"), ("hybrid", "description"), ("hybrid", "content"),
)  # fmt: skip
DEPTHS = (1, 10, 30, 100)
K = 30
_HEAD = "| set | skills | router | reads | prompts | " + " | ".join(
    f"{'top-1' if depth == 1 else f'recall@{depth}'}" for depth in DEPTHS
)
_HEAD += " | top-1 over skills | recall@30 over skills |\n|---|---|---|---|---|" + "---|" * (len(DEPTHS) + 2)


class Hit(NamedTuple):
    """The skill that a prompt expects, and its place in a ranking from 1; 0 where it is not in it."""

    skill: str
    place: int


def run(options: Options) -> Iterator[str]:
    """The sets, a table of all routers at all sizes, and the curve of two stages with a script."""
    sets = list(load_sets(options.tree, SETS)) if options.tree else []
    if not options.tree or not sets or not (options.tree / LIBRARY).is_dir():
        raise Failed(f"name a folder of checked-out repositories OWNER+NAME by --tree, {LIBRARY} among them")
    more = load_listing((str(options.tree / LIBRARY),), namesakes="path", index="content").catalogue
    about = [
        "| set | repository | own skills | asked for | prompts with a skill | of openclaw | of the same name, left out |"
    ]
    about.append("|---|---|---|---|---|---|---|")
    rows = [_HEAD]
    for one in sets:
        whole, dropped = _embedded(one, more)
        asked = [prompt for prompt in one.prompts if prompt.expected and _judged(one, prompt)]
        about.append(
            f"| {one.name} | {one.source.repository}, {one.source.revision} | {len(one.catalogue.shown)} | "
            f"{len({prompt.expected for prompt in asked})} | {len(asked)} | {len(more.shown) - dropped} | {dropped} |"
        )
        for library in nested_libraries(whole, one.prompts, _sizes(one, whole), options.seed):
            for spec, index in ROUTERS:
                rows.append(_row(one.name, len(library.shown), spec, index, list(_hits(library, asked, spec, index))))
    yield "\n".join(about)
    yield "\n".join(rows)
    yield from _two_stages(sets[0], _embedded(sets[0], more)[0], options)


def _judged(one: LabelledSet, prompt: Prompt) -> bool:
    """Whether nothing was decided on a prompt."""
    return not (one.source.tuned and prompt.split == TUNE)


def _embedded(one: LabelledSet, more: Catalogue) -> tuple[Catalogue, int]:
    """The set's own skills and those of the library, and how many of these are left out for having such a name."""
    own = {skill.name.casefold() for skill in one.catalogue.shown}
    others = [replace(skill, path=f"openclaw/{skill.path}") for skill in more.shown]
    kept = [skill for skill in others if skill.name.rpartition(":")[2].casefold() not in own]
    return Catalogue((*one.catalogue.shown, *kept)), len(others) - len(kept)


def _sizes(one: LabelledSet, whole: Catalogue) -> list[int]:
    """The skills that prompts are about, the usual sizes above, and all."""
    about = {name for prompt in one.prompts for name in (prompt.expected, *prompt.acceptable, *prompt.rejected)}
    least = len(about & {skill.name for skill in whole.shown})
    return [least, *(size for size in SIZES if least < size < len(whole.shown)), len(whole.shown)]


def _hits(library: Catalogue, asked: Sequence[Prompt], spec: str, index: str) -> Iterator[Hit]:
    router = cast(LocalRouter, open_choice(resolve(spec, RouterSettings()), library, index=index))
    for prompt in asked:
        names = [name for name, _ in router.rank(prompt.text)[: DEPTHS[-1]]]
        yield Hit(str(prompt.expected), names.index(prompt.expected) + 1 if prompt.expected in names else 0)
    router.at_end()


def _row(name: str, size: int, spec: str, index: str, hits: Sequence[Hit]) -> str:
    found = [_over_prompts([0 < hit.place <= depth for hit in hits]) for depth in DEPTHS]
    skills = [_over_skills(hits, depth) for depth in (1, K)]
    return f"| {name} | {size:,} | `{spec}` | {index} | {len(hits)} | {' | '.join((*found, *skills))} |"


def _over_prompts(right: Sequence[bool]) -> str:
    low, high = wilson_interval(sum(right), len(right))
    return f"{100 * sum(right) / len(right):.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _over_skills(hits: Sequence[Hit], depth: int) -> str:
    """The interval where skills, not prompts, are what another collection would bring anew."""
    sums: dict[str, list[int]] = {}
    for hit in hits:
        total = sums.setdefault(hit.skill, [0, 0])
        total[0] += 0 < hit.place <= depth
        total[1] += 1
    found = clustered_proportion([each[0] for each in sums.values()], [each[1] for each in sums.values()])
    if found.low is None or found.high is None:
        return f"– ({found.clusters} skills are too few)"
    return f"[{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _two_stages(one: LabelledSet, whole: Catalogue, options: Options) -> Iterator[str]:
    """The product's own curve over loopback HTTP; the prompts without a skill are asked, too."""
    asked = tuple(prompt for prompt in one.prompts if _judged(one, prompt))
    with _script(asked) as server:
        settings = RouterSettings(
            providers={"script": Provider("openai", base_url=server.url, concurrency=8)},
            prices={"script:oracle": ModelPrice(input=1.0, output=4.0)},
        )
        chosen = choices(
            RouterOptions(models=("script:oracle",), reps=1, retrieve=K, retriever="hybrid", seed=options.seed),
            settings,
        )
        inputs = RouterInputs(str(options.scratch), (), Config(router=settings), whole, asked, len(asked))
        time = datetime(2026, 11, 26, tzinfo=UTC)
        curve = prepare_curve(
            inputs, chosen, str(options.scratch / "reports"), time,
            sizes=_sizes(replace(one, prompts=asked), whole), train=(), selection=FrozenSelection(kind="all"),
        )  # fmt: skip
        found = measure_curve(curve, RouterRunOptions(max_usd=1e6, quiet=True), None, time)
    yield (
        f"#### Two stages on {one.name}, the second SIMULATED\n\n`hybrid`, which reads all content, leaves {K} skills for "
        "each prompt, and a script on 127.0.0.1 picks the right one wherever it is among them, at an example price of $1 and "
        "$4 for a million tokens read and written. It is no model: only what is retrieved, and the size of the questions, "
        "are measured."
    )
    # Its title says no more than the one above.
    yield as_markdown(blocks(found)).partition("\n\n")[2].strip().replace("\n## ", "\n##### ")


def _script(asked: Sequence[Prompt]) -> Any:
    """A server that answers with the label where the skill is listed, and else that no skill applies."""
    sys.path.insert(0, str(Path(ROOT) / "tests" / "router"))
    import loopback

    labels: Mapping[str, str] = {" ".join(prompt.text.split()): prompt.target or NONE for prompt in asked}

    def react(seen: Any) -> Any:
        listing, _, request = seen.text.rpartition("<<<REQUEST")
        text = " ".join(request.partition("\n")[2].partition("REQUEST>>>")[0].split())
        wanted = NAME if "quaffle" in text else labels.get(text, NONE)
        shown = f". {wanted}\n" in listing or wanted == NONE
        size = len(seen.text.encode("utf-8", "replace")) // 4
        return loopback.answer(seen, loopback.ranking(wanted if shown else NONE), usage=(size, 30))

    return loopback.Loopback(react)
