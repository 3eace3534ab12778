"""`skill-health effectiveness`."""

from skill_health.effectiveness.cli import command

__all__ = ["command"]
