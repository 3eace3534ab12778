"""Words that do not tell one description or prompt from another."""

from __future__ import annotations

# English function words, and what every description of a skill says (read off 529 public ones, 2026-11).
STOP = frozenset(
    "a about above after again all also an and any are as at be been before being between both but by can could do does doing "
    "done during each etc for from further had has have having he her his how if in into is it its itself just may me might more "
    "most must my need needed needs no nor not of off on once only onto or other our out over own per same shall she should so some such "
    "than that the their them then there these they this those through to too under until up upon us use used user users uses using "
    "via want wants was we were what when whenever where whether which while who whom why will with within without would you "
    "your ask asks asked asking say says said mention mentions mentioned skill skills trigger triggers triggered covers cover "
    "include includes including help helps like".split()
)
