"""The colours of the theme as a style sheet: one drawing serves light and dark, as its colours are exchanged."""

from __future__ import annotations

from skill_health.page.drawing.theme import BAD, DARK, GOOD, GRID, GROUND, INK, MUTED, SERIES, UNKNOWN, WARN, ZERO

_NAMES = {
    "ink": INK, "muted": MUTED, "grid": GRID, "ground": GROUND, "zero": ZERO,
    "good": GOOD, "bad": BAD, "unknown": UNKNOWN, "link": SERIES[0],
}  # fmt: skip
# Grounds of the page that pictures do not have, and the one colour that as small text on them needs to be darker.
_OWN = {
    "wash": ("#f3f4f7", "#202026"), "raised": ("#ffffff", "#1d1d22"), "lit": ("#ffedb8", "#372d08"),
    "warn": ("#8a5200", DARK[WARN]),
}  # fmt: skip


def style() -> str:
    """Custom properties for both themes, and a rule for each colour that a picture may hold."""
    light = [f"--{name}:{color}" for name, color in _NAMES.items()]
    dark = [f"--{name}:{DARK[color]}" for name, color in _NAMES.items()]
    for name, (day, night) in _OWN.items():
        light.append(f"--{name}:{day}")
        dark.append(f"--{name}:{night}")
    light += [f"--k{color[1:]}:{color}" for color in DARK]
    dark += [f"--k{color[1:]}:{other}" for color, other in DARK.items()]
    night = ";".join(("color-scheme:dark", *dark))
    exchanged = "\n".join(
        f'svg [{name}="{color}"]{{{name}:var(--k{color[1:]})}}'
        for color in DARK
        for name in ("fill", "stroke", "stop-color")
    )
    return (
        f":root{{{';'.join(('color-scheme:light', *light))}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{night}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{night}}}}}\n"
        f"{exchanged}\n"
    )
