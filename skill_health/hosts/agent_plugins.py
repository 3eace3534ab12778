"""Agent Plugins, a specification of plugins: what does not conform to Agent Skills must be skipped."""

from skill_health.hosts._api import Fault, HostRules, Proof
from skill_health.hosts.agentskills import HOST as AGENT_SKILLS

_MUST = "must be skipped: it does not conform to the Agent Skills specification (7.1)"

HOST = HostRules(
    key="agent-plugins",
    title="Agent Plugins 1.0.0",
    read="2026-11-23",
    version="1.0.0 of 2026-08-06",
    proof=Proof.DOCUMENTED,
    source="agent-plugins.org/specification, 1.0.0, sections 4.1, 5 and 7.1",
    specification=True,
    limits=AGENT_SKILLS.limits,
    manifests=("plugin.json",),
    skips={
        **dict.fromkeys(AGENT_SKILLS.skips, _MUST),
        Fault.LOWER_CASE_FILE: "is no skill: the file must be named exactly SKILL.md (7.1)",
        Fault.OTHER_CASE_FILE: "is no skill: the file must be named exactly SKILL.md (7.1)",
        Fault.UNREADABLE: "must be skipped: SKILL.md must be a file within the plugin (4.1)",
    },
)
