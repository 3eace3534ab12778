"""What an agent sees before anything is spent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from skill_health.effectiveness.agents._api import ProgramOutput, StreamReading
from skill_health.effectiveness.cell import TrialSpec
from skill_health.effectiveness.gateway._api import GatewayTrace
from skill_health.effectiveness.probe_rules import disagreements
from skill_health.effectiveness.sandbox._run import SandboxError
from skill_health.effectiveness.trial_agent import all_secrets, open_line, read_agent, run_agent
from skill_health.effectiveness.trial_redact import redact
from skill_health.effectiveness.workspace import open_workplace, removed

TIMEOUT = 90.0
"""Seconds for the listing command of an agent, and for an agent whose model refuses to answer."""
# Agents ask for a title, or for their quota, before they ask what they were told; some try again for minutes.
_AFTER_ALL, _AFTER_FIRST, _POLL = 1.0, 8.0, 0.1


@dataclass(frozen=True, slots=True)
class Probe:
    """What an agent with a set of staged skills was seen to be offered.

    `staged` are the names that were staged. `listed` are the names that the agent tells when it begins to work, or
    where it tells none, those of its listing command; `own` are the latter in any case. `offered` are the watched names
    (of staged skills and of the collection) that stood in its requests to a model. None where a source says nothing.
    `version` is what the agent said of itself. `request` is its first request as the gateway saw it, redacted and cut.
    `error` is why there is no evidence at all, one clear line; "" where there is some.
    """

    staged: tuple[str, ...]
    listed: tuple[str, ...] | None = None
    offered: tuple[str, ...] | None = None
    own: tuple[str, ...] | None = None
    version: str | None = None
    request: bytes = b""
    error: str = ""


async def run_probe(cell: TrialSpec) -> Probe:
    """Ask the agent of a cell what it sees: by its own listing command, and by a model that answers nothing.

    Nothing is spent. Raises AbortedError as a trial does.
    """
    probe = Probe(tuple(skill.name for skill in cell.skills))
    errors: list[str] = []
    listing = await _listing(cell, errors)
    probe = replace(probe, listed=listing, own=listing)
    if cell.upstream is not None:
        probe = await _closed(cell, probe, errors)
    if probe.listed is None and probe.offered is None:
        why = errors[0] if errors else "it neither lists its skills nor asks a model"
        return replace(probe, error=f"nothing shows what {cell.choice.name} sees: {why}")
    return probe


def problems(cell: TrialSpec, probe: Probe, baseline: Probe | None) -> list[str]:
    """What a probe disagrees with, one line each; none for one that shows just what the cell stages.

    `baseline` is the probe of another arm of the same agent: what is listed beside skills of the run must be the same
    in both.
    """
    if probe.error:
        return [probe.error]
    lines = [
        *disagreements(
            cell, probe.listed, probe.offered, _beside(cell, baseline, baseline.listed if baseline else None)
        ),
        *disagreements(cell, probe.own, None, _beside(cell, baseline, baseline.own if baseline else None)),
    ]
    return list(dict.fromkeys(lines))


def _beside(cell: TrialSpec, baseline: Probe | None, listed: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The names that another arm lists beside skills of the run."""
    if baseline is None or listed is None:
        return None
    return tuple(sorted(set(listed) - set(baseline.staged) - set(cell.collection)))


async def _listing(cell: TrialSpec, errors: list[str]) -> tuple[str, ...] | None:
    """The names that the agent's own command prints. Its model is closed to it, too."""
    at = open_workplace(cell)
    async with removed(at.places.base), open_line(cell, at, closed=True) as line:
        try:
            ran = await run_agent(cell, at, line, cell.choice.agent.probe, TIMEOUT)
        except SandboxError as error:
            errors.append(str(error))
            return None
    if ran is None:
        return None
    listed = cell.choice.agent.listed(ran.output)
    if listed is None:
        errors.append(f"its list of skills cannot be read ({_how(ran.output)})")
    return listed


async def _closed(cell: TrialSpec, probe: Probe, errors: list[str]) -> Probe:
    """Start the agent on its task with a model that refuses every call, until it has shown what it asks."""
    at = open_workplace(cell)
    async with removed(at.places.base):
        async with open_line(cell, at, closed=True) as line:
            stop = asyncio.Event()
            watching = asyncio.ensure_future(_until_shown(set(probe.staged), line.look, stop))
            try:
                ran = await run_agent(cell, at, line, cell.choice.agent.command, TIMEOUT, stop)
            except SandboxError as error:
                errors.append(str(error))
                return probe
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
        seen = line.look()
    reading = await read_agent(cell, ran) if ran else StreamReading()
    if seen is None or seen.offered is None:
        errors.append(f"it asked its model nothing ({_how(ran.output) if ran else 'it has no command'})")
    request = redact(seen.first_request, all_secrets(cell, line.key)) if seen else b""
    offered = seen.offered if seen else None
    listed = probe.own if reading.listed is None else reading.listed
    return replace(probe, listed=listed, offered=offered, version=reading.version, request=request)


async def _until_shown(staged: set[str], look: Callable[[], GatewayTrace | None], stop: asyncio.Event) -> None:
    """Set `stop` once the agent has asked all that it will ask at first."""
    first = complete = 0.0
    while True:
        await asyncio.sleep(_POLL)
        seen, now = look(), time.monotonic()
        if seen is None or seen.offered is None:
            continue
        first = first or now
        if staged and staged <= set(seen.offered):
            complete = complete or now
        if (complete and now - complete >= _AFTER_ALL) or now - first >= _AFTER_FIRST:
            stop.set()
            return


def _how(output: ProgramOutput) -> str:
    """How a program ended, with its last words."""
    end = f"stopped: {output.stopped}" if output.stopped else f"exit code {output.exit_code}"
    words = (output.stderr or output.stdout).decode("utf-8", "replace").strip().splitlines()
    return f"{end}; it said: {' '.join(words[-1].split())[:200]}" if words else end
