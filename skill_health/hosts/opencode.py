"""OpenCode."""

from skill_health.hosts._api import Fault, HostRules, Proof

_SILENT = "is skipped without a word"
_NAME = "is skipped without a word: the name must be text"
_TEXT = "is skipped without a word: the description must be text"
_YAML = "is skipped: the YAML cannot be read"

HOST = HostRules(
    key="opencode",
    title="OpenCode",
    read="2026-11-23",
    version="1.18.33",
    proof=Proof.RUN,
    source="`opencode debug skill` of opencode-ai (npm); github.com/anomalyco/opencode, packages/opencode/src/skill",
    folders=(".opencode/skills", ".opencode/skill"),
    also=(".claude/skills", ".agents/skills"),
    skips={
        Fault.UNREADABLE: "is not there",
        Fault.LOWER_CASE_FILE: "is not there",
        Fault.OTHER_CASE_FILE: "is not there",
        Fault.UTF16: _SILENT,
        Fault.LONE_CARRIAGE_RETURNS: _SILENT,
        Fault.NO_FRONTMATTER: _SILENT,
        Fault.UNCLOSED_FRONTMATTER: "is skipped: the rest of the file is no YAML",
        Fault.EMPTY_FRONTMATTER: _SILENT,
        Fault.NO_MAPPING: _SILENT,
        Fault.COLON_IN_LATER_LINE: _YAML,
        Fault.COLON_BELOW: _YAML,
        Fault.RESERVED_START: _YAML,
        Fault.DIRECTIVE_START: _YAML,
        Fault.BROKEN_QUOTES: _YAML,
        Fault.TEXT_AFTER_BRACKET: _YAML,
        Fault.BROKEN_YAML: _YAML,
        Fault.CONTROL_CHARACTER: _YAML,
        Fault.DUPLICATE_KEY: _YAML,
        Fault.DUPLICATE_NAME: _YAML,
        Fault.OTHER_TAG: _YAML,
        Fault.NO_NAME: _NAME,
        Fault.EMPTY_NAME: _NAME,
        Fault.NAME_NOT_TEXT: _NAME,
        Fault.DATE_NAME: _NAME,
        Fault.NULL_DESCRIPTION: _TEXT,
        Fault.DESCRIPTION_COLLECTION: _TEXT,
        Fault.DESCRIPTION_NOT_TEXT: _TEXT,
        Fault.DATE_DESCRIPTION: _TEXT,
    },
    loses={
        Fault.NO_DESCRIPTION: "is loaded and not shown to the model",
        Fault.BLANK_DESCRIPTION: "is listed without a description",
    },
)
