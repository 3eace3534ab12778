"""What counts as a figure, what is asserted, what the unsourced rule measures, and that hostile text costs no more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from growth import is_linear, lines_run

from skill_health.config.settings import Config
from skill_health.registries.records import Registries, RegistryRecord
from skill_health.rules.claims import bare_figure, unknown_claim_id, unsourced_claim, wrong_skill_count
from skill_health.rules.claims._assertion import asserted
from skill_health.rules.claims._claims import claims
from skill_health.rules.claims._figures import figures
from skill_health.rules.claims._hint import candidate_lines
from skill_health.rules.claims.missing_claim_source import source_path
from skill_health.skill.model import Skill
from skill_health.skill.parse import parse_skill


def skill(body: str) -> Skill:
    return parse_skill(f"---\nname: a\ndescription: b\n---\n{body}".encode(), "a/SKILL.md")


EXISTS = {"a/log.md"}.__contains__


def context(*ids: str) -> Any:
    row = {"owning_skill": "a", "evidence_strength": "primary"}
    records = tuple(RegistryRecord("claims.jsonl", nth, {**row, "claim_id": name}) for nth, name in enumerate(ids, 1))
    return SimpleNamespace(
        config=Config(), registries=Registries(claims=records or None), read=lambda path: None, exists=EXISTS
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("40% and 15–25 % and 3 percent", ["40%", "15–25 %", "3 percent"]),
        ("10x, 3-5×, 2.5 times as much", ["10x", "3-5×", "2.5 times"]),
        ("200 ms, 3 seconds, 2-4 hours, 90-day", ["200 ms", "3 seconds", "2-4 hours", "90-day"]),
        ("5,000 tokens, 128K tokens", ["5,000 tokens", "128K tokens"]),
        ("$1.50 and $150K-$200K", ["$1.50", "$150K-$200K"]),
        ("2x2, 1280×720, v1.2, 301s? 0x40, a40%, 2026-05-15", ["301s"]),
        ("a 9 step plan with 3 files", []),
    ],
)
def test_figures(text: str, expected: list[str]) -> None:
    found = figures(text)
    assert [text[figure.start : figure.end].strip() for figure in found] == expected
    assert not found or candidate_lines(text) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "Reduce latency by 40%.", "Target 60% token reduction.", "If you cache, cost drops by 90%.",
        "Masking should achieve 60-80% reduction.", "A strategy saving 5% more tokens is not worth it.",
        "Price 10-20% higher for monthly plans.", "The threshold is a 30% drop.",
        "40% of the traffic is the limit.", "We believe a bigger button lifts clicks by 15%.",
        "20% of customers bring 80% of revenue.", "Costs no more than 3x the baseline.",
        "Projects take 3x longer than planned.",
    ],
)  # fmt: skip
def test_not_asserted(text: str) -> None:
    assert all(asserted(text, figure) is None for figure in figures(text))


def test_the_measure_counts_passages() -> None:
    body = (
        "Caching cuts the cost by 90% and latency by 40%.\n\n"
        "- Masking saves 52% of the tokens `claim-a-b`.\n- Folding saves 30% (see [log](log.md)).\n"
        "- Packing saves 20% `claim-x-y`.\n"
    )
    measured = unsourced_claim.collect(skill(body), context("claim-a-b"))
    assert {key: measured[key] for key in ("total", "sourced", "with_id")} == {"total": 4, "sourced": 2, "with_id": 1}
    assert measured["ids"] == [["claim-a-b", 7, 36], ["claim-x-y", 9, 22]]
    without = unsourced_claim.collect(skill(body), context())
    assert (without["sourced"], without["with_id"]) == (3, 2)


def test_the_same_skill_again_gives_the_same_answer() -> None:
    one, two = skill("Caching cuts the cost by 90%."), skill("Nothing.")
    assert [len(claims(entry, context())) for entry in (one, one, two, one)] == [1, 1, 0, 1]


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("https://example.com/a.md", ""), ("doi:10.1145/1", ""), ("10.1145/3292500.3330", ""),
        ("example.com/prices", ""), ("Handbook, 3rd edition", ""), ("prices.md", "prices.md"),
        ("./notes/a b.md#top", "notes/a b.md"), ("notes/prices.md:12-14", "notes/prices.md"),
        ("../shared/prices", "../shared/prices"),
    ],
)  # fmt: skip
def test_sources_that_are_paths(source: str, path: str) -> None:
    assert source_path(source) == path


@pytest.mark.parametrize(
    "unit",
    [
        "it saves 40% of tokens ", pytest.param("- it saves 40% of tokens\n", marks=pytest.mark.slow),
        "# it saves 40% of tokens\n",
        pytest.param("it saves 40% of tokens\n\n<!-- claim-a-c -->\n\n", marks=pytest.mark.slow), "`claim-a-c`\n",
        "claim-a-c\n", "claim-aaa_", "all 40 skills\n", "1 a b c d skills ", "A.A-A'", "(a, ", "[1,", '"40% ',
        "40% of a a a ", "1-", "1.1", "$1 $", "SWE-bench 0.5 ", "as of ",
    ],
)  # fmt: skip
def test_hostile_repeats_cost_no_more_than_their_length(unit: str) -> None:
    def lines(times: int) -> int:
        text = skill(unit * times)

        def look() -> None:
            for rule in (unsourced_claim, unknown_claim_id, bare_figure):
                list(rule.check(text, context("claim-a-b")))
            wrong_skill_count.collect(text, context())
            unsourced_claim.collect(text, context())

        return lines_run(look)

    # No more figures of a skill are judged than a thousand or so.
    assert is_linear(lines, (16, 64, 256, 1500))
