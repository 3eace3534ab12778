"""Measure how often each rule is right: draw findings from real skills, keep the verdicts, write the tables.

    python scripts/precision.py sample TREE      -> build/precision/sample.jsonl and found.json, to be judged by reading
    python scripts/precision.py table            -> docs/precision.md and skill_health/rules/precision.json
    python scripts/precision.py mentions CHECKOUTS -> how many labelled mentions of files the rules judge rightly
    python scripts/precision.py hostile CHECKOUTS -> how many hostile skills are named, and trusted ones touched

The judged sample replaces docs/precision.jsonl and docs/precision-found.json. Each line of the first is a verdict:
code, severity, path, line, message, verdict (right, arguable or wrong) and reason.

The labelled mentions are in tests/rules/links/mentions.jsonl. Below CHECKOUTS lies each of their repositories at its
commit, as OWNER+NAME. A mention of the class `broken` must be found, and no other.

The hostile skills are in tests/rules/safety/hostile.jsonl, in campaigns: copies of one campaign are in one half. A
skill counts as named if it has an error of the family `safety`. Samples of a scanner are counted apart. TRUSTED are
collections that must not be touched by that family at all.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path
from typing import Any

from skill_health.lint.pipeline import configure, lint
from skill_health.rules._load import all_rules
from skill_health.rules._page import wilson
from skill_health.text.terminal import markdown_text

HERE = Path(__file__).resolve().parents[1]
VERDICTS = HERE / "docs" / "precision.jsonl"
MENTIONS = HERE / "tests" / "rules" / "links" / "mentions.jsonl"
HOSTILE = HERE / "tests" / "rules" / "safety" / "hostile.jsonl"
# The rules of the family `safety` were tuned on the first half; the second was looked at when they were done.
TRUSTED = {
    "tuning": (
        "obra/superpowers", "trailofbits/skills", "UiPath/skills", "kouko/monkey-skills", "daymade/claude-code-skills",
    ),
    "sealed": (
        "anthropics/skills", "openai/skills", "NVIDIA/skills", "wshobson/agents", "novotnyllc/dotnet-marketplace",
        "anthropics/claude-plugins-official", "alirezarezvani/claude-skills",
    ),
}  # fmt: skip
COUNTS = HERE / "docs" / "precision-found.json"
SEED, MOST, AS_OF = 20261121, 25, date(2026, 11, 21)


def sample(tree: str) -> None:
    """Draw up to 25 findings of each default-on rule, independent of file order, and count them all."""
    root, config = configure([tree], None, {})
    report, _ = lint([tree], root, config, AS_OF, use_cache=False)
    by_rule = defaultdict(list)
    for finding in report.findings:
        by_rule[finding.code].append(finding)
    out = HERE / "build" / "precision"
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "sample.jsonl", "w", encoding="utf-8") as file:
        for code in sorted(by_rule):
            found = by_rule[code]
            for f in sorted(random.Random(f"{SEED} {code}").sample(found, min(MOST, len(found)))):
                row = {"code": code, "severity": f.severity.value, "path": f.path, "line": f.line, "col": f.col}
                file.write(json.dumps({**row, "message": f.message, "help": f.help, "source": f.source}) + "\n")
    levels = Counter(f.skill for f in report.findings if f.severity.value != "info")
    per_skill = sorted(levels.get(entry.path, 0) for entry in report.skills)
    counts: dict[str, Any] = {
        "skills": len(report.skills),
        "median_per_skill": per_skill[len(per_skill) // 2],
        "mean_per_skill": round(sum(per_skill) / len(per_skill), 3),
        "found": dict(sorted(Counter(f"{f.code} {f.severity.value}" for f in report.findings).items())),
    }
    (out / "found.json").write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    print(f"{sum(min(MOST, len(found)) for found in by_rule.values())} findings drawn: {out / 'sample.jsonl'}")


def mentions(checkouts: str) -> None:
    """Print precision and recall of the link rules on the tuning half and on the sealed half of the labels."""
    labels = [json.loads(line) for line in MENTIONS.read_text("utf-8").splitlines()]
    found: dict[str, list[Any]] = {}
    for repository in sorted({label["repository"] for label in labels}):
        tree = str(Path(checkouts) / repository.replace("/", "+"))
        root, config = configure([tree], None, {"select": ("LI001", "LI003", "LI005", "LI008", "LI011")})
        report, _ = lint([tree], root, config, AS_OF, use_cache=False)
        found[repository] = [finding for finding in report.findings if finding.severity.value != "info"]
    for half in ("tuning", "sealed"):
        tally = Counter[tuple[bool, bool]]()
        for label in labels:
            if label["half"] == half:
                hit = any(_is_about(finding, label) for finding in found[label["repository"]])
                tally[label["class"] == "broken", hit] += 1
        right, wrong, missed = tally[True, True], tally[False, True], tally[True, False]
        print(f"{half}: {tally.total()} mentions, {right} right, {wrong} wrong, {missed} missed")
        for name, n in (("precision", right + wrong), ("recall", right + missed)):
            low, high = wilson(right, n)
            print(f"  {name} {right / n:.3f} ({low:.3f} to {high:.3f}, n = {n})")


def hostile(checkouts: str) -> None:
    """Print the recall of the family `safety` by skill and by campaign, and what it finds in trusted collections."""
    labels = [json.loads(line) for line in HOSTILE.read_text("utf-8").splitlines()]
    (repository,) = {label["repository"] for label in labels}
    report = _lint_safety(checkouts, repository)
    named = {finding.skill for finding in report.findings if finding.severity.value == "error"}
    owners = {label["path"]: _skill_of(label["path"], report) for label in labels}
    known = set(owners.values())
    for half in ("tuning", "sealed"):
        print(f"{half}:")
        for title, samples in (("hostile skills", False), ("samples of a scanner", True)):
            chosen = [one for one in labels if one["half"] == half and (one["class"] == "sample") == samples]
            if chosen:
                print(f"  {title}: {_share([owners[one['path']] in named for one in chosen])}")
        whole: defaultdict[str, list[bool]] = defaultdict(list)
        for one in labels:
            if one["half"] == half and one["class"] != "sample":
                whole[one["campaign"]].append(owners[one["path"]] in named)
        print(f"  campaigns, all of whose skills are named: {_share([all(each) for each in whole.values()])}")
        for campaign, each in sorted(whole.items()):
            print(f"    {campaign}: {sum(each)} of {len(each)}")
    others = {finding.skill for finding in report.findings} - known
    print(f"{repository}, skills without a label: {len(others)} of {len(report.skills) - len(known)} touched")
    for half, repositories in TRUSTED.items():
        every: list[bool] = []
        for trusted in repositories:
            report = _lint_safety(checkouts, trusted)
            touched = {finding.skill for finding in report.findings}
            each = [entry.path in touched for entry in report.skills]
            every += each
            print(f"trusted, {half}: {trusted} touched {_share(each)}")
        print(f"trusted, {half}: all touched {_share(every)}")


def _lint_safety(checkouts: str, repository: str) -> Any:
    tree = str(Path(checkouts) / repository.replace("/", "+"))
    root, config = configure([tree], None, {"select": ("SA",)})
    return lint([tree], root, config, AS_OF, use_cache=False)[0]


def _skill_of(path: str, report: Any) -> str:
    """The skill whose folder a file lies in, the innermost one."""
    folders = {entry.path.rpartition("/")[0]: str(entry.path) for entry in report.skills}
    folder = path.rpartition("/")[0]
    while folder and folder not in folders:
        folder = folder.rpartition("/")[0]
    return folders[folder]


def _share(found: list[bool]) -> str:
    low, high = wilson(sum(found), len(found))
    return f"{sum(found)} of {len(found)} ({sum(found) / len(found):.3f}, {low:.3f} to {high:.3f})"


def _is_about(finding: Any, label: dict[str, Any]) -> bool:
    """Whether a finding reports a labelled mention; a bundled file is reported once, with the first four targets."""
    target = re.sub(r"^(\$?\{\w+\}/|\./|@)", "", label["mention"].partition("#")[0])
    if finding.path != label["path"]:
        return False
    if finding.code == "LI005":
        return target in f"{finding.message} {finding.help}" or "the rest" in finding.help
    return target in finding.message and finding.line <= label["line"] + 40


def tables() -> dict[Path, str]:
    """The generated files, with their content."""
    verdicts = [json.loads(line) for line in VERDICTS.read_text("utf-8").splitlines()]
    counts = json.loads(COUNTS.read_text("utf-8"))
    tally: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for verdict in verdicts:
        for kind in (verdict["code"], f"{verdict['code']} {verdict['severity']}"):
            tally[kind][verdict["verdict"]] += 1
    by_code: Counter[str] = Counter()
    for kind, found in counts["found"].items():
        by_code[kind.split()[0]] += found
    rules = {}
    for rule in all_rules():
        if rule.default:
            judged = tally[rule.code]
            rules[rule.code] = {
                "found": by_code[rule.code], "skills": counts["skills"],
                "right": judged["right"], "wrong": judged["wrong"], "arguable": judged["arguable"],
            }  # fmt: skip
    data = json.dumps({"seed": SEED, "most": MOST, "as_of": AS_OF.isoformat(), "rules": rules}, indent=1) + "\n"
    return {
        HERE / "docs" / "precision.md": _markdown(verdicts, counts, tally),
        HERE / "skill_health" / "rules" / "precision.json": data,
    }


def _markdown(verdicts: list[dict[str, Any]], counts: dict[str, Any], tally: dict[str, Counter[str]]) -> str:
    n = len(verdicts)
    right = sum(v["verdict"] == "right" for v in verdicts)
    low, high = wilson(right, n)
    lines = [
        "# How often the rules are right",
        "",
        "<!-- generated by scripts/precision.py -->",
        "",
        f"Measured on {counts['skills']} public skills of four repositories (2026). Of each rule that is on by default up",
        f"to {MOST} findings were drawn with a fixed seed ({SEED}) and judged by reading the skill: *right* (a careful owner",
        "would want to know, at this severity), *arguable* (true, but an owner may shrug), *wrong* (a false alarm).",
        "Precision counts arguable findings as not right.",
        "",
        f"In all {right} of {n} were right: {right / n:.1%} (95 % Wilson interval {low:.1%} to {high:.1%}). The skills show",
        f"a median of {counts['median_per_skill']} findings at warning level or above (mean {counts['mean_per_skill']}).",
        "",
        "A first sample of 354 findings, before anything was fixed, had 297 right, 53 arguable and 4 wrong (83.9 %, 95 %",
        "interval 79.7 % to 87.4 %). Rules below 0.9 were fixed or made opt-in on that evidence, and what had changed was",
        "drawn and judged again. The figures here are of the same skills that the rules were fixed on: expect less elsewhere.",
        "",
        "The samples are clustered in few repositories with one house style each, so the intervals are too narrow for",
        "skills of other authors. Rules without a finding here are not testable on this material; their cases are in",
        "`tests/rules`.",
        "",
        "| rule | severity | found | sampled | right | arguable | wrong | precision | 95 % interval |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for rule in all_rules():
        kinds = [kind for kind in counts["found"] if kind.split()[0] == rule.code] if rule.default else []
        for kind in kinds:
            row = tally[kind]
            drawn = sum(row.values())
            low, high = wilson(row["right"], drawn) if drawn else (0.0, 1.0)
            cells = f"{counts['found'][kind]} | {drawn} | {row['right']} | {row['arguable']} | {row['wrong']}"
            share = f"{row['right'] / drawn:.0%} | {low:.0%} to {high:.0%}" if drawn else "not sampled | "
            lines.append(f"| {rule.code} {rule.name} | {kind.split()[1]} | {cells} | {share} |")
    silent = [
        f"{rule.code} {rule.name}" for rule in all_rules()
        if rule.default and not any(kind.startswith(rule.code) for kind in counts["found"])
    ]  # fmt: skip
    lines += ["", f"No finding in this material, so not testable on it ({len(silent)} rules): {', '.join(silent)}."]
    lines += ["", "## The judged findings", "", "| rule | where | verdict | reason |", "|---|---|---|---|"]
    for v in verdicts:
        place = f"{v['path']}:{v['line']}"
        lines.append(f"| {v['code']} | {markdown_text(place)} | {v['verdict']} | {markdown_text(v['reason'])} |")
    lines += [
        "", "## The commands", "", "```console", "$ python scripts/precision.py sample TREE",
        "$ python scripts/precision.py table", "```", "",
    ]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["sample"] and len(sys.argv) == 3:
        sample(sys.argv[2])
    elif sys.argv[1:2] == ["mentions"] and len(sys.argv) == 3:
        mentions(sys.argv[2])
    elif sys.argv[1:2] == ["hostile"] and len(sys.argv) == 3:
        hostile(sys.argv[2])
    elif sys.argv[1:] == ["table"]:
        for path, text in tables().items():
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(HERE))
    else:
        sys.exit(__doc__)
