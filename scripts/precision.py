"""Measure how often rules are right, on collections that no rule was tuned on.

    python -m scripts.precision sample CHECKOUTS     -> build/precision: first.jsonl, second.jsonl and found.json
    python -m scripts.precision join                 -> docs/precision.jsonl and docs/precision-found.json
    python -m scripts.precision table                -> docs/precision.md and skill_health/rules/precision.json
    python -m scripts.precision mentions CHECKOUTS   -> docs/precision-mentions.json: how many labelled mentions of
                                                        files the rules judge rightly
    python -m scripts.precision hostile CHECKOUTS    -> how many hostile skills are named, and trusted ones touched

Below CHECKOUTS lies each repository of HELD_OUT at its commit, as OWNER+NAME. `sample` draws findings of every rule and
severity, one cluster after another; a cluster is a repository, or an owner in a repository of many. The same findings
are in first.jsonl, by rule, and in second.jsonl, shuffled, to be read twice: the second reading does not see what the
first one said. A reading adds to each line a verdict (right: a careful owner would want to know, at this severity;
arguable: true, but they may shrug; wrong: a false alarm) and a reason, in words of ours.

The labelled mentions are in tests/rules/links/mentions.jsonl. A mention of the class `broken` must be found, and no
other.

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
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from scripts.population import PublicRepository
from skill_health.lint.pipeline import configure, lint
from skill_health.rules._api import Finding
from skill_health.rules._load import all_rules
from skill_health.rules._page import wilson
from skill_health.rules.links import broken_bundle_link
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import clustered_proportion
from skill_health.text.terminal import markdown_text

HERE = Path(__file__).resolve().parents[1]
VERDICTS = HERE / "docs" / "precision.jsonl"
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
FIVE = HERE / "docs" / "precision-five.jsonl"
MENTIONS = HERE / "tests" / "rules" / "links" / "mentions.jsonl"
MEASURED = HERE / "docs" / "precision-mentions.json"
MENTION_RULES = ("LI001", "LI003", "LI004", "LI005", "LI008", "LI011")
LOOKED = """it was measured three times:
first with the rules as the tuning half had left them (57 of 60 right, 57 of 68 found), then after more changes for the
tuning half and after reading what had changed on public repositories (60 of 62, 60 of 68), and a third time, in the
table, after three changes (more programs that run scripts, scripts missing beside others that are there, guides that
begin with `./`). One reader, a language model, labelled both halves and then changed the rules. It had read the sealed
mentions, though not the verdicts on them, so that none of the three figures is free of them: the later, the less."""
"""How often the sealed half was measured, and what for."""
BUILD = HERE / "build" / "precision"
AS_OF = date(2026, 11, 23)
SEED = 20261123
MOST = {"error": 12, "warning": 20, "info": 3}
"""How many findings of a rule are drawn, by severity."""
OF_CLUSTER = 4
"""How many of them may come from one cluster."""
READ_BEFORE, OWNERS = 120, 240
"""Of a repository in which each owner has a folder: how many were read before the severities were set, and how many
others are drawn."""


BAR, LEAST = {"error": 0.95, "warning": 0.9}, 10
"""The share of findings that is to be right, by severity, and from how many on it is held against a rule."""
BELOW: dict[str, str] = {}
CHANGED = {
    "LE002": "accounts called after a host and records that are called an example are left alone",
    "LE004": "opt-in",
    "LE005": "scripts that strip such characters are left alone",
    "LI003": "scripts may be in a repository that the skill says to clone",
}
"""What is below the bar and why it is left so, and what was changed for what these readings showed."""
SEEN = {
    "FM001": "a SKILL.md inside another skill is information",
    "FM027": "in a skill for OpenClaw it is information",
}
"""What was changed for a finding of these repositories before it was read: measured on what it was tuned on."""
UNNAMED = ("LE001",)
"""Rules whose findings are not published with their place: what they found may be in use."""

HELD_OUT = (
    PublicRepository("BuidlGuidl/ethskills-evals", "9a129f13761b5eed58443288ef3d9590cb2ab533"),
    PublicRepository("KaiserWhoLearns/skillsbench", "037a854d3d15ef93a016bb8425124a195e7d5ad9"),
    PublicRepository("anthropics/claude-plugins-official", "340e33aef211d95769d252324854497af871dafe"),
    PublicRepository("benchflow-ai/benchflow", "62cc7e417c67ed6aaab2dc50a0bb642b2b77a3d2"),
    PublicRepository("daymade/claude-code-skills", "723a962ddca0f89a67f43963b20fc8949a2c79e1"),
    PublicRepository("dotnet/skills", "1b8f2aa1e4e691c8176312829f67e367cdfc1862"),
    PublicRepository("idaibin/skills", "5573877c2df129a3cf6115d6a8ec60802b36b5bc"),
    PublicRepository("microsoft/GitHub-Copilot-for-Azure", "72d2d140cdf7d60b60fc873fa0205cde54ba863a"),
    PublicRepository("novotnyllc/dotnet-marketplace", "532ed78a8716752cb99ba3a58c0d1eca11bd665a"),
    PublicRepository("openclaw/skills", "3a5f649f604cb32910dc9ddb81d9be873b2c3d42", "skills"),
)
TUNED = (
    "NVIDIA/skills", "UiPath/skills", "alirezarezvani/claude-skills", "anthropics/skills", "dtsong/data-engineering-skills",
    "jeremylongshore/claude-code-plugins-plus-skills", "kouko/monkey-skills", "obra/superpowers", "openai/skills",
    "sickn33/antigravity-awesome-skills", "trailofbits/skills", "wshobson/agents",
)  # fmt: skip
TUNED_FIGURE = (299, 306)
"""Right, and judged, in the sample of the earlier builds, drawn from the very skills that the rules were fixed on."""


def sample(checkouts: str) -> None:
    """Draw findings of every rule and severity, whatever the order of files, and count them all."""
    found: dict[str, dict[str, list[Finding]]] = {}
    skills: dict[str, int] = {}
    levels: list[int] = []
    for cluster, tree in _clusters(Path(checkouts)):
        root, config = configure([str(tree)], None, {})
        report, _ = lint([str(tree)], root, config, AS_OF, use_cache=False)
        found[cluster], skills[cluster] = defaultdict(list), len(report.skills)
        for finding in report.findings:
            found[cluster][f"{finding.code} {finding.severity.value}"].append(finding)
        loud = Counter(f.skill for f in report.findings if f.severity.value != "info")
        levels += [loud.get(entry.path, 0) for entry in report.skills]
    rows = []
    kinds = sorted({kind for by_kind in found.values() for kind in by_kind})
    for kind in kinds:
        for cluster, finding in _draw(
            kind, {name: by_kind[kind] for name, by_kind in found.items() if by_kind.get(kind)}
        ):
            code, severity = kind.split()
            row = {"cluster": cluster, "path": finding.path, "line": finding.line, "code": code, "severity": severity}
            rows.append(row | {"message": finding.message, "help": finding.help, "source": finding.source})
    counts = {
        "skills": skills,
        "median_per_skill": sorted(levels)[len(levels) // 2],
        "mean_per_skill": round(sum(levels) / len(levels), 3),
        "rules": sorted(rule.code for rule in all_rules() if rule.default),
        "found": {kind: sum(len(by_kind.get(kind, ())) for by_kind in found.values()) for kind in kinds},
    }
    BUILD.mkdir(parents=True, exist_ok=True)
    for name, order in (("first", rows), ("second", random.Random(f"{SEED} second").sample(rows, len(rows)))):
        (BUILD / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in order), "utf-8")
    (BUILD / "found.json").write_text(json.dumps(counts, indent=1) + "\n", "utf-8")
    print(f"{len(rows)} findings of {len(kinds)} kinds drawn from {len(found)} clusters: {BUILD}")


def _clusters(checkouts: Path) -> Iterator[tuple[str, Path]]:
    """Each cluster and its folder: a repository, or one of the owners drawn from it."""
    for one in HELD_OUT:
        tree = checkouts / one.name.replace("/", "+")
        if not one.owners:
            yield one.name, tree
            continue
        owners = sorted(
            {path.relative_to(tree / one.owners).parts[0] for path in (tree / one.owners).rglob("SKILL.md")}
        )
        before = set(random.Random(f"{SEED} owners").sample(owners, READ_BEFORE))
        others = [owner for owner in owners if owner not in before]
        for owner in sorted(random.Random(f"{SEED} others").sample(others, OWNERS)):
            yield f"{one.name}/{one.owners}/{owner}", tree / one.owners / owner


def _draw(kind: str, by_cluster: dict[str, list[Finding]]) -> Iterator[tuple[str, Finding]]:
    """One finding of each cluster in turn, until there are enough; the same line with the same words counts once."""
    stream = random.Random(f"{SEED} {kind}")
    queues = []
    for cluster in sorted(by_cluster):
        unique = {
            (finding.message, finding.source): finding
            for finding in sorted(by_cluster[cluster], key=_place, reverse=True)
        }
        queues.append((cluster, stream.sample(sorted(unique.values(), key=_place), min(OF_CLUSTER, len(unique)))))
    stream.shuffle(queues)
    left = MOST[kind.split()[1]]
    while left and queues:
        for cluster, queue in queues[:left]:
            yield cluster, queue.pop()
            left -= 1
        queues = [(cluster, queue) for cluster, queue in queues if queue]


def _place(finding: Finding) -> tuple[str, int, int, str]:
    return finding.path, finding.line, finding.col, finding.message


def mentions(checkouts: str) -> None:
    """Measure precision and recall of the link rules on both halves of the labels, and keep them for the table."""
    labels = [json.loads(line) for line in MENTIONS.read_text("utf-8").splitlines()]
    broken_bundle_link.NAMED = sys.maxsize
    found = {}
    for repository in sorted({label["repository"] for label in labels}):
        tree = Path(checkouts) / repository.replace("/", "+")
        paths = {str(_folder_of(tree / label["path"], tree)) for label in labels if label["repository"] == repository}
        _, config = configure([str(tree)], None, {"select": MENTION_RULES})
        report, _ = lint(sorted(paths), str(tree), config, AS_OF, jobs=1, use_cache=False)
        found[repository] = [finding for finding in report.everything() if finding.severity.value != "info"]
    judged = [(label, any(_is_about(finding, label) for finding in found[label["repository"]])) for label in labels]
    rows = {}
    for half in ("tuning", "sealed"):
        rows[half] = _judge([one for one in judged if one[0]["half"] == half])
    rows["sealed, sources without a label before"] = _judge(
        [one for one in judged if one[0]["half"] == "sealed" and one[0]["source"] not in _earlier(labels)]
    )
    for form in ("link", "code", "words", "command"):
        rows[f"sealed, {form}"] = _judge(
            [one for one in judged if one[0]["half"] == "sealed" and one[0].get("form") == form]
        )
    MEASURED.write_text(json.dumps({"as_of": AS_OF.isoformat(), "rows": rows}, indent=1) + "\n", "utf-8")
    print("\n".join(_mention_table(rows)))


def _folder_of(path: Path, tree: Path) -> Path:
    """The folder of the skill that a file belongs to."""
    return next(
        (
            one
            for one in path.parents
            if tree in one.parents and any(f.name.lower() == "skill.md" for f in one.iterdir())
        ),
        tree,
    )


def _earlier(labels: Sequence[dict[str, Any]]) -> set[str]:
    """The sources that had labels before mentions were drawn; those have no form."""
    return {label["source"] for label in labels if "form" not in label}


def _judge(judged: Sequence[tuple[dict[str, Any], bool]]) -> dict[str, Any]:
    """Counts of one part of the labels, and precision and recall over its sources."""
    sources: defaultdict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for label, hit in judged:
        sources[label["source"]][label["class"] == "broken", hit] += 1
    row: dict[str, Any] = {
        "mentions": len(judged), "sources": len(sources), "broken": sum(label["class"] == "broken" for label, _ in judged),
    }  # fmt: skip
    for name, other in (("precision", (False, True)), ("recall", (True, False))):
        right = [tally[True, True] for tally in sources.values()]
        n = [tally[True, True] + tally[other] for tally in sources.values()]
        found = clustered_proportion(right, n)
        row[name] = {
            "right": sum(right),
            "n": sum(n),
            "clusters": sum(map(bool, n)),
            "low": found.low,
            "high": found.high,
        }
    return row


def _mention_table(rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    yield "| labels | mentions | sources | broken | precision | recall |"
    yield "|---|---|---|---|---|---|"
    for name, row in rows.items():
        cells = []
        for share in (row["precision"], row["recall"]):
            value = f"{share['right']} of {share['n']}"
            if share["low"] is not None:
                value += f", {share['right'] / share['n']:.0%} ({share['low']:.0%} to {share['high']:.0%})"
            cells.append(f"{value}, {share['clusters']} sources")
        yield f"| {name} | {row['mentions']} | {row['sources']} | {row['broken']} | {' | '.join(cells)} |"


def _mention_lines() -> Iterator[str]:
    """How well the references to files are judged, by the labels."""
    kept = json.loads(MEASURED.read_text("utf-8"))
    sealed, tuning = kept["rows"]["sealed"], kept["rows"]["tuning"]
    yield from ("", "## References to files", "")
    yield f"""
{", ".join(MENTION_RULES)} judge whether a mention of a file must exist. They were measured
({kept["as_of"]}) on {tuning["mentions"] + sealed["mentions"]} mentions of {tuning["sources"] + sealed["sources"]} sources,
labelled by hand from the text around them, before looking at what the rules say: `tests/rules/links/mentions.jsonl`.
A source is a repository, or one owner where a repository gathers the work of many (most are owners in
`openclaw/skills`). The half that a source is in is drawn by a hash of its name, unless it had labels before; copies of
a line are labelled once. Broken is a mention that the text takes for a file that is there, and that is not.

