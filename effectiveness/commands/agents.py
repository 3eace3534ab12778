"""`skill-health effectiveness agents`: which agents and sandboxes there are, and what of them works here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from skill_health.core.errors import CLEAN, FINDINGS, UsageError

if TYPE_CHECKING:
    from skill_health.effectiveness.agents._load import Installed
    from skill_health.effectiveness.run.probes import AgentStatus
    from skill_health.effectiveness.sandbox._api import BackEnd


@click.command(short_help="List the agents and the sandboxes, and what of them works here.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--probe", is_flag=True, help="Also start each installed agent with made-up skills and without a model.")
@click.option(
    "--sandbox",
    metavar="NAME",
    help="Where to probe: bubblewrap, docker, podman, harbor:PROVIDER or none (the first that works).",
)
@click.option("--image", metavar="NAME", help="The container image to use if the configuration names none.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="text or json.")
def command(names: tuple[str, ...], probe: bool, sandbox: str | None, image: str | None, format_: str) -> int:
    """List every agent: its program and version here, the version that it was checked with, the protocols it speaks.

    `claude-code:MODEL` asks the agent's own vendor, `claude-code:PROVIDER:MODEL` one of [router.providers.PROVIDER].
    A container engine is usable once a container of the image has run. NAME picks agents. With --probe, exit 1 where an
    installed agent does not see just the skills that are staged for
    it. That asks no model and costs nothing.
    """
    from skill_health.effectiveness.agents._load import look_for
    from skill_health.effectiveness.sandbox._load import back_ends, pick
    from skill_health.lint.pipeline import configure

    if sandbox and not probe:
        raise click.UsageError("--sandbox says where to probe: give --probe, too")
    chosen = pick(sandbox) if probe else ""
    image = image or configure((), None, {})[1].effectiveness.image
    found = look_for(_picked(names))
    looks = _looks(found, chosen) if probe else {}
    if format_ == "json":
        sandboxes = [_sandbox(name, end, image) for name, end in back_ends().items()]
        agents = [_record(one, looks.get(one.info.name)) for one in found]
        click.echo(json.dumps({"agents": agents, "sandboxes": sandboxes}, indent=1))
    else:
        click.echo("\n".join([*_agents(found), "", *_sandboxes(back_ends(), image), *_probes(looks, chosen)]))
    return FINDINGS if any(one.problems for one in looks.values()) else CLEAN


def _picked(names: Sequence[str]) -> list[Any]:
    """The agents that are named, all without a name. Raises UsageError for one that there is not."""
    from skill_health.effectiveness.agents._load import available
    from skill_health.text.near import nearest

    known = {info.name: info for info in available()}
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
            raise UsageError(f"there is no agent {name[:80]!r}; {hint}")
    return [known[name] for name in dict.fromkeys(names)] or list(known.values())


def _looks(found: Iterable[Installed], back_end: str) -> dict[str, AgentStatus]:
    """What the agents that can be started here see, one after the other: they share a processor."""
    import asyncio

    from skill_health.effectiveness.run.probes import inspect_agent

    async def all_of() -> dict[str, AgentStatus]:
        return {one.info.name: await inspect_agent(one, back_end) for one in found if one.ready}

    return asyncio.run(all_of())


def _agents(found: Iterable[Installed]) -> Iterator[str]:
    rows = [
        (one.info.name, one.version or "-", one.info.agent.VERIFIED.partition(" ")[0] or "-", _state(one),
         ", ".join(one.info.agent.PROTOCOLS) or "-", one.info.agent.TITLE)
        for one in found
    ]  # fmt: skip
    return _table(("AGENT", "VERSION", "CHECKED WITH", "STATE", "SPEAKS", "WHAT IT IS"), rows)


def _state(one: Installed) -> str:
    if one.info.missing:
        return f"lacks the extra {one.info.agent.EXTRA}"
    return "ready" if one.ready else f"no {one.info.agent.PROGRAM} on PATH"


def _sandboxes(known: Mapping[str, BackEnd], image: str) -> Iterator[str]:
    from skill_health.effectiveness.sandbox._load import unproved

    why_not = {name: unproved(name, image) for name in known}
    rows = [
        (name, "-" if why_not[name] else end.found(), ", ".join(end.ISOLATES) or "nothing", why_not[name] or end.TITLE)
        for name, end in known.items()
    ]
    return _table(("SANDBOX", "VERSION", "KEEPS APART", "WHAT IT IS, OR WHY IT CANNOT BE USED"), rows)


def _probes(looks: Mapping[str, AgentStatus], back_end: str) -> Iterator[str]:
    from skill_health.text.terminal import clean

    if looks:
        yield f"\nProbed in {back_end}, without a model:"
    for name, seen in looks.items():
        if seen.skipped:
            yield clean(f"{name}: not probed: {seen.skipped}")
        elif seen.problems:
            yield from (clean(f"{name}: {line}") for line in seen.problems)
        else:
            beside = "nothing of its own" if not seen.beside else f"beside them {', '.join(seen.beside)}"
            beside = "" if seen.beside is None else f"; {beside}"
            yield clean(f"{name}: the staged skills and no others are {' and '.join(seen.ways)}{beside}")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    from skill_health.text.terminal import clean

    cells = [head, *rows]
    widths = [max(map(len, column)) for column in list(zip(*cells, strict=True))[:-1]]
    for line in cells:
        padded = (f"{cell:{width}}" for cell, width in zip(line, [*widths, 0], strict=True))
        yield clean("  ".join(padded).rstrip())


def _record(one: Installed, seen: AgentStatus | None) -> dict[str, Any]:
    agent = one.info.agent
    return {
        "name": one.info.name,
        "title": agent.TITLE,
        "program": agent.PROGRAM,
        "path": one.program,
        "version": one.version,
        "checked_with": agent.VERIFIED,
        "protocols": list(agent.PROTOCOLS),
        "skills": agent.SKILLS,
        "simulated": agent.SIMULATED,
        "lacks": [f"skill-health[{agent.EXTRA}]"] if one.info.missing else [],
        "ready": one.ready,
        "probe": asdict(seen) if seen else None,
    }


def _sandbox(name: str, end: BackEnd, image: str) -> dict[str, Any]:
    from skill_health.effectiveness.sandbox._load import unproved

    why_not = unproved(name, image)
    return {
        "name": name,
        "title": end.TITLE,
        "version": end.found(),
        "usable": not why_not,
        "isolates": list(end.ISOLATES),
        "lacks": why_not,
    }
