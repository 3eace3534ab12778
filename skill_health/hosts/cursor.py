"""Cursor."""

from skill_health.hosts._api import Fault, HostRules, Proof

_REQUIRED = "lacks what the documentation requires"

HOST = HostRules(
    key="cursor",
    title="Cursor",
    read="2026-11-23",
    version="documentation of 2026-11",
    proof=Proof.DOCUMENTED,
    source="cursor.com/docs/context/skills, frontmatter fields and skill directories",
    folders=(".cursor/skills",),
    also=(".agents/skills", ".claude/skills", ".codex/skills"),
    manifests=(".cursor-plugin/plugin.json",),
    keys=("disable-model-invocation", "paths", "globs"),
    skips={Fault.UNREADABLE: "is not there"},
    loses={
        Fault.NO_FRONTMATTER: _REQUIRED,
        Fault.NO_NAME: _REQUIRED,
        Fault.EMPTY_NAME: _REQUIRED,
        Fault.NO_DESCRIPTION: _REQUIRED,
        Fault.NULL_DESCRIPTION: _REQUIRED,
        Fault.BLANK_DESCRIPTION: _REQUIRED,
        Fault.OTHER_NAME: "must have the folder's name, by the documentation",
    },
)
