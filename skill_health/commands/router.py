"""`skill-health router`."""

from skill_health.router.cli import command

__all__ = ["command"]