The rules were tuned on the first half. The second, {sealed["mentions"]} mentions of {sealed["sources"]} sources, was sealed: {LOOKED}

Broken mentions are over-represented, and what can be found is under-represented, so the precision is that on hard
cases and not what a collection would show. Intervals are as above, over sources.
""".strip()
    yield ""
    yield from _mention_table(kept["rows"])
    yield from (
        "", "```console", "$ python -m scripts.mentions CHECKOUTS", "$ python -m scripts.precision mentions CHECKOUTS", "```",
    )  # fmt: skip


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
                print(f"  {title}: {_share_of([owners[one['path']] in named for one in chosen])}")
        whole: defaultdict[str, list[bool]] = defaultdict(list)
        for one in labels:
            if one["half"] == half and one["class"] != "sample":
                whole[one["campaign"]].append(owners[one["path"]] in named)
        print(f"  campaigns, all of whose skills are named: {_share_of([all(each) for each in whole.values()])}")
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
            print(f"trusted, {half}: {trusted} touched {_share_of(each)}")
        print(f"trusted, {half}: all touched {_share_of(every)}")


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


def _share_of(found: list[bool]) -> str:
    low, high = wilson(sum(found), len(found))
    return f"{sum(found)} of {len(found)} ({sum(found) / len(found):.3f}, {low:.3f} to {high:.3f})"


def _is_about(finding: Any, label: dict[str, Any]) -> bool:
    """Whether a finding reports a labelled mention; a bundled file is reported once, with all its targets."""
    written = label["mention"].partition("#")[0]
    stripped = re.sub(r"^(\$?\{\w+\}/|<[\w-]+>/|skills/[\w-]+/(?=\w+/)|\./|@)", "", written)
    words = finding.message + finding.help.partition("; then see to")[2]
    named = re.search(rf"(?<![\w./-])(?:\./)?(?:{re.escape(written)}|{re.escape(stripped)})(?![\w/-]|\.\w)", words)
    return finding.path == label["path"] and named is not None and finding.line <= label["line"] + 40


def join() -> None:
    """Put the two readings together, in the order of rules and places, and keep the counts."""
    readings = [_read(BUILD / f"{name}.jsonl") for name in ("first", "second")]
    if readings[0].keys() != readings[1].keys():
        raise SystemExit("the two readings are not of the same findings: draw again")
    lines, unnamed = [], dict[str, str]()
    for key, first in sorted(readings[0].items()):
        second = readings[1][key]
        row = {name: first[name] for name in ("cluster", "path", "line", "code", "severity")}
        if first["code"] in UNNAMED:
            label = unnamed.setdefault(first["cluster"], f"unnamed {len(unnamed) + 1}")
            row |= {"cluster": label, "path": "", "line": 0}
        row |= {"first": first["verdict"], "second": second["verdict"], "reason": first["reason"]}
        if first["verdict"] != second["verdict"]:
            row["second_reason"] = second["reason"]
        lines.append(json.dumps(row) + "\n")
    VERDICTS.write_text("".join(lines), "utf-8")
    COUNTS.write_text((BUILD / "found.json").read_text("utf-8"), "utf-8")


def _read(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    keys = ("code", "severity", "cluster", "path", "line", "message")
    found = {tuple(row[key] for key in keys): row for row in rows}
    for row in rows:
        if row.get("verdict") not in ("right", "arguable", "wrong") or not row.get("reason"):
            raise SystemExit(f"{path.name}: no verdict and reason for {row['code']} {row['path']}:{row['line']}")
    return found


def estimate(verdicts: Sequence[dict[str, Any]]) -> Estimate:
    """The share of findings that both readings call right, with an interval over clusters."""
    right, n = Counter[str](), Counter[str]()
    for verdict in verdicts:
        n[verdict["cluster"]] += 1
        right[verdict["cluster"]] += verdict["first"] == verdict["second"] == "right"
    return clustered_proportion([right[cluster] for cluster in n], [n[cluster] for cluster in n])


def tables() -> dict[Path, str]:
    """The generated files, with their content."""
    verdicts = [json.loads(line) for line in VERDICTS.read_text("utf-8").splitlines()]
    counts = json.loads(COUNTS.read_text("utf-8"))
    by_kind: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for verdict in verdicts:
        by_kind[f"{verdict['code']} {verdict['severity']}"].append(verdict)
    # A rule that was on and found nothing stands here without a figure; one that is newer does not stand here.
    rules: dict[str, dict[str, Any]] = {code: {} for code in counts["rules"]}
    for kind, judged in sorted(by_kind.items()):
        code, severity = kind.split()
        found = estimate(judged)
        rules[code][severity] = {
            "right": sum(v["first"] == v["second"] == "right" for v in judged), "n": len(judged),
            "clusters": found.clusters, "low": found.low, "high": found.high,
        }  # fmt: skip
    data = json.dumps({"seed": SEED, "as_of": AS_OF.isoformat(), "rules": rules}, indent=1) + "\n"
    return {
        HERE / "docs" / "precision.md": _markdown(verdicts, counts, by_kind),
        HERE / "skill_health" / "rules" / "precision.json": data,
    }


def _markdown(verdicts: list[dict[str, Any]], counts: dict[str, Any], by_kind: dict[str, list[dict[str, Any]]]) -> str:
    loud = [v for v in verdicts if v["severity"] != "info"]
    alike = sum(v["first"] == v["second"] for v in verdicts)
    skills, owners = sum(counts["skills"].values()), sum("/skills/" in name for name in counts["skills"])
    low, high = wilson(*TUNED_FIGURE)
    tuned, judged = TUNED_FIGURE
    intro = f"""
