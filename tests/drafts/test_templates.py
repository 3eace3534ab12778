"""What a skill says of itself, as requests that somebody might type; and the rules for all requests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import drafts_made
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.drafts.material import DraftingCollection, choose_skills, load_collection
from skill_health.drafts.prompts.phrases import find_phrases, verb_forms
from skill_health.drafts.prompts.propose import build_drafts
from skill_health.drafts.prompts.templates import propose_from_templates
from skill_health.drafts.prompts.validate import KnownPrompts, PromptRules
from skill_health.router.records import Prompt
from skill_health.skill.parse import parse_skill

TIME = datetime(2026, 11, 25, tzinfo=UTC)


def phrases(description: str, body: str = "") -> list[tuple[str, str]]:
    text = f"---\nname: made\ndescription: {json.dumps(description)}\n---\n{body}"
    skill = parse_skill(text.encode("utf-8", "surrogatepass"), "made/SKILL.md")
    return [(phrase.kind, phrase.text) for phrase in find_phrases(skill)]


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("", []),
        ("Everything about cats.", []),
        ("Use when the user wants to rotate scanned pages.", [("action", "rotate scanned pages")]),
        ("Use when filling tax forms or signing contracts.", [("action", "fill tax forms"), ("action", "sign contracts")]),
        ("Creates, reads, or edits Word files.", [("action", f"{verb} Word files") for verb in ("create", "read", "edit")]),
        ("Rotates pages. Do NOT use it for cropping images.", [("action", "rotate pages")]),
        ("Use when encountering any bug, before proposing fixes", [("situation", "a bug")]),
        ("Use when you have a written plan to execute later", [("situation", "a written plan")]),
        ("Use when users ask for a second opinion.", [("need", "a second opinion")]),
        ('Triggers on "open source this project" and "deck".', [("quote", "open source this project")]),
        ("Use when the user wants to improve their agents", []),
        ("Use when migrating the whole billing database of a large customer to another region.", []),
        ("Model ids, pricing, style guidelines.", []),
        ("Use when the list names old lists and sorts pages.", []),
        ("Pages: reports figures, reads lists.", []),
    ],
)  # fmt: skip
def test_what_a_description_says_is_found_as_it_would_be_asked_for(
    description: str, expected: list[tuple[str, str]]
) -> None:
    assert phrases(description) == expected


def test_a_list_on_when_to_use_it_counts_and_one_on_when_not_to_does_not() -> None:
    body = "# A\n\n## When to use\n\n- Rotating old pages\n- Joining all the loose pages of a scan\n\n## When not to use\n\n- Cropping old images\n"
    assert phrases("Things.", body) == [("action", "rotate old pages")]


def test_forms_of_verbs() -> None:
    forms = verb_forms()
    assert [forms[word] for word in ("planning", "merging", "studies", "fixes", "runs") if word in forms] == [
        ("plan", "gerund"), ("merge", "gerund"), ("fix", "third"), ("run", "third"),
    ]  # fmt: skip


@given(st.text(max_size=300))
def test_no_description_breaks_it(text: str) -> None:
    printed = [found for _, found in phrases(text.replace("\x00", ""))]
    assert all(found.isprintable() and len(found.split()) <= 30 for found in printed)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> DraftingCollection:
    return load_collection([str(drafts_made.collection(tmp_path_factory.mktemp("made")))])


def test_templates_draft_all_three_roles_and_split_them_by_families(collection: DraftingCollection) -> None:
    proposed = [
        each for skill in choose_skills(collection, ()) for each in propose_from_templates(collection, skill, 3)
    ]
    drafts = build_drafts(collection, proposed, (), 1, TIME, 3)
    kept = [draft for draft in drafts if draft.state == "proposed"]
    counts = Counter((draft.skills[0].name, draft.content.role) for draft in kept)
    assert set(counts.values()) <= {1, 2, 3} and len(counts) == 12
    assert {draft.origin.by for draft in drafts} == {"template"}
    for draft in kept:
        own = draft.skills[0].name
        content = draft.content
        assert (content.expected == own) == (content.role == "positive")
        assert (own in content.rejected) == (content.role != "positive")
        assert (content.expected is None) == (content.role == "none")
    by_family: dict[str, set[str]] = {}
    for draft in kept:
        by_family.setdefault(draft.family or draft.id, set()).add(draft.split)
    assert all(len(splits) == 1 for splits in by_family.values())
    assert {draft.split for draft in kept} == {"train", "test"}
    assert build_drafts(collection, proposed, (), 1, TIME, 3) == drafts
    assert build_drafts(collection, proposed, tuple(drafts), 1, TIME, 3) == []


def test_siblings_are_the_nearest(collection: DraftingCollection) -> None:
    (skill,) = choose_skills(collection, ("fill-forms",))
    assert len(collection.siblings(skill)) <= 3 and skill not in collection.siblings(skill)


GOOD = "please put these two scans together, the second is upside down"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, None),
        ({"text": "short"}, "too_short"),
        ({"text": "a word " * 400}, "too_long"),
        ({"text": "join the scans \x1b[2Jnow please"}, "unprintable"),
        ({"text": "join the scans \u202enow please"}, "unprintable"),
        ({"text": "open {file} and join it to the other"}, "placeholder"),
        ({"text": "use merge-pages for these two scans"}, "names_skill"),
        ({"text": "I want to join scans, rotate scanned pages, or extract images"}, "quotes_description"),
        ({"text": "someone is joining several loose scans of a ledger again"}, "quotes_description"),
        ({"text": "把这两个扫描件合并成一个文件好吗谢谢"}, "other_script"),
        ({"text": "upload them, my key is ghp_R7k2Vq9XwLm4Tz8Yb3Nc6Hd1Jf5Gs0PaQeUi"}, "secret"),
        ({"text": "Please put these two scans together, the second is upside down!"}, None),
        ({"text": "rotate the fourth scan of the invoice folder for me"}, "near_duplicate"),
        ({"expected": "fill-forms"}, "label"),
        ({"expected": "nobody"}, "label"),
        ({"role": "near_miss", "expected": "fill-forms", "rejected": ()}, "label"),
        ({"role": "near_miss", "expected": "fill-forms", "rejected": ("merge-pages",)}, None),
        ({"role": "near_miss", "expected": None, "rejected": ("merge-pages",)}, "label"),
        ({"role": "none", "expected": "fill-forms", "rejected": ("merge-pages",)}, "label"),
        ({"role": "none", "expected": None, "rejected": ("merge-pages",)}, None),
    ],
)  # fmt: skip
def test_the_rules(collection: DraftingCollection, change: dict[str, Any], code: str | None) -> None:
    (skill,) = choose_skills(collection, ("merge-pages",))
    known = KnownPrompts([Prompt("p1", "rotate the fourth scan of the invoice folder please", "merge-pages")])
    made = drafts_made.content(**({"text": GOOD, "expected": "merge-pages"} | change))
    fault = PromptRules(collection, skill, known).find_fault(made)
    assert (fault and fault.code) == code


def test_a_positive_that_goes_elsewhere_is_noted_and_not_rejected(collection: DraftingCollection) -> None:
    (skill,) = choose_skills(collection, ("merge-pages",))
    made = drafts_made.content("find out why the server is slow, look at the log errors", expected="merge-pages")
    rules = PromptRules(collection, skill, KnownPrompts())
    assert rules.find_fault(made) is None and rules.notes(made) == ("the free router finds triage-logs",)


def test_the_command_writes_drafts_and_says_nothing_of_their_split(tmp_path: Path, run: Callable[..., Any]) -> None:
    drafts_made.collection(tmp_path)
    first = run("draft", "prompts", "merge-pages", "-n", "2", "--time", "2026-11-25T08:00:00Z")
    assert first.returncode == 0 and "template (weaker)" in first.stdout
    files = {path.name: path.read_bytes() for path in (tmp_path / "drafts" / "prompts").iterdir()}
    assert files and not any(word in first.stdout + first.stderr for word in ("train", "test", "sealed"))
    assert first.stdout.count("draft review") == 1 and "draft review" in first.stdout.splitlines()[-1]
    again = run("draft", "prompts", "merge-pages", "-n", "2", "--time", "2026-11-26T08:00:00Z")
    assert again.stdout == "No new draft.\n"
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "drafts" / "prompts").iterdir()}


def test_a_skill_can_be_named_by_its_folder(tmp_path: Path, run: Callable[..., Any]) -> None:
    drafts_made.collection(tmp_path)
    assert run("draft", "prompts", "skills/fill-forms", "-n", "1").returncode == 0
    names = {path.name.rpartition("-")[0] for path in (tmp_path / "drafts" / "prompts").iterdir()}
    assert names == {"fill-forms"}
    failed = run("draft", "prompts", "fill-form")
    assert failed.returncode == 2 and "did you mean 'fill-forms'" in failed.stderr
