"""A collection as the daily run rates it: the same risks as `router risk`, for all of its skills."""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.bench.collection import BY_PATH, REFUSE, read_collection
from skill_health.config.settings import Config
from skill_health.core.files import blake2b, read_small
from skill_health.discovery.hosts import hosts
from skill_health.documents.router_risk import RiskReport
from skill_health.lint.pipeline import find_readable
from skill_health.router.listing import catalogue
from skill_health.router.risk.assess import COEFFICIENTS, assess_risk


def rate_collection(paths: Sequence[str], root: str, config: Config) -> RiskReport:
    """The risks of the skills that `paths` name, among those around them.

    Where skills share a name and the settings refuse that, they are told apart by their paths: a day's report must not
    fail for it. Raises UsageError as `catalogue` does.
    """
    namesakes = BY_PATH if config.router.namesakes == REFUSE else config.router.namesakes
    _, found = read_collection(find_readable(paths, config, root), namesakes)
    known = hosts(config.listing)
    return assess_risk(catalogue(found.skills, config.router.listing, known, found.names), known)


def model_digest() -> str:
    """A hash of the shipped model: 32 hexadecimal digits."""
    return blake2b(read_small(COEFFICIENTS) or b"", digest_size=16).hexdigest()
