"""`python -m simulators ...`: the command `skill-health`, with the simulators beside the real routers and agents."""

from skill_health.cli import entry

entry()
