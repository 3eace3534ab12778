"""OpenClaw: what is no YAML is read line by line."""

from skill_health.hosts._api import Fault, HostLimits, HostRules, Proof

_SILENT = "is skipped without a word"
_DESCRIPTION = "is skipped without a word: description is required"

HOST = HostRules(
    key="openclaw",
    title="OpenClaw",
    read="2026-11-23",
    version="source of 2026-05",
    proof=Proof.SOURCE,
    source="github.com/openclaw/openclaw, src/agents/skills/local-loader.ts and workspace.ts (limits.maxSkillFileBytes); "
    "docs.openclaw.ai/tools/skills and clawhub/skill-format (metadata.openclaw, formerly clawdbot and clawdis, at "
    "docs.molt.bot moltbot)",
    folders=(".openclaw/skills",),
    also=(".agents/skills",),
    manifests=("openclaw.plugin.json", ".clawhubignore"),
    limits=HostLimits(file_bytes=256_000),
    keys=(
        "user-invocable",
        "disable-model-invocation",
        "homepage",
        "command-dispatch",
        "command-tool",
        "command-arg-mode",
    ),
    metadata=("openclaw", "clawdbot", "clawdis", "moltbot"),
    skips={
        Fault.UNREADABLE: "is not there",
        Fault.LOWER_CASE_FILE: "is not there",
        Fault.OTHER_CASE_FILE: "is not there",
        Fault.HIDDEN_FOLDER: "is not there: folders that start with a dot are not searched",
        Fault.LARGE_FILE: _SILENT,
        Fault.UTF16: _SILENT,
        Fault.NO_FRONTMATTER: _SILENT,
        Fault.UNCLOSED_FRONTMATTER: _SILENT,
        Fault.EMPTY_FRONTMATTER: _DESCRIPTION,
        Fault.NO_MAPPING: _SILENT,
        Fault.NO_DESCRIPTION: _DESCRIPTION,
        Fault.NULL_DESCRIPTION: _DESCRIPTION,
        Fault.BLANK_DESCRIPTION: _DESCRIPTION,
    },
)
