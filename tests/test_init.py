"""Setting repositories up: what is found in them, what is written, and what is never touched."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from fixture_types import Run, Write
from hypothesis import given
from hypothesis import strategies as st

from skill_health.config.settings import load_config
from skill_health.core.errors import UsageError
from skill_health.init import texts
from skill_health.init.texts import escape_glob, insert_hooks, quote_toml, uses_our_hooks
from skill_health.registries.records import load_registries

CONFIG, HOOKS, FLOW = "skill-health.toml", ".pre-commit-config.yaml", ".github/workflows/skill-health.yml"
PROMPT = '{"prompt_id": "p1", "prompt": "Sort this list.", "expected_primary_skill": "a"}\n'
TASK = '{"id": "t1", "slug": "t1", "target_skill": "a"}\n'


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: Sorts {name}s. Use when a {name} is out of order.\n---\n# Sort\n\nSort {name}.\n"


def skills(*folders: str) -> dict[str, str]:
    return {f"{folder}/SKILL.md": skill(folder.rpartition("/")[2]) for folder in folders}


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


def tree(root: Path) -> dict[str, bytes]:
    """All files with their bytes, git's own left out; links as what they say."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(".git/") and (path.is_symlink() or path.is_file()):
            found[name] = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
    return found


def hook_ids(root: Path) -> list[str]:
    document = yaml.safe_load((root / HOOKS).read_text("utf-8"))
    return [hook["id"] for repo in document["repos"] for hook in repo["hooks"]]


LAYOUTS = {
    "flat": (skills("skills/a", "skills/b"), ["   2 in skills/ (collection)"]),
    "root": (skills("a", "b"), ["   2 in ./ (collection)"]),
    "agent": (skills(".claude/skills/a", ".agents/skills/b"), ["   1 in .agents/skills/ (agent folder)"]),
    "plugins": (
        skills("plugins/x/skills/a", "y/skills/b") | {"y/.claude-plugin/plugin.json": "{}"},
        ["   1 in plugins/x/skills/ (plugin)", "   1 in y/skills/ (plugin)"],
    ),
    "mixed": (
        skills("skills/a", "skills/b", ".claude/skills/a", "vendor/x/skills/c"),
        ["found 4 skills, 1 of them", "   2 in skills/", "   1 in .claude/skills/", "   1 in vendor/x/skills/"],
    ),
    "single": ({"SKILL.md": skill("one")}, ["found 1 skill:", "   1 in ./ (a skill itself)"]),
}


@pytest.mark.parametrize(("files", "said"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_layout_is_found_and_set_up_once(
    run: Run, write: Write, repository: Path, files: dict[str, str], said: list[str]
) -> None:
    write(files)
    first = run("init")
    assert first.returncode == 0, first.stderr
    for part in said:
        assert part in first.stdout
    assert first.stdout.endswith("\nnext:\n  skill-health lint\n  pre-commit install\n")
    assert load_config(str(repository)).source == CONFIG
    assert hook_ids(repository) == ["skill-health"]
    before = tree(repository)
    second = run("init")
    assert (second.returncode, tree(repository)) == (0, before)
    assert "wrote" not in second.stdout and "next:" not in second.stdout
    assert run("init", "--force").returncode == 0 and tree(repository) == before
    assert run("lint").returncode in (0, 1)


def test_no_skill_means_nothing_to_set_up(run: Run, write: Write, repository: Path) -> None:
    write({"README.md": "# Read me\n"})
    done = run("init")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert list(tree(repository)) == ["README.md"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "nowhere"), (("skills/a/SKILL.md",), "is a file"),
        (("--profile", "best"), "unknown profile"), (("--nonsense",), "No such option"),
    ],
)  # fmt: skip
def test_a_mistake_exits_2_and_writes_nothing(
    run: Run, write: Write, repository: Path, arguments: tuple[str, ...], message: str
) -> None:
    write(skills("skills/a"))
    done = run("init", *arguments)
    assert done.returncode == 2 and message in done.stderr
    assert list(tree(repository)) == ["skills/a/SKILL.md"]


