"""A `DeltaReport` as blocks: a comment on a pull request, or text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.documents.delta_report import DeltaCounts, DeltaFinding, DeltaReport, ListingCost
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock
from skill_health.text.numbers import count, with_interval

_MOST = 40
"""Rows of a table: a comment holds 65,536 characters."""
_PROMPT = 120


def delta_blocks(report: DeltaReport) -> Iterator[Block]:
    """What has changed, the worst first; nothing is said of what is the same."""
    yield TitleBlock("Skill health", 2)
    yield Sentence(headline(report), strong=True)
    for note in report.notes:
        yield Sentence(note)
    yield from _findings("New findings", report.new)
    yield from _findings("Fixed findings", report.fixed)
    if report.skills:
        yield TitleBlock("Skills", 3)
        yield Table(
            ("skill", "what", "new", "fixed", "tokens listed", "tokens of SKILL.md"),
            [
                (
                    f"{each.before} -> {each.path}" if each.before else each.path,
                    each.kind + (", other description" if each.described and each.kind in ("changed", "moved") else ""),
                    str(each.new), str(each.fixed), _change(each.entry), _change(each.text),
                )
                for each in report.skills[:_MOST]
            ],
        )  # fmt: skip
        yield from _more(report.skills, "skills")
    yield from _routing(report)
    yield from _listing(report)
    yield from _measured(report)
    head = report.head[:12] if report.head else "no commit"
    older = f"; {count(report.older, 'older finding')} not shown" if report.older else ""
    yield Sentence(f"{report.base[:12]} -> work tree at {head}, skill-health {report.version}{older}")


def headline(report: DeltaReport) -> str:
    """One sentence on the whole."""
    if not report.skills and not report.new and not report.fixed:
        return "No skill has changed."
    errors, warnings = (sum(each.severity == severity for each in report.new) for severity in ("error", "warning"))
    infos = len(report.new) - errors - warnings
    new = ", ".join(
        [count(n, what) for n, what in ((errors, "new error"), (warnings, "new warning")) if n]
        + [f"{infos} new info"] * (infos > 0)
    )
    lost = sum(len(each.lost) for each in report.routing)
    outdated = sum(each.outdated is True for each in report.measurements)
    parts = [
        f"{count(len(report.skills), 'skill')} touched",
        new or "no new finding",
        f"{len(report.fixed)} fixed" if report.fixed else "",
        f"{count(lost, 'prompt')} lost" if lost else "",
        f"{count(outdated, 'measurement')} out of date" if outdated else "",
    ]
    return ", ".join(filter(None, parts)) + "."


def _findings(title: str, findings: Sequence[DeltaFinding]) -> Iterator[Block]:
    if not findings:
        return
    yield TitleBlock(title, 3)
    ranked = sorted(findings, key=lambda each: ("error", "warning", "info").index(each.severity))
    yield Items(
        [
            f"{each.severity} {each.code} {each.path}:{each.line}: {each.message}"
            + (f" ({each.cause})" if each.cause else "")
            for each in ranked[:_MOST]
        ]
    )
    yield from _more(findings, "findings")


def _routing(report: DeltaReport) -> Iterator[Block]:
    if not report.routing:
        return
    yield TitleBlock("Routing of the labelled prompts, by routers that are computed here", 3)
    yield Table(
        ("router", "right before, %", "right now, %", "prompts", "lost", "gained"),
        [
            (
                each.model, with_interval(each.before, ".0f"), with_interval(each.after, ".0f"), str(each.after.n),
                str(len(each.lost)), str(len(each.gained)),
            )
            for each in report.routing
        ],
    )  # fmt: skip
    lost = [
        f'{each.model}: {lost.id} "{lost.prompt[:_PROMPT]}" was {lost.expected}, is {lost.now}'
        for each in report.routing
        for lost in each.lost
    ]
    if lost:
        yield Items(lost[:_MOST])
        yield from _more(lost, "prompts")
    untested = max(each.untested for each in report.routing)
    if untested:
        yield Sentence(f"Not judged, for want of a threshold: {count(untested, 'prompt')} that no skill is for.")
    yield Sentence("A free router is a floor: it says that words are gone, not that a model would lose the request.")


def _listing(report: DeltaReport) -> Iterator[Block]:
    changed = [each for each in report.listing if each.before != each.after]
    if not changed:
        return
    yield TitleBlock("What each request pays for the list of skills", 3)
    yield Table(
        ("host", "tokens", "cut", "names only", "left out"),
        [
            (
                each.host,
                *(
                    _step(getattr(each.before, name), getattr(each.after, name))
                    for name in ListingCost.__struct_fields__
                ),
            )
            for each in changed
        ],
    )


def _measured(report: DeltaReport) -> Iterator[Block]:
    if not report.measurements:
        return
    yield TitleBlock("What was measured of these skills", 3)
    holds = {True: "out of date", False: "holds", None: "not known"}
    yield Table(
        ("skill", "question", "model", "result", "n", "run", "for this branch"),
        [
            (
                each.skill, each.question, each.model + (" (simulated)" if each.simulated else ""),
                " ".join(filter(None, (each.verdict, with_interval(each.figure, "+.0f" if each.question == "effect" else ".0f")))),
                str(each.figure.n), f"{each.time[:10]} {each.run_id}", holds[each.outdated],
            )
            for each in report.measurements[:_MOST]
        ],
    )  # fmt: skip
    yield from _more(report.measurements, "measurements")
    if report.reused:
        yield Sentence(f"{count(report.reused, 'measurement')} of skills that this branch does not touch hold.")


def _change(counts: DeltaCounts) -> str:
    return _step(counts.before, counts.after)


def _step(before: int, after: int) -> str:
    return f"{after:,}" if before == after else f"{before:,} -> {after:,} ({after - before:+,})"


def _more(every: Sequence[object], what: str) -> Iterator[Block]:
    if len(every) > _MOST:
        yield Sentence(f"{len(every) - _MOST:,} more {what} are in the JSON report.")
