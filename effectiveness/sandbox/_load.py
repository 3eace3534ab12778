"""Names of sandboxes -> their modules."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, cast

from skill_health.core.errors import UsageError
from skill_health.core.plugins import plugin_names
from skill_health.effectiveness import sandbox
from skill_health.effectiveness.sandbox._api import BackEnd
from skill_health.text.near import nearest

NONE = "none"
# Without a name the first one that works is taken; one that keeps nothing apart must be asked for.
PREFERRED = ("bubblewrap", "podman", "docker")


@cache
def back_ends() -> dict[str, BackEnd]:
    """Every back end by its name, the preferred ones first and NONE last."""
    stems = set(plugin_names(sandbox.__path__))
    names = [*(name for name in PREFERRED if name in stems), *sorted(stems - {*PREFERRED, NONE}), NONE]
    return {name: cast(BackEnd, import_module(f"{sandbox.__name__}.{name}")) for name in names}


def back_end(name: str) -> BackEnd:
    """The back end of this name, whether it works here or not. Raises UsageError for an unknown one."""
    known = back_ends()
    if name in known:
        return known[name]
    head, colon, provider = name.partition(":")
    if colon and provider and (of_provider := getattr(known.get(head), "of_provider", None)):
        return cast(BackEnd, of_provider(provider))
    near = nearest(name, known)
    hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
    raise UsageError(f"there is no sandbox {name[:80]!r}; {hint}")


def needs_image(name: str) -> bool:
    """Whether a back end runs in containers of an image that has to be named."""
    return bool(getattr(back_end(name), "NEEDS_IMAGE", False))


def unproved(name: str, image: str) -> str:
    """Why a back end has not been seen to work here, in one line; "" where something has run in it.

    An engine of containers that merely answers is not one that works: a container has to run, and needs an `image`.
    """
    chosen = back_end(name)
    if not chosen.found():
        return chosen.missing()
    if not needs_image(name):
        return ""
    if not image and not cast(Any, chosen).CLIENT.direct:
        return f"its engine answers ({chosen.found()}), but no container was run: name an image that agents can run in"
    return str(cast(Any, chosen).proved(image))


def pick(name: str | None = None, image: str = "", *, own: bool = False) -> str:
    """The name of the back end that is to be used: the one that is asked for, else the first that works here.

    Containers are only taken without being asked for where an `image` is given, since there is no image that would do
    for every agent; where tasks have images of their `own`, an engine that is asked for needs none. Raises UsageError
    with the reason and what to install.
    """
    if name is not None:
        chosen = back_end(name)
        if not chosen.found():
            raise UsageError(f"the sandbox {name} cannot be used: {chosen.missing()}")
        if needs_image(name) and not image and not own:
            raise UsageError(
                f"the sandbox {name} needs an image that agents can run in: image in [effectiveness] of skill-health.toml"
            )
        # The images of tasks are not there yet, and some engines run no container without one.
        later = own and not image and needs_image(name) and not cast(Any, chosen).CLIENT.direct
        if not later and (reason := unproved(name, image)):
            raise UsageError(f"the sandbox {name} cannot be used: {reason}")
        return name
    reasons = []
    for candidate in PREFERRED:
        chosen = back_end(candidate)
        if needs_image(candidate) and not image:
            continue
        if not (reason := unproved(candidate, image)):
            return candidate
        reasons.append(reason)
    raise UsageError(
        f"there is no sandbox to run agents and verifiers in: {'; '.join(reasons)}; "
        f"or run them with all rights of yours by --sandbox {NONE}"
    )
