"""The Agent Skills specification, as its reference validator reads it."""

from skill_health.hosts._api import Fault, HostLimits, HostRules, Proof

_YAML = "is refused: strict YAML"

HOST = HostRules(
    key="agentskills",
    title="Agent Skills specification",
    read="2026-11-23",
    version="skills-ref 0.1.1",
    proof=Proof.RUN,
    source="agentskills.io/specification; the reference validator skills-ref (PyPI), validator.py and parser.py",
    specification=True,
    file_names=("SKILL.md", "skill.md"),
    limits=HostLimits(
        name=64, description=1024, compatibility=500, name_pattern=r"(?!-)(?!.*--)(?:[^\W_A-Z]|-)+(?<!-)"
    ),
    skips={
        Fault.UNREADABLE: "is refused: no SKILL.md",
        Fault.OTHER_CASE_FILE: "is refused: no SKILL.md",
        Fault.NO_FRONTMATTER: "is refused: SKILL.md must start with ---",
        Fault.BYTE_ORDER_MARK: "is refused: SKILL.md must start with ---",
        Fault.UTF16: "makes the validator fail",
        Fault.NOT_UTF8: "makes the validator fail",
        Fault.UNCLOSED_FRONTMATTER: "is refused: not closed",
        Fault.EMPTY_FRONTMATTER: "is refused: no mapping",
        Fault.NO_MAPPING: "is refused: no mapping",
        Fault.COLON_IN_VALUE: _YAML,
        Fault.COLON_IN_LATER_LINE: _YAML,
        Fault.COLON_BELOW: _YAML,
        Fault.RESERVED_START: _YAML,
        Fault.DIRECTIVE_START: _YAML,
        Fault.BROKEN_QUOTES: _YAML,
        Fault.TEXT_AFTER_BRACKET: _YAML,
        Fault.TAB_INDENT: _YAML,
        Fault.BROKEN_YAML: _YAML,
        Fault.CONTROL_CHARACTER: "makes the validator fail",
        Fault.DUPLICATE_KEY: _YAML,
        Fault.DUPLICATE_NAME: _YAML,
        Fault.ANCHOR: _YAML,
        Fault.TAG: _YAML,
        Fault.OTHER_TAG: _YAML,
        Fault.FLOW_STYLE: "is refused: strict YAML has no lists or mappings in brackets",
        Fault.NO_NAME: "is refused: name is required",
        Fault.EMPTY_NAME: "is refused: name must not be empty",
        Fault.LONG_NAME: "is refused",
        Fault.NAME_CHARACTERS: "is refused: lower-case letters, digits and single hyphens",
        Fault.OTHER_NAME: "is refused: name and folder must be the same",
        Fault.NO_DESCRIPTION: "is refused: description is required",
        Fault.NULL_DESCRIPTION: "is refused: description must not be empty",
        Fault.BLANK_DESCRIPTION: "is refused: description must not be empty",
        Fault.DESCRIPTION_COLLECTION: "is refused: description must be text",
        Fault.LONG_DESCRIPTION: "is refused",
        Fault.LONG_COMPATIBILITY: "is refused",
        Fault.COMPATIBILITY_COLLECTION: "is refused: compatibility must be text",
        Fault.UNKNOWN_KEY: "is refused: other keys belong below metadata",
    },
)
