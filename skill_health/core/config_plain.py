"""Plain settings as TOML has them, checked: texts, numbers, lists of texts."""

from __future__ import annotations

from skill_health.core.config_mistakes import Place, wrong

SEVERITIES = ("error", "warning", "info")
CHOICES = {
    "fail-on": (*SEVERITIES, "never"), "router.mode": ("text", "json_schema"),
    "router.indexing": ("description", "body"), "effectiveness.hint": ("no", "also", "only"),
}  # fmt: skip
NOT_EMPTY = frozenset(("profile", "daily.reports", "per-path.glob", "router.listing", "router.template"))
PROVIDER_POSITIVE = ("concurrency", "max-output-tokens", "timeout", "idle-timeout")
# Whole numbers may be 0 except these; every other number of the configuration is a share.
AT_LEAST_ONE = frozenset(
    ("limits.body-lines", "limits.body-tokens", "limits.reference-lines", "limits.trigger-within", "volatility.high",
     "volatility.medium", "volatility.low", "daily.window", "router.reps", "effectiveness.reps")
)  # fmt: skip


def text(value: object, path: Place) -> str:
    """A text; one of CHOICES, and not empty, where its key says so. Raises Mistake."""
    key = _key(path)
    if key in CHOICES and value not in CHOICES[key]:
        raise wrong(path, "one of " + ", ".join(CHOICES[key]), value)
    if not isinstance(value, str) or (not value and key in NOT_EMPTY):
        raise wrong(path, "text" if key not in NOT_EMPTY else "text that is not empty", value)
    return value


def whole(value: object, path: Place) -> int:
    """A whole number that is not negative, or from 1 on where its key says so. Raises Mistake."""
    of_provider = path[:2] == ("router", "providers") and path[-1] in PROVIDER_POSITIVE
    least = 1 if of_provider or _key(path) in AT_LEAST_ONE else 0
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise wrong(path, f"a whole number of at least {least}", value)
    return value


def share(value: object, path: Place) -> float:
    """A number from 0 to 1. Raises Mistake."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise wrong(path, "a number from 0 to 1", value)
    return float(value)


def texts(value: object, path: Place) -> tuple[str, ...]:
    """A list of texts that are not empty. Raises Mistake."""
    if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
        raise wrong(path, 'a list of texts that are not empty, such as ["one"]', value)
    return tuple(value)


def read_words(value: object, path: Place) -> dict[str, str]:
    """The severities of rules, or texts by the names of variables. Raises Mistake."""
    if path != ("severity",):
        return _variables(value, path)
    if not isinstance(value, dict):
        raise wrong(path, 'a table, such as { FM001 = "info" }', value)
    for key, severity in value.items():
        if severity not in SEVERITIES:
            raise wrong((*path, key), "one of " + ", ".join(SEVERITIES), severity)
    return dict(value)


def _variables(value: object, path: Place) -> dict[str, str]:
    if not isinstance(value, dict):
        raise wrong(path, 'a table of texts, such as { NAME = "value" }', value)
    for key, text in value.items():
        if not key or not isinstance(text, str):
            raise wrong((*path, key), "text under the name of an environment variable", text)
    return dict(value)


def _key(path: Place) -> str:
    """The dotted key of a place without the numbers of list entries."""
    return ".".join(part for part in path if isinstance(part, str))
