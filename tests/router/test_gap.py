"""The description gap: what the body finds and the description misses, and the words that it lacks."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from skill_health.documents.router_manifest import LabelGap, MissedPrompt
from skill_health.router.plan.prepare import MOST_WORDS, description_gap
from skill_health.router.records import Catalogue, ListedSkill, Prompt

CSV = ListedSkill(
    "csv-cleaning", "Cleans delimited files.", body="Profile the spreadsheet. Dates, encodings, 42 duplicates."
)
LOGS = ListedSkill("log-triage", "Finds the first error.", body="Read the syslog of the outage by request id.")
NOTES = ListedSkill("handoff-notes", "Writes the dates down for a colleague.", body="State what is left.")
CATALOGUE = Catalogue((CSV, LOGS, NOTES))


def prompts(*labels: tuple[str, str | None]) -> list[Prompt]:
    return [Prompt(f"p{n}", text, expected) for n, (text, expected) in enumerate(labels)]


def test_what_only_the_body_finds_is_named_with_the_words_that_are_lacking() -> None:
    asked = prompts(
        ("My spreadsheet has 42 duplicates", "csv-cleaning"),
        ("The spreadsheet, its dates and encodings", "csv-cleaning"),
        ("delimited files to be cleaned", "csv-cleaning"),
        ("the outage: first error?", "log-triage"),
        ("zyzzyva", "log-triage"),
        ("Is there a syslog?", None),
        ("duplicates", "not-listed"),
    )
    missed = (MissedPrompt(prompt_id="p0", instead=None), MissedPrompt(prompt_id="p1", instead="handoff-notes"))
    words = ("spreadsheet", "duplicates", "encodings", "dates")
    assert description_gap(CATALOGUE, asked) == (
        LabelGap(skill="csv-cleaning", prompts=3, by_description=1, by_body=3, missed=missed, words=words),
    )


def test_a_word_of_the_description_or_of_the_name_is_not_lacking() -> None:
    skill = ListedSkill("tidy-rows", "Sorts lists.", body="rows lists heap")
    other = ListedSkill("other", "Writes rows.", body="ink")
    gaps = description_gap(Catalogue((skill, other)), prompts(("writes rows: heap, heap and heap", "tidy-rows")))
    assert [gap.words for gap in gaps] == [("heap",)]


def test_labels_that_say_nothing_and_no_prompts_make_no_gap() -> None:
    assert description_gap(CATALOGUE, []) == ()
    assert description_gap(Catalogue(()), prompts(("spreadsheet", "csv-cleaning"))) == ()
    unknown = [Prompt("p", "spreadsheet", None, known=False, rejected=("csv-cleaning",))]
    assert description_gap(CATALOGUE, unknown) == ()


def test_many_words_are_cut_to_the_weightiest() -> None:
    words = [f"word{chr(97 + n)}" for n in range(20)]
    skill = ListedSkill("a", "Nothing.", body=f"{' '.join(words)} {words[-1]}")
    (gap,) = description_gap(Catalogue((skill, ListedSkill("b", "Something."))), prompts((" ".join(words), "a")))
    assert gap.words == (words[-1], *words[: MOST_WORDS - 1])


@given(st.randoms(use_true_random=False))
def test_no_order_matters(rng: random.Random) -> None:
    asked = prompts(
        ("spreadsheet dates", "csv-cleaning"), ("syslog error", "log-triage"), ("what is left?", "handoff-notes"),
        ("encodings outage", "csv-cleaning"), ("request id", "log-triage"),
    )  # fmt: skip
    first = description_gap(CATALOGUE, asked)
    skills = list(CATALOGUE.shown)
    rng.shuffle(skills)
    rng.shuffle(asked)
    assert description_gap(Catalogue(tuple(skills)), asked) == first
    assert {gap.skill for gap in first} == {"csv-cleaning", "handoff-notes", "log-triage"}
