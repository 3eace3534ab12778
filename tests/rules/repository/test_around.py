"""The files around the skills take part in what a run does: its cache, what was asked for, settings, and bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.cli import main
from skill_health.core.json_places import JsonPath, find_places

MANIFEST = ".claude-plugin/plugin.json"
HOOKS = "hooks/hooks.json"
SKILL = (
    "---\nname: add\ndescription: Adds a note. Use when something is to be remembered.\n---\n# Add\n\nAdd the note.\n"
)
GOOD = {
    MANIFEST: '{ "name": "notes" }\n',
    HOOKS: '{ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/check.sh" }] }] } }\n',
    "check.sh": "#!/bin/sh\nexit 0\n",
    "skills/add/SKILL.md": SKILL,
    "skill-health.toml": 'select = ["RP"]\n',
}
Lines = pytest.CaptureFixture[str]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tmp_path / "cache"))
    place = tmp_path / "notes"
    for path, text in GOOD.items():
        put(place, path, text)
    (place / "check.sh").chmod(0o755)
    monkeypatch.chdir(place)
    return place


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(text.encode())


def found(capfd: Lines, *arguments: str) -> list[str]:
    main(["lint", "--format", "json", *(arguments or (".",))])
    return [f"{f['code']} {f['path']}" for f in json.loads(capfd.readouterr().out)["findings"]]


def test_the_cache_notices_every_change(root: Path, capfd: Lines) -> None:
    assert found(capfd) == found(capfd) == []
    put(root, MANIFEST, '{ "name": "Notes" }\n')
    assert found(capfd) == found(capfd) == [f"RP003 {MANIFEST}"]
    put(root, MANIFEST, GOOD[MANIFEST])
    put(root, "more/.codex-plugin/plugin.json", "{}\n")
    assert found(capfd) == ["RP002 more/.codex-plugin/plugin.json"]
    (root / "more/.codex-plugin/plugin.json").unlink()
    assert found(capfd) == []
    if os.name != "nt":
        (root / "check.sh").chmod(0o644)
        assert found(capfd) == [f"RP016 {HOOKS}"]
    (root / "check.sh").unlink()
    assert found(capfd) == [f"RP015 {HOOKS}"]
    put(root, "check.sh", GOOD["check.sh"])
    (root / "check.sh").chmod(0o755)
    put(root, "skills/add/SKILL.md", SKILL + "More.\n")
    assert found(capfd) == []


@pytest.mark.slow
def test_a_run_with_a_full_cache_loads_nothing_of_it(root: Path) -> None:
    code = (
        "import sys; from skill_health.cli import main; main(['lint', '.']); "
        "print(sorted(name for name in sys.modules if 'rules.repository' in name or name == 'skill_health.lint.check'))"
    )
    command = [sys.executable, "-c", code]
    first, second = (subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout for _ in "12")
    assert "rules.repository" in first
    assert second.splitlines()[-1] == "[]"


def test_what_is_asked_for_is_what_is_shown(root: Path, capfd: Lines) -> None:
    put(root, "skills/find/SKILL.md", SKILL.replace("add", "find"))
    put(root, MANIFEST, '{ "name": "Notes" }\n')
    assert found(capfd, "skills/add/SKILL.md") == []
    assert found(capfd, MANIFEST) == [f"RP003 {MANIFEST}"]
    assert found(capfd, "skills/add/SKILL.md", MANIFEST) == [f"RP003 {MANIFEST}"]


def test_settings_apply(root: Path, capfd: Lines) -> None:
    put(root, MANIFEST, '{ "name": "Notes" }\n')
    put(root, "skill-health.toml", '[severity]\nRP003 = "error"\n')
    assert main(["lint", ".", "--select", "manifest-name"]) == 1
    capfd.readouterr()
    put(root, "skill-health.toml", '[[per-path]]\nglob = ".claude-plugin/**"\nignore = ["RP"]\n')
    assert found(capfd, ".", "--select", "repository")[1:] == []
    put(root, "skill-health.toml", 'exclude = [".claude-plugin"]\n')
    capfd.readouterr()
    assert found(capfd, ".", "--select", "RP003") == []


def test_test_data_and_what_git_ignores_is_no_plugin(root: Path, capfd: Lines) -> None:
    for folder in ("tests/fixtures/bad", "node_modules/a", "ignored/a"):
        put(root, f"{folder}/{MANIFEST}", "{\n")
    put(root, ".gitignore", "ignored/\n")
    assert found(capfd) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "", "\0", "[" * 100_000, '{"a":' * 50_000, '{"name": "\\ud800"}', '"' * 9, "\ufeff{}",
        "{" + '"a": 1,' * 50_000, "9" * 9_999,
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "path", [MANIFEST, ".claude-plugin/marketplace.json", HOOKS, ".mcp.json", ".claude/settings.json"]
)
def test_hostile_text(path: str, text: str, root: Path, capfd: Lines) -> None:
    put(root, path, text)
    assert main(["lint", ".", "--no-cache"]) in (0, 1)
    assert "internal error" not in capfd.readouterr().err


# What hosts would make of these values is not the point: a rule that expects another type must not stop.
VALUES: list[object] = [
    None, True, 3, "", "x", [], {}, [None], {"": None}, {"hooks": [{"hooks": 3}]}, [{"name": []}], "../..", "/",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_any_type_anywhere(value: object, root: Path, capfd: Lines) -> None:
    keys = (
        "name version description author skills commands agents hooks mcpServers lspServers interface keywords".split()
    )
    put(root, MANIFEST, json.dumps(dict.fromkeys(keys, value)))
    put(root, ".codex-plugin/plugin.json", json.dumps(dict.fromkeys(keys, value)))
    entry = dict.fromkeys([*keys, "source"], value)
    market = {"name": value, "owner": value, "metadata": value, "plugins": [entry, value, {**entry, "source": "./"}]}
    put(root, ".claude-plugin/marketplace.json", json.dumps(market))
    before = [{"matcher": value, "hooks": [{"type": value, "command": value}]}]
    put(root, HOOKS, json.dumps({"hooks": {"Stop": value, "PreToolUse": before}}))
    server = {"command": value, "args": value, "env": value, "headers": value, "url": value, "type": value}
    put(root, ".mcp.json", json.dumps({"mcpServers": {"a": server, "b": value}}))
    put(root, "gemini-extension.json", json.dumps({"contextFileName": value, "mcpServers": value, "version": value}))
    for kind in ("agents", "commands"):
        names = ("name", "description", "tools", "model", "allowed-tools")
        lines = "".join(f"{key}: {json.dumps(value)}\n" for key in names)
        put(root, f"{kind}/a.md", f"---\n{lines}---\nDo.\n")
    interface = {"interface": value, "policy": value, "dependencies": {"tools": value}}
    put(root, "skills/add/agents/openai.yaml", json.dumps(interface))
    assert main(["lint", ".", "--no-cache"]) in (0, 1)
    assert "internal error" not in capfd.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_pipes_links_and_folders_in_the_place_of_files(root: Path, capfd: Lines) -> None:
    (root / ".mcp.json").symlink_to("/etc/passwd")
    os.mkfifo(root / "AGENTS.md")
    (root / HOOKS).unlink()
    os.mkfifo(root / HOOKS)
    (root / "README.md").mkdir()
    (root / "skills/add/SHA256SUMS").symlink_to("/dev/zero")
    assert main(["lint", ".", "--no-cache"]) in (0, 1)
    out, err = capfd.readouterr()
    assert "root:" not in out and "internal error" not in err


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def paths_of(value: object, lead: JsonPath = ()) -> dict[JsonPath, object]:
    every = {lead: value}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        every |= paths_of(inner, (*lead, key))
    return every


@given(JSON, st.sampled_from([None, 0, 2]))
def test_every_value_is_found_where_it_stands(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    places = find_places(text)
    expected = paths_of(value)
    assert places.values.keys() == expected.keys()
    for path, at in places.values.items():
        assert json.JSONDecoder().raw_decode(text, at)[0] == expected[path]
    assert not places.again


@given(st.text(alphabet='{}[],:" \\ab1\n', max_size=60))
def test_any_text_has_places(text: str) -> None:
    places = find_places(text)
    assert all(0 <= at < len(text) for at in [*places.values.values(), *places.keys.values()])
