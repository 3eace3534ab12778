"""skill-health: is each skill well formed, honest and free of leaks?

What other programs may call is in `__all__`, and is imported when it is used: see docs/api.md.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from skill_health.api.linting import LintChange, compare, lint_paths
    from skill_health.api.reports import read_report
    from skill_health.api.routing import RankedSkill, RoutedPrompt, route
    from skill_health.api.skills import LoadedSkill, load_skill
    from skill_health.core.errors import SkillHealthError, UsageError

__version__ = "0.2.0"
__all__ = [
    "LintChange",
    "LoadedSkill",
    "RankedSkill",
    "RoutedPrompt",
    "SkillHealthError",
    "UsageError",
    "compare",
    "lint_paths",
    "load_skill",
    "read_report",
    "route",
]
_PLACES = {
    "core.errors": ("SkillHealthError", "UsageError"),
    "api.linting": ("LintChange", "compare", "lint_paths"),
    "api.reports": ("read_report",),
    "api.routing": ("RankedSkill", "RoutedPrompt", "route"),
    "api.skills": ("LoadedSkill", "load_skill"),
}


def __getattr__(name: str) -> object:
    for module, names in _PLACES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
