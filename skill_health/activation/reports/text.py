"""The report for a terminal."""

from __future__ import annotations

from skill_health.activation.reports._blocks import document
from skill_health.bench.report_formats import PLAIN, RenderOptions
from skill_health.documents.activation_report import ActivationReport
from skill_health.text.blocks import as_text

EXTENSION = ".txt"


def render(report: ActivationReport, look: RenderOptions = PLAIN) -> str:
    """The report as plain text."""
    return as_text(document(report))
