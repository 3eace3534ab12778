"""What every command starts from, now and at an earlier revision."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from made_collection import Write, md
from repositories import commit, git

from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.router.inputs import RouterInputs, catalogue_at, load_inputs, load_listing
from skill_health.router.listing import catalogue_digest, collection_at


def plan(*records: tuple[str, str | None, str]) -> str:
    return "".join(
        json.dumps({"prompt_id": name, "prompt": f"Do {name}.", "expected_primary_skill": expected, **({"split": split} if split else {})}) + "\n"
        for name, expected, split in records
    )  # fmt: skip


SKILLS = {"skills/a/SKILL.md": md("a"), "skills/b/SKILL.md": md("b"), "skills/c/SKILL.md": md("c")}
PROMPTS = plan(("p1", "a", "train"), ("p2", "b", "test"), ("p3", None, "test"))
QUERIES = '[{"query": "Do a.", "should_trigger": true}, {"query": "Do x.", "should_trigger": false}]'
CASE = '{"case_id": "c1", "prompt": "Do a.", "expected_primary_skill": "a"}\n'


def ids(inputs: RouterInputs) -> list[str]:
    return [prompt.prompt_id for prompt in inputs.prompts]


def test_without_sections_a_catalogue_lacks_only_what_they_say(write: Write) -> None:
    body = "\n## When to use\n\nFor maps.\n"
    root = write({"skills/a/SKILL.md": md("a") + body, "skills/b/SKILL.md": "no frontmatter", "skills/c/SKILL.md": ""})
    whole = load_listing((str(root),))
    less = load_listing((str(root),), sections=False)
    assert [skill.when for skill in whole.catalogue.shown] == ["For maps.", "", ""]
    assert less.catalogue.shown == tuple(replace(skill, when="") for skill in whole.catalogue.shown)
    assert (less.notes, less.catalogue.omitted) == (whole.notes, whole.catalogue.omitted)


def test_the_registry_comes_first_then_cases_then_queries_then_evals(write: Write) -> None:
    evals = '{"skill_name": "b", "evals": [{"id": 1, "prompt": "Do b."}]}'
    labels = {"activation-cases.jsonl": CASE, "prompts.jsonl": PROMPTS}
    beside = {"skills/b/evals/evals.json": evals, "skills/a/evals/trigger-queries.json": QUERIES}
    root = write(SKILLS | beside | labels)
    assert ids(load_inputs([str(root)])) == ["p1", "p2", "p3"]
    (root / "prompts.jsonl").unlink()
    assert ids(load_inputs([str(root)])) == ["c1"]
    (root / "activation-cases.jsonl").unlink()
    assert [(p.text, p.target, p.rejected) for p in load_inputs([str(root)]).prompts] == [
        ("Do a.", "a", ()),
        ("Do x.", None, ("a",)),
    ]
    (root / "skills/a/evals/trigger-queries.json").unlink()
    assert ids(load_inputs([str(root)])) == ["b:1"]
    (root / "skills/b/evals/evals.json").unlink()
    with pytest.raises(
        UsageError, match=r"no prompts for .*: looked for prompts\.jsonl, .* name a file with --prompts"
    ):
        load_inputs([str(root)])


def test_files_that_hold_no_prompts_are_no_source(write: Write) -> None:
    files = {
        "skills/a/trigger-settings.json": '{"hour": 4}',
        "skills/b/evals/evals.json": '{"evals": [{"prompt": "Do b."}]}',
    }
    root = write(SKILLS | files | {"empty.csv": "query,skill,should_trigger\n"})
    assert [prompt.target for prompt in load_inputs([str(root)]).prompts] == ["b"]
    with pytest.raises(UsageError, match=r"no labelled prompt in .*empty"):
        load_inputs([str(root)], None, [str(root / "empty.csv")])


def test_named_files_stand_in_for_the_registry(write: Write) -> None:
    root = write(SKILLS | {"prompts.jsonl": PROMPTS, "skills/a/q.json": QUERIES, "more.jsonl": plan(("m", "c", ""))})
    inputs = load_inputs([str(root)], None, [str(root / "skills/a/q.json"), str(root / "more.jsonl")])
    assert [prompt.text for prompt in inputs.prompts] == ["Do m.", "Do a.", "Do x."]


def test_named_files_may_be_mapped(write: Write) -> None:
    root = write({
        "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies.\n---\n# Tidy\n",
        "cases.yaml": "cases:\n  - {question: Tidy up, target: tidy}\n  - {question: Hello, target: null}\n",
    })  # fmt: skip
    named = [str(root / "cases.yaml")]
    found = load_inputs([str(root)], prompt_files=named, field_map="prompt=question,skill=target")
    assert [(prompt.text, prompt.expected) for prompt in found.prompts] == [("Tidy up", "tidy"), ("Hello", None)]
    (problem,) = load_inputs([str(root)], prompt_files=named).problems
    assert "--map prompt=FIELD,skill=FIELD" in problem.help
    with pytest.raises(UsageError, match="--map says how the files of --prompts are to be read"):
        load_inputs([str(root)], field_map="prompt=question,skill=target")


def test_the_configured_source_is_read_whatever_its_format(write: Write) -> None:
    settings = '[sources]\nprompts = ["labels.csv"]\n[router]\nlisting = "claude-code"\n'
    labels = "query,skill,should_trigger\nx,a,true\n"
    root = write(SKILLS | {"skill-health.toml": settings, "labels.csv": labels})
    inputs = load_inputs([str(root)])
    assert [prompt.source for prompt in inputs.prompts] == ["labels.csv:2"]
    assert inputs.catalogue.listing == "claude-code"
    assert load_inputs([str(root)], listing="full").catalogue.listing == "full"


def test_a_file_with_a_default_name_is_read_whatever_its_format(write: Write) -> None:
    labels = '{"id": "p1", "prompt": "Do a.", "expected": "a"}\n'
    root = write(SKILLS | {"registries/prompts.jsonl": labels, "prompts.jsonl": '{"id": "x", "title": "no labels"}\n'})
    inputs = load_inputs([str(root)])
    assert [(prompt.text, prompt.target) for prompt in inputs.prompts] == [("Do a.", "a")]


def test_one_skill_means_its_collection(write: Write) -> None:
    root = write(SKILLS | {"prompts.jsonl": PROMPTS, "skill-health.toml": ""})
    inputs = load_inputs([str(root / "skills" / "b" / "SKILL.md")])
    assert inputs.catalogue.names == ("a", "b", "c")
    assert inputs.paths == ("skills/b/SKILL.md",)
    assert ids(inputs) == ["p1", "p2", "p3"]


def test_filters(write: Write) -> None:
    root = str(write(SKILLS | {"prompts.jsonl": PROMPTS}))
    assert ids(load_inputs([root], prompt_ids=["p3", "p1"])) == ["p1", "p3"]
    assert ids(load_inputs([root], skills=["a"])) == ["p1"]
    assert ids(load_inputs([root], skills=["none", "b"])) == ["p2", "p3"]
    assert ids(load_inputs([root], splits=["test"])) == ["p2", "p3"]
    both = load_inputs([root], splits=["test"], skills=["b"])
    assert (ids(both), both.total, both.catalogue.names) == (["p2"], 3, ("a", "b", "c"))


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({"prompt_ids": ["p4"]}, "no prompt has the id 'p4'"),
        ({"skills": ["zz"]}, "no skill is called 'zz'"),
        ({"splits": ["tests"]}, "'tests'; did you mean 'test'?"),
        ({"skills": ["c"]}, "none of the 3 prompts is left by the filters"),
        ({"listing": "nobody"}, "there is no listing 'nobody'"),
    ],
)
def test_mistaken_filters(write: Write, filters: dict[str, list[str]], wanted: str) -> None:
    root = str(write(SKILLS | {"prompts.jsonl": PROMPTS}))
    with pytest.raises(UsageError) as caught:
        load_inputs([root], **filters)  # type: ignore[arg-type]
    assert wanted in str(caught.value)


def test_prompts_without_splits_cannot_be_narrowed_by_them(write: Write) -> None:
    root = str(write(SKILLS | {"prompts.jsonl": plan(("p1", "a", ""))}))
    with pytest.raises(UsageError, match="router prompts --write-split FILE"):
        load_inputs([root], splits=["test"])


def test_bad_records_are_handed_on(write: Write) -> None:
    root = str(write(SKILLS | {"prompts.jsonl": PROMPTS + "{\n"}))
    inputs = load_inputs([root])
    assert (len(inputs.prompts), [problem.line for problem in inputs.problems]) == (3, [4])
    (Path(root) / "prompts.jsonl").write_text('{"prompt_id": 1}\n', encoding="utf-8")
    assert load_inputs([root]).prompts == ()


def test_an_empty_collection_is_the_users_mistake(write: Write) -> None:
    root = str(write({"readme.md": "x"}))
    with pytest.raises(UsageError, match=f" {re.escape(root)}:"):
        load_inputs([root])


def test_nothing_depends_on_where_it_is_called_from(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = write(SKILLS | {"prompts.jsonl": PROMPTS, "skill-health.toml": ""})
    absolute = load_inputs([str(root)])
    monkeypatch.chdir(root)
    assert load_inputs([]) == absolute
    monkeypatch.chdir(root / "skills")
    assert load_inputs([".."]) == absolute


def at(root: Path, revision: str, *paths: str, config: Config | None = None) -> tuple[str, ...]:
    return catalogue_at(os.path.realpath(root), config or Config(), revision, None, paths).names


@pytest.mark.slow
def test_the_catalogue_of_an_earlier_revision(write: Write) -> None:
    root = write(SKILLS | {"skills/d/SKILL.md": md("d", "Was here.")})
    commit(root)
    before = catalogue_digest(load_inputs([str(root)], None, [str(write({"p.jsonl": PROMPTS}) / "p.jsonl")]).catalogue)
    (root / "skills/d/SKILL.md").unlink()
    write({"skills/a/SKILL.md": md("a", "Does more."), "skills/e/SKILL.md": md("e")})
    commit(root)
    write({"skills/a/SKILL.md": md("a", "Not committed.")})
    then, now = (catalogue_at(os.path.realpath(root), Config(), revision) for revision in ("HEAD~1", "HEAD"))
    assert catalogue_digest(then) == before
    assert {skill.name: skill.text for skill in now.shown}["a"] == "Does more."
    assert (then.names, now.names) == (("a", "b", "c", "d"), ("a", "b", "c", "e"))
    assert then.shown[0].path == "skills/a/SKILL.md"
    assert catalogue_at(os.path.realpath(root), Config(), "HEAD", "claude-code").listing == "claude-code"
    assert not [name for name in os.listdir(root) if name not in ("skills", ".git", "p.jsonl")]


@pytest.mark.slow
def test_the_same_paths_are_looked_at(write: Write) -> None:
    root = write({"one/a/SKILL.md": md("a"), "two/b/SKILL.md": md("b"), "two/c/SKILL.md": md("c")})
    commit(root)
    assert at(root, "HEAD", "two") == ("b", "c")
    assert at(root, "HEAD", "one", "two/c") == ("a", "b", "c")
    assert at(root, "HEAD", "three") == ()
    assert at(root / "two", "HEAD") == ("b", "c")
    assert at(root, "HEAD", config=Config(exclude=("/two/b/",))) == ("a", "c")


@pytest.mark.slow
def test_ignored_skills_and_copies_are_passed_over_as_they_are_now(write: Write) -> None:
    copies = {
        f"pack/{folder}/{name}": text
        for folder in ("a", "copy/a")
        for name, text in (("SKILL.md", md("a")), ("run.py", "1"))
    }
    root = write(copies | {".gitignore": "/pack/old/\n", "pack/old/b/SKILL.md": md("b")})
    (root / "pack" / "linked").symlink_to("a")
    git(root, "init", "-q")
    git(root, "add", "-Af")
    git(root, "commit", "-qm", "x")
    assert at(root / "pack", "HEAD") == at(root, "HEAD") == ("a",)
    write({"pack/copy/a/run.py": "2"})
    commit(root)
    assert at(root, "HEAD") == ("a",), "the same SKILL.md"
    write({"pack/copy/a/SKILL.md": md("a") + "more\n"})
    commit(root)
    assert at(root, "HEAD") == ("pack:a", "pack/copy:a")


def test_links_out_of_the_revision_are_not_followed(write: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("outside") / "SKILL.md"
    secret.write_text(md("secret"), encoding="utf-8")
    root = write({"skills/a/SKILL.md": md("a")})
    (root / "skills" / "b").mkdir()
    (root / "skills" / "b" / "SKILL.md").symlink_to(secret)
    (root / "skills" / "out").symlink_to(secret.parent)
    commit(root)
    with collection_at(os.path.realpath(root), Config(), "HEAD") as (found, _):
        skills = found.skills
    assert [skill.name for skill in skills if skill.description] == ["a"]


@pytest.mark.slow
def test_odd_names_large_files_and_other_line_ends(write: Write) -> None:
    root = write(
        {"skills/ä b/SKILL.md": md("a").replace("\n", "\r\n"), "skills/big/SKILL.md": md("big") + "x" * 3_000_000}
    )
    commit(root)
    assert at(root, "HEAD") == ("big", "a")


def test_what_is_no_revision(write: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = write(SKILLS)
    commit(root)
    for revision in ("nothing", "HEAD~9", "HEAD:skills", ""):
        with pytest.raises(UsageError, match=f"'{revision}'"):
            at(root, revision)
    with pytest.raises(UsageError, match="'--all'"):
        at(root, "--all")
    plain = tmp_path_factory.mktemp("plain")
    with pytest.raises(UsageError, match=plain.name):
        at(plain, "HEAD")


def test_without_git(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(SKILLS)
    commit(root)
    monkeypatch.setenv("PATH", str(root))
    with pytest.raises(UsageError, match=r"^git .* not installed"):
        at(root, "HEAD")