Measured on {skills:,} skills of {len(HELD_OUT)} public repositories that were not looked at while this release's rules were
changed. Of `openclaw/skills`, where each owner has a folder, {owners} owners were drawn, after a first draw from the same
repositories and {READ_BEFORE} other owners had set the severities. Of each rule that is on by default, up to
{MOST["warning"]} warnings, {MOST["error"]} errors and {MOST["info"]} findings of information were drawn with a fixed
seed ({SEED}), at most {OF_CLUSTER} of one repository or owner, and
judged from the finding and the lines around it, with a look into the skill where these
did not settle it: *right* (a careful owner would want to know, at this severity), *arguable* (true, but they may shrug),
*wrong* (a false alarm).

Each finding was read twice, the second time in another order and from a list without verdicts. Both readings were made in
one sitting by the same reader, a language model that had also worked on the rules and remembered the first: they show
which verdicts are not stable, and are neither independent nor what another person would say.
They agree on {alike} of {len(verdicts)} ({alike / len(verdicts):.0%}). A finding counts as
right only if both say so.

**Errors and warnings: {_share(loud)}.**
Information: {_share([v for v in verdicts if v["severity"] == "info"])}.
The skills show a median of {counts["median_per_skill"]} errors and warnings (mean {counts["mean_per_skill"]}).

