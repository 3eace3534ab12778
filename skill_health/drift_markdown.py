"""The drift report as Markdown, reports/skill-health-drift.md. Whatever comes from a skill is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.core.console import markdown_text
from skill_health.drift_sections import DriftSection

_MOST = 200
_WIDEST = 400


def render(
    head: Sequence[str], reasons: Sequence[str], collection: Sequence[str], parts: Sequence[DriftSection]
) -> str:
    """A whole document: the run, the verdict, the collection, and every section. Each is given as plain text."""
    lines = ["# Skill health: drift", ""]
    for sentence in head:
        lines += [_text(sentence), ""]
    if reasons:
        lines += ["**Drift beyond the limits:**", "", *(f"- {_text(reason)}" for reason in reasons), ""]
    else:
        lines += ["No drift beyond the limits.", ""]
    lines += ["## Collection", "", *(f"- {_text(line)}" for line in collection), ""]
    for section in parts:
        lines += _section(section)
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(section: DriftSection) -> Iterator[str]:
    yield f"## {_text(section.title)} ({len(section.items)})"
    yield ""
    for item in section.items[:_MOST]:
        yield f"- {_text(item.text)}"
        yield from (f"  - {_text(detail)}" for detail in item.details)
    if len(section.items) > _MOST:
        yield f"- and {len(section.items) - _MOST} more"
    yield ""
    if section.note:
        yield _text(section.note)
        yield ""
    if section.command:
        yield from ("```sh", section.command, "```", "")


def _text(text: str) -> str:
    shown = text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
    return markdown_text(shown).replace(" -&gt; ", " → ")
