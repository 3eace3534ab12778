"""Claude Code: nearly everything loads, but what it cannot read is replaced by the first line of the body."""

from skill_health.hosts._api import Fault, HostLimits, HostRules, Proof

_BODY = "is listed with the first line of its text for a description"

HOST = HostRules(
    key="claude-code",
    title="Claude Code",
    read="2026-11-23",
    version="2.1.197",
    proof=Proof.RUN,
    source="the list of skills in the requests of @anthropic-ai/claude-code (npm), and `claude plugin validate`; "
    "code.claude.com/docs/en/skills",
    folders=(".claude/skills",),
    manifests=(".claude-plugin/plugin.json", ".claude-plugin/marketplace.json"),
    listing={
        "context_tokens": 200_000,
        "budget_percent": 1,
        "unit": "characters",
        "chars_per_token": 4,
        "skill_chars": 1536,
        "overflow": "names",
        "entry": "- {name}: {description}\n",
        "bare": "- {name}\n",
        "source": "code.claude.com/docs/en/skills, section 'Skill descriptions are cut short' (2026-11-21): 1 % of the "
        "context window, names always kept, the least-used descriptions dropped first; 1,536 characters for each skill",
    },
    limits=HostLimits(description=1536),
    keys=(
        "when_to_use", "argument-hint", "arguments", "disable-model-invocation", "user-invocable", "disallowed-tools",
        "model", "effort", "context", "agent", "hooks", "paths", "shell",
    ),
    skips={
        Fault.UNREADABLE: "is not there",
        Fault.LOWER_CASE_FILE: "is not there, where file names have a case",
        Fault.OTHER_CASE_FILE: "is not there, where file names have a case",
    },
    loses={
        Fault.NO_FRONTMATTER: _BODY,
        Fault.BYTE_ORDER_MARK: _BODY,
        Fault.UTF16: _BODY,
        Fault.LONE_CARRIAGE_RETURNS: _BODY,
        Fault.UNCLOSED_FRONTMATTER: _BODY,
        Fault.EMPTY_FRONTMATTER: _BODY,
        Fault.NO_MAPPING: _BODY,
        Fault.COLON_IN_LATER_LINE: _BODY,
        Fault.COLON_BELOW: _BODY,
        Fault.BROKEN_QUOTES: _BODY,
        Fault.BROKEN_YAML: _BODY,
        Fault.DASHES_IN_BLOCK: "is cut there: what follows counts as its text",
        Fault.NO_DESCRIPTION: _BODY,
        Fault.NULL_DESCRIPTION: _BODY,
        Fault.BLANK_DESCRIPTION: _BODY,
        Fault.DESCRIPTION_COLLECTION: _BODY,
        Fault.LONG_DESCRIPTION: "is listed with a description that is cut",
        Fault.OTHER_NAME: "is listed and called by its folder's name",
    },
)  # fmt: skip
