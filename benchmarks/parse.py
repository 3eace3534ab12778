"""Where does the time for one skill go: the parser by step, the rules by family and one by one?"""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from benchmarks._measure import Options
from benchmarks._trees import prepare
from skill_health.config.settings import load_config
from skill_health.core.files import read_bytes
from skill_health.discovery.corpus import Entry, discover
from skill_health.lint.check import SCORED, FileContext, as_findings, load_skill, summary_of
from skill_health.registries.records import load_registries
from skill_health.rules._api import Hit, Rule
from skill_health.rules._load import all_rules
from skill_health.rules.ignores._comments import read_ignores
from skill_health.skill.markdown import LightState, parse_document, parser
from skill_health.skill.measure import measure
from skill_health.skill.model import Skill

TITLE = "Inside one process: the parser and the rules"
ROUNDS = 5
BASE = "markdown-it-py, full parse"
OPT_IN = "opt-in"
Step = Callable[[Skill, FileContext], object]
_SHOWN = 25


def run(options: Options) -> Iterator[str]:
    """Profile every step over the collection; all figures are processor time, medians over the rounds."""
    tree = prepare(options)
    root = str(tree.root)
    config = load_config(root, None)
    entries = [entry for entry in discover([root], config, root).entries if not entry.problem]
    datas = [read_bytes(f"{root}/{entry.path}")[0] for entry in entries]
    skills = [load_skill(entry, data, "") for entry, data in zip(entries, datas, strict=True)]
    yield f"{len(skills):,} of {tree.name}, {options.rounds} rounds."
    # As the engine does while checking: the objects made here have no cycles.
    gc.disable()
    yield _parsers(datas, skills, entries, options.rounds)
    registries = load_registries(root, config.sources)
    spent: dict[str, list[int]] = defaultdict(list)
    for _ in range(options.rounds):
        for name, cost in _rules(skills, lambda: FileContext(root, config, registries)).items():
            spent[name].append(cost)
    per_skill = {name: median(costs) / len(skills) / 1e3 for name, costs in spent.items()}
    gc.enable()
    yield _families(per_skill)
    yield _slowest(per_skill)


def _parsers(datas: Sequence[bytes], skills: Sequence[Skill], entries: Sequence[Entry], rounds: int) -> str:
    plain = MarkdownIt("commonmark").enable("table")
    texts = ["\n".join(skill.lines[skill.body.first_line - 1 :]) for skill in skills]

    def plain_blocks(i: int) -> None:
        state = StateBlock(texts[i], plain, {}, [])
        plain.block.tokenize(state, state.line, state.lineMax)

    def our_blocks(i: int) -> None:
        md = parser()
        state = LightState(texts[i], md)
        md.block.tokenize(state, state.line, state.lineMax)

    steps: dict[str, Callable[[int], object]] = {
        BASE: lambda i: plain.parse(texts[i]),
        "markdown-it-py, block rules only": plain_blocks,
        "ours, block rules only": our_blocks,
        "ours, Markdown in full": lambda i: parse_document(skills[i].lines, skills[i].body.first_line),
        "ours, the whole skill from its bytes": lambda i: load_skill(entries[i], datas[i], ""),
    }
    totals: dict[str, list[int]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            start = time.thread_time_ns()
            for i in range(len(datas)):
                step(i)
            totals[name].append(time.thread_time_ns() - start)
            gc.collect()
    lines = ["| step | n | ratio | min - max | CPU for each skill |", "|---|---|---|---|---|"]
    for name, costs in totals.items():
        each = [cost / base for cost, base in zip(costs, totals[BASE], strict=True)]
        lines.append(
            f"| {name} | {rounds} | **{median(each):.2f}** | {min(each):.2f} - {max(each):.2f} "
            f"| {median(costs) / len(datas) / 1e6:.2f} ms |"
        )
    return "\n".join(lines)


def _rules(skills: Sequence[Skill], context: Callable[[], FileContext]) -> Mapping[str, int]:
    """Nanoseconds over all skills, by step. Work shared by two rules is charged to the first.

    Default rules come first, in the order of the engine; opt-in rules follow.
    """
    spent: dict[str, int] = defaultdict(int)
    clock = time.thread_time_ns
    steps = [*_engine_steps(), *_rule_steps(all_rules())]
    for skill in skills:
        given = context()
        for name, step in steps:
            start = clock()
            step(skill, given)
            spent[name] += clock() - start
    return spent


def _engine_steps() -> Iterator[tuple[str, Step]]:
    yield "engine: summary", lambda skill, _: summary_of(skill)
    yield "engine: measures", lambda skill, _: measure(skill)
    yield "engine: inline comments", lambda skill, _: read_ignores(skill)


def _rule_steps(rules: Sequence[Rule]) -> list[tuple[str, Step]]:
    by_default: list[tuple[str, Step]] = []
    facts: list[tuple[str, Step]] = []
    opt_in: list[tuple[str, Step]] = []
    for rule in rules:
        name = f"{rule.code} {rule.name}"
        if rule.check is not None:
            group, family = (by_default, rule.family) if rule.default else (opt_in, OPT_IN)
            group.append((f"{family}: {name}", partial(_check, rule, rule.check)))
        if rule.collect is not None:
            group, family = (facts, rule.family) if rule.default or rule.code in SCORED else (opt_in, OPT_IN)
            group.append((f"{family}: {name}, its facts", rule.collect))
    return [*by_default, *facts, *opt_in]


def _check(rule: Rule, check: Callable[[Skill, Any], Iterable[Hit]], skill: Skill, given: FileContext) -> None:
    as_findings(rule, check(skill, given), skill, given)


def _families(per_skill: Mapping[str, float]) -> str:
    families: dict[str, float] = defaultdict(float)
    numbers: dict[str, int] = defaultdict(int)
    for name, cost in per_skill.items():
        family = name.partition(":")[0]
        families[family] += cost
        numbers[family] += 1
    lines = ["| what a run does by default | steps | CPU for each skill | share |", "|---|---|---|---|"]
    opt_in = families.pop(OPT_IN, 0.0), numbers.pop(OPT_IN, 0)
    total = sum(families.values())
    for family, cost in sorted(families.items(), key=lambda item: -item[1]):
        lines.append(f"| {family} | {numbers[family]} | {cost:,.0f} us | {cost / total:.0%} |")
    lines.append(f"| all | {sum(numbers.values())} | {total:,.0f} us | 100% |")
    lines.append(f"| further: opt-in rules | {opt_in[1]} | {opt_in[0]:,.0f} us | |")
    return "\n".join(lines)


def _slowest(per_skill: Mapping[str, float]) -> str:
    ranked = sorted(per_skill.items(), key=lambda item: -item[1])
    lines = ["| the slowest steps | CPU for each skill |", "|---|---|"]
    lines += [f"| {name} | {cost:,.1f} us |" for name, cost in ranked[:_SHOWN]]
    if rest := ranked[_SHOWN:]:
        lines.append(f"| {len(rest)} more together | {sum(cost for _, cost in rest):,.1f} us |")
    return "\n".join(lines)
