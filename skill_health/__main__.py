"""`python -m skill_health`."""

from skill_health.cli import entry

entry()
