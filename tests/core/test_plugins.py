"""Which plugin a skill belongs to, by manifests and marketplaces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from fixture_types import Write

from skill_health.discovery.plugins import Plugins

PLUGIN, MARKET = ".claude-plugin/plugin.json", ".claude-plugin/marketplace.json"


def market(*plugins: Mapping[str, Any], **more: Any) -> str:
    return json.dumps({"name": "shop", "plugins": plugins, **more})


CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "no plugin": ({}, {"skills/a": "", "": ""}),
    "the folder skills of a plugin": (
        {f"chat/{PLUGIN}": '{"name": "discord"}', "chat/skills/a/SKILL.md": ""},
        {"chat/skills/a": "discord", "chat/skills/deep/a": "discord", "chat/other/a": "", "skills/a": ""},
    ),
    "the nearest of two": (
        {PLUGIN: '{"name": "outer", "skills": ["inner/skills", "inner/more"]}', f"inner/{PLUGIN}": '{"name": "inner"}',
         "inner/skills/a/SKILL.md": ""},
        {"inner/skills/a": "inner", "inner/more/a": "outer", "skills/a": "outer", ".claude/skills/a": ""},
    ),
    "folders that the manifest names": (
        {PLUGIN: '{"name": "p", "skills": ["./extra/", "../out", 7]}'},
        {"extra/a": "p", "skills/a": "p", "other/a": "", "extras/a": ""},
    ),
    "a skill that is the plugin": ({f"one/{PLUGIN}": '{"name": "p"}'}, {"one": "p", "one/below": ""}),
    "of Codex": ({".codex-plugin/plugin.json": '{"name": "p"}', "skills/a/SKILL.md": ""}, {"skills/a": "p"}),
    "no name": ({PLUGIN: '{"name": "  "}', "skills/a/SKILL.md": ""}, {"skills/a": ""}),
    "a marketplace's entries": (
        {MARKET: market({"name": "x", "source": "./plugs/x"}, {"name": "far", "source": {"source": "github"}}),
         "plugs/x/skills/a/SKILL.md": ""},
        {"plugs/x/skills/a": "x", "plugs/y/skills/a": "", "skills/a": ""},
    ),
    "entries that share a source": (
        {MARKET: market({"name": "docs", "source": "./", "skills": ["./skills/pdf"]},
                        {"name": "rest", "source": "./", "skills": ["./skills/art", "./skills/pdf"]})},
        {"skills/pdf": "docs", "skills/art": "rest", "skills/else": ""},
    ),
    "a folder for all sources": (
        {MARKET: market({"name": "x", "source": "x"}, metadata={"pluginRoot": "./plugs"}), "plugs/x/skills/a/SKILL.md": ""},
        {"plugs/x/skills/a": "x"},
    ),
    "a manifest before the marketplace": (
        {MARKET: market({"name": "shown", "source": "./"}), PLUGIN: '{"name": "own"}', "skills/a/SKILL.md": ""},
        {"skills/a": "own"},
    ),
    "out of the repository": ({MARKET: market({"name": "x", "source": "../x"})}, {"skills/a": ""}),
}  # fmt: skip


@pytest.mark.parametrize(("files", "wanted"), CASES.values(), ids=CASES)
def test_a_skill_belongs_to_the_plugin_that_holds_it(
    files: dict[str, str], wanted: dict[str, str], write: Write
) -> None:
    plugins = Plugins(str(write({"skill-health.toml": "", **files})))
    assert {folder: plugins.plugin_of(folder) for folder in wanted} == wanted


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"name": 1}', '{"name": "' + "x" * 300 + '"}', "[" * 100_000, '{"plugins": 5}',
             '{"plugins": [5, {"name": "x"}, {"name": "x", "source": 5}]}'],
    ids=["empty", "a list", "no json", "a number", "a long name", "deep", "no entries", "odd entries"],
)  # fmt: skip
def test_what_is_no_manifest_names_nothing(text: str, write: Write) -> None:
    root = write({PLUGIN: text, MARKET: text, "skills/a/SKILL.md": ""})
    assert Plugins(str(root)).plugin_of("skills/a") == ""


def test_manifests_count_up_to_the_top_of_the_repository(write: Write) -> None:
    root = write({PLUGIN: '{"name": "p"}', "skills/a/SKILL.md": ""})
    assert Plugins(str(root / "skills")).plugin_of("a") == ""
    (root / ".git").mkdir()
    assert Plugins(str(root / "skills")).plugin_of("a") == "p"
    assert Plugins(str(root / "skills")).qualify("a", "access") == "p:access"