Intervals are 95 % intervals over repositories and owners (Wilson's, with the effective n; see
[statistics](statistics.md)). The sample takes as many findings of a rare rule as of a frequent one, so the figures above
are no average over what a collection would show. What is an error is to be right in {BAR["error"]:.0%} and what is a warning in
{BAR["warning"]:.0%} of such a sample; a rule below that is fixed, made information or made opt-in. For each release the sample is
drawn from repositories and owners that were not read before.

Earlier builds showed {tuned} of {judged} right ({tuned / judged:.1%}, {low:.1%} to {high:.1%}). That was a figure on the skills that the
rules were tuned on; on 26 collections that were not, other readers found 127 of 182 right (69.8%), and the rules that were
wrong there were changed. Tuned on up to this release: {", ".join(TUNED)}.
Of the repositories below, `daymade/claude-code-skills` had been used for the rules on references to files.
"""
    lines = [
        "# How often the rules are right",
        "",
        "<!-- generated by scripts/precision.py -->",
        *intro.splitlines(),
        "",
    ]
    lines += [
        "## Repositories",
        "",
        "| repository | commit | skills |",
        "|---|---|---|",
    ]
    for one in HELD_OUT:
        n = sum(
            count for name, count in counts["skills"].items() if name == one.name or name.startswith(one.name + "/")
        )
        lines.append(f"| {one.name} | `{one.commit[:12]}` | {n} |")
    lines += [
        "", "## Rules", "", "| rule | severity | found | read | right | first reading | second reading | share right |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for rule in all_rules():
        for severity in ("error", "warning", "info"):
            kind = f"{rule.code} {severity}"
            if judged := by_kind.get(kind):
                both = sum(v["first"] == v["second"] == "right" for v in judged)
                first, second = (_tally(v[name] for v in judged) for name in ("first", "second"))
                cells = f"{counts['found'][kind]} | {len(judged)} | {both} | {first} | {second} | {_interval(estimate(judged))}"
                lines.append(f"| {rule.code} {rule.name} | {severity} | {cells} |")
    lines += ["", "Readings are counts of right, arguable and wrong."]
    below = [f"{code} ({why})" for code, why in sorted(BELOW.items())]
    changed = [f"{code} ({what})" for code, what in sorted(CHANGED.items())]
    lines += ["", f"Below the bar with {LEAST} or more findings, and left: {'; '.join(below) or 'none'}."]
    lines += [
        f"Changed for what these readings showed, so that the figures are of the rule before: {'; '.join(changed)}."
    ]
    seen = [f"{code} ({what})" for code, what in sorted(SEEN.items())]
    lines += [
        f"Changed for a finding of these repositories before the readings, so that theirs are too good: {'; '.join(seen)}."
    ]
    silent = [
        f"{r.code} {r.name}" for r in all_rules() if r.default and not any(k.split()[0] == r.code for k in by_kind)
    ]
    lines += ["", f"Not measured, as nothing was found in this material ({len(silent)} rules): {', '.join(silent)}."]
    lines += _mention_lines()
    lines += _five()
    lines += ["", "## The findings", "", "| rule | where | first | second | reason |", "|---|---|---|---|---|"]
    for v in verdicts:
        reason = v["reason"] + (f" / {v['second_reason']}" if "second_reason" in v else "")
        where = markdown_text(f"{v['cluster']}: {v['path']}:{v['line']}") if v["path"] else "not named"
        lines.append(f"| {v['code']} | {where} | {v['first']} | {v['second']} | {markdown_text(reason)} |")
    lines += [
        "", "## The commands", "", "```console", "$ python -m scripts.precision sample CHECKOUTS",
        "$ python -m scripts.precision join", "$ python -m scripts.precision table", "```", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _five() -> Iterator[str]:
    """Every error and warning on five well-kept repositories, read one by one."""
    yield from ("", "## Five well-kept repositories, read whole", "")
    rows = [json.loads(line) for line in FIVE.read_text("utf-8").splitlines()]
    counts = Counter({name: sum(row[name] for row in rows) for name in ("right", "arguable", "wrong")})
    tally = ", ".join(f"{counts[name]} {name}" for name in ("right", "arguable", "wrong"))
    yield f"Every error and warning on these repositories was read, once: {tally}."
    yield "Rules were tuned on them, so this says that nothing there is known to be wrong, not how often it would be elsewhere."
    yield from (
        "",
        "| repository | commit | rule | severity | right | arguable | wrong | |",
        "|---|---|---|---|---|---|---|---|",
    )
    for row in rows:
        cells = (
            row["repository"],
            f"`{row['commit'][:12]}`",
            row["code"],
            row["severity"],
            row["right"],
            row["arguable"],
            row["wrong"],
        )
        yield f"| {' | '.join(map(str, cells))} | {markdown_text(row['reason'])} |"


def _share(verdicts: Sequence[dict[str, Any]]) -> str:
    right = sum(v["first"] == v["second"] == "right" for v in verdicts)
    return f"{right} of {len(verdicts)} right, {_interval(estimate(verdicts))}, in {len({v['cluster'] for v in verdicts})} clusters"


def _interval(found: Estimate) -> str:
    if found.value is None or found.low is None or found.high is None:
        return f"{found.value or 0:.0%}, {found.note}"
    return f"{found.value:.0%} ({found.low:.0%} to {found.high:.0%})"


def _tally(verdicts: Iterator[str]) -> str:
    counted = Counter(verdicts)
    return f"{counted['right']}, {counted['arguable']}, {counted['wrong']}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["sample"] and len(sys.argv) == 3:
        sample(sys.argv[2])
    elif sys.argv[1:2] == ["mentions"] and len(sys.argv) == 3:
        mentions(sys.argv[2])
    elif sys.argv[1:2] == ["hostile"] and len(sys.argv) == 3:
        hostile(sys.argv[2])
    elif sys.argv[1:] == ["join"]:
        join()
    elif sys.argv[1:] == ["table"]:
        for path, text in tables().items():
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(HERE))
    else:
        sys.exit(__doc__)
