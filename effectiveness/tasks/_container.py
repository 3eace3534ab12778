"""What the formats that are made for containers have in common: the environment, and what of it can be had here.

Where there is neither an image nor a Dockerfile, the files of environment/ are the workspace. Paths that only the
container has (`/tests`, `/logs/verifier`, the working directory ...) are replaced when the scripts are staged.
"""

from __future__ import annotations

import json
import posixpath
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skill_health.core.files import read_bytes
from skill_health.core.strict_json import quote
from skill_health.documents._targets import read_targets
from skill_health.effectiveness.tasks._api import ContainedTask, Script, Task, about_task, script, task_digest
from skill_health.effectiveness.tasks._bad import check_id, leftover
from skill_health.effectiveness.tasks._folder import MAX_TEXT, File, Folder, RefusedFile, is_inside
from skill_health.effectiveness.tasks._image import (
    CONTEXT,
    DOCKERFILE,
    ImageRecipe,
    is_of_skills,
    read_recipe,
    read_resources,
    skills_of_context,
)
from skill_health.effectiveness.tasks._outputs import NOT_KEPT, lost_folders, output_folders
from skill_health.effectiveness.tasks._scripts import (
    ORACLE,
    RESERVED,
    REWARDS,
    VERIFIER,
    WORKSPACE,
    default_value,
    names_place,
    replace_places,
    script_blockers,
    text_of,
)  # fmt: skip
from skill_health.skill.parse import parse_skill

# Images that hold no more than this machine must have anyway: a shell, the usual tools, Python.
PLAIN = frozenset(("alpine", "bash", "buildpack-deps", "busybox", "debian", "python", "ubuntu"))
_SILENT = frozenset(("LABEL", "MAINTAINER", "EXPOSE", "STOPSIGNAL", "CMD", "SHELL"))


@dataclass(slots=True)
class Image:
    """What a Dockerfile leaves for us.

    `workdir` is "" where it sets none, `based` says whether it has named a base. `copied` are files by their absolute
    paths, each with the instruction that copied it; `files` are those in the working directory, relative to it.
    `skills` is the folder of the context that is not copied.
    """

    skills: str
    workdir: str = ""
    based: bool = False
    copied: dict[str, tuple[str, File]] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    unsupported: list[str] = field(default_factory=list)
    blockers: list[str] = field(default_factory=list)


def read_image(folder: Folder, file: str, workdir: str, skills: str) -> Image:
    """Read a Dockerfile and the files that it copies but `skills`; a `workdir` that is not "" wins over its own.

    Raises Refused for files that cannot be read safely.
    """
    image = Image(skills)
    for line, name, rest in _instructions(folder.text(file)):
        where = f"{file}:{line}: {name[:20]} {rest[:60]}".rstrip()
        told = _apply(image, folder, name, rest, where)
        if told is not None:
            image.blockers.append(f"{where}: {told or 'no image is built here'}")
    image.workdir = workdir or image.workdir
    files = []
    for path, (where, copy) in sorted(image.copied.items()):
        inner = path.removeprefix(f"{image.workdir}/")
        if image.workdir and inner != path:
            files.append(File(inner, copy.data, copy.executable))
        else:
            image.blockers.append(f"{where}: outside the working directory")
    image.files, image.blockers = tuple(files), list(dict.fromkeys(image.blockers))
    return image


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """The instructions as (line, upper-case name, rest), continued lines joined and comments left out."""
    start, parts = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#") or (not line.strip() and not parts):
            continue
        start = start if parts else number
        parts.append(line.strip().removesuffix("\\"))
        if not line.rstrip().endswith("\\"):
            name, _, rest = " ".join(parts).strip().partition(" ")
            yield start, name.upper(), rest.strip()
            parts = []
    if parts:
        name, _, rest = " ".join(parts).strip().partition(" ")
        yield start, name.upper(), rest.strip()


def _apply(image: Image, folder: Folder, name: str, rest: str, where: str) -> str | None:
    """Take an instruction over; for what cannot be taken over the reason, "" where it is the usual one."""
    match name:
        case "FROM":
            return _base(image, rest)
        case "WORKDIR" if "$" not in rest and rest:
            image.workdir = posixpath.normpath(posixpath.join(image.workdir or "/", rest))
            return None
        case "COPY" | "ADD":
            return _copy(image, folder, name, rest, where)
        case "ENV":
            return _env(image, rest)
        case "USER":
            image.unsupported.append(f"USER {rest[:40]}: everything runs as the user who started the run")
            return None
    return None if name in _SILENT else ""


