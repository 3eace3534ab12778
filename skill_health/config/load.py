"""skill-health.toml, or `[tool.skill-health]` of pyproject.toml -> Config, with one clear line for every mistake.

What is accepted follows from the fields of the classes in `settings`; `schemas/config.schema.json` says the same to
editors, and a test compares the two. It is not used here, so that a hook need not import a schema library.

A repository may be a stranger's. Its configuration names only what lies inside it, and where keys and money go is for
the user to say: in a file of their own, or in one that they name. See docs/security.md.
"""

from __future__ import annotations

import os
from typing import Any

from skill_health.config.settings import Config, Effectiveness, RouterSettings
from skill_health.config.values import Mistake, build, dotted_keys, line_of
from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.core.files import kind_of, may_be_file, read_whole
from skill_health.text.patterns import lazy

FILE_NAME = "skill-health.toml"
PYPROJECT = "pyproject.toml"
TABLE = ("tool", "skill-health")
USERS_OWN = (
    "router.providers",
    "router.prices",
    "effectiveness.acp-command",
    "effectiveness.acp-env",
    "effectiveness.network",
    "effectiveness.allow-host",
    "custom.allow-code",
)
"""What a repository does not decide: who is sent a key, what is paid, what is started, who reaches a network."""
_UNSAFE_SANDBOX = "none"
_PATHS = ("baseline", "profile", "daily.reports")
_GLOBS = ("claims", "mechanisms", "activation", "prompts", "tasks")
_OUTSIDE = lazy(r"[/\\~]|[A-Za-z]:|(?:.*[/\\])?\.\.(?:[/\\]|$)")


def read_config(root: str, file: str | None = None) -> Config:
    """See `config.load_config`. A `file` called pyproject.toml is read as one, any other as skill-health.toml."""
    users = _read_users()
    if file is not None:
        settings = read_settings(file)
        if settings is None:
            raise UsageError(f"{file}: there is no table [{'.'.join(TABLE)}] in it")
        return _on_top(_config(settings, file, root), users)
    own, shared = os.path.join(root, FILE_NAME), os.path.join(root, PYPROJECT)
    if _is_lure(own):
        raise UsageError(f"{_shown(own)} is a symbolic link that leads out of the repository: replace it by the file")
    in_own = read_settings(own) if may_be_file(own) else None
    in_shared = read_settings(shared) if may_be_file(shared) and not _is_lure(shared) else None
    if in_own is not None and in_shared is not None:
        table = f"[{'.'.join(TABLE)}] in {_shown(shared)}"
        raise UsageError(f"two configurations: {_shown(own)} and {table}; keep one of them")
    settings, path = (in_own, own) if in_own is not None else (in_shared, shared)
    return _on_top(Config() if settings is None else _of_repository(settings, path, root), users)


def users_file() -> str:
    """The path of the user's own settings, whether it exists or not."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA") or os.path.expanduser("~/.config")
    return os.path.join(base, "skill-health", "config.toml")


def _read_users() -> Config:
    """The user's own settings, which hold nothing that changes what is found in a repository."""
    path = users_file()
    settings = read_settings(path) if os.path.isfile(path) else None
    if settings is None:
        return Config()
    allowed = (*USERS_OWN, "effectiveness.sandbox")
    for key, value in settings.items():
        inner = [f"{key}.{name}" for name in value] if isinstance(value, dict) else [key]
        for name in inner:
            if name not in allowed and name in dotted_keys():
                place = _place(path, *name.split("."))
                raise UsageError(
                    f'{place}: "{name}" is for a repository to say, in its {FILE_NAME}; here stand {", ".join(allowed)}'
                )
    return _config(settings, path, os.path.dirname(path))


def _on_top(config: Config, users: Config) -> Config:
    """A configuration with the user's own settings where it has none."""
    router, mine = config.router, users.router
    trials, trial = config.effectiveness, users.effectiveness
    return config._replace(
        # Not even a file named on the command line says this: it may be the repository's own.
        custom=config.custom._replace(allow_code=users.custom.allow_code),
        router=router._replace(
            providers={**mine.providers, **router.providers}, prices={**mine.prices, **router.prices}
        ),
        effectiveness=trials._replace(
            acp_command=trials.acp_command or trial.acp_command, acp_env={**trial.acp_env, **trials.acp_env},
            sandbox=trials.sandbox or trial.sandbox,
            network=trial.network if trials.network == Effectiveness().network else trials.network,
            allow_host=trials.allow_host or trial.allow_host,
        ),
    )  # fmt: skip


