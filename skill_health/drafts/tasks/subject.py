"""What tasks are drafted from: one skill or a set, with the texts that a model is shown, and what the user wants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skill_health.config.settings import Config
from skill_health.documents._draft import DraftedSkill
from skill_health.drafts.store import hash_skill
from skill_health.lint.check import FileContext
from skill_health.needs.find import find_needs
from skill_health.registries.records import Registries
from skill_health.rules.leakage._bundled import bundled_texts
from skill_health.skill.model import Skill

MOST_MATERIAL = 90_000
"""The characters of skills, files and intent that a model is shown at most."""

HERE: Mapping[str, str] = {
    "tools": "command-line programs beyond a plain shell; only those that are installed",
    "runtime": "a language and its packages; only those that are installed",
    "environment-variables": "variables that must be set",
    "repository": "an existing project, given as starting files",
    "code-files": "particular files outside the skill, given as starting files",
    "input-file": "an input artefact, given as a starting file",
}
"""The categories of environment that a task can have here, as far as its files and programs go."""
NOT_HERE: Mapping[str, str] = {
    "mcp": "an MCP server",
    "network": "hosts outside",
    "auth": "credentials",
    "multi-turn": "a user who answers in between",
    "git-state": "a state of a git repository",
    "database": "a database",
    "browser": "a browser",
    "services": "a local service",
    "service-state": "content of an outside service",
    "other": "something that no task has here",
}
"""Those that no task can have here: it runs in a sandbox without network, and nobody answers."""


@dataclass(frozen=True, slots=True)
class DraftSubject:
    """One skill, or several that are drafted for together.

    `texts` are those of their files by path, SKILL.md first; `needs` the categories of environment that they need,
    and `targets` the names by which tasks mean them, with the plugin where others have the same name.
    """

    skills: tuple[Skill, ...]
    texts: Mapping[str, str]
    intent: str = ""
    needs: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the skills, in order."""
        return tuple(sorted({skill.name for skill in self.skills}))

    @property
    def label(self) -> str:
        """How messages call it."""
        return " + ".join(self.names)

    def freeze(self) -> tuple[DraftedSkill, ...]:
        """The skills as a draft remembers them."""
        return tuple(
            DraftedSkill(
                name=skill.name, path=skill.path, digest=hash_skill(skill.text.encode("utf-8", "surrogatepass"))
            )
            for skill in self.skills
        )


def make_subject(skills: Sequence[Skill], root: str, intent: str = "", targets: Sequence[str] = ()) -> DraftSubject:
    """The subject of drafts; bundled text files are read below `root`. `targets` are the skills' names unless given."""
    context = FileContext(root, Config(), Registries())
    texts: dict[str, str] = {}
    for skill in skills:
        texts[skill.path] = skill.text
        texts |= dict(bundled_texts(skill, context))
    needs = {each for skill in skills for each in find_needs(skill, texts.get).categories}
    meant = tuple(sorted(set(targets or (skill.name for skill in skills))))
    return DraftSubject(tuple(skills), texts, intent.strip(), tuple(sorted(needs)), meant)


def material_parts(subject: DraftSubject, room: int = MOST_MATERIAL) -> dict[str, str]:
    """What a model is shown of a subject in so many characters, by the names of the parts; what is long is cut.

    Half of the room is the skills' own texts; bundled files have what they leave.
    """
    parts: dict[str, str] = {}
    for skill in subject.skills:
        parts[f"skill {skill.name}"] = _cut(skill.text, room // 2 // len(subject.skills))
        if skill.files:
            parts[f"files of {skill.name}"] = _cut("\n".join(skill.files), room // 20)
    parts |= _bundled(subject, room // 4)
    if subject.intent:
        parts["what the user wants tested"] = _cut(subject.intent, room // 6)
    if missing := [each for each in subject.needs if each in NOT_HERE]:
        parts["what the skill needs and no task has here"] = "\n".join(f"{each}: {NOT_HERE[each]}" for each in missing)
    return parts


def _bundled(subject: DraftSubject, left: int) -> Iterator[tuple[str, str]]:
    """The bundled files that SKILL.md names, the short ones first, as many as fit into what is left."""
    for skill in subject.skills:
        named = [path for path in subject.texts if path != skill.path and path.rpartition("/")[2] in skill.text]
        for path in sorted(named, key=lambda each: (len(subject.texts[each]), each)):
            if 0 < len(subject.texts[path]) <= left:
                left -= len(subject.texts[path])
                yield f"file {path}", subject.texts[path]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n[{len(text) - most:,} characters are left out here]"
