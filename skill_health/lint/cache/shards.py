"""What was found in a part of a collection, in a file that another run, on another machine, goes on from.

A shard holds the skills that it checked as a cache does. What it says of a skill is used where rules, settings,
registries and every file that was looked at are the same; whatever differs is checked again. So the merged run says
what a whole one would.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from skill_health import __version__
from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.core.files import here, open_regular, write_bytes
from skill_health.discovery.corpus import Discovery, Entry
from skill_health.executors.shards import Shard, refuse_incomplete
from skill_health.lint.cache.cache_file import CacheFile, CacheWriter
from skill_health.lint.cache.lint_cache import LintCache, digest_of, placed, rules_digest, settings_of
from skill_health.lint.cache.records import SkillLines, encoded
from skill_health.lint.cache.session_skills import SessionSkill

_NAME = "shard"


class ShardBasis(NamedTuple):
    """What makes the findings of two runs the same but for the files: these are digests, but for the version."""

    version: str
    rules: str
    settings: str
    registries: str

    @property
    def base(self) -> str:
        """What the records of skills are valid for."""
        return digest_of(*self)


def basis_of(root: str, config: Config) -> ShardBasis:
    """The basis of a run here."""
    return ShardBasis(__version__, rules_digest(), *settings_of(root, config))


def write_shard(
    file: str, shard: Shard, basis: ShardBasis, cache: LintCache, entries: Sequence[Entry],
    skills: Mapping[str, SessionSkill],
) -> None:  # fmt: skip
    """Write what was found in some skills. Raises UsageError where the file cannot be written."""
    new, portable = CacheWriter(), LintCache(cache.discovery, base=basis.base)

    def records() -> Iterator[bytes]:
        for entry in entries:
            state, record = skills[entry.path].state, skills[entry.path].record
            if not state.content:
                # It could not be checked; another try may succeed.
                continue
            record = record._replace(key=portable.key(entry, state.content), taken=0, states="")
            lines = skills[entry.path].lines
            facts = state.summary + state.facts
            each = SkillLines(lines[: state.summary], lines[state.summary : facts], encoded(record))
            moved = placed(state._replace(taken=0, state=""), entry.path, each)
            yield new.skill(entry.path, moved, b"".join(each))
        yield new.part("shard", encoded({"shard": shard, "basis": basis}))

    write_bytes(file, new.chunks(_NAME, records()))


class ShardCache(LintCache):
    """What the shards of a collection hold; nothing is kept beyond the run."""

    def __init__(self, discovery: Discovery, basis: ShardBasis, files: Sequence[str]) -> None:
        super().__init__(discovery, base=basis.base, paranoid=True)
        self.shards: list[CacheFile] = []
        self._owner: dict[bytes, int] = {}
        try:
            self._open(files, basis)
        except UsageError:
            self.close()
            raise

    def _open(self, files: Sequence[str], basis: ShardBasis) -> None:
        found: list[tuple[str, Shard]] = []
        for name in files:
            file, shard, theirs = _open_shard(name)
            self.shards.append(file)
            _check_basis(name, theirs, basis)
            found.append((here(name), shard))
            self._owner.update(dict.fromkeys(file.skills, len(self.shards) - 1))
        refuse_incomplete(found)

    def _stored(self, path: str) -> tuple[CacheFile, bytes]:
        owner = self._owner.get(encoded(path))
        if owner is None:
            return self.file, b""
        file = self.shards[owner]
        return file, file.skills[encoded(path)]

    def close(self) -> None:
        """Let go of the files."""
        super().close()
        for file in self.shards:
            file.close()


def _open_shard(name: str) -> tuple[CacheFile, Shard, ShardBasis]:
    try:
        file = CacheFile(_NAME, os.fdopen(open_regular(name), "rb"))
    except OSError as error:
        raise UsageError(f"cannot read {here(name)}: {error.strerror or error}") from None
    head = file.part("shard")
    try:
        shard, basis = Shard(*head["shard"]), ShardBasis(*head["basis"])
    except (TypeError, KeyError):
        file.close()
        raise UsageError(
            f"{here(name)} is no shard, or not all of one: `skill-health lint --shard K/N --output FILE` writes them"
        ) from None
    return file, shard, basis


def _check_basis(name: str, theirs: ShardBasis, ours: ShardBasis) -> None:
    if theirs == ours:
        return
    if theirs.version != ours.version:
        what = f"by skill-health {theirs.version}, and this is {ours.version}"
    elif theirs.rules != ours.rules:
        what = "with other rules than those of this skill-health, whose version is the same"
    elif theirs.settings != ours.settings:
        what = "with other settings: give `merge` the options that `lint --shard` was given, in the same repository"
    else:
        what = "with other registries beside the skills: merge it in the same state of the repository"
    raise UsageError(f"{here(name)} was made {what}")


def take_skills(shard: Shard, entries: Sequence[Entry]) -> list[Entry]:
    """The skills of a part: every so many-th of those asked for, by their paths."""
    return shard.take(sorted((entry for entry in entries if entry.target), key=lambda entry: entry.path))
