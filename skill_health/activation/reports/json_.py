"""The report as JSON."""

from __future__ import annotations

from skill_health.bench.report_formats import PLAIN, RenderOptions
from skill_health.documents._record import encode_record
from skill_health.documents.activation_report import ActivationReport

EXTENSION = ".json"


def render(report: ActivationReport, look: RenderOptions = PLAIN) -> str:
    """Every number of the report."""
    return encode_record(report)
