"""The report for a repository or a job summary."""

from __future__ import annotations

from skill_health.activation.reports._blocks import document
from skill_health.bench.report_formats import PLAIN, RenderOptions
from skill_health.documents.activation_report import ActivationReport
from skill_health.text.blocks import as_markdown

EXTENSION = ".md"


def render(report: ActivationReport, look: RenderOptions = PLAIN) -> str:
    """The report as Markdown; everything from skills, prompts and agents is escaped."""
    return as_markdown(document(report))
