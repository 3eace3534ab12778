"""Gemini CLI: what is no YAML is read line by line."""

from skill_health.hosts._api import Fault, HostRules, Proof

_SILENT = "is skipped without a word"

HOST = HostRules(
    key="gemini-cli",
    title="Gemini CLI",
    read="2026-11-23",
    version="0.61.0",
    proof=Proof.RUN,
    source="`gemini skills list --all` of @google/gemini-cli (npm), and skillLoader.ts in it; geminicli.com/docs/cli/skills",
    folders=(".gemini/skills",),
    also=(".agents/skills",),
    manifests=("gemini-extension.json",),
    skips={
        Fault.UNREADABLE: "is not there",
        Fault.LOWER_CASE_FILE: "is not there",
        Fault.OTHER_CASE_FILE: "is not there",
        Fault.HIDDEN_FOLDER: "is not there: folders that start with a dot are not searched",
        Fault.BYTE_ORDER_MARK: _SILENT,
        Fault.UTF16: _SILENT,
        Fault.LONE_CARRIAGE_RETURNS: _SILENT,
        Fault.NO_FRONTMATTER: _SILENT,
        Fault.UNCLOSED_FRONTMATTER: _SILENT,
        Fault.EMPTY_FRONTMATTER: _SILENT,
        Fault.NO_MAPPING: _SILENT,
        Fault.SPACE_AFTER_OPENING_FENCE: _SILENT,
        Fault.NO_NAME: "is skipped without a word: name is required",
        Fault.NO_DESCRIPTION: "is skipped without a word: description is required",
    },
    loses={
        Fault.NULL_DESCRIPTION: "is listed without a description",
        Fault.BLANK_DESCRIPTION: "is listed without a description",
        Fault.BROKEN_QUOTES: "is read line by line, with quotes and escapes as they stand",
        Fault.DESCRIPTION_COLLECTION: "is listed with its YAML for a description",
    },
)
