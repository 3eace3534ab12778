"""What the agent is told. It comes over standard input, so that nothing of it is in the environment of its tools."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

MAX_OUTPUT_TOKENS = 8192
MAX_TURNS = 60


@dataclass(frozen=True, slots=True)
class LoopJob:
    """One task for one model. `key` opens the gateway at `base_url`, which speaks `protocol`.

    `skills` is the folder of skills below the workspace, `order` the names in the order in which they are listed;
    others follow by name. `max_output_tokens` bounds each answer, `max_turns` their number. `timeout_sec` is the time
    of the trial, which somebody else keeps: the agent ends by itself a little later, so as never to hang. With
    `listing` it only says which skills it finds. `label` makes waits before further tries repeatable. `served`
    is the command that starts the server of skills, which is called `server`; () for none.
    """

    prompt: str
    model: str
    protocol: str
    base_url: str
    key: str = field(repr=False)
    skills: str
    order: tuple[str, ...] = ()
    max_turns: int = MAX_TURNS
    max_output_tokens: int = MAX_OUTPUT_TOKENS
    timeout_sec: float = 600.0
    label: str = ""
    listing: bool = False
    server: str = ""
    served: tuple[str, ...] = ()

    def encoded(self) -> bytes:
        """The job as it is handed over."""
        return json.dumps(asdict(self), ensure_ascii=True).encode("ascii")


def decoded(raw: bytes) -> LoopJob:
    """The job that was handed over."""
    given = json.loads(raw)
    return LoopJob(**{**given, "order": tuple(given["order"]), "served": tuple(given["served"])})
