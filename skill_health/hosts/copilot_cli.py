"""GitHub Copilot, its command-line program."""

from skill_health.hosts._api import Fault, HostLimits, HostRules, Proof

_BLOCK = "fails to load: missing or malformed YAML frontmatter"
_YAML = "fails to load: the YAML cannot be read"
_NAME = "fails to load: the name must be text"
_TEXT = "fails to load: the description must be text"

HOST = HostRules(
    key="copilot-cli",
    title="Copilot CLI",
    read="2026-11-23",
    version="1.0.102",
    proof=Proof.RUN,
    source="`copilot skill list --json` of @github/copilot (npm), which lists skills and why others fail to load; "
    "github.com/github/copilot-cli issue 3494",
    folders=(".github/skills",),
    also=(".agents/skills", ".claude/skills"),
    manifests=(".github/plugin/marketplace.json",),
    limits=HostLimits(name=64, description=1024, name_pattern=r"[a-zA-Z0-9][a-zA-Z0-9._\-: ]*"),
    listing={
        "budget": 15_000,
        "unit": "characters",
        "overflow": "omit",
        "entry": "<skill>\n  <name>{name}</name>\n  <description>{description}</description>\n"
        "  <location>project</location>\n</skill>\n",
        "bare": "",
        "source": "github.com/github/copilot-cli issues 1464 and 2314 (2026-11-21): 15,000 characters in alphabetical "
        "order, the rest left out without a word",
    },
    keys=("argument-hint", "user-invocable", "disable-model-invocation", "context"),
    skips={
        Fault.UNREADABLE: "is not there",
        Fault.LOWER_CASE_FILE: "is not there",
        Fault.OTHER_CASE_FILE: "is not there",
        Fault.HIDDEN_FOLDER: "is not there: folders that start with a dot are not searched",
        Fault.UTF16: _BLOCK,
        Fault.LONE_CARRIAGE_RETURNS: _BLOCK,
        Fault.NO_FRONTMATTER: _BLOCK,
        Fault.UNCLOSED_FRONTMATTER: _BLOCK,
        Fault.COLON_IN_VALUE: _YAML,
        Fault.COLON_IN_LATER_LINE: _YAML,
        Fault.COLON_BELOW: _YAML,
        Fault.RESERVED_START: _YAML,
        Fault.DIRECTIVE_START: _YAML,
        Fault.BROKEN_QUOTES: _YAML,
        Fault.TEXT_AFTER_BRACKET: _YAML,
        Fault.TAB_INDENT: _YAML,
        Fault.BROKEN_YAML: _YAML,
        Fault.CONTROL_CHARACTER: _YAML,
        Fault.DUPLICATE_KEY: _YAML,
        Fault.DUPLICATE_NAME: _YAML,
        Fault.TOOLS_NOT_TEXT: "fails to load: allowed-tools must be text or a list",
        Fault.HINT_NOT_TEXT: "fails to load: argument-hint must be text",
        Fault.SWITCH_NOT_BOOLEAN: "fails to load: it must be true or false",
        Fault.EMPTY_NAME: _NAME,
        Fault.NAME_NOT_TEXT: _NAME,
        Fault.LONG_NAME: "fails to load: the name is too long",
        Fault.NAME_CHARACTERS: "fails to load: the characters of the name",
        Fault.NULL_DESCRIPTION: _TEXT,
        Fault.DESCRIPTION_COLLECTION: _TEXT,
        Fault.DESCRIPTION_NOT_TEXT: _TEXT,
        Fault.LONG_DESCRIPTION: "fails to load: the description is too long",
    },
    loses={
        Fault.EMPTY_FRONTMATTER: "is listed with the first line of its text for a description",
        Fault.NO_MAPPING: "is listed with the first line of its text for a description",
        Fault.NO_DESCRIPTION: "is listed with the first line of its text for a description",
        Fault.BLANK_DESCRIPTION: "is listed without a description",
    },
)
