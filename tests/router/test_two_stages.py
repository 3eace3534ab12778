"""Two stages: what a free router leaves, what a model makes of it, and that nothing else is asked."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from callers import KEY, KEY_ENV
from hypothesis import given
from hypothesis import strategies as st
from loopback import PROTOCOLS, Loopback, Seen, answer, listed, ranking
from made_collection import the_run
from nursery import rows
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint
from test_run import fake_model, plan_of

from skill_health.bench.journal import read_manifest
from skill_health.cli import main
from skill_health.commands.router import command as group
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.validation import problems
from skill_health.documents._record import convert_record
from skill_health.documents.router_manifest import RouterManifest
from skill_health.documents.router_report import RouterReport
from skill_health.router.instrument.planted import NAME
from skill_health.router.plan.choices import RouterChoices, RouterOptions, choices
from skill_health.router.plan.forecast import forecast_plan
from skill_health.router.plan.plan import Questions, question_sizes
from skill_health.router.plan.retrieval import retrieve
from skill_health.router.records import Catalogue, ListedSkill, Prompt
from skill_health.router.scores.judge import read_facts
from skill_health.router.template import schema_size, size_of

TOPICS = ("plums", "maps", "taxes", "stars", "lists", "boats", "clocks", "bees")
SKILLS = tuple(
    ListedSkill(f"{topic}-work", f"Sorts {topic}. Use when {topic} are in a mess.", path=f"{topic}/SKILL.md")
    for topic in TOPICS
)


def chosen(k: int, **more: Any) -> RouterChoices:
    return choices(RouterOptions(retrieve=k, retriever="lexical", **more), RouterSettings())


ASKED = st.lists(st.sampled_from((*TOPICS, "mess", "of", "nothing", "日本")), max_size=5).map(" ".join)


@given(st.permutations(SKILLS), ASKED, st.integers(1, 9), st.integers(0, 3))
def test_a_shorter_list_begins_a_longer_one_in_any_order_of_files(
    skills: list[ListedSkill], text: str, k: int, seed: int
) -> None:
    prompts = [Prompt("p", text, "bees-work"), Prompt("q", text, "maps-work"), Prompt("r", text, None)]
    found = retrieve(Catalogue(tuple(skills)), prompts, chosen(k, seed=seed))
    again = retrieve(Catalogue(SKILLS), prompts, chosen(k + 1, seed=seed))
    assert found and again
    assert len(found.shortlists["p"]) == min(k, len(SKILLS)) == len(set(found.shortlists["p"]))
    # Recall can only grow with k, and what is right is not looked at.
    assert again.shortlists["p"][:k] == found.shortlists["p"] == found.shortlists["q"] == found.shortlists["r"]
    frozen = found.freeze(Catalogue(tuple(skills)))
    assert [skills[at].name for at in frozen.shortlists["p"]] == list(found.shortlists["p"])


def test_one_stage_is_the_default_and_two_need_a_free_router() -> None:
    assert retrieve(Catalogue(SKILLS), [Prompt("p", "x", None)], choices(RouterOptions(), RouterSettings())) is None
    given = choices(RouterOptions(retrieve=3, retriever="openai:m"), RouterSettings())
    with pytest.raises(UsageError, match=r"--retriever openai:m: only a router that is computed here"):
        retrieve(Catalogue(SKILLS), [], given)
    with pytest.raises(UsageError, match="'lexica'"):
        retrieve(Catalogue(SKILLS), [], choices(RouterOptions(retrieve=3, retriever="lexica"), RouterSettings()))
    configured = choices(RouterOptions(), RouterSettings(retrieve=4, retriever="lexical:bm25"))
    assert (configured.retrieve, configured.retriever) == (4, "lexical:bm25")


@pytest.mark.parametrize("mode", ["text", "json_schema"])
def test_forecasts_count_the_bytes_that_are_sent(mode: Any) -> None:
    model = fake_model(None, kind="provider")  # type: ignore[arg-type]
    prompts = [Prompt(f"p{n}", f"sort my {topic}", f"{topic}-work") for n, topic in enumerate(TOPICS)]
    plan = plan_of(model, mode=mode, prompts=prompts)
    plan = replace(plan, catalogue=Catalogue(SKILLS))
    plan = replace(plan, retrieval=retrieve(plan.catalogue, prompts, chosen(3)))
    questions, sizes = Questions(plan), question_sizes(plan)
    sent = 0
    for call in plan.calls():
        request = questions.request(call, 1)
        assert len(request.skills) == 3
        assert {skill.name for skill in request.skills} == set(questions.answers(call))
        size = size_of(request.text) + schema_size(request.schema)
        assert size == sizes[call.prompt.prompt_id]
        sent += size
    assert forecast_plan(plan, "", {}).models[0].load.input_bytes == sent


def test_the_best_of_a_shortlist_cannot_be_told_from_its_place() -> None:
    """Orders are those of the seed: over many prompts the first of the shortlist stands everywhere."""
    model = fake_model(None, reps=1)  # type: ignore[arg-type]
    prompts = [Prompt(f"p{n}", f"sort my {TOPICS[n % 8]}", f"{TOPICS[n % 8]}-work") for n in range(200)]
    plan = replace(plan_of(model, prompts=prompts), catalogue=Catalogue(SKILLS))
    plan = replace(plan, retrieval=retrieve(plan.catalogue, prompts, chosen(4)))
    questions = Questions(plan)
    places = [questions.order(call).index(f"{call.prompt.expected}") for call in plan.calls()]
    for place in range(4):
        assert binomtest(places.count(place), len(places), 0.25).pvalue > 1e-4


def oracle(seen: Seen) -> str:
    """What a model would answer that never errs about what it is shown."""
    request = seen.text.rpartition("<<<REQUEST")[2]
    shown = listed(seen)
    right = [name for topic in TOPICS if topic in request and (name := f"{topic}-work") in shown]
    planted = [NAME] if "quaffle" in request and NAME in shown else []
    return ranking(*(right or planted or ["none"]))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(lambda seen: answer(seen, oracle(seen))) as running:
        yield running


@pytest.fixture
def collection(write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    prompts = [
        {
            "prompt_id": f"p{n}", "prompt": f"sort my {topic} please" if n < 8 else f"unheard of {n}",
            "expected_primary_skill": f"{topic}-work" if n < 8 else "bees-work" if n == 8 else None,
            "acceptable_secondary_skills": [], "rejected_skills": [], "reason": "About them.",
        }
        for n, topic in enumerate((*TOPICS, "", "", ""))
    ]  # fmt: skip
    text = "---\nname: {0}-work\ndescription: Sorts {0}. Use when {0} are in a mess.\n---\n# Work\n\nSort.\n"
    root = write({
        **{f"skills/{topic}-work/SKILL.md": text.format(topic) for topic in TOPICS},
        "prompts.jsonl": "".join(json.dumps(prompt) + "\n" for prompt in prompts),
    })  # fmt: skip
    monkeypatch.chdir(root)
    monkeypatch.setenv(KEY_ENV, KEY)
    return root


class TwoStages:
    """A command over the server with a first stage that leaves `k`, and what the only run has left."""

    def __init__(self, root: Path, server: Loopback) -> None:
        self.root, self.server = root, server

    def __call__(self, *given: str, command: str = "run", models: str = "openai:m", k: int = 2) -> int:
        lines = []
        for name in PROTOCOLS:
            lines += [
                f"[router.providers.{name}]", f'protocol = "{name}"', f'base-url = "{self.server.url}"',
                f'key-env = "{KEY_ENV}"', f'[router.prices."{name}:m"]', "input = 10.0", "output = 10.0",
            ]  # fmt: skip
        (self.root / "skill-health.toml").write_text("\n".join(lines), "utf-8")
        words = f"{command} --config skill-health.toml --models {models} --reps 2 --quiet --max-runs 400 --retrieve {k}"
        code: int = group.main([*words.split(), "--retriever", "lexical", *given], standalone_mode=False)
        return code

    @property
    def folder(self) -> Path:
        return the_run(self.root / "reports")

    def results(self) -> list[dict[str, Any]]:
        return rows(self.folder / "results.jsonl")


@pytest.fixture
def call(collection: Path, server: Loopback) -> TwoStages:
    return TwoStages(collection, server)


def read_report(folder: Path) -> RouterReport:
    return convert_record(json.loads((folder / "report.json").read_text("utf-8")), RouterReport)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["text", "json_schema"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_is_asked_about_the_shortlist_alone(
    protocol: str, mode: str, call: TwoStages, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--mode", mode, models=f"{protocol}:m") == 0
    assert {len(listed(seen)) for seen in call.server.seen} == {2}
    folder = call.folder
    manifest = read_manifest(str(folder))
    assert problems("router-manifest", manifest) == []
    facts = read_facts(convert_record(manifest, RouterManifest))
    for row in call.results():
        assert set(row["ranking"]) <= {*facts.asked(row["prompt_id"]), "none"}
    report = read_report(folder)
    assert problems("router-report", json.loads((folder / "report.json").read_text("utf-8"))) == []
    (model,) = report.models
    found, own = report.retrieval, model.stages
    assert found and own
    assert (found.k, found.router, [each.depth for each in found.recall]) == (2, "lexical", [1, 2])
    hits = sum(prompt.expected in facts.shortlists[name] for name, prompt in facts.prompts.items() if prompt.expected)
    assert found.recall[-1].prompts.value == pytest.approx(hits / 9, abs=1e-6)
    low, high = proportion_confint(hits, 9, method="wilson")
    recall = found.recall[-1].prompts
    # Of few clusters it is wider than Wilson's, as all intervals of a report are.
    assert recall.low is not None and recall.high is not None
    assert low - 0.03 < recall.low <= low and high <= recall.high < high + 0.03
    assert (found.recall[-1].prompts.n, found.recall[-1].skills.clusters) == (9, 8)
    # An oracle errs only where the first stage does.
    assert own.ranked.value == 1.0 and own.retrieved.n == own.product.n == 18
    assert own.product.value == pytest.approx(own.retrieved.value, abs=1e-6)
    assert own.product == model.metrics.top1_skill
    assert "Two stages: lexical left 2 of 8 skills" in " ".join(report.notes)
    out, err = capsys.readouterr()
    assert f"the right one is among them for {hits} of 9 prompts with a skill" in err
    assert "Two stages: lexical leaves 2" in out
    assert "### Two stages" in (folder / "report.md").read_text("utf-8")


@pytest.mark.slow
def test_a_skill_that_was_not_shown_is_no_answer(call: TwoStages) -> None:
    def stubborn(seen: Seen) -> Any:
        hidden = next(f"{topic}-work" for topic in TOPICS if f"{topic}-work" not in listed(seen))
        return answer(seen, oracle(seen) if "quaffle" in seen.text.rpartition("<<<")[2] else ranking(hidden))

    call.server.react = stubborn
    call("--despite-check")
    assert {(row["status"], *row["kinds"]) for row in call.results()} == {("format_failure", "unknown_skill")}


@pytest.mark.slow
def test_what_is_left_goes_on_with_the_same_shortlists(call: TwoStages) -> None:
    with pytest.raises(AbortedError, match="cap of 15 calls"):
        call("--max-runs", "15")
    first = len(call.server.seen)
    assert first == 15
    (call.root / "skills" / "bees-work" / "SKILL.md").touch()
    assert call() == 0
    assert len(call.server.seen) == 22 + 6
    first_time = told(call.folder)
    shutil.rmtree(call.root / "reports")
    assert call() == 0
    assert told(call.folder) == first_time


def told(folder: Path) -> Any:
    """What a run found, without what depends on the clock."""
    report = read_report(folder)
    found = [(model.metrics, model.stages, model.position, model.confusion) for model in report.models]
    return (
        [{**row, "duration_ms": None} for row in rows(folder / "results.jsonl")],
        report.retrieval,
        report.prompts,
        report.skills,
        found,
    )


@pytest.mark.slow
def test_another_k_or_router_is_another_run(call: TwoStages) -> None:
    for options in (("--retriever", "lexical"), ("--retriever", "lexical:tfidf"), ("--retrieve", "3")):
        assert call(*options) == 0
    assert len(list((call.root / "reports" / "router").iterdir())) == 3


@pytest.mark.slow
def test_free_routers_choose_from_the_shortlist_too(call: TwoStages) -> None:
    assert call(models="lexical:overlap,lexical", k=1) == 0
    for row in call.results():
        assert len(row["ranking"]) == 1


def test_the_check_by_itself_takes_two_stages(call: TwoStages) -> None:
    with pytest.raises(UsageError):
        call("--resume", "nothing")
    words = "check --config skill-health.toml --models openai:m --retrieve 2 --retriever lexical --max-budget-usd 1"
    assert group.main(words.split(), standalone_mode=False) == 0
    assert {len(listed(seen)) for seen in call.server.seen} == {2} and len(call.server.seen) == 6


def test_a_missing_extra_says_what_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from skill_health.router.lexicon import embedder

    monkeypatch.setattr(embedder, "missing_modules", lambda names: ("onnxruntime",))
    embedder.load_embedder.cache_clear()
    with pytest.raises(
        UsageError,
        match=r"--retrieve: 'hybrid' needs the extra embed \(onnxruntime\): .*--retriever lexical needs nothing",
    ):
        retrieve(Catalogue(SKILLS), [], choices(RouterOptions(retrieve=2), RouterSettings()))
    embedder.load_embedder.cache_clear()


@pytest.mark.slow
def test_a_manifest_that_was_edited_costs_figures_and_no_crash(
    call: TwoStages, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call() == 0
    folder = call.folder
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    for damage in ({}, {"p0": [999_999_999, 0]}, {"p0": []}):
        manifest["retrieval"]["shortlists"] = damage
        (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
        capsys.readouterr()
        assert group.main(["report", str(folder), "--format", "json"], standalone_mode=False) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["retrieval"]["recall"][-1]["prompts"]["value"] <= 1 / 9 + 1e-9
    with pytest.raises(UsageError, match=re.escape(folder.name)):
        call("--resume", folder.name)
    manifest["retrieval"]["shortlists"] = {"p0": [-1]}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(UsageError, match="is not a manifest of ours"):
        group.main(["report", str(folder)], standalone_mode=False)


@pytest.mark.slow
def test_figures_of_a_shortlist_are_marked_as_such_wherever_they_stand(
    call: TwoStages, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(models="openai:m,lexical") == 0
    two = call.folder.name
    (line, other) = rows(call.root / "reports" / "router-history.jsonl")
    assert {each["settings"]["retrieve"] for each in (line, other)} == {2}
    assert line["settings"]["retriever"] == "lexical"
    assert problems("router-history", line) == []
    capsys.readouterr()
    assert main(["status", "--config", "skill-health.toml"]) in (0, 1)
    assert "of a shortlist" in capsys.readouterr().out
    assert call("--retrieve", "0", models="openai:m,lexical") == 0
    capsys.readouterr()
    (one,) = {path.name for path in (call.root / "reports" / "router").iterdir()} - {two}
    assert group.main(["compare", one, two], standalone_mode=False) in (0, 1)
    shown = " ".join(capsys.readouterr().out.split())
    assert "what models saw of the collection: 2 skills that lexical (content) found -> all of it" in shown


@pytest.mark.slow
def test_a_sweep_takes_no_baseline_of_another_first_stage(call: TwoStages, capsys: pytest.CaptureFixture[str]) -> None:
    for k, found in ((2, True), (3, True), (2, False)):
        assert call(command="sweep", models="lexical", k=k) == 0
        assert ("the first" in capsys.readouterr().err) is found