def _base(image: Image, rest: str) -> str | None:
    words = rest.split()
    bare = words[0].removeprefix("docker.io/").removeprefix("library/") if len(words) == 1 else ""
    if bare.partition("@")[0].partition(":")[0] not in PLAIN or image.based:
        return ""
    image.based = True
    image.unsupported.append(f"FROM {rest[:60]}: the tools of this machine are used instead of the image's")
    return None


def _env(image: Image, rest: str) -> str | None:
    try:
        words = shlex.split(rest)
    except ValueError:
        return ""
    if words and "=" not in words[0]:
        words = [f"{words[0]}={rest.partition(' ')[2].strip()}"]
    if any("$" in word or "=" not in word or word.partition("=")[0] in RESERVED for word in words):
        return ""
    image.env |= dict(word.split("=", 1) for word in words)
    return None


def _copy(image: Image, folder: Folder, name: str, rest: str, where: str) -> str | None:
    words = _words(rest)
    while words and words[0].startswith("--chown="):
        words.pop(0)
    if len(words) < 2:
        return ""
    # Which skills are there is what the conditions decide, wherever the image would have had them.
    *given, target = words
    sources = [source for source in given if not is_of_skills(source, image.skills)]
    if any(word.startswith("--") or any(mark in word for mark in "*?[$") for word in (*sources, target)):
        return ""
    full = posixpath.normpath(posixpath.join("/", image.workdir, target))
    for source in sources:
        plain = posixpath.normpath(source).lstrip("/") or "."
        found = f"{CONTEXT}/{plain}" if plain != "." else CONTEXT
        if (plain != "." and not is_inside(plain)) or not folder.has(found):
            return f"no such file below {CONTEXT}/"
        if name == "ADD" and plain.endswith((".tar", ".gz", ".xz", ".bz2", ".tgz", ".zst")):
            return ""
        if folder.is_folder(found):
            skip = ("Dockerfile", ".dockerignore", "skills") if plain == "." else ()
            copied = folder.tree(found, f"{full}/", skip)
        else:
            into = len(given) > 1 or target.endswith(("/", "/.")) or target == "." or full == image.workdir
            copied = (folder.file(found, f"{full}/{posixpath.basename(plain)}" if into else full),)
        image.copied |= {posixpath.normpath(file.path): (where, file) for file in copied}
    return None


def skill_places(folder: Folder, text: str, skills: str) -> Iterator[tuple[str, str]]:
    """Folders of skills that a Dockerfile copies, below the context's `skills`, each with its path in the image."""
    workdir = "/"
    for _, name, rest in _instructions(text):
        if name == "WORKDIR" and "$" not in rest:
            workdir = posixpath.normpath(posixpath.join(workdir, rest))
        if name in ("COPY", "ADD") and "--from" not in rest:
            *sources, target = [word for word in _words(rest) if not word.startswith("--")] or [""]
            for source in sources:
                path = posixpath.normpath(source).lstrip("/")
                # A context with links is refused as a whole, so that this is a folder of the task's own.
                own = is_inside(path) and folder.is_folder(f"{CONTEXT}/{path}")
                if own and f"{path}/".startswith(f"{skills}/"):
                    yield path, posixpath.normpath(posixpath.join(workdir, target))


def _words(rest: str) -> list[str]:
    if rest.startswith("["):
        try:
            found = json.loads(rest)
        except (ValueError, RecursionError):
            return []
        return [str(word) for word in found] if isinstance(found, list) else []
    return rest.split()


SKILLS = "skills"
_NO_TARGET = "no target skill: name it as target_skill of the metadata ('none' for a negative control)"
# What no container of ours has either.
_NEVER = ("setup_commands", "mcp_servers", "healthcheck", "tpu", "kwargs", "docker_compose")
_LIMITS = ("cpus", "memory", "memory_mb", "storage", "storage_mb", "build_timeout_sec", "gpu_types")
_NEEDED = ("docker_image", "setup_commands", "mcp_servers", "healthcheck", "tpu", "kwargs", "docker_compose")
_TAKEN = ("env", "workdir", "skills_dir", "gpus", "network_mode", "allowed_hosts", "allow_internet", "os")
KNOWN = (*_LIMITS, *_NEEDED, *_TAKEN)
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
_NOT_SEEN = ("Dockerfile", ".dockerignore", SKILLS)