def _of_repository(settings: dict[str, Any], path: str, root: str) -> Config:
    """The configuration of a repository, without what is not for it to say; `refused` names that."""
    config = _config(settings, path, root)
    named: dict[str, tuple[str, ...]] = {_PATHS[2]: (config.daily.reports,), "custom.python": config.custom.python}
    named |= {key: (getattr(config, key),) for key in _PATHS[:2]}
    named |= {f"sources.{kind}": getattr(config.sources, kind) for kind in _GLOBS}
    for key, values in named.items():
        for value in values:
            if _OUTSIDE.match(value) or not value.isprintable():
                raise UsageError(
                    f'{_place(path, *key.split("."))}: "{key}" must be a path inside the repository, not {value!r}'
                )
    refused = [key for key in USERS_OWN if _stands(settings, key)]
    router, trials, custom = config.router, config.effectiveness, config.custom
    # One of a provider is paid for, and may be code of whoever is named.
    if trials.sandbox == _UNSAFE_SANDBOX or ":" in trials.sandbox:
        refused.append("effectiveness.sandbox")
        trials = trials._replace(sandbox="")
    return config._replace(
        refused=tuple(f"{_place(path, *key.split('.'))}: {key}" for key in refused),
        custom=custom._replace(allow_code=()),
        router=router._replace(providers=RouterSettings().providers, prices=RouterSettings().prices),
        effectiveness=trials._replace(
            **{name: getattr(Effectiveness(), name) for name in ("acp_command", "acp_env", "network", "allow_host")}
        ),
    )


def _stands(settings: dict[str, Any], key: str) -> bool:
    table, _, name = key.partition(".")
    return bool(settings.get(table, {}).get(name))


def _place(path: str, *keys: str | int) -> str:
    """Where a setting stands, as far as that is known: file and line."""
    table = TABLE if os.path.basename(path) == PYPROJECT else ()
    line = line_of(_text(path), (*table, *keys))
    return f"{_shown(path)}:{line}" if line else _shown(path)


def describe_refused(config: Config) -> list[str]:
    """A line for each setting that the repository has and that is not for it to say."""
    return [
        f"{place} is left out: it is for you to say, not for a repository; put it into {users_file()}, or name this file "
        "with --config"
        for place in config.refused
    ]


def holds_settings(folder: str) -> bool:
    """Whether a folder has skill-health.toml or a pyproject.toml that configures skill-health.

    True also for one that is invalid but speaks of it: whoever loads it can then say what is wrong.
    """
    own, shared = os.path.join(folder, FILE_NAME), os.path.join(folder, PYPROJECT)
    if _is_lure(own) or may_be_file(own):
        return True
    try:
        return not _is_lure(shared) and may_be_file(shared) and read_settings(shared) is not None
    except UsageError:
        return True


def read_settings(path: str) -> dict[str, Any] | None:
    """The settings in a file as TOML has them; None where it is a pyproject.toml without the table.

    Raises UsageError where the file cannot be read or is not TOML.
    """
    text = _text(path)
    shared = os.path.basename(path) == PYPROJECT
    if shared and TABLE[1] not in text:
        return None
    from skill_health.text.strict_toml import parse_toml

    try:
        data = parse_toml(text)
    except ValueError as error:
        what, _, place = str(error).partition(" (at line ")
        position = ":" + place.rstrip(")").replace(", column ", ":") if place else ""
        raise UsageError(f"{_shown(path)}{position}: not valid TOML: {what}") from None
    if not shared:
        return data
    tools = data.get(TABLE[0])
    settings = tools.get(TABLE[1]) if isinstance(tools, dict) else None
    if settings is not None and not isinstance(settings, dict):
        raise UsageError(f"{_shown(path)}: {'.'.join(TABLE)} must be a table")
    return settings


def _config(settings: dict[str, Any], path: str, root: str) -> Config:
    """Settings -> Config, with the file and the line put before what is wrong with them."""
    try:
        source = os.path.relpath(os.path.abspath(path), root).replace(os.sep, "/")
    except ValueError:
        source = os.path.basename(path)
    try:
        return build(settings, source)
    except Mistake as mistake:
        raise UsageError(f"{_place(path, *mistake.path)}: {mistake}") from None


def _is_lure(path: str) -> bool:
    """Whether a file is a link that leads out of the repository that it is in, to anything or nothing."""
    return kind_of(path, links=False) in ("link", "unknown") and Boundary(
        os.path.realpath(os.path.dirname(path))
    ).leads_out(os.path.basename(path))


def _text(path: str) -> str:
    """The text of a file without its byte-order mark. Raises UsageError."""
    try:
        return read_whole(path).decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(f"cannot read {_shown(path)}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{_shown(path)}: not UTF-8 text (byte {error.start + 1})") from None


def _shown(path: str) -> str:
    """A path as the user would name it: relative if it is below the current directory."""
    try:
        short = os.path.relpath(path)
    except ValueError:
        return path
    return path if short.startswith(os.pardir) else short
