"""Rules of a configuration: what each finds, what it may not say, and that they are rules like all others."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repositories import commit, git

from skill_health import formats
from skill_health.config.custom_code import describe_name
from skill_health.config.load import users_file

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Write = Callable[[Mapping[str, str]], Path]

DATA = yaml.safe_load((Path(__file__).parent / "custom_rules.yaml").read_text("utf-8"))
SKILL = DATA["skill"]
CODE = '''"""Skills have a second line

## What
A file of one line.
"""

from skill_health.rules._api import Hit, Severity
from skill_health.skill.model import Span

CODE = "ACME900"
SEVERITY = Severity.ERROR
open("it-ran", "w").close()


def check(skill, context):
    if context.exists(skill.folder + "/extra.md"):
        yield Hit(Span(2, 1), "there is more")
'''
WITH_CODE = '[custom]\npython = ["tools/second_line.py"]\n'


def found(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.stdout, done.stderr
    every: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return [each for each in every if each["code"].startswith("ACME")]


def one_rule(rule: str, code: str = "ACME001") -> str:
    return f'[[custom.rules]]\ncode = "{code}"\n' + rule.replace("\n\n", "\n") + "\n"


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["id"])
def test_what_a_rule_finds(case: Mapping[str, Any], run: Run, write: Write) -> None:
    text = SKILL
    for old, new in case.get("change", {}).items():
        assert old in text
        text = text.replace(old, new)
    write({"skills/report/SKILL.md": text, "skill-health.toml": one_rule(case["rule"])})
    for path, bundled in case.get("files", {}).items():
        write({path: bundled.replace("WORDS", "word " * 4000)})
    done = run("lint", "--format", "json", "--select", "ACME")
    told = [f"{each['path']}:{each['line']}:{each['col']} {each['message']}" for each in found(done)]
    assert told == case.get("finds", [])


@pytest.mark.parametrize(("text", "said"), DATA["mistakes"], ids=lambda each: each[-40:])
def test_a_mistake_is_one_line(text: str, said: str, run: Run, write: Write) -> None:
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": text})
    done = run("lint")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("skill-health: error: skill-health.toml:")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("code", "name", "said"),
    [
        ("FM900", "a-b", "codes that begin with FM are those of our own rules"),
        ("ACME001", "broken-link", '"broken-link" is the name of a built-in rule'),
    ],
)
def test_a_rule_is_not_called_as_one_of_ours(code: str, name: str, said: str, run: Run, write: Write) -> None:
    text = one_rule(f'name = "{name}"\nlimit = {{ max-lines = 1 }}', code)
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": text})
    assert said in run("lint").stderr


# -- like all other rules ----------------------------------------------------------------------------------------------

TWO = one_rule('name = "needs-owner"\nkey = { path = "owner", required = true }') + one_rule(
    "limit = { max-lines = 3 }", "ACME002"
)


@pytest.mark.parametrize(
    ("settings_", "arguments", "codes"),
    [
        ("", (), {"ACME001", "ACME002"}),
        ("", ("--select", "ACME002"), {"ACME002"}),
        ("", ("--select", "custom"), {"ACME001", "ACME002"}),
        ("", ("--ignore", "needs-owner"), {"ACME002"}),
        ('ignore = ["ACME"]\n', (), set()),
        ('select = ["FM"]\n', (), set()),
        ('select = ["FM"]\nextend-select = ["ACME002"]\n', (), {"ACME002"}),
        ('per-path = [{ glob = "skills/report", ignore = ["ACME001"] }]\n', (), {"ACME002"}),
    ],
)
def test_selectors_and_paths(
    settings_: str, arguments: tuple[str, ...], codes: set[str], run: Run, write: Write
) -> None:
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": settings_ + TWO})
    assert {each["code"] for each in found(run("lint", "--format", "json", *arguments))} == codes


def test_severity_and_the_exit_code(run: Run, write: Write) -> None:
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": TWO})
    assert run("lint", "--select", "ACME").returncode == 0
    write({"skill-health.toml": TWO + '[severity]\nneeds-owner = "error"\n'})
    assert run("lint", "--select", "ACME").returncode == 1


@pytest.mark.parametrize("word", ["ACME001", "needs-owner"])
def test_a_comment_silences_it(word: str, run: Run, write: Write) -> None:
    comment = f"<!-- skill-health: ignore-file {word} nobody keeps it -->\n"
    write({"skills/report/SKILL.md": SKILL + comment, "skill-health.toml": TWO})
    done = run("lint", "--format", "json")
    assert [each["code"] for each in found(done)] == ["ACME002"]
    assert not [each for each in json.loads(done.stdout)["findings"] if each["code"] == "IG001"]


def test_a_comment_that_silences_nothing_is_told(run: Run, write: Write) -> None:
    comment = "<!-- skill-health: ignore-file ACME001 ACME777 nobody -->\n"
    text = TWO.replace('"owner"', '"risk"')
    write({"skills/report/SKILL.md": SKILL + comment, "skill-health.toml": text})
    findings = json.loads(run("lint", "--format", "json").stdout)["findings"]
    told = [each["message"] for each in findings if each["code"].startswith("IG")]
    assert all(any(code in message for message in told) for code in ("ACME777", "ACME001"))


def test_the_baseline_knows_it(run: Run, write: Write) -> None:
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": TWO})
    assert run("lint", "--select", "ACME", "--write-baseline", "at first").returncode == 0
    done = run("lint", "--select", "ACME", "--format", "json")
    assert found(done) == [] and json.loads(done.stdout)["summary"]["baselined"] == 2


@pytest.mark.parametrize("name", formats.names())
def test_every_format_shows_it(name: str, run: Run, write: Write) -> None:
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": TWO})
    done = run("lint", "--select", "ACME001", "--format", name)
    assert done.returncode == 0 and "ACME001" in done.stdout


def test_sarif_has_its_page(run: Run, write: Write) -> None:
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": TWO})
    driver = json.loads(run("lint", "--select", "ACME001", "--format", "sarif").stdout)["runs"][0]["tool"]["driver"]
    (rule,) = driver["rules"]
    assert (rule["id"], rule["name"]) == ("ACME001", "NeedsOwner")
    assert "path = `owner`, required = true" in rule["help"]["text"]


def test_rules_and_explain_show_it(run: Run, write: Write) -> None:
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": TWO})
    assert "2 rules, 2 of them on" in run("rules", "custom").stdout
    assert run("explain", "acme001").stdout.startswith("# ACME001 needs-owner\n")
    assert run("explain", "FM001").returncode == 0
    write({"skill-health.toml": "nonsense"})
    assert run("explain", "FM001").returncode == 0
    assert run("explain", "ACME001").returncode == 2


@pytest.mark.parametrize(
    "command", [("fixtures",), ("daily",), ("status",), ("hosts",), ("lint", "--fix"), ("lint", "--score")]
)
def test_every_command_knows_its_code(command: tuple[str, ...], run: Run, write: Write) -> None:
    settings_ = 'extend-select = ["ACME001"]\nseverity = { needs-owner = "info" }\n'
    claim = '{"id": "CLM-1"}\n'
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": settings_ + TWO, "claims.jsonl": claim})
    done = run(*command)
    assert not {"ACME001", "needs-owner"} & set(re.findall(r"[\w-]+", done.stderr)) and done.returncode in (0, 1)


def test_another_configuration_is_another_result(run: Run, write: Write) -> None:
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": TWO})
    assert len(found(run("lint", "--format", "json"))) == 2
    assert len(found(run("lint", "--format", "json"))) == 2
    write({"skill-health.toml": TWO.replace("max-lines = 3", "max-lines = 300")})
    assert [each["code"] for each in found(run("lint", "--format", "json"))] == ["ACME001"]
    write({"skills/report/SKILL.md": SKILL.replace("risk:", "owner: me\nrisk:")})
    assert found(run("lint", "--format", "json")) == []


RULES = [case["rule"].replace("\n\n", "\n") for case in DATA["cases"] if "finds" in case][:30]


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shuffle=st.randoms(use_true_random=False))
def test_neither_the_order_of_rules_nor_of_files_matters(shuffle: random.Random, run: Run, tmp_path: Path) -> None:
    outputs = set()
    for number in range(2):
        rules = [one_rule(rule, f"ACME{at:03}") for at, rule in enumerate(RULES)]
        names = ["report", "other", "third"]
        shuffle.shuffle(rules)
        shuffle.shuffle(names)
        for name in names:
            (tmp_path / "skills" / name).mkdir(parents=True, exist_ok=True)
            (tmp_path / "skills" / name / "SKILL.md").write_text(
                SKILL.replace("name: report", f"name: {name}"), "utf-8"
            )
        (tmp_path / "skill-health.toml").write_text("".join(rules), "utf-8")
        jobs = ("--jobs", "1") if number else ()
        outputs.add(run("lint", "--format", "json", "--no-cache", *jobs).stdout)
    assert len(outputs) == 1


# -- hostile configurations --------------------------------------------------------------------------------------------


def test_long_lists_are_refused(run: Run, write: Write) -> None:
    rules = "".join(one_rule("limit = { max-lines = 1 }", f"ACME{at:03}") for at in range(501))
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": rules})
    assert "has 501 rules; at most 500 are run" in run("lint").stderr
    words = ", ".join(f'"{at}"' for at in range(501))
    write({"skill-health.toml": one_rule(f'key = {{ path = "x", values = [{words}] }}')})
    assert "has 501 entries; at most 500 are looked at" in run("lint").stderr


def test_deep_nesting_is_refused(run: Run, write: Write) -> None:
    deep = "[" * 5000 + "]" * 5000
    for rule in (f"when = {deep}\nlimit = {{ max-lines = 1 }}", f"pattern = {{ forbid = '{'(' * 400}{')' * 400}' }}"):
        write({"skills/report/SKILL.md": SKILL, "skill-health.toml": one_rule(rule)})
        done = run("lint")
        assert done.returncode in (0, 2) and "internal error" not in done.stderr


def test_a_path_through_keys_that_are_no_mappings(run: Run, write: Write) -> None:
    paths = ["a.b.c.d", "*.*.*", "tags[].x", "[]", "..", ".", "metadata.", "tags[][]"]
    rules = "".join(
        one_rule(f'key = {{ path = "{path}", values = ["x"] }}', f"ACME{at:03}") for at, path in enumerate(paths)
    )
    write({"skills/report/SKILL.md": SKILL, "skill-health.toml": rules})
    assert run("lint", "--select", "ACME").returncode == 0


# -- the gate ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_gate_reports_what_a_commit_adds(run: Run, write: Write) -> None:
    rules = TWO + '[severity]\nACME001 = "error"\n'
    root = write({"skills/report/SKILL.md": SKILL.replace("risk:", "owner: me\nrisk:"), "skill-health.toml": rules})
    write({"skills/old/SKILL.md": SKILL.replace("name: report", "name: old")})
    commit(root)
    write({"skills/old/SKILL.md": SKILL.replace("name: report", "name: old") + "More.\n"})
    git(root, "add", "--all")
    done = run("lint", "--staged", "--select", "ACME")
    assert done.returncode == 0 and re.fullmatch(r"\D*\b2 older\b\D*\n", done.stdout)
    write({"skills/report/SKILL.md": SKILL})
    git(root, "add", "--all")
    done = run("lint", "--staged")
    assert done.returncode == 1
    assert "skills/report/SKILL.md:2:1: error ACME001 `owner` is missing." in done.stdout
    assert "skills/old" not in done.stdout


@pytest.mark.slow
def test_the_gate_reports_a_value_that_another_skill_has(run: Run, write: Write) -> None:
    rules = one_rule('severity = "error"\nkey = { path = "metadata.author", unique = true }')
    root = write({"skills/report/SKILL.md": SKILL, "skill-health.toml": rules})
    commit(root)
    write({"skills/other/SKILL.md": SKILL.replace("name: report", "name: other")})
    git(root, "add", "--all")
    done = run("lint", "--staged")
    assert done.returncode == 1 and '`metadata.author` is "me" in skills/report/SKILL.md too' in done.stdout


@pytest.mark.slow
def test_the_gate_looks_again_where_a_file_that_rules_ask_for_changes(run: Run, write: Write) -> None:
    rules = one_rule(
        'severity = "error"\npattern = { require = \'"{folder}"\', within = "repository", files = ["lists/{folder}.json"] }'
    )
    root = write({"skills/report/SKILL.md": SKILL, "skill-health.toml": rules, "lists/report.json": '["report"]'})
    commit(root)
    write({"lists/report.json": "[]"})
    git(root, "add", "--all")
    done = run("lint", "--staged")
    assert done.returncode == 1 and "skills/report/SKILL.md:1:1: error ACME001" in done.stdout


# -- rules as code -----------------------------------------------------------------------------------------------------


def with_code(write: Write, code: str = CODE, **more: str) -> Path:
    files = {"skill-health.toml": WITH_CODE, "tools/second_line.py": code, "skills/report/extra.md": "x\n"}
    return write({"skills/report/SKILL.md": SKILL, **files, **more})


def allow(tmp_path: Path, root: Path) -> dict[str, str]:
    """The environment of a user whose own settings allow the code of a repository."""
    folder = tmp_path / "user" / "skill-health"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f"[custom]\nallow-code = [{json.dumps(str(root))}]\n", "utf-8")
    return {"XDG_CONFIG_HOME": str(tmp_path / "user")}


def test_code_is_not_run_unasked(run: Run, write: Write) -> None:
    root = with_code(write)
    done = run("lint")
    assert done.returncode == 0 and not (root / "it-ran").exists()
    (note,) = (line for line in done.stdout.splitlines() if line.startswith("note: custom"))
    assert "tools/second_line.py" in note and "--allow-code" in note and users_file() in note
    assert json.loads(run("lint", "--format", "json").stdout)["warnings"] == [note.removeprefix("note: ")]


def test_code_runs_where_the_command_line_says_so(run: Run, write: Write) -> None:
    root = with_code(write)
    assert found(run("lint", "--format", "json")) == []
    done = run("lint", "--format", "json", "--allow-code")
    assert [(each["message"], each["severity"]) for each in found(done)] == [("there is more", "error")]
    assert done.returncode == 1 and (root / "it-ran").exists() and json.loads(done.stdout)["warnings"] == []
    assert found(run("lint", "--format", "json")) == []


def test_code_runs_where_the_users_own_settings_say_so(run: Run, write: Write, tmp_path: Path) -> None:
    root = with_code(write)
    assert len(found(run("lint", "--format", "json", env=allow(tmp_path, root)))) == 1
    (root / "it-ran").unlink()
    assert found(run("lint", "--format", "json", env=allow(tmp_path, root / "skills"))) == []
    assert not (root / "it-ran").exists()


@pytest.mark.parametrize("arguments", [(), ("--config", "skill-health.toml")])
def test_a_repository_does_not_allow_its_own_code(arguments: tuple[str, ...], run: Run, write: Write) -> None:
    root = with_code(write)
    write({"skill-health.toml": WITH_CODE + f"allow-code = [{json.dumps(str(root))}]\n"})
    assert found(run("lint", "--format", "json", *arguments)) == [] and not (root / "it-ran").exists()


@pytest.mark.parametrize("command", [("rules",), ("explain", "ACME900"), ("daily", "--dry-run"), ("hosts",)])
def test_no_other_command_runs_it_unasked(command: tuple[str, ...], run: Run, write: Write) -> None:
    root = with_code(write)
    run(*command)
    assert not (root / "it-ran").exists()


def test_rules_and_explain_know_code_that_is_not_run(run: Run, write: Write) -> None:
    with_code(write)
    assert "ACME900" in run("rules", "custom").stdout
    assert "not run" in run("explain", "ACME900").stdout
    assert "A file of one line." in run("explain", "ACME900", "--allow-code").stdout


def test_settings_and_comments_may_name_code_that_is_not_run(run: Run, write: Write) -> None:
    comment = "<!-- skill-health: ignore-file ACME900 second-line it is long -->\n"
    with_code(
        write, **{"skill-health.toml": 'extend-select = ["ACME900"]\nseverity = { second-line = "info" }\n' + WITH_CODE}
    )
    write({"skills/report/SKILL.md": SKILL + comment})
    done = run("lint", "--format", "json")
    assert not [each for each in json.loads(done.stdout)["findings"] if each["code"] == "IG001"]


def test_another_file_is_another_result(run: Run, write: Write) -> None:
    with_code(write)
    assert found(run("lint", "--format", "json", "--allow-code"))[0]["message"] == "there is more"
    with_code(write, CODE.replace("there is more", "there is less"))
    assert found(run("lint", "--format", "json", "--allow-code"))[0]["message"] == "there is less"


FAILURES = {
    "raises": ("    raise KeyError('x')\n    yield", "ACME900 failed at tools/second_line.py:16: KeyError: 'x'"),
    "exits": ("    raise SystemExit(3)\n    yield", "failed at tools/second_line.py:16: SystemExit: 3"),
    "recurses": ("    check(skill, context)\n    yield from check(skill, context)", "RecursionError"),
    "no-hit": ("    yield 'text'", "TypeError: it reports str 'text', which is no Hit with a Span and a message"),
    "no-span": ("    yield Hit(None, 'x')", "no Hit with"),
    "no-list": ("    return 5", "failed at tools/second_line.py: TypeError"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_exception_is_one_finding(name: str, run: Run, write: Write) -> None:
    body, said = FAILURES[name]
    with_code(write, CODE.partition("def check")[0] + f"def check(skill, context):\n{body}\n")
    done = run("lint", "--format", "json", "--allow-code")
    (finding,) = found(done)
    assert (done.returncode, finding["severity"]) == (1, "error") and said in finding["message"]


BROKEN = {
    "syntax": ("CODE = 'ACME900'\ndef check(:\n", "error: tools/second_line.py:2: not valid Python"),
    "import": ("CODE = 'ACME900'\nimport no_such_module\n", "tools/second_line.py:2: the custom rule cannot be loaded"),
    "exit": ("CODE = 'ACME900'\nraise SystemExit\n", "tools/second_line.py:2: the custom rule cannot be loaded: Sys"),
    "no-code": ("def check(skill, context): ...\n", "is no rule: it needs a line CODE"),
    "other-code": ("CODE = 'ACME900'\nCODE += ''\nCODE = CODE[:4]\n", "CODE must be said once"),
    "no-check": ("CODE = 'ACME900'\n", "it needs a function check(skill, context)"),
    "severity": ("CODE = 'ACME900'\nSEVERITY = 'fatal'\n", "SEVERITY must be one of error, warning, info"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_no_rule_is_one_line(name: str, run: Run, write: Write) -> None:
    code, said = BROKEN[name]
    with_code(write, code)
    done = run("lint", "--allow-code")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and said in done.stderr


def test_a_file_outside_or_none_is_not_read(run: Run, write: Write, tmp_path: Path) -> None:
    root = with_code(write)
    (root / ".git").mkdir()
    place = root / "tools" / "second_line.py"
    place.unlink()
    assert "cannot read tools/second_line.py" in run("lint", "--allow-code").stderr
    outside = tmp_path.parent / f"{tmp_path.name}-outside.py"
    outside.write_text(CODE, "utf-8")
    place.symlink_to(outside)
    done = run("lint", "--allow-code")
    assert done.returncode == 2 and "tools/second_line.py" in done.stderr and not (root / "it-ran").exists()
    outside.unlink()
    place.unlink()
    os.mkfifo(place)
    assert "cannot read tools/second_line.py" in run("lint", "--allow-code").stderr
    place.unlink()
    place.write_bytes(b"CODE = 'ACME900' # \xff\n")
    assert "UTF-8" in run("lint", "--allow-code").stderr
    place.write_bytes(b"#" * (1 << 20) + b"\n")
    assert "1 MiB" in run("lint", "--allow-code").stderr


@pytest.mark.slow
def test_the_hook_says_that_code_was_not_run(run: Run, write: Write, tmp_path: Path) -> None:
    root = with_code(write)
    commit(root)
    new = "---\nname: new\ndescription: Sorts lists by size. Use when a list must be sorted.\n---\n# New\n\nSort it.\n"
    write({"skills/new/SKILL.md": new, "skills/new/extra.md": "x\n"})
    git(root, "add", "--all")
    done = run("lint", "--staged")
    assert done.returncode == 0 and not (root / "it-ran").exists()
    assert done.stderr.count("\n") == 1 and "custom Python rules were not run" in done.stderr
    done = run("lint", "--staged", env=allow(tmp_path, root))
    assert done.returncode == 1 and "skills/new/SKILL.md:2:1: error ACME900 there is more." in done.stdout
    assert done.stderr == ""


CORPUS = """
from skill_health.rules._api import Hit
CODE = "ACME901"
def collect(skill, context):
    return {"lines": len(skill.lines)}
def check_corpus(corpus, context):
    for skill in corpus.wanted():
        yield Hit(skill.name_span, f"{skill.facts[CODE]['lines']} lines of {len(corpus.skills)} skills", path=skill.path)
"""


def test_code_may_look_at_the_collection(run: Run, write: Write) -> None:
    with_code(write, CORPUS, **{"skills/other/SKILL.md": "---\nname: other\n---\n"})
    done = run("lint", "--format", "json", "--allow-code")
    assert [each["message"] for each in found(done)] == ["3 lines of 2 skills", "22 lines of 2 skills"]
    assert found(run("lint", "--format", "json", "--allow-code", "skills/other"))[0]["message"] == "3 lines of 2 skills"


def test_names_of_files_are_names_of_rules() -> None:
    assert [describe_name(path) for path in ("tools/needs_owner.py", "x.py")] == ["needs-owner", "custom-x"]
