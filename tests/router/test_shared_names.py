"""Names that several skills have: listed as hosts list them, told apart by folders, and scored by a declared rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations

import pytest
from callers import KEY, KEY_ENV
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback, Seen, answer, listed, ranking
from made_collection import Write, md

from skill_health.bench.collection import name_skills
from skill_health.commands.router import command as group
from skill_health.core.errors import UsageError
from skill_health.core.validation import problems
from skill_health.discovery.plugins import Plugins
from skill_health.documents._record import convert_record
from skill_health.documents.router_report import RouterReport
from skill_health.router.inputs import load_inputs
from skill_health.router.instrument.planted import NAME
from skill_health.router.listing import shared_names, sole_names
from skill_health.router.records import ListedSkill
from skill_health.rules.routing._groups import name_key
from skill_health.skill.parse import parse_skill

FILES = {
    "apps/web/deploy/SKILL.md": md("deploy", "Ships the web site."),
    "apps/api/deploy/SKILL.md": md("deploy", "Ships the service behind it."),
    "apps/tidy/SKILL.md": md("tidy", "Tidies lists."),
    "skill-health.toml": "",
}
LABELS = {
    "web site": "apps/web/deploy", "service behind": "apps/api:deploy", "tidy my lists": "tidy", "hello": None,
}  # fmt: skip


def prompts(labels: Mapping[str, str | None]) -> str:
    records = (
        {"prompt_id": f"p{n}", "prompt": text, "expected_primary_skill": skill}
        for n, (text, skill) in enumerate(labels.items())
    )
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_host_lists_them_alike_and_folders_tell_them_apart(write: Write) -> None:
    inputs = load_inputs([str(write(FILES | {"prompts.jsonl": prompts(LABELS)}))])
    shown = inputs.catalogue.shown
    assert [(skill.name, skill.listed_as) for skill in shown] == [
        ("apps/api:deploy", "deploy"), ("tidy", "tidy"), ("apps/web:deploy", "deploy"),
    ]  # fmt: skip
    assert [prompt.expected for prompt in inputs.prompts] == ["apps/web:deploy", "apps/api:deploy", "tidy", None]
    assert any(
        note.startswith("deploy: 1 name of 2 skills, listed by the same name as hosts do") for note in inputs.notes
    )


FOLDERS = st.lists(
    st.lists(st.sampled_from(("a", "b", "deploy", "A")), max_size=3).map("/".join), unique=True, min_size=1, max_size=6
)


@given(FOLDERS, st.booleans())
def test_any_tree_of_namesakes_has_names_of_its_own(folders: list[str], mixed: bool) -> None:
    paths = [f"{folder}/SKILL.md".lstrip("/") for folder in folders]
    skills = [
        parse_skill(md("Deploy" if mixed and n % 2 else "deploy", f"Ships {n}.").encode(), path)
        for n, path in enumerate(paths)
    ]
    found = name_skills(skills, Plugins("/nowhere"))
    names = [own.listed for own in found.names.values()]
    assert len(set(names)) == len(skills)
    if len(skills) == 1:
        assert names == ["deploy"]
    else:
        # Folders that differ in case alone are two only where the file system says so: those are refused.
        assert all(own.shared in ("deploy", "Deploy") and own.shared != own.listed for own in found.names.values())
    for order in list(permutations(skills))[:4]:
        assert name_skills(order, Plugins("/nowhere")) == found


def test_spellings_of_one_name_share_it() -> None:
    skills = [ListedSkill(f"{at}:x", "", shared=name) for at, name in enumerate(("Deploy", "deploy", "tidy"))]
    assert shared_names(skills) == {"Deploy": ("0:x", "1:x"), "deploy": ("0:x", "1:x")}
    assert sole_names(skills) == {"tidy": "2:x"}
    assert name_key("Deploy") == name_key("deploy")


def right(seen: Seen) -> str:
    """The name that is read of the right skill."""
    request = seen.text.rpartition("<<<REQUEST")[2]
    if "quaffle" in request:
        return NAME
    return "deploy" if "web site" in request or "service" in request else "tidy" if "tidy" in request else "none"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(lambda seen: answer(seen, ranking(right(seen)))) as running:
        yield running


@pytest.fixture
def call(write: Write, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> Callable[..., RouterReport]:
    own = f'[router.providers.local]\nprotocol = "openai"\nbase-url = "{server.url}"\nkey-env = "{KEY_ENV}"\n'
    root = write(FILES | {"prompts.jsonl": prompts(LABELS), "own.toml": own})
    monkeypatch.chdir(root)
    monkeypatch.setenv(KEY_ENV, KEY)

    def run(*given: str) -> RouterReport:
        arguments = ["run", "--config", "own.toml", "--models", "local:m,lexical", "--quiet", "--unsafe-no-cost-cap"]
        assert group.main([*arguments, *given], standalone_mode=False) == 0
        folder = max((root / "reports" / "router").iterdir())
        text = json.loads((folder / "report.json").read_text("utf-8"))
        assert problems("router-report", text) == []
        assert problems("router-manifest", json.loads((folder / "manifest.json").read_text("utf-8"))) == []
        return convert_record(text, RouterReport)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["text", "json_schema"])
def test_a_pick_of_a_shared_name_is_ambiguous_and_not_right(
    mode: str, call: Callable[..., RouterReport], server: Loopback
) -> None:
    report = call("--mode", mode)
    assert all(sorted(listed(seen))[:2] == ["deploy", "deploy"] for seen in server.seen)
    model = next(each for each in report.models if each.model == "local:m")
    local = next(each for each in report.models if each.model == "lexical")
    assert model.ambiguous and local.ambiguous
    # Two of four prompts: the model says "deploy" each time, and nobody knows which it means.
    assert (model.metrics.top1.value, model.ambiguous.value, model.ambiguous.n) == (0.5, 0.5, 12)
    assert model.metrics.steals.value == 0.0 and not model.steals.thieves
    assert {(cell.expected, cell.picked) for cell in model.confusion} == {
        ("apps/api:deploy", "deploy"), ("apps/web:deploy", "deploy"), ("tidy", "tidy"), ("none", "none"),
    }  # fmt: skip
    # What is computed here names folders.
    assert local.metrics.top1_skill.value == 1.0 and local.ambiguous.value == 0.0
    assert [(each.name, each.skills) for each in report.shared] == [("deploy", ("apps/api:deploy", "apps/web:deploy"))]
    assert any("ambiguous and does not count as right (2 prompts expect one" in note for note in report.notes)


@pytest.mark.slow
def test_by_their_folders_models_can_tell_them_apart(call: Callable[..., RouterReport], server: Loopback) -> None:
    folder = {"web site": "apps/web:deploy", "service": "apps/api:deploy"}

    def told(seen: Seen) -> str:
        request = seen.text.rpartition("<<<REQUEST")[2]
        return next((name for text, name in folder.items() if text in request), right(seen))

    server.react = lambda seen: answer(seen, ranking(told(seen)))
    report = call("--namesakes-by-path")
    assert not any(model.ambiguous for model in report.models)
    assert {model.metrics.top1_skill.value for model in report.models} == {1.0}
    assert report.shared == ()


@pytest.mark.slow
def test_alone_on_a_shortlist_the_name_is_clear(call: Callable[..., RouterReport], server: Loopback) -> None:
    """One skill for each prompt: whichever of the two is shown is the one that is meant."""
    report = call("--retrieve", "1", "--retriever", "lexical")
    model = next(each for each in report.models if each.model == "local:m")
    assert model.ambiguous and model.ambiguous.value == 0.0
    assert model.metrics.top1.value == 1.0
    assert {len(listed(seen)) for seen in server.seen} == {1}


def test_one_that_hosts_hide_leaves_the_name_to_the_other(write: Write) -> None:
    hidden = FILES["apps/api/deploy/SKILL.md"].replace("---\n#", "disable-model-invocation: true\n---\n#")
    inputs = load_inputs([str(write(FILES | {"apps/api/deploy/SKILL.md": hidden, "prompts.jsonl": prompts(LABELS)}))])
    assert sole_names(inputs.catalogue.shown) == {"deploy": "apps/web:deploy"}
    assert shared_names(inputs.catalogue.shown) == {}


def test_the_answer_for_no_skill_is_nobody_s_name(write: Write) -> None:
    both = {"a/none/SKILL.md": md("None", "Does nothing."), "b/none/SKILL.md": md("none", "Does less.")}
    with pytest.raises(UsageError, match=r"(?i)'none'"):
        load_inputs([str(write(FILES | both | {"prompts.jsonl": prompts(LABELS)}))])


def test_a_label_that_may_be_two_says_so(write: Write) -> None:
    inputs = load_inputs([str(write(FILES | {"prompts.jsonl": prompts({"ship it": "deploy"})}))])
    (problem,) = inputs.problems
    assert problem.message == '"deploy" may be apps/api:deploy or apps/web:deploy'
