"""The score: its arithmetic, what it must never reward, and that the documentation says what the data say."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skill_health.config.settings import RuleLimits
from skill_health.core.errors import UsageError
from skill_health.profiles import PROFILES, SETTINGS, Profile, load_profile, parse_profile
from skill_health.score.scoring import COMPONENTS, Score, SkillFacts, score_corpus, score_skill
from skill_health.skill.measure import Measures
from skill_health.skill.sections import ROLES

# What a repository may have of its own: every component, some left out where they do not apply.
HOUSE_TEXT = """
name = "house"
[flags]
below = 0.6
missing_sections = false
leaks = true
hazards = true

[components.sections]
weight = 0.20
roles = ["when_to_use", "workflow", "boundaries", "verification"]

[components.gotchas]
weight = 0.15
target = 3

[components.examples]
weight = 0.15
target = 2
counted = ["code_examples", "example_entries", "bundled"]

[components.links]
weight = 0.10

[components.activation]
weight = 0.10
positives = 5
negatives = 3

[components.claims]
weight = 0.10
counted = "sourced"

[components.mechanisms]
weight = 0.05
target = 2
credit = { accepted = 1.0, candidate = 0.5 }

[components.frontmatter]
weight = 0.15
invalid = [
    "no-frontmatter", "invalid-yaml", "name-missing", "name-invalid", "description-missing", "description-long",
]
deduct = { description-without-trigger = 0.5, name-differs = 0.25, description-first-person = 0.25 }
"""
HOUSE, PLAN = parse_profile(HOUSE_TEXT, "house.toml"), load_profile("plan")
BOTH = pytest.mark.parametrize("profile", [HOUSE, PLAN], ids=lambda profile: profile.name)
ISSUES = (
    "no-frontmatter", "invalid-yaml", "name-missing", "name-invalid", "name-differs", "description-missing",
    "description-long", "description-first-person", "description-without-trigger",
)  # fmt: skip

count = st.integers(0, 12)


def share(total: st.SearchStrategy[int], *parts: str) -> st.SearchStrategy[dict[str, int]]:
    return total.flatmap(
        lambda n: st.fixed_dictionaries({"total": st.just(n), **{p: st.integers(0, n) for p in parts}})
    )


measures = st.builds(
    Measures, line_count=st.integers(0, 900), gotcha_count=count, code_examples=count, example_entries=count, bundled=count,
    gotchas=st.dictionaries(st.sampled_from(["Gotchas", "Pitfalls"]), count),
    titles=st.lists(st.sampled_from([*PLAN.headings, "Other"]), unique=True).map(tuple),
    roles=st.lists(st.sampled_from(sorted(ROLES)), unique=True).map(tuple),
    issues=st.lists(st.sampled_from(ISSUES), unique=True).map(tuple),
)  # fmt: skip
facts = st.builds(
    SkillFacts, links=st.none() | share(count, "broken"), claims=st.none() | share(count, "sourced", "with_id"),
    activation=st.none() | st.fixed_dictionaries({"positive": count, "negative": count}),
    mechanisms=st.none() | st.dictionaries(st.sampled_from(["accepted", "candidate", "deprecated", "rejected"]), count),
    leaks=st.integers(0, 2),
    hazards=st.integers(0, 2),
)  # fmt: skip


def part(score: Score, name: str) -> Any:
    return next(p for p in score.parts if p.name == name)


@BOTH
@given(measures=measures, facts=facts)
def test_lies_between_0_and_1_and_the_shares_sum_to_1(profile: Profile, measures: Measures, facts: SkillFacts) -> None:
    score = score_skill(measures, facts, profile)
    assert 0 <= score.value <= 1 and score.value == round(score.value, 4)
    assert sum(p.share for p in score.parts) == pytest.approx(1, abs=0.0005)
    for p in score.parts:
        assert (p.value is None) == (p.share == 0)
        assert p.value is None or 0 <= p.value <= 1
        assert p.value is not None or p.note, "what is left out says why"
    weighed = [(p.weight, p.value) for p in score.parts if p.value is not None]
    mean = 0.0 if profile.hazards and facts.hazards else sum(w * v for w, v in weighed) / sum(w for w, _ in weighed)
    assert score.value == pytest.approx(mean, abs=0.0002)


@BOTH
@given(measures=measures, facts=facts, seed=st.integers(0, 99))
def test_does_not_depend_on_order(profile: Profile, measures: Measures, facts: SkillFacts, seed: int) -> None:
    shuffle = random.Random(seed)

    def mixed(values: Any) -> Any:
        items = list(values.items() if isinstance(values, dict) else values)
        shuffle.shuffle(items)
        return dict(items) if isinstance(values, dict) else tuple(items)

    other = replace(profile, components=mixed(profile.components))
    turned = measures._replace(
        titles=mixed(measures.titles), roles=mixed(measures.roles), issues=mixed(measures.issues)
    )
    again = replace(facts, mechanisms=facts.mechanisms and mixed(facts.mechanisms))
    one, two = score_skill(measures, facts, profile), score_skill(turned, again, other)
    assert one.value == two.value and set(one.flags) == set(two.flags)
    assert {p.name: (p.value, p.share) for p in one.parts} == {p.name: (p.value, p.share) for p in two.parts}


def better(measures: Measures, facts: SkillFacts) -> list[tuple[Measures, SkillFacts]]:
    """The skill after each single improvement."""
    more = [
        measures._replace(gotcha_count=measures.gotcha_count + 1),
        measures._replace(gotchas={**measures.gotchas, "Gotchas": measures.gotchas.get("Gotchas", 0) + 1}),
        measures._replace(code_examples=measures.code_examples + 1),
        measures._replace(example_entries=measures.example_entries + 1),
        measures._replace(bundled=measures.bundled + 1),
        *(measures._replace(roles=(*measures.roles, role)) for role in ROLES),
        *(measures._replace(titles=(*measures.titles, title)) for title in PLAN.headings),
        *(measures._replace(issues=tuple(i for i in measures.issues if i != issue)) for issue in measures.issues),
    ]
    known = []
    if facts.links and facts.links["broken"]:
        known.append(replace(facts, links={**facts.links, "broken": facts.links["broken"] - 1}))
    if facts.claims:
        for word in ("sourced", "with_id"):
            if facts.claims[word] < facts.claims["total"]:
                known.append(replace(facts, claims={**facts.claims, word: facts.claims[word] + 1}))
    if facts.activation:
        known += [replace(facts, activation={**facts.activation, kind: n + 1}) for kind, n in facts.activation.items()]
    if facts.mechanisms is not None:
        for status in ("accepted", "candidate"):
            known.append(replace(facts, mechanisms={**facts.mechanisms, status: facts.mechanisms.get(status, 0) + 1}))
    return [(one, facts) for one in more] + [(measures, one) for one in known]


@BOTH
@given(measures=measures, facts=facts)
def test_an_improvement_never_lowers_the_score(profile: Profile, measures: Measures, facts: SkillFacts) -> None:
    before = score_skill(measures, facts, profile)
    for after in better(measures, facts):
        assert score_skill(*after, profile).value >= before.value


@given(measures=measures, facts=facts)
def test_removing_a_figure_never_beats_sourcing_it(measures: Measures, facts: SkillFacts) -> None:
    claims = facts.claims
    assume(claims is not None and claims["sourced"] < claims["total"])
    assert claims is not None
    sourced = replace(facts, claims={**claims, "sourced": claims["sourced"] + 1})
    removed = replace(facts, claims={**claims, "total": claims["total"] - 1})
    assert score_skill(measures, removed, HOUSE).value <= score_skill(measures, sourced, HOUSE).value
    every = replace(facts, claims={**claims, "sourced": claims["total"]})
    none_left = replace(facts, claims={**claims, "total": claims["sourced"]})
    assert score_skill(measures, none_left, HOUSE).value <= score_skill(measures, every, HOUSE).value


@given(st.lists(st.builds(score_skill, measures, facts, st.just(HOUSE)), max_size=8), st.integers(0, 99))
def test_corpus_score_does_not_depend_on_order(scores: list[Score], seed: int) -> None:
    corpus = score_corpus(scores)
    assert corpus.n == len(scores) and corpus.flagged == sum(score.flagged for score in scores)
    shuffled = list(scores)
    random.Random(seed).shuffle(shuffled)
    assert score_corpus(shuffled) == corpus
    if scores:
        assert corpus.min is not None and corpus.mean is not None and corpus.max is not None
        assert corpus.min <= corpus.mean + 0.0001 and corpus.mean <= corpus.max + 0.0001
    else:
        assert corpus.mean is None and corpus.min is None and corpus.max is None


def test_what_does_not_apply_is_left_out_and_said_so() -> None:
    score = score_skill(Measures(), SkillFacts(), HOUSE)
    notes = {p.name: p.note for p in score.parts if p.value is None}
    assert notes == {
        "links": "links were not checked",
        "activation": "no registry of activation cases or router prompts",
        "claims": "claims were not checked",
        "mechanisms": "no registry of mechanisms",
    }
    empty = SkillFacts(links={"total": 0, "broken": 0}, claims={"total": 0, "sourced": 0, "with_id": 0})
    assert part(score_skill(Measures(), empty, HOUSE), "links").note == "no links inside the repository"
    assert part(score_skill(Measures(), empty, HOUSE), "claims").note == "no numeric claims"
    assert part(score_skill(Measures(), empty, PLAN), "links").value == 1.0
    assert part(score_skill(Measures(), empty, PLAN), "claims").value == 1.0


def test_an_empty_registry_is_not_a_missing_one() -> None:
    facts = SkillFacts(activation={"positive": 0, "negative": 0}, mechanisms={})
    score = score_skill(Measures(), facts, HOUSE)
    assert part(score, "activation").value == 0 and part(score, "mechanisms").value == 0


def test_one_row_does_not_give_a_whole_component() -> None:
    facts = SkillFacts(activation={"positive": 1, "negative": 0}, mechanisms={"accepted": 1, "rejected": 9})
    score = score_skill(Measures(), facts, HOUSE)
    assert part(score, "activation").value == 0.125 and part(score, "mechanisms").value == 0.5
    assert part(score, "activation").note == "1 of 5 positive, 0 of 3 negative"


def test_plan_gives_what_its_text_gives() -> None:
    measures = Measures(
        line_count=500, titles=PLAN.headings, gotchas={"Gotchas": 3, "Pitfalls": 9}, gotcha_count=12, code_examples=1,
        issues=("description-without-trigger",),
    )  # fmt: skip
    facts = SkillFacts(
        {"total": 4, "broken": 1}, {"total": 4, "sourced": 4, "with_id": 9}, {"positive": 1}, {"rejected": 1}, 1
    )
    score = score_skill(measures, facts, PLAN)
    assert score.value == round(0.2 + 0.15 + 0.1 * 0.5 + 0.15 * 0.75 + 0.1 + 0.15 + 0.1 + 0.05, 4)
    assert not score.flagged, "leaks are no part of the plan"
    none = score_skill(measures._replace(gotchas={"Pitfalls": 9}), facts, PLAN)
    assert part(none, "gotchas").value == 0


def test_flags() -> None:
    bad = Measures(line_count=501, issues=("invalid-yaml", "name-differs"))
    flags = score_skill(bad, SkillFacts(leaks=2), HOUSE).flags
    assert [flag.kind for flag in flags] == ["low-score", "too-long", "invalid-frontmatter", "leak"]
    assert flags[1].message == "501 lines, over 500"
    assert flags[2].message == "invalid frontmatter: invalid yaml"
    assert flags[3].message == "2 leaks of evaluation material or secrets"
    allowed = score_skill(bad, SkillFacts(), HOUSE, RuleLimits(body_lines=600)).flags
    assert "too-long" not in {flag.kind for flag in allowed}
    missing = score_skill(Measures(titles=PLAN.headings[1:]), SkillFacts(), PLAN).flags
    assert [f.message[-18:] for f in missing if f.kind == "missing-section"] == ["'When to Activate'"]


def test_a_leak_flags_a_perfect_skill_and_a_hazard_leaves_nothing_of_its_score() -> None:
    perfect = Measures(roles=tuple(ROLES), gotcha_count=3, code_examples=2)
    whole, leaking = (score_skill(perfect, SkillFacts(leaks=leaks), HOUSE) for leaks in (0, 1))
    assert (whole.value, whole.flagged, leaking.value, leaking.flagged) == (1.0, False, 1.0, True)
    harmful = score_skill(perfect, SkillFacts(hazards=2), HOUSE)
    assert harmful.value == 0.0 and [flag.kind for flag in harmful.flags] == ["low-score", "hazard"]
    assert harmful.flags[1].message.startswith("2 hazards to its user")
    assert score_skill(perfect, SkillFacts(hazards=2), PLAN) == score_skill(perfect, SkillFacts(), PLAN)


@BOTH
def test_weights_of_our_profiles_sum_to_1(profile: Profile) -> None:
    assert sum(component.weight for component in profile.components) == pytest.approx(1)
    assert [component.name for component in profile.components] == list(SETTINGS) == list(COMPONENTS)


def test_standard_requires_no_heading() -> None:
    assert load_profile("standard").headings == (), "the rule for required headings counts on it"
    assert set(PROFILES) == {"standard", "plan"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "TOML"),
        ("nam = 'x'", "unknown key 'nam'"),
        ("[components.section]\nweight = 1", "no component is called 'section'"),
        ("[components]\nsections = 1", "must be a table"),
        ("[components.gotchas]\nweight = 2", "weight is 2"),
        ("[components.gotchas]\nweight = 1\ntargets = 3", "unknown key 'targets'"),
        ("[components.gotchas]\nweight = 1\ntarget = 'three'", "wrong type"),
        ("[components.gotchas]\nweight = true", "wrong type"),
        ("[components.gotchas]\nweight = 1\ntarget = -1", "must not be negative"),
        ("[components.sections]\nweight = 1\nroles = ['usage']", "no role is called 'usage'"),
        ("[components.examples]\nweight = 1\ncounted = ['images']", "cannot count 'images'"),
        ("[components.links]\nweight = 1", "give weight to one of"),
        ("[flags]\nbellow = 1", "unknown key 'bellow'"),
    ],
)
def test_a_profile_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as error:
        parse_profile(text, "house.toml")
    assert str(error.value).startswith("house.toml") and "\n" not in str(error.value)


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text("[components.gotchas]\nweight = 1\ntarget = 4\n")
    profile = load_profile("house.toml", str(tmp_path))
    assert score_skill(Measures(gotcha_count=1), SkillFacts(), profile).value == 0.25
    with pytest.raises(UsageError, match="'house'"):
        load_profile("house")
    with pytest.raises(UsageError, match="cannot read this profile"):
        load_profile("nowhere.toml", str(tmp_path))


def shown(value: Any) -> str:
    """A setting as the documentation writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value)


def test_documentation_matches_the_data(checkout: Path) -> None:
    text = (checkout / "docs/scoring.md").read_text("utf-8")
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    part = next(s for s in section if s.startswith(f"`{PLAN.name}`"))
    found = re.findall(r"^\| [a-z]+ \| 0.*$", part, re.M)
    rows = [tuple(cell.strip() for cell in row.split("|")[1:4]) for row in found]
    assert rows == [
        (c.name, f"{c.weight:.2f}", "; ".join(f"{k} = {shown(v)}" for k, v in c.settings.items()))
        for c in PLAN.components
    ]
    flags = {"below": PLAN.below, "lines": PLAN.lines, "missing_sections": PLAN.missing_sections}
    flags |= {"leaks": PLAN.leaks, "hazards": PLAN.hazards}
    told = "; ".join(f"{k} = {shown(v)}" for k, v in flags.items() if v != 0 or isinstance(v, bool))
    assert f"Flags: {told}." in part
