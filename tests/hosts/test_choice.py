"""Which hosts a collection is for, and what findings and `skill-health hosts` say of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from skill_health.cli import main
from skill_health.config.settings import Config
from skill_health.hosts._choice import choose_hosts
from skill_health.hosts._layout import read_layout

Said = pytest.CaptureFixture[str]
Write = Callable[[Mapping[str, str]], Path]
HEAD = "---\nname: tidy\ndescription: Tidies lists. Use when a list is out of order.\n"
SKILL = HEAD + "---\n# Tidy\n\nSort it.\n"
BRACKETS = HEAD + "allowed-tools: [Read]\n---\n# Tidy\n\nSort it.\n"
COLON = "---\nname: tidy\ndescription: Tidies: lists. Use when a list is out of order.\n---\n# Tidy\n\nSort it.\n"


@pytest.mark.parametrize(
    ("files", "path", "keys", "certain"),
    [
        ({"skills/tidy/SKILL.md": SKILL}, "", ["agentskills"], False),
        ({".agents/skills/tidy/SKILL.md": SKILL}, "", ["agentskills"], False),
        ({".claude/skills/tidy/SKILL.md": SKILL}, "", ["claude-code"], True),
        ({".claude-plugin/plugin.json": "{}"}, "", ["claude-code"], True),
        ({".codex/skills/a/SKILL.md": SKILL, ".cursor/skills/b/SKILL.md": SKILL}, "", ["codex", "cursor"], True),
        (
            {".codex/skills/a/SKILL.md": SKILL, ".gemini/skills/b/SKILL.md": SKILL},
            ".gemini/skills/b/SKILL.md", ["gemini-cli"], True,
        ),
        ({"plugin.json": '{"name": "mine"}'}, "", ["agentskills"], False),
        (
            {"plugin.json": '{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"}'},
            "", ["agent-plugins"], True,
        ),
    ],
)  # fmt: skip
def test_the_layout_tells_where_it_is_plain(
    write: Write, files: dict[str, str], path: str, keys: list[str], certain: bool
) -> None:
    choice = choose_hosts(Config(layout=read_layout(str(write(files)))), path)
    assert ([host.key for host in choice.hosts], choice.certain) == (keys, certain)


def test_the_configuration_comes_before_the_layout() -> None:
    choice = choose_hosts(Config(hosts=("codex", "opencode"), layout=(".claude/skills",)), ".claude/skills/a/SKILL.md")
    assert [host.key for host in choice.hosts] == ["codex", "opencode"]


def findings(capsys: Said, root: Path) -> list[tuple[str, str, list[str]]]:
    main(["lint", "--format", "json", str(root)])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [(each["code"], each["severity"], each.get("hosts", [])) for each in found]


def test_what_a_chosen_host_skips_is_an_error_and_else_it_is_not(write: Write, capsys: Said) -> None:
    root = write({"skills/tidy/SKILL.md": BRACKETS})
    assert findings(capsys, root) == [("FM029", "info", ["agentskills"])]
    write({"skill-health.toml": 'hosts = ["agentskills", "agent-plugins"]\n'})
    assert findings(capsys, root) == [("FM029", "error", ["agentskills", "agent-plugins"])]
    write({"skill-health.toml": 'hosts = ["codex"]\n'})
    assert findings(capsys, root) == []


def test_one_cause_is_one_finding_with_its_hosts(write: Write, capsys: Said) -> None:
    root = write({"skills/tidy/SKILL.md": COLON})
    assert findings(capsys, root) == [("FM003", "error", ["agent-plugins", "agentskills", "copilot-cli"])]
    assert findings(capsys, root) == [("FM003", "error", ["agent-plugins", "agentskills", "copilot-cli"])], "cached"
    write({"skill-health.toml": 'hosts = ["copilot-cli"]\nignore = ["FM003"]\n'})
    assert findings(capsys, root) == [("FM029", "error", ["copilot-cli"])]


def test_a_change_of_the_layout_is_seen_with_a_cache(write: Write, capsys: Said) -> None:
    root = write({"skills/tidy/SKILL.md": BRACKETS, "skill-health.toml": ""})
    assert findings(capsys, root) == [("FM029", "info", ["agentskills"])]
    write({".claude-plugin/plugin.json": '{"name": "mine"}'})
    assert findings(capsys, root) == []


@pytest.mark.parametrize("form", ["text", "markdown", "github", "gitlab", "junit", "sarif"])
def test_every_format_names_the_hosts(write: Write, capsys: Said, form: str) -> None:
    root = write({"skills/tidy/SKILL.md": COLON, "skill-health.toml": 'hosts = ["copilot-cli", "agentskills"]\n'})
    assert main(["lint", "--format", form, str(root)]) == 1
    assert " by Copilot CLI, Agent Skills specification)" in capsys.readouterr().out.replace("\\(", "(").replace(
        "\\)", ")"
    )


def test_an_unknown_host_is_one_clear_line(write: Write, capsys: Said) -> None:
    root = write({"skills/tidy/SKILL.md": SKILL, "skill-health.toml": 'hosts = ["kodex"]\n'})
    assert main(["lint", str(root)]) == 2
    error = capsys.readouterr().err
    assert "skill-health.toml: \"hosts\": there is no host 'kodex'; choose from agent-plugins, " in error
    assert main(["hosts", "--host", "a\x1b[31m", str(root)]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_the_matrix(write: Write, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write({"skills/tidy/SKILL.md": SKILL, "skills/odd/SKILL.md": "# Odd\n", "skill-health.toml": ""}))
    assert main(["hosts", "--host", "codex", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "skill-health/hosts/1"
    assert [(each["key"], each["loads"], each["loses"], each["skipped"]) for each in document["hosts"]] == [
        ("codex", 1, 0, 1)
    ]
    assert [(each["path"], each["hosts"]["codex"]["outcome"]) for each in document["skills"]] == [
        ("skills/odd/SKILL.md", "skipped"),
        ("skills/tidy/SKILL.md", "loads"),
    ]
    assert document["skills"][0]["hosts"]["codex"]["reasons"][0]["fault"] == "no-frontmatter"


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_the_matrix_prints_nothing_that_a_terminal_acts_on(write: Write, capsys: Said, form: str) -> None:
    head = '---\nname: "\\e]0;x\\a\\u202e|*evil*"\ndescription: "\\e[31m"\n\x1b[2J: 1\n---\n'
    root = write({"skills/ti\x1b[1mdy/SKILL.md": head, "skill-health.toml": ""})
    assert main(["hosts", "--format", form, str(root)]) == 0
    out = capsys.readouterr().out
    assert not {"\x1b", "\x07", "\u202e"} & set(out)
    assert "*evil*" not in out.replace("\\*", "") or form != "markdown"
