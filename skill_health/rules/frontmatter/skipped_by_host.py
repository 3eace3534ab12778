"""A host would skip the skill

## What
A host or specification that the skills are for does not load the skill, for a reason that no other rule of this family
reports: a key that it does not allow, a list in brackets, a name of 70 characters, a file that is too large. The hosts
are those that `hosts` in the configuration names, else those that the layout names plainly (`.claude/skills/`,
`.codex-plugin/plugin.json`, ...). Where nothing tells, it is the Agent Skills specification as its reference validator
reads it, and the finding is information.

Findings of other rules carry the hosts that skip a skill because of them. If these hosts are chosen, they are errors.

## Why
Hosts skip a skill without a word. What one loads another does not: Copilot CLI has no skill with a description of more
than 1,024 characters, OpenCode none whose name YAML reads as a number. A client of Agent Plugins 1.0.0 must skip what
does not conform to the specification. `skill-health hosts` shows every skill and every host.

## Bad
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
allowed-tools: [Read, Write]
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
allowed-tools: Read Write
---
```

## Fix
Change what the message names, or take the host out of `hosts`. There is no automatic fix.

## Source
evidence · each host's data in `skill_health/hosts/`, with its source and date: programs that were run over public
skills, their source, or their documentation (2026-11); MUST for the specifications.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault, HostRules, Outcome
from skill_health.hosts._choice import choose_hosts, hosts_to_score
from skill_health.hosts._faults import find_faults
from skill_health.hosts._verdict import judge_skill
from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill

CODE = "FM029"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
_HELP = "`skill-health hosts` shows every host."


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each fault once, with all hosts that skip the skill because of it."""
    choice = choose_hosts(context.config, skill.path)
    found = find_faults(skill)
    skipping: dict[tuple[Fault, str], list[HostRules]] = {}
    spans = {}
    for host in choice.hosts:
        verdict = judge_skill(skill, host, found)
        for reason in verdict.reasons if verdict.outcome is Outcome.SKIPPED else ():
            skipping.setdefault((reason.fault, reason.what), []).append(host)
            spans[reason.fault, reason.what] = reason.span
    for (fault, what), hosts in skipping.items():
        severity = None if choice.certain else Severity.INFO
        then = f"{hosts[0].title}: the skill {hosts[0].skips[fault]}. {_HELP}"
        yield Hit(spans[fault, what], what, then, severity=severity, fault=fault, hosts=tuple(h.key for h in hosts))


def collect(skill: Skill, context: Context) -> dict[str, str]:
    """Why some of `hosts_to_score` do not load the skill, by their titles."""
    found = find_faults(skill)
    verdicts = [judge_skill(skill, each, found) for each in hosts_to_score(context.config)]
    return {each.host.title: each.reasons[0].what for each in verdicts if each.outcome is Outcome.SKIPPED}