def test_a_dry_run_shows_and_writes_nothing(run: Run, write: Write, repository: Path) -> None:
    write(skills("skills/a") | {"prompts.jsonl": PROMPT})
    before = tree(repository)
    done = run("init", "--dry-run", "--workflow", "--baseline", "--profile", "plan")
    assert done.returncode == 0 and tree(repository) == before
    for part in (
        '  | profile = "plan"',
        "  |       - id: skill-health-fixtures",
        "  |       - run: skill-health daily",
    ):
        assert part in done.stdout.splitlines()
    assert "would write skill-health-baseline.json (" in done.stdout


def test_registries_bring_the_second_hook_and_only_unusual_places_are_written(
    run: Run, write: Write, repository: Path
) -> None:
    result = '{"prompt_id": "p1", "ranking": ["a"]}\n'
    write(skills("skills/a") | {"prompts.jsonl": PROMPT})
    assert run("init").returncode == 0
    assert hook_ids(repository) == ["skill-health", "skill-health-fixtures"]
    assert "[sources]" not in (repository / CONFIG).read_text("utf-8")
    write({
        "eval/[old]/prompts.jsonl": PROMPT.replace("p1", "p2").replace("this", "that"),
        "eval/results.jsonl": result,
        "skills/a/examples/prompts.jsonl": PROMPT,
        "eval/bench/t1/metadata.json": TASK,
        "eval/bench/t1/task.md": "# Task\n\nSort it.\n",
        "ignored/prompts.jsonl": PROMPT,
        ".gitignore": "ignored/\n",
    })  # fmt: skip
    done = run("init", "--force")
    assert "found registries: 2 router prompts, 1 task" in done.stdout
    assert "replaced skill-health.toml (5 lines before)" in done.stdout
    sources = load_config(str(repository)).sources
    assert sources.prompts == ("prompts.jsonl", "eval/[[]old]/prompts.jsonl")
    assert sources.tasks == ("eval/bench/*/metadata.json",)
    registries = load_registries(str(repository), sources)
    assert len(registries.prompts or ()) == 2 and len(registries.tasks or ()) == 1


def test_skills_that_look_like_test_data_are_only_pointed_out(run: Run, write: Write, repository: Path) -> None:
    write(skills("skills/a", "skills/tests/b"))
    run("init")
    text = (repository / CONFIG).read_text("utf-8")
    assert '# exclude = ["/skills/tests/"]\n' in text
    assert load_config(str(repository)).exclude == ()
    (repository / CONFIG).write_text(text.replace("# exclude", "exclude"), "utf-8")
    assert run("lint").stdout.startswith("1 skill checked")


def test_a_collection_with_settings_of_its_own_is_pointed_out(run: Run, write: Write, repository: Path) -> None:
    write(skills("skills/a", "sub/skills/b") | {"sub/skill-health.toml": ""})
    assert "sub/ has a configuration of its own" in run("init").stdout
    done = run("init", "sub", "--workflow")
    assert "left alone: sub/skill-health.toml already exists" in done.stdout
    assert "skill-health lint --format github sub\n" in (repository / FLOW).read_text("utf-8")
    assert "  skill-health lint sub\n  pre-commit install\n" in done.stdout


def test_settings_in_pyproject_stay_there(run: Run, write: Write, repository: Path) -> None:
    write(skills("skills/a") | {"pyproject.toml": "[tool.skill-health]\nfail-on = 'warning'\n"})
    done = run("init", "--force", "--baseline", "--profile", "plan")
    assert "left alone: pyproject.toml already holds the settings; add to it:" in done.stdout
    assert '  profile = "plan"\n  baseline = "skill-health-baseline.json"\n' in done.stdout
    assert not (repository / CONFIG).exists() and (repository / "skill-health-baseline.json").is_file()


def test_outside_git_the_named_folder_is_set_up(run: Run, write: Write, tmp_path: Path) -> None:
    write(skills("it's here/skills/a"))
    done = run("init", "it's here")
    assert done.returncode == 0 and (tmp_path / "it's here" / HOOKS).is_file()
    assert """  skill-health lint 'it'"'"'s here'\n""" in done.stdout
    assert """  cd 'it'"'"'s here' && git init && pre-commit install\n""" in done.stdout


