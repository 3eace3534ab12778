"""Copilot Cowork of Microsoft 365, whose packages are validated when they are uploaded."""

from skill_health.hosts._api import Fault, HostLimits, HostRules, Proof

_REFUSED = "is refused with its package"

HOST = HostRules(
    key="copilot-cowork",
    title="Copilot Cowork",
    read="2026-11-23",
    version="2026-07-29",
    proof=Proof.DOCUMENTED,
    source="its message InvalidAgentSkill, as reported in github.com/microsoft/What-I-did-with-Cowork issue 4",
    limits=HostLimits(description=1024, file_characters=20_000),
    skips={
        Fault.LARGE_FILE: _REFUSED,
        Fault.LONG_DESCRIPTION: _REFUSED,
    },
)
