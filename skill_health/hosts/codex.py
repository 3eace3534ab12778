"""Codex."""

from skill_health.hosts._api import Fault, HostLimits, HostRules, Proof

_NOT_FOUND = "is not there: Codex compares the name exactly"
_BLOCK = "is skipped: missing YAML frontmatter"
_YAML = "is skipped: invalid YAML"
_DESCRIPTION = "is skipped: missing description"

HOST = HostRules(
    key="codex",
    title="Codex",
    read="2026-11-23",
    version="0.169.0",
    proof=Proof.RUN,
    source="`skills/list` of the app server of @openai/codex (npm), which gives skills and errors; "
    "github.com/openai/codex, codex-rs/core-skills/src/loader.rs",
    folders=(".codex/skills",),
    also=(".agents/skills",),
    manifests=(".codex-plugin/plugin.json",),
    listing={
        "context_tokens": 272_000,
        "budget_percent": 2,
        "unit": "tokens",
        "chars_per_token": 4,
        "skill_chars": 1024,
        "overflow": "shorten",
        "entry": "- {name}: {description} (file: r0/{name}/SKILL.md)\n",
        "bare": "- {name}: (file: r0/{name}/SKILL.md)\n",
        "source": "github.com/openai/codex, codex-rs skills render.rs (2026-11-21): 2 % of the context window in tokens of "
        "four bytes, else 8,000 characters; characters handed out in turn, then whole entries left out",
    },
    limits=HostLimits(name=64, description=1024),
    skips={
        Fault.UNREADABLE: "is not there",
        Fault.LOWER_CASE_FILE: _NOT_FOUND,
        Fault.OTHER_CASE_FILE: _NOT_FOUND,
        Fault.HIDDEN_FOLDER: "is not there: folders that start with a dot are not searched",
        Fault.BYTE_ORDER_MARK: _BLOCK,
        Fault.UTF16: "is skipped: the file is not UTF-8",
        Fault.NOT_UTF8: "is skipped: the file is not UTF-8",
        Fault.LONE_CARRIAGE_RETURNS: _BLOCK,
        Fault.NO_FRONTMATTER: _BLOCK,
        Fault.UNCLOSED_FRONTMATTER: _BLOCK,
        Fault.EMPTY_FRONTMATTER: _BLOCK,
        Fault.NO_MAPPING: _YAML,
        Fault.TAB_INDENT: _YAML,
        Fault.COLON_IN_LATER_LINE: _YAML,
        Fault.DIRECTIVE_START: _YAML,
        Fault.BROKEN_QUOTES: _YAML,
        Fault.BROKEN_YAML: _YAML,
        Fault.CONTROL_CHARACTER: _YAML,
        Fault.DUPLICATE_NAME: _YAML,
        Fault.METADATA_NOT_MAPPING: "is skipped: metadata must be a mapping",
        Fault.SHORT_DESCRIPTION_COLLECTION: "is skipped: metadata.short-description must be text",
        Fault.LONG_NAME: "is skipped: the name, with that of its plugin, may have 64 characters",
        Fault.NO_DESCRIPTION: _DESCRIPTION,
        Fault.NULL_DESCRIPTION: _DESCRIPTION,
        Fault.BLANK_DESCRIPTION: _DESCRIPTION,
        Fault.DESCRIPTION_COLLECTION: "is skipped: description must be text",
    },
    loses={
        Fault.LONG_DESCRIPTION: "is listed with a description that is cut",
    },
)