@pytest.mark.slow
def test_a_baseline_lets_a_big_repository_start_clean(run: Run, write: Write, repository: Path) -> None:
    write(skills("skills/a") | {"skills/b/SKILL.md": "none\n"})
    assert run("lint").returncode == 1
    assert "wrote skill-health-baseline.json (1 " in run("init", "--baseline").stdout
    assert run("lint").returncode == 0
    entries = json.loads((repository / "skill-health-baseline.json").read_text("utf-8"))["findings"]
    assert len({entry["reason"] for entry in entries}) == 1 and entries[0]["reason"]
    write({"skills/c/SKILL.md": "none\n"})
    assert run("lint").returncode == 1
    before = tree(repository)
    assert run("init", "--baseline").returncode == 0 and tree(repository) == before
    assert "replaced skill-health-baseline.json (2 findings" in run("init", "--baseline", "--force").stdout
    assert run("lint").returncode == 0


FOREIGN = """\
# Ours.
repos:
- repo: https://example.com/ruff   # pinned
  rev: v1
  hooks:
  - id: ruff
    args: ["--fix"]
  # - id: other

ci:
  skip: [ruff]
"""


def test_hooks_of_others_are_only_extended_when_asked(run: Run, write: Write, repository: Path) -> None:
    write(skills("skills/a") | {HOOKS: FOREIGN})
    done = run("init")
    assert done.returncode == 0 and (repository / HOOKS).read_text("utf-8") == FOREIGN
    assert "left alone: .pre-commit-config.yaml already exists; add to it:\n    - repo: local  #" in done.stdout
    assert "added the hook to .pre-commit-config.yaml" in run("init", "--force").stdout
    text = (repository / HOOKS).read_text("utf-8")
    assert text.startswith(FOREIGN.partition("  # - id: other")[0] + "- repo: local  # runs")
    assert text.endswith("  # - id: other\n\nci:\n  skip: [ruff]\n")
    assert hook_ids(repository) == ["ruff", "skill-health"]
    before = tree(repository)
    assert run("init", "--force").returncode == 0 and tree(repository) == before


ENTRY = texts.list_hook_lines(texts.PackageSource("https://example.com/skill-health", "v0.1.0"), fixtures=True)


