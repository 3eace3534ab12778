"""Skills of one name: those of plugins are told apart, copies count once, and others are refused or left out."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from made_collection import Write, md
from repositories import commit, git

from skill_health.bench.collection import name_skills
from skill_health.cli import main
from skill_health.config.settings import load_config
from skill_health.core.errors import UsageError
from skill_health.discovery.plugins import Plugins
from skill_health.router.inputs import RouterInputs, catalogue_at, load_inputs
from skill_health.skill.model import Skill
from skill_health.skill.parse import parse_skill


def prompts(*labels: str | None) -> str:
    rows = (
        {"prompt_id": f"p{n}", "prompt": f"Do {n}.", "expected_primary_skill": name} for n, name in enumerate(labels)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


CHATS = {
    "discord/.claude-plugin/plugin.json": '{"name": "discord"}',
    "discord/skills/access/SKILL.md": md("access", "Approves Discord users."),
    "imessage/.claude-plugin/plugin.json": '{"name": "imessage"}',
    "imessage/skills/access/SKILL.md": md("access", "Approves iMessage users."),
    "imessage/skills/pair/SKILL.md": md("pair", "Pairs a phone."),
    "skill-health.toml": "",
}


def names(inputs: RouterInputs) -> tuple[str, ...]:
    return inputs.catalogue.names


def test_plugins_tell_their_skills_apart(write: Write) -> None:
    root = write(
        CHATS | {"skills/tidy/SKILL.md": md("tidy", "Tidies."), "prompts.jsonl": prompts("discord:access", "pair")}
    )
    inputs = load_inputs([str(root)])
    assert names(inputs) == ("discord:access", "imessage:access", "imessage:pair", "tidy")
    assert [prompt.expected for prompt in inputs.prompts] == ["discord:access", "imessage:pair"]
    narrowed = load_inputs([str(root)], skills=["pair"])
    assert [prompt.prompt_id for prompt in narrowed.prompts] == ["p1"]
    with pytest.raises(UsageError, match="'access' may be discord:access or imessage:access: say which"):
        load_inputs([str(root)], skills=["access"])


@pytest.mark.parametrize("key", ["expected_primary_skill", "acceptable_secondary_skills", "rejected_skills"])
def test_a_plain_name_that_may_be_two_is_a_mistake_that_names_both(key: str, write: Write) -> None:
    label = {"expected_primary_skill": "pair", key: "access" if key.startswith("expected") else ["access"]}
    root = write(CHATS | {"prompts.jsonl": json.dumps({"prompt_id": "p", "prompt": "Do.", **label}) + "\n"})
    (problem,) = load_inputs([str(root)]).problems
    assert problem.message == '"access" may be discord:access or imessage:access'
    assert problem.help == "Say which of them is meant."


def test_a_name_outside_a_plugin_stays_what_it_is(write: Write) -> None:
    files = CHATS | {"skills/access/SKILL.md": md("access", "Grants rights."), "prompts.jsonl": prompts("access")}
    inputs = load_inputs([str(write(files))])
    assert names(inputs) == ("discord:access", "imessage:access", "imessage:pair", "access")
    assert inputs.prompts[0].expected == "access"


COPIES = {
    "skills/tidy/SKILL.md": md("tidy", "Tidies."),
    ".agents/skills/tidy/SKILL.md": md("tidy", "Tidies."),
    ".agents/skills/tidy/more.md": "a copy with another file",
    "skill-health.toml": "",
}


def test_exact_copies_count_once_and_answer_to_all_their_names(write: Write) -> None:
    vendored = {
        f"vendor/{path.removeprefix('imessage/')}": text for path, text in CHATS.items() if path.startswith("imessage/")
    }
    vendored["vendor/.claude-plugin/plugin.json"] = '{"name": "vendored"}'
    vendored["vendor/skills/pair/notes.md"] = "vendored"
    root = write(CHATS | COPIES | vendored | {"prompts.jsonl": prompts("vendored:pair", "pair", "tidy")})
    inputs = load_inputs([str(root)])
    assert names(inputs) == ("discord:access", "imessage:access", "imessage:pair", "tidy")
    assert [prompt.expected for prompt in inputs.prompts] == ["imessage:pair", "imessage:pair", "tidy"]
    assert inputs.notes[0] == (
        "2 skills left out, because name and SKILL.md are those of another: .agents/skills/tidy/SKILL.md "
        "(skills/tidy/SKILL.md stays); vendor/skills/pair/SKILL.md (imessage/skills/pair/SKILL.md stays)"
    )


NAMESAKES = {
    "skills/tidy/SKILL.md": md("tidy", "Tidies."),
    "docs/ja/skills/tidy/SKILL.md": md("tidy", "Seiton."),
    "docs/ja/skills/tidy/evals/evals.json": '{"skill_name": "tidy", "evals": [{"id": 1, "prompt": "Seiton."}]}',
    "a/skills/tidy/SKILL.md": md("Tidy", "Tidies more."),
    "skill-health.toml": "",
}
LEFT_OUT = (
    "2 skills left out, because another is listed by the same name: a/skills/tidy/SKILL.md, "
    "docs/ja/skills/tidy/SKILL.md (skills/tidy/SKILL.md stays)"
)


def test_other_namesakes_are_refused_with_the_choice_there_is(write: Write) -> None:
    root = write(NAMESAKES | {"prompts.jsonl": prompts("tidy")})
    with pytest.raises(
        UsageError, match=r"\(and 1 more such pair\).*: put their folders .* by --namesakes-by-path .*--skip-namesakes"
    ):
        load_inputs([str(root)], namesakes="refuse")
    inputs = load_inputs([str(root)], namesakes="skip")
    assert (names(inputs), inputs.notes[0]) == (("tidy",), LEFT_OUT)
    write({"skill-health.toml": '[router]\nnamesakes = "skip"\n'})
    assert load_inputs([str(root)]).catalogue == inputs.catalogue
    (root / "prompts.jsonl").unlink()
    with pytest.raises(UsageError, match="no prompts for"):
        load_inputs([str(root)])


def test_namesakes_can_be_listed_and_labelled_with_their_folders(write: Write) -> None:
    other = {"b/first/SKILL.md": md("tidy", "Tidies first."), "skills/plot/SKILL.md": md("plot", "Plots.")}
    labels = ("skills:tidy", "docs/ja/skills/tidy", "a/skills:Tidy", "b/first:tidy", "b/first", "plot", "skills/plot")
    root = write(NAMESAKES | other | {"prompts.jsonl": prompts(*labels, "tidy")})
    inputs = load_inputs([str(root)], namesakes="path")
    assert names(inputs) == ("a/skills:Tidy", "b/first:tidy", "docs/ja/skills:tidy", "plot", "skills:tidy")
    wanted = ["skills:tidy", "docs/ja/skills:tidy", "a/skills:Tidy", "b/first:tidy", "b/first:tidy", "plot", "plot"]
    assert [prompt.expected for prompt in inputs.prompts] == wanted
    (problem,) = inputs.problems
    assert problem.message.startswith('"tidy" may be ')
    write({"skill-health.toml": '[router]\nnamesakes = "path"\n'})
    assert load_inputs([str(root)]).catalogue == inputs.catalogue
    (root / "prompts.jsonl").unlink()
    beside = load_inputs([str(root)])
    assert [prompt.expected for prompt in beside.prompts] == ["docs/ja/skills:tidy"]


def test_namesakes_within_a_plugin_are_told_apart_too(write: Write) -> None:
    twice = CHATS | {"imessage/skills/more/access/SKILL.md": md("access", "Grants more.")}
    root = write(twice | {"prompts.jsonl": prompts("discord:access", "imessage/skills/more:access")})
    inputs = load_inputs([str(root)], namesakes="path")
    assert names(inputs) == (
        "discord:access", "imessage/skills:access", "imessage/skills/more:access", "imessage:pair",
    )  # fmt: skip
    assert inputs.problems == ()


def test_the_first_is_the_same_in_any_order() -> None:
    def at(path: str) -> Skill:
        return parse_skill(md("a", path).encode(), path)

    skills = [at(path) for path in ("z/a/SKILL.md", "b/a/a/SKILL.md", "c/a/SKILL.md")]
    for order in permutations(skills):
        found = name_skills(order, Plugins("/nowhere"), "skip")
        assert [skill.path for skill in found.skills] == ["c/a/SKILL.md"]


def test_skills_that_cannot_be_read_are_no_copies(write: Write) -> None:
    root = write({"skills/a/x": "", "more/a/x": "", "skills/b/SKILL.md": md("b", "B."), "prompts.jsonl": prompts("b")})
    for folder in ("skills", "more"):
        (root / folder / "a" / "SKILL.md").symlink_to("nowhere")
    with pytest.raises(UsageError, match="'a'"):
        load_inputs([str(root)], namesakes="refuse")
    assert [skill.name for skill in load_inputs([str(root)]).catalogue.omitted] == ["more:a", "skills:a"]


@pytest.mark.slow
def test_commands_take_the_option(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(write(NAMESAKES | {"prompts.jsonl": prompts("tidy", None)}))
    for command in (
        ["run", "--models", "lexical:tfidf", "--quiet"], ["run", "--models", "lexical:tfidf", "--dry-run"],
        ["sweep", "--models", "lexical:tfidf"], ["check", "--models", "lexical:tfidf"], ["prompts"],
    ):  # fmt: skip
        assert main(["router", *command]) == (
            2 if command[0] in ("run", "sweep") else 0 if command[0] == "check" else 1
        )
        out, err = capsys.readouterr()
        assert "--skip-namesakes" in out + err or command[0] == "check"
        assert main(["router", *command, "--skip-namesakes"]) in (0, 1)
        out, err = capsys.readouterr()
        assert LEFT_OUT in out + err or command[0] == "check"


@pytest.mark.slow
def test_names_at_a_revision_are_those_of_its_plugins(write: Write) -> None:
    root = write({f"pack/{path}": text for path, text in CHATS.items() if path != "skill-health.toml"})
    commit(root)
    write({"pack/discord/.claude-plugin/plugin.json": '{"name": "chat"}'})
    config = load_config(str(root))
    wanted = ("discord:access", "imessage:access", "imessage:pair")
    assert catalogue_at(str(root), config, "HEAD").names == wanted
    assert catalogue_at(str(root / "pack" / "discord" / "skills"), config, "HEAD").names == ("discord:access",)
    assert catalogue_at(str(root), config, "HEAD", paths=["pack/imessage"]).names == wanted[1:]


@pytest.mark.slow
def test_the_hook_sees_a_renamed_plugin_and_takes_plain_names(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = json.dumps({"prompt_id": "p", "prompt": "Pairs a phone", "expected_primary_skill": "pair"}) + "\n"
    root = write(CHATS | {"prompts.jsonl": words})
    monkeypatch.chdir(root)
    commit(root)
    write({"imessage/.claude-plugin/plugin.json": '{"name": "phones"}'})
    assert main(["router", "hook"]) == 0
    out = capsys.readouterr().out
    assert "imessage:pair (removed)" in out and "phones:pair (added)" in out and "0 lost" in out
    write({"imessage/skills/pair/SKILL.md": md("pair", "Does it.")})
    write({"discord/skills/access/SKILL.md": md("access", "A phone.")})
    git(root, "add", "imessage/.claude-plugin/plugin.json")
    git(root, "commit", "-qm", "y")
    assert main(["router", "hook"]) == 1
    assert "expected phones:pair; now discord:access comes first" in capsys.readouterr().out
