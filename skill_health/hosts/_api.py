"""The interface of a host: what is known of a program that loads skills, or of a specification of them.

A host is a module `hosts/<name>.py` with `HOST = HostRules(...)`; its key is the module's name with hyphens. It says
what becomes of a skill with each `Fault`: it is skipped, or it loads and loses something. A fault that stands in
neither table does no harm there.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

# A run with a full cache names hosts, and never loads the model of a skill.
if TYPE_CHECKING:
    from skill_health.skill.model import Span


class Fault(Enum):
    """Something about a skill that at least one host minds. The value is how it is described in a sentence."""

    UNREADABLE = "SKILL.md cannot be read"
    LOWER_CASE_FILE = "the file is named skill.md"
    OTHER_CASE_FILE = "the file's name is SKILL.md in another case"
    HIDDEN_FOLDER = "the folder's name starts with a dot"
    LARGE_FILE = "the file is too large"
    BYTE_ORDER_MARK = "the file starts with a byte-order mark"
    NOT_UTF8 = "the file is not UTF-8"
    UTF16 = "the file is UTF-16"
    LONE_CARRIAGE_RETURNS = "the lines end with a carriage return alone"
    NO_FRONTMATTER = "there is no frontmatter on the first line"
    UNCLOSED_FRONTMATTER = "the frontmatter is never closed"
    EMPTY_FRONTMATTER = "the frontmatter is empty"
    NO_MAPPING = "the frontmatter is no mapping"
    SPACE_AFTER_OPENING_FENCE = "there is a space after the opening ---"
    DASHES_IN_BLOCK = "there is --- inside the frontmatter"
    COLON_IN_VALUE = "an unquoted value holds a colon"
    COLON_IN_LATER_LINE = "a later line of an unquoted value holds a colon"
    COLON_BELOW = "an unquoted value below a key or in a list holds a colon"
    RESERVED_START = "an unquoted value starts with @ or a back-tick"
    DIRECTIVE_START = "an unquoted value starts with *, &, ! or %"
    BROKEN_QUOTES = "a quoted value is not valid YAML"
    TEXT_AFTER_BRACKET = "text follows a closing bracket or quote"
    TAB_INDENT = "a tab indents a line of the frontmatter"
    BROKEN_YAML = "the frontmatter is not valid YAML"
    CONTROL_CHARACTER = "the frontmatter holds a control character"
    DUPLICATE_KEY = "a key stands twice"
    DUPLICATE_NAME = "name or description stands twice"
    ANCHOR = "the frontmatter has anchors or aliases"
    TAG = "a value has a YAML tag"
    OTHER_TAG = "a value has a YAML tag of its own"
    FLOW_STYLE = "a value is a list or mapping in brackets"
    NO_NAME = "there is no name"
    EMPTY_NAME = "the name is empty"
    NAME_NOT_TEXT = "YAML does not read the name as text"
    DATE_NAME = "YAML reads the name as a date"
    LONG_NAME = "the name is too long"
    NAME_CHARACTERS = "the name holds characters that are not allowed"
    OTHER_NAME = "the name is not the folder's"
    NO_DESCRIPTION = "there is no description"
    NULL_DESCRIPTION = "the description is empty"
    BLANK_DESCRIPTION = "the description is a blank text"
    DESCRIPTION_NOT_TEXT = "YAML does not read the description as text"
    DATE_DESCRIPTION = "YAML reads the description as a date"
    DESCRIPTION_COLLECTION = "the description is a list or a mapping"
    LONG_DESCRIPTION = "the description is too long"
    METADATA_NOT_MAPPING = "metadata is not a mapping"
    SHORT_DESCRIPTION_COLLECTION = "metadata.short-description is a list or a mapping"
    TOOLS_NOT_TEXT = "allowed-tools is neither text nor a list"
    HINT_NOT_TEXT = "argument-hint is not text to YAML"
    SWITCH_NOT_BOOLEAN = "user-invocable or disable-model-invocation is neither true nor false"
    LONG_COMPATIBILITY = "compatibility is too long"
    COMPATIBILITY_COLLECTION = "compatibility is a list or a mapping"
    UNKNOWN_KEY = "there are keys that are not in the specification"


class Outcome(str, Enum):
    """What becomes of a skill: it loads, it loads and something of it is lost, or it is not there."""

    LOADS = "loads"
    LOSES = "loses"
    SKIPPED = "skipped"


class Proof(str, Enum):
    """How we know: by running the program over skills, by reading its source, or by its documentation."""

    RUN = "run"
    SOURCE = "source"
    DOCUMENTED = "documented"


class HostLimits(NamedTuple):
    """The numbers of a host; 0 is no limit. Lengths are characters, `file_bytes` bytes.

    `name_pattern` is what a whole name must match, "" for anything.
    """

    name: int = 0
    description: int = 0
    compatibility: int = 0
    file_characters: int = 0
    file_bytes: int = 0
    name_pattern: str = ""


class HostRules(NamedTuple):
    """One host. `skips` and `loses` say what becomes of a skill with a fault, in words that follow "the skill".

    `read` is the day on which this was found, `version` what was run or read, `source` where. `folders` are the project
    folders that mean this host by their presence, `also` others that it reads, `manifests` files that do. `keys` are
    the frontmatter keys beyond the specification's that it documents, `metadata` those below `metadata` whose values it
    documents as mappings, `listing` what it spends on showing skills to the
    model (the fields of `discovery.hosts.Host`; empty where that is not known). `specification` marks no program.
    """

    key: str
    title: str
    read: str
    version: str
    proof: Proof
    source: str
    skips: Mapping[Fault, str]
    loses: Mapping[Fault, str] = {}
    limits: HostLimits = HostLimits()
    file_names: tuple[str, ...] = ("SKILL.md",)
    folders: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    listing: Mapping[str, str | float] = {}
    specification: bool = False


class HostReason(NamedTuple):
    """Why a skill is not simply loaded: the fault, where it is, and what the host does, in words."""

    fault: Fault
    span: Span
    what: str
    then: str


class HostVerdict(NamedTuple):
    """What one host makes of one skill, with the reasons; those of a skipped skill are why it is skipped."""

    host: HostRules
    outcome: Outcome
    reasons: tuple[HostReason, ...] = ()
