"""What a task is, and what a format of tasks is given and gives back.

A format is a module of this package whose name has no underscore in front. It has

    TITLE                    what it is called in messages
    fits(folder) -> str      the file by which a folder is a task of this format, "" where it is none
    load(folder)             its tasks, in order: a Task, or a BadRecord where one is wrong

or, where each file holds tasks,

    is_ours(folder, name)    whether a file of a folder is one of this format
    load(folder, name)       its tasks in the same way

and runs nothing. It may raise `Refused` for a file that cannot be read safely; `_load` makes a BadRecord of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args

from skill_health.core.files import blake2b
from skill_health.documents._targets import target_name
from skill_health.effectiveness.rubric.model import Rubric
from skill_health.effectiveness.tasks._folder import File, Folder
from skill_health.effectiveness.tasks._image import ImageRecipe, NetworkGrant, TaskResources
from skill_health.registries.records import BadRecord
from skill_health.text.patterns import lazy

AGENT_TIMEOUT = 600.0
VERIFIER_TIMEOUT = 60.0
# Ids name folders of results, so they must be names everywhere.
_ID = lazy(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,127}\Z")

Grading = Literal["exit", "reward"]


@dataclass(frozen=True, slots=True)
class Script:
    """A verifier or an oracle.

    `files` are staged in a folder of their own, outside the workspace, and `argv` is run with the workspace as the
    current directory; a word of it that is the path of one of the files means the file as it is staged. The digest
    covers all that is here.
    """

    argv: tuple[str, ...]
    files: tuple[File, ...]
    timeout_sec: float
    env: tuple[tuple[str, str], ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class SetupCommand:
    """A command of a shell that prepares the workspace before the agent starts, with its limit in seconds.

    `exits` are the exit codes that it may have; with any other one there is no trial, unless it is not `required`.
    """

    command: str
    seconds: float
    exits: tuple[int, ...] = (0,)
    required: bool = True


AuthorKind = Literal["human", "model", "mixed"]


@dataclass(frozen=True, slots=True)
class TaskAbout:
    """What its author says of a task beside what a trial needs; no trial depends on it.

    `instruction_by` says who wrote the instruction, None where nobody says. `tests_reason` and `skills_reason` say why
    a task has more tests, or another number of skills, than a reviewer expects.
    """

    tags: tuple[str, ...] = ()
    instruction_by: AuthorKind | None = None
    tests_reason: str = ""
    skills_reason: str = ""


def about_task(metadata: Mapping[str, Any]) -> TaskAbout:
    """What the metadata of a task say of it; a value that is none of those asked for is as none."""
    tags = metadata.get("tags")
    written = str(metadata.get("instruction_by") or "").casefold()
    return TaskAbout(
        tuple(each for each in tags if isinstance(each, str)) if isinstance(tags, Sequence) and not isinstance(tags, str) else (),
        next((kind for kind in get_args(AuthorKind) if kind == written), None),
        *(" ".join(str(metadata.get(key) or "").split()) for key in ("tests_reason", "skills_reason")),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ContainedTask:
    """What of a task is another in a container of its own image: its paths are real, and its limits can be held."""

    recipe: ImageRecipe
    resources: TaskResources
    prompt: str
    verifier: Script | None = field(repr=False)
    oracle: Script | None = field(repr=False)
    env: tuple[tuple[str, str], ...]
    unsupported: tuple[str, ...]
    blockers: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Task:
    """One task. What the files hold was read once, so nothing that an agent does later changes it.

    `path` is how the task is named in messages, `folder` where it lies (absolute; in no record). `format` is the name
    of the loader. `target_skills` are those that should help, in order and together: none of them for a negative
    control, and None where nothing says which. The other three are None where the task names none.

    `files` are what a trial starts from. `grading` says what decides: "exit" the exit code of the verifier, "reward"
    the reward that it writes. `places` are paths that a container would have, each with what takes its place here:
    "workspace", "verifier", "oracle" or "rewards"; they are replaced in the files of both scripts, and the workspace's
    are "." in the prompt.

    `unsupported` is what of the task is left out here, `blockers` why it cannot be run here at all, one line each.
    `skills` are folders of skills that the task itself brings, absolute.

    `rubric` are criteria that are decided after the agent's run; without a verifier they alone give the outcome.
    `checking` are the files that its commands have, in the folder that the variable of its `env` names.

    `preparation` are commands that are run in the workspace before the agent; they, too, have the files of `checking`.

    `contained` is the same task in a container of an image of its own, None where it describes none. A task that is
    to be run there has its `recipe`: its workspace begins as the image's working directory, `files` are none, and the
    `places` are real paths, nothing of which is replaced.

    `network` is what of a network a run grants to the task, None for nothing but the gateway.

    `digest` covers what a trial depends on before it is verified: prompt, files, environment and time limit.
    `verifier.digest` is apart, because a changed verifier only needs to verify again.
    """

    id: str
    slug: str
    path: str
    format: str
    prompt: str
    target_skills: tuple[str, ...] | None
    irrelevant_skill: str | None = None
    related_skill: str | None = None
    unrelated_skill: str | None = None
    category: str = ""
    difficulty: str = ""
    about: TaskAbout = TaskAbout()
    agent_timeout_sec: float = AGENT_TIMEOUT
    files: tuple[File, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = ()
    verifier: Script | None = field(default=None, repr=False)
    oracle: Script | None = field(default=None, repr=False)
    rubric: Rubric | None = field(default=None, repr=False)
    checking: Script | None = field(default=None, repr=False)
    preparation: tuple[SetupCommand, ...] = ()
    grading: Grading = "exit"
    places: tuple[tuple[str, str], ...] = ()
    unsupported: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    folder: str = ""
    digest: str = ""
    contained: ContainedTask | None = field(default=None, repr=False)
    recipe: ImageRecipe | None = field(default=None, repr=False)
    resources: TaskResources | None = None
    network: NetworkGrant | None = None

    def in_container(self) -> Task:
        """The task as it is in a container of its own image; itself where it describes none."""
        if self.contained is None:
            return self
        other = self.contained
        return replace(
            self, contained=None, recipe=other.recipe, resources=other.resources, prompt=other.prompt, files=(),
            verifier=other.verifier, oracle=other.oracle, env=other.env, unsupported=other.unsupported,
            blockers=other.blockers, digest=other.digest,
        )  # fmt: skip

    @property
    def is_control(self) -> bool:
        """Whether no skill should help: a negative control, which runs control, full and negative only."""
        return self.target_skills == ()

    @property
    def agent_network(self) -> NetworkGrant | None:
        """What of a network is granted to agents at the task."""
        return self.network if self.network and self.network.agent else None

    @property
    def target_name(self) -> str | None:
        """The name by which reports know the skills that should help."""
        return target_name(self.target_skills)

    @property
    def verifier_digest(self) -> str | None:
        """What the verdict on a trial depends on: the verifier's digest, with the rubric's where there is one."""
        own = self.verifier.digest if self.verifier else None
        return own if self.rubric is None else rubric_digest(self.rubric, own or "", self.checking)

    @property
    def runnable(self) -> bool:
        """Whether it can be run here."""
        return not self.blockers


def is_safe_id(text: str) -> bool:
    """Whether an id may name a file: letters, digits, `_`, `-` and single dots, at most 128 characters."""
    return _ID.match(text) is not None


def script(
    argv: Iterable[str],
    files: Iterable[File],
    timeout_sec: float,
    env: Iterable[tuple[str, str]] = (),
    places: Iterable[tuple[str, str]] = (),
) -> Script:
    """A script with its digest, over the places that are replaced in it, too; files in the order of their paths."""
    argv, env = tuple(argv), tuple(sorted(env))
    files = tuple(sorted(files, key=lambda file: file.path))
    words = [*argv, "", repr(timeout_sec), *map(repr, env), "", *map(repr, places)]
    return Script(argv, files, timeout_sec, env, _digest(words, files))


def rubric_digest(rubric: Rubric, verifier: str = "", checking: Script | None = None) -> str:
    """The digest of criteria, of the verifier beside them, and of what their commands have."""
    words = [verifier, checking.digest if checking else "", repr(rubric.goal_weight)]
    words += [repr((each.id, each.text, each.points, each.group, each.check)) for each in rubric.criteria]
    return _digest(words, ())


def task_digest(
    prompt: str,
    files: Iterable[File],
    env: Iterable[tuple[str, str]],
    timeout_sec: float,
    preparation: Iterable[SetupCommand] = (),
    checking: Script | None = None,
) -> str:
    """The digest of what a trial depends on before it is verified: `checking` where commands prepare the workspace."""
    words = [prompt, repr(timeout_sec), *map(repr, sorted(env))]
    if made := [repr((each.command, each.seconds, each.exits, each.required)) for each in preparation]:
        words += ["preparation", *made, checking.digest if checking else ""]
    return _digest(words, sorted(files, key=lambda file: file.path))


def _digest(words: Iterable[str], files: Iterable[File]) -> str:
    total = blake2b(digest_size=16)
    for word in words:
        raw = word.encode("utf-8", "surrogatepass")
        total.update(b"w%d:" % len(raw) + raw)
    for file in files:
        name = file.path.encode("utf-8")
        total.update(b"f%d:%d:%d:" % (len(name), len(file.data), file.executable) + name + file.data)
    return total.hexdigest()


class EvalFormat(Protocol):
    """The module of a format of files that hold tasks."""

    TITLE: str

    def is_ours(self, folder: Folder, name: str) -> bool:
        """Whether a file of a folder is one of this format."""

    def load(self, folder: Folder, name: str) -> Iterator[Task | BadRecord]:
        """The tasks of the file, in order."""


class TaskFormat(Protocol):
    """The module of a format of folders that are a task each."""

    TITLE: str

    def fits(self, folder: Folder) -> str:
        """The file by which a folder is a task of this format, relative to it; "" where it is none."""

    def load(self, folder: Folder) -> Iterator[Task | BadRecord]:
        """The tasks of the folder, in order."""