@pytest.mark.parametrize(
    ("text", "works"),
    [
        ("repos:\n  - repo: local\n    hooks:\n      - id: x\n", True),
        ("repos:\n  - repo: local\n    hooks:\n      - id: x", True),
        ("repos:\r\n- repo: local\r\n  hooks:\r\n  - id: x\r\n", True),
        ("repos:\n- repo: local\n  hooks: [{id: x}]\ndefault_stages: [pre-commit]\n", True),
        ("repos:\n- repo: local\n  hooks:\n  - id: x\n    entry: |\n      # a\n      # b\n", False),
        ("repos: [{repo: local, hooks: [{id: x}]}]\n", False),
        ("a: &x [1]\nrepos:\n- repo: local\n  hooks: *x\n", False),
        ("repos: []\n", False), ("repos:\n", False), ("- a\n", False), ("repos: [\n", False), ("", False),
        ("\0", False),
        pytest.param("[" * 5000, False, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_an_entry_joins_a_file_or_leaves_it_alone(text: str, works: bool) -> None:
    longer = insert_hooks(text, ENTRY)
    assert (longer is not None) == works
    if longer is not None:
        lines = longer.splitlines()
        at = next(at for at, line in enumerate(lines) if ENTRY[0] in line)
        assert [line.strip() for line in lines[at : at + len(ENTRY)]] == [line.strip() for line in ENTRY]
        assert lines[:at] + lines[at + len(ENTRY) :] == text.splitlines()
        assert uses_our_hooks(longer) and not uses_our_hooks(text)
        assert yaml.safe_load(longer)["repos"][-1]["rev"] == "v0.1.0"


STYLES = {
    "two indentations": "repos:\n- repo: x\n  hooks:\n    - id: a\n      args:\n      - b\n",
    "brackets over lines": "repos:\n  - repo: x\n    hooks:\n      - id: a\n        args:\n          [\n            b, # c\n          ]\n",
    "a string over lines": 'exclude: "^(a|\\\n  b)$"\nrepos:\n  - repo: x\n    hooks:\n      - id: a\n',
    "a comment after a dash": "repos:\n  - # slow\n    repo: x\n    hooks:\n      - id: a\n",
    "aligned values": "repos:\n  - repo:  x\n    hooks:\n      - id:   a\n",
}


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_every_line_of_a_users_file_stays_as_it_is(text: str) -> None:
    longer = insert_hooks(text, ENTRY)
    assert longer is not None and longer.startswith(text)
    assert [line.strip() for line in longer.removeprefix(text).splitlines()] == [line.strip() for line in ENTRY]


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_a_round_trip_would_change_lines_of_users(text: str) -> None:
    """Why a file is not parsed and written anew: where this fails, ruamel.yaml has become good enough."""
    ruamel = pytest.importorskip("ruamel.yaml")
    for mapping, sequence, offset in itertools.product((2, 4), (2, 3, 4, 6), (0, 2)):
        parser, written = ruamel.YAML(), io.StringIO()
        parser.preserve_quotes, parser.width = True, 10**6
        parser.indent(mapping, sequence, offset)
        parser.dump(parser.load(text), written)
        assert written.getvalue() != text


def test_names_that_grow_without_end_are_no_hooks_of_ours() -> None:
    doubled = "".join(f"  - &n{at + 1} [*n{at}, *n{at}]\n" for at in range(60))
    text = f"names:\n  - &n0 [skill-health]\n{doubled}repos:\n- repo: local\n  hooks:\n  - id: *n60\n"
    assert uses_our_hooks(text) is False and insert_hooks(text, ENTRY) is None


PIECES = st.sampled_from(
    ["repos:", "\n", "  ", "- ", "- repo: x\n  hooks:\n", "- id: y", "[", "]", "{", "}", "&a ", "*a", "!!int ''", "# c", "|\n", "? ",
     "hooks: 5", "\r", "\t", "'", '"', "!!timestamp x", "2024-13-45", "--- ", "...", "skill-health", ": ", ","]
)  # fmt: skip


@given(
    st.one_of(st.text(), st.lists(PIECES).map("".join), st.lists(PIECES).map(lambda parts: "repos:\n" + "".join(parts)))
)
def test_any_text_is_extended_safely_or_not_at_all(text: str) -> None:
    uses_our_hooks(text)
    longer = insert_hooks(text, ENTRY)
    if longer is not None:
        before, after = yaml.safe_load(text), yaml.safe_load(longer)
        assert after == {**before, "repos": [*before["repos"], *yaml.safe_load("\n".join(ENTRY))]}


def test_the_package_and_the_hook_file_name_the_same_hooks(checkout: Path) -> None:
    published = {hook["id"]: hook for hook in yaml.safe_load((checkout / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    assert set(published) == {*texts.HOOKS, "skill-health-fix", "skill-health-router"}
    for name, lines in texts.HOOKS.items():
        own = yaml.safe_load("\n".join(lines))
        assert own == {key: published[name][key] for key in own}
        assert {"files", "always_run"} & own.keys() and published[name]["require_serial"] is True


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_the_source_is_what_was_installed_from_a_repository_or_nothing() -> None:
    direct = {"url": "https://example.com/x.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}
    assert texts.read_source(json.dumps(direct)) == ("https://example.com/x.git", COMMIT)
    nothing = [None, "", "[]", "no json", '{"vcs_info": {}}', '{"url": "file:///x", "dir_info": {}}']
    odd = [{"vcs_info": {"vcs": "hg", "commit_id": COMMIT}}, {"url": "https://me:secret@example.com/x"}, {"url": 5}]
    for text in (*nothing, *(json.dumps(direct | each) for each in odd)):
        assert texts.read_source(text) is None


@pytest.mark.parametrize(
    "text",
    [
        f"https://example.com/x.git@{COMMIT}", f"ssh://git@example.com:22/x/y@{COMMIT}", f"file:///home/me/x@{COMMIT}",
        f"https://example.com/~me/x+y@{COMMIT}{COMMIT[:24]}",
    ],
)  # fmt: skip
def test_a_source_is_an_address_and_a_full_commit(text: str) -> None:
    assert "@".join(texts.parse_source(text)) == text


NO_SOURCE, NO_COMMIT = "ADDRESS@COMMIT", "is not a full commit"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("https://example.com/x.git", NO_SOURCE),
        (f"git@example.com:me/x@{COMMIT}", NO_SOURCE),
        (f"https://me:secret@example.com/x@{COMMIT}", NO_SOURCE),
        (f"http://example.com/x@{COMMIT}", NO_SOURCE),
        (f"https://example.com/x'; rm -rf /; '@{COMMIT}", NO_SOURCE),
        (f"https://example.com/${{{{ x }}}}@{COMMIT}", NO_SOURCE),
        (f"https://example.com/x\n@{COMMIT}", NO_SOURCE),
        ("https://example.com/x@main", NO_COMMIT),
        (f"https://example.com/x@{COMMIT[:12]}", NO_COMMIT),
        (f"https://example.com/x@{COMMIT}\n", NO_COMMIT),
    ],
)
def test_what_is_no_source_is_a_mistake_and_nothing_is_written(
    run: Run, write: Write, repository: Path, text: str, message: str
) -> None:
    write(skills("skills/a"))
    done = run("init", "--workflow", "--from", text)
    assert done.returncode == 2 and message in done.stderr
    assert list(tree(repository)) == ["skills/a/SKILL.md"]


@pytest.mark.parametrize("source", [None, texts.PackageSource("file:///home/me/x", COMMIT)])
def test_without_a_source_that_can_be_reached_the_workflow_fails_until_it_is_named(
    source: texts.PackageSource | None,
) -> None:
    text = texts.format_workflow("", "reports", source)
    for job in ("lint", "daily"):
        script = steps(text, job)[2]
        done = subprocess.run(["bash", "-e", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert re.fullmatch(rf"::error::.* {FLOW} .*\n", done.stdout)


def test_init_says_what_the_workflow_still_needs(run: Run, write: Write, repository: Path) -> None:
    write(skills("skills/a"))
    told = "--from ADDRESS@COMMIT\n"
    done = run("init", "--workflow")
    assert re.search(rf"wrote {FLOW}\n  .* {told}", done.stdout)
    assert told not in run("init", "--workflow", "--force").stdout
    assert told not in run("init", "--workflow", "--force", "--from", f"https://example.com/x@{COMMIT}").stdout


def test_a_workflow_installs_what_the_locks_of_the_commit_name_and_nothing_else() -> None:
    for source in (None, texts.PackageSource("https://example.com/x", COMMIT)):
        lines = [line for line in texts.format_workflow("", "reports", source).splitlines() if "pip install" in line]
        assert len(lines) == (4 if source else 0)
        for line in lines:
            locked = "--require-hashes --only-binary :all: -r locks/build.txt -r locks/base.txt"
            assert locked in line or line.endswith("--no-deps --no-index --no-build-isolation .")


def test_a_workflow_grants_no_more_than_it_needs() -> None:
    flow = yaml.safe_load(texts.format_workflow("", "reports", None))
    assert flow["permissions"] == {"contents": "read"}
    assert {name: job.get("permissions") for name, job in flow["jobs"].items()} == {
        "lint": None, "daily": None, "keep": {"contents": "write"},
    }  # fmt: skip
    for name, depth in (("lint", {"fetch-depth": 0}), ("daily", {})):
        assert flow["jobs"][name]["steps"][0]["with"] == {"persist-credentials": False, **depth}
    commands = [line.split()[0] for script in steps(yaml.safe_dump(flow), "keep") for line in script.splitlines()]
    assert set(commands) == {"git", "if"}, "no other job may write"


def test_links_that_lead_out_of_the_repository_are_not_followed(
    run: Run, write: Write, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "file").write_text("mine\n", "utf-8")
    write(skills("skills/a"))
    (repository / ".github").symlink_to(outside)
    (repository / HOOKS).symlink_to(outside / "file")
    before = tree(repository), tree(outside)
    for arguments in (("--workflow",), ("--force", "--workflow")):
        done = run("init", *arguments)
        assert done.returncode == 2 and re.search(r"\.github|\.pre-commit-config", done.stderr)
        assert (tree(repository), tree(outside)) == before
    (repository / ".github").unlink()
    (repository / CONFIG).symlink_to(outside / "new")
    done = run("init", "--force")
    assert done.returncode == 2 and list(tree(outside)) == ["file"]


def test_a_folder_in_the_way_is_a_mistake(run: Run, write: Write, repository: Path) -> None:
    write(skills("skills/a"))
    (repository / CONFIG).mkdir()
    done = run("init", "--force")
    assert done.returncode == 2 and "is a folder" in done.stderr and not (repository / HOOKS).exists()


HOSTILE = ["a\nb", 'q"q', "back\\slash", "[x]*", "\x1b[31m", "\u202etxet", "\x7f", "${{ github.token }}", "-rf", "日本"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_names(run: Run, repository: Path, name: str) -> None:
    for path, text in skills(f"{name}/skills/a", f"tests/{name}/b").items():
        (repository / path).parent.mkdir(parents=True)
        (repository / path).write_text(text, "utf-8")
    (repository / name / "eval.jsonl").write_text(PROMPT, "utf-8")
    done = run("init")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout and "\x7f" not in done.stdout
    config = load_config(str(repository))
    if name.isprintable():
        assert len(load_registries(str(repository), config.sources).prompts or ()) == 1
    else:
        assert "1 more registries have names that no configuration can hold" in done.stdout
    assert hook_ids(repository)[0] == "skill-health"


@pytest.mark.skipif(sys.platform != "linux", reason="file names that are not UTF-8")
def test_names_that_are_no_text(run: Run, repository: Path) -> None:
    folder = os.path.join(os.fsencode(repository), b"\xff")
    os.makedirs(os.path.join(folder, b"skills/a"))
    with open(os.path.join(folder, b"skills/a/SKILL.md"), "w", encoding="utf-8") as file:
        file.write(skill("a"))
    with open(os.path.join(folder, b"p.jsonl"), "w", encoding="utf-8") as file:
        file.write(PROMPT)
    done = run("init", "--workflow", "--baseline")
    assert done.returncode == 0 and "1 more registries" in done.stdout, done.stderr


@pytest.mark.parametrize("text", [*HOSTILE, "tab\t", "'", "é", "\u0085", "😀"])
def test_text_survives_toml(text: str) -> None:
    assert tomllib.loads(f"x = {quote_toml(text)}")["x"] == text


def test_a_glob_of_a_name_matches_that_name_only() -> None:
    from skill_health.discovery.globs import glob_matcher

    for name in ("a*b", "a?b", "[ab]", "a\\b", "plain"):
        matches = glob_matcher(escape_glob(name), True)
        assert matches is not None and matches(name)
        assert not matches("axb") and not matches("a")


def steps(text: str, job: str) -> list[str]:
    return [step.get("run", "") for step in yaml.safe_load(text)["jobs"][job]["steps"]]


def test_the_workflow_is_what_it_says() -> None:
    source = texts.PackageSource("https://example.com/x.git", COMMIT)
    text = texts.format_workflow("a b", "reports", source)
    assert "skill-health lint --format github 'a b'" in steps(text, "lint")
    assert "skill-health daily 'a b'" in steps(text, "daily")
    assert "skill-health report --format md 'a b' >> \"$GITHUB_STEP_SUMMARY\"" in steps(text, "daily")
    assert "git add -- 'a b/reports'\n" in text and text.count("${{") == 2
    assert text.count('path: "a b/reports"\n') == 2
    for name in ("${{ x }}", "a\nb", "$(x)", "-rf", "`x`"):
        with pytest.raises(UsageError):
            texts.format_workflow(name, "reports", None)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the steps are for bash")
def test_the_keeping_job_keeps_the_history(
    run: Run, write: Write, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    remote = tmp_path_factory.mktemp("remote")
    git(remote, "init", "--quiet", "--bare")
    write(skills("skills/a"))
    assert run("init", "--workflow").returncode == 0
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "Begin")
    git(repository, "remote", "add", "origin", str(remote))
    git(repository, "push", "--quiet", "--set-upstream", "origin", "HEAD")
    script = steps((repository / FLOW).read_text("utf-8"), "keep")[-1]
    for expected, is_run in ((2, True), (3, True), (3, False)):
        assert not is_run or run("daily").returncode == 0
        subprocess.run(["bash", "-e", "-c", script], cwd=repository, check=True, capture_output=True)
        log = subprocess.run(["git", "log", "--oneline"], cwd=remote, check=True, capture_output=True, text=True).stdout
        assert len(log.splitlines()) == expected, log