@dataclass(slots=True)
class Environment:
    """What a trial starts from, and what of the environment cannot be had here."""

    workdir: str
    files: tuple[File, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    skills: tuple[str, ...] = ()
    unsupported: list[str] = field(default_factory=list)
    blockers: list[str] = field(default_factory=list)


def read_environment(folder: Folder, table: str, settings: Mapping[str, Any], workdir: str) -> Environment:
    """The environment that `settings`, the table of this name, and the folder environment/ describe.

    `workdir` is the format's own one, where neither says any. Raises Refused for files that are not read safely.
    """
    found = Environment(posixpath.normpath(settings.get("workdir") or workdir))
    if folder.has(f"{CONTEXT}/Dockerfile"):
        try:
            wanted = found.workdir if settings.get("workdir") else ""
            image = read_image(folder, f"{CONTEXT}/Dockerfile", wanted, skills_of_context(settings))
        except RefusedFile as refused:
            # An engine of containers may take what no trial can be given.
            image = Image("", blockers=[f"{refused.path}: {refused.message}"])
        found.workdir = image.workdir or found.workdir
        found.files = image.files
        found.env |= image.env
        found.unsupported += image.unsupported
        found.blockers += image.blockers
    else:
        found.files = folder.tree(CONTEXT, skip=_NOT_SEEN)
    if not found.workdir.startswith("/") or found.workdir == "/":
        found.blockers.append(f"{table}.workdir {found.workdir!r}: not a folder below / of a container")
    for name in _COMPOSE:
        if folder.has(f"{CONTEXT}/{name}"):
            found.blockers.append(f"{CONTEXT}/{name}: services are not started here")
    env, missing = read_env(settings.get("env") or {}, f"{table}.env")
    found.env |= env
    found.blockers += missing
    _read_settings(found, table, settings)
    found.skills = tuple(_skills(folder, settings.get("skills_dir") or f"{CONTEXT}/{SKILLS}"))
    return found


def read_env(wanted: Mapping[str, Any], table: str) -> tuple[dict[str, str], list[str]]:
    """Variables with `${NAME:-default}` as the default, and a line for each that would need one of this machine."""
    values, missing = {}, []
    for name, value in wanted.items():
        if name in RESERVED:
            missing.append(f"{table}.{name}: a trial sets it itself")
            continue
        text = default_value(str(value).lower() if isinstance(value, bool) else str(value))
        if text is None:
            missing.append(f"{table}.{name}: needs a variable of this machine ({value}), which no trial sees")
        else:
            values[name] = text
    return values, missing


def timeout(settings: Mapping[str, Any], default: float) -> float:
    """The time limit of a table in seconds."""
    return float(settings.get("timeout_sec") or default)


def network_lines(table: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """A line where a table grants the agent more network than it has here."""
    mode = settings.get("network_mode")
    if mode not in (None, "no-network") or settings.get("allow_internet"):
        yield f"{table}: network access ({mode or 'allow_internet'}) is not granted; a trial reaches its model only"


def _read_settings(found: Environment, table: str, settings: Mapping[str, Any]) -> None:
    for key in _NEEDED:
        if settings.get(key):
            found.blockers.append(f"{table}.{key} {quote(settings[key])}: needs a container")
    if settings.get("gpus"):
        found.blockers.append(f"{table}.gpus {settings['gpus']}: no GPU is given to a trial")
    if settings.get("os") not in (None, "linux"):
        found.blockers.append(f"{table}.os {settings['os']}: needs a container")
    limits = [f"{key} {settings[key]}" for key in _LIMITS if settings.get(key)]
    if limits:
        found.unsupported.append(f"{table}: not enforced here: {', '.join(limits)}")
    found.unsupported += [*network_lines(table, settings), *leftover(table, settings, KNOWN)]


def _skills(folder: Folder, path: str) -> Iterator[str]:
    """The folders of the skills that the task brings; what leads out of the task is not its own."""
    for file in folder.tree(path) if _inside(path) else ():
        parts = file.path.split("/")
        if len(parts) == 2 and parts[1] == "SKILL.md":
            yield posixpath.join(folder.place, path, parts[0])


def _inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def targets_of(metadata: Mapping[str, Any], skills: Sequence[str]) -> tuple[str, ...] | None:
    """The skills that should help: what the metadata say, else all that the task brings; None for neither."""
    return read_targets(metadata.get("target_skill") or list(map(_skill_name, skills)) or None)


def _skill_name(folder: str) -> str:
    """What a skill calls itself, which need not be what its folder is called."""
    raw, _ = read_bytes(posixpath.join(folder, "SKILL.md"))
    return parse_skill(raw, "SKILL.md", posixpath.basename(folder)).name


_PLACES = (
    ("/logs/verifier", REWARDS), ("/tests", VERIFIER), ("/verifier", VERIFIER), ("/solution", ORACLE), ("/oracle", ORACLE),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TaskParts:
    """What a loader has read. `table` is how the environment's settings are called, `workdir` the format's default."""

    format: str
    prompt: str
    metadata: Mapping[str, Any]
    table: str
    environment: Mapping[str, Any]
    workdir: str
    verifier: Mapping[str, Any]
    verifier_timeout: float
    agent_timeout: float
    verifier_folder: str
    oracle_folder: str
    oracle_env: Mapping[str, Any] = field(default_factory=dict)
    unsupported: list[str] = field(default_factory=list)
    blockers: list[str] = field(default_factory=list)


def build(folder: Folder, parts: TaskParts) -> Task:
    """The task. Raises Refused where it has no verifier, and for files that are not read safely."""
    task_id = folder.place.rpartition("/")[2]
    check_id("", task_id)
    environment = read_environment(folder, parts.table, parts.environment, parts.workdir)
    places = ((environment.workdir, WORKSPACE), *_PLACES)
    blockers = [*parts.blockers, *environment.blockers]
    verifier = _script(
        folder, parts.verifier_folder, "test.sh", parts.verifier_timeout, parts.verifier, places, blockers
    )
    if verifier is None:
        raise RefusedFile(f"{parts.verifier_folder}/test.sh", "the file is missing: nothing would judge the outcome")
    oracle = _script(
        folder, parts.oracle_folder, "solve.sh", parts.agent_timeout, {"env": parts.oracle_env}, places, blockers
    )
    prompt = replace_places(parts.prompt, [(path, ".") for path, role in places if role == WORKSPACE])
    unsupported = [*parts.unsupported, *environment.unsupported]
    if prompt != parts.prompt:
        unsupported.append(f"the prompt's {environment.workdir} is given as '.', the current directory")
    blockers += _start_blockers(environment)
    targets = targets_of(parts.metadata, environment.skills)
    if targets is None:
        blockers.append(_NO_TARGET)
    env = tuple(sorted(environment.env.items()))
    contained = _contained(folder, parts, environment.workdir, [] if targets is not None else [_NO_TARGET])
    if contained is not None and blockers:
        blockers.append("in a container of its own image it could be run: --sandbox podman, or docker")
    return Task(
        id=task_id,
        slug=task_id,
        path=folder.shown,
        format=parts.format,
        prompt=prompt,
        target_skills=targets,
        irrelevant_skill=_word(parts.metadata, "irrelevant_skill"),
        related_skill=_word(parts.metadata, "related_skill"),
        unrelated_skill=_word(parts.metadata, "unrelated_skill"),
        category=_word(parts.metadata, "category") or "",
        difficulty=_word(parts.metadata, "difficulty") or "",
        about=about_task(parts.metadata),
        agent_timeout_sec=parts.agent_timeout,
        files=environment.files,
        env=env,
        verifier=verifier,
        oracle=oracle,
        grading="reward",
        places=places,
        unsupported=tuple(unsupported),
        blockers=tuple(dict.fromkeys(blockers)),
        skills=environment.skills,
        folder=folder.place,
        digest=task_digest(prompt, environment.files, env, parts.agent_timeout),
        contained=contained,
    )


def _contained(folder: Folder, parts: TaskParts, workdir: str, more: Sequence[str]) -> ContainedTask | None:
    """The task in a container of its own image, None where it describes none; `more` keep it from running.

    `workdir` is the working directory as far as it is known before the image is built.

    Raises RefusedFile.
    """
    settings = parts.environment
    recipe = read_recipe(folder, settings)
    if recipe is None:
        return None
    if recipe.context:
        skills = skills_of_context(settings)
        places = skill_places(folder, folder.text(f"{CONTEXT}/{DOCKERFILE}"), skills)
        recipe = replace(recipe, skill_places=tuple(dict.fromkeys(places)))
    given, missing = read_env(settings.get("env") or {}, f"{parts.table}.env")
    blockers = [*parts.blockers, *missing, *more]
    for name in _COMPOSE:
        if folder.has(f"{CONTEXT}/{name}"):
            blockers.append(f"{CONTEXT}/{name}: services are not started here")
    for key in _NEVER:
        if settings.get(key):
            blockers.append(f"{parts.table}.{key} {quote(settings[key])}: not done here")
    if settings.get("gpus"):
        blockers.append(f"{parts.table}.gpus {settings['gpus']}: no GPU is given to a trial")
    if settings.get("os") not in (None, "linux"):
        blockers.append(f"{parts.table}.os {settings['os']}: only containers of Linux are run here")
    scripts: list[Script | None] = []
    for name, entry, seconds, wanted in (
        (parts.verifier_folder, "test.sh", parts.verifier_timeout, parts.verifier.get("env") or {}),
        (parts.oracle_folder, "solve.sh", parts.agent_timeout, parts.oracle_env),
    ):
        files = folder.tree(name)
        env, missing = read_env(wanted, f"{name}.env")
        blockers += missing
        there = any(file.path == entry for file in files)
        scripts.append(script(("bash", entry), files, seconds, env.items()) if there else None)
    resources = read_resources(settings)
    verifier, oracle = scripts
    judging, solving = ([*_texts(one)] for one in scripts)
    recipe = replace(recipe, outputs=output_folders(judging, [parts.prompt, *solving], workdir))
    unsupported = [*parts.unsupported, *leftover(parts.table, settings, KNOWN)]
    unsupported += [f"{path}: {NOT_KEPT}" for path in lost_folders(judging, parts.prompt, workdir)]
    unsupported += _steps_left_out(folder, recipe)
    outputs = "".join(f"{path}\n" for path in recipe.outputs)
    words = f"{recipe.digest}\n{resources}\n{outputs}{parts.prompt}"
    digest = task_digest(words, (), given.items(), parts.agent_timeout)
    return ContainedTask(
        recipe=recipe,
        resources=resources,
        prompt=parts.prompt,
        verifier=verifier,
        oracle=oracle,
        env=tuple(sorted(given.items())),
        unsupported=tuple(unsupported),
        blockers=tuple(dict.fromkeys(blockers)),
        digest=digest,
    )


def _steps_left_out(folder: Folder, recipe: ImageRecipe) -> Iterator[str]:
    """A line for each step of the Dockerfile that is left out since it works in a skill."""
    if recipe.context:
        left = {rest for _, name, rest in _instructions(recipe.dockerfile) if name == "RUN"}
        for line, name, rest in _instructions(folder.text(f"{CONTEXT}/{DOCKERFILE}")):
            if name == "RUN" and rest not in left:
                yield f"{CONTEXT}/{DOCKERFILE}:{line}: RUN {rest[:60]}: left out, as it works in a skill"


def _texts(given: Script | None) -> Iterator[str]:
    for file in given.files if given else ():
        text = text_of(file) if len(file.data) <= MAX_TEXT else None
        if text:
            yield text


def _script(
    folder: Folder,
    name: str,
    entry: str,
    timeout_sec: float,
    settings: Mapping[str, Any],
    places: tuple[tuple[str, str], ...],
    blockers: list[str],
) -> Script | None:
    """The script of a folder, or None where it has no `entry`; why it cannot run is added to `blockers`."""
    files = folder.tree(name)
    if not any(file.path == entry for file in files):
        return None
    env, missing = read_env(settings.get("env") or {}, f"{name}.env")
    blockers += [*missing, *script_blockers(name, files, places)]
    return script(("bash", entry), files, timeout_sec, env.items(), places)


def _start_blockers(environment: Environment) -> Iterator[str]:
    """A line for a starting file that names the working directory: unlike scripts, it is given as it is."""
    for file in environment.files:
        text = text_of(file)
        line = names_place(text, environment.workdir) if text else 0
        if line:
            yield f"{file.path}:{line}: a starting file names {environment.workdir}, which only a container has"


def _word(metadata: Mapping[str, Any], key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) and value.strip() else None
