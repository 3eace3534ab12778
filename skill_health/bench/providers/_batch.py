"""The interface of a provider's batches: calls that are handed in together, and answered within a day for less.

A provider has them where its protocol has `batches`, an object of a subclass of BatchProtocol. All its methods are
pure: they say what to send, and read what came. Paths are below the base URL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.json_values import mapping, objects, parsed, text
from skill_health.bench.http.messages import Completion, Outgoing, PlainRequest
from skill_health.text.patterns import lazy

if TYPE_CHECKING:
    from skill_health.bench.providers._api import ProviderProtocol

MOST_LINE = 8 << 20
"""A longer line of results is not read."""
_ID = lazy(r"[\w.:-]{1,200}")


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch as its provider tells of it; `word` is the provider's own for where it stands.

    `phase`: waiting, ended (what there is can be fetched from `results`), or failed (nothing was done, for `error`).
    `name` is the one that we gave it, "" where it carries none. `total`, `done` and `failed` count calls, None where
    nobody says. `expired` and `cancelled` say why an ended one may lack answers. `created` is a time in RFC 3339 or "".
    """

    batch_id: str
    phase: Literal["waiting", "ended", "failed"]
    word: str = ""
    name: str = ""
    total: int | None = None
    done: int = 0
    failed: int = 0
    created: str = ""
    results: tuple[PlainRequest, ...] = ()
    error: Failure | None = None
    expired: bool = False
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What came back for one call; `cancelled` where it was never made because somebody cancelled the batch."""

    custom_id: str
    found: Completion | Failure
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class BatchShares:
    """The parts of the list price that a batch costs: `cached` of what is read from a cache, `plain` of all else."""

    plain: float
    cached: float


class BatchProtocol(ABC):
    """How one provider takes batches. `most_requests` and `most_bytes` are its limits for one of them."""

    most_requests: int
    most_bytes: int
    shares: BatchShares
    """Where the table of prices says nothing of batches."""
    headers: Mapping[str, str] = {}
    """What each request carries besides the key."""
    folder = "/batches"
    """Where the batches are."""
    paging = ("limit", "after")
    """The parameters of a page of them: how many, and what comes before it."""
    cancelling = ("/cancel", b"")
    """What follows the place of a batch to cancel it, and what is sent."""

    @abstractmethod
    def write_call(self, custom_id: str, outgoing: Outgoing) -> bytes:
        """One call of a batch, as it stands in what is handed in."""

    def upload(
        self, protocol: ProviderProtocol, base_url: str, name: str, calls: Sequence[bytes]
    ) -> PlainRequest | None:
        """The request that uploads the calls as a file; None where they go into `create` itself."""
        return None

    @abstractmethod
    def create(
        self, protocol: ProviderProtocol, base_url: str, name: str, model: str, calls: Sequence[bytes], file: str
    ) -> PlainRequest:
        """The request that hands the batch in; `file` is the id of what was uploaded."""

    @abstractmethod
    def read_state(self, protocol: ProviderProtocol, base_url: str, data: Any) -> BatchState | Failure:
        """Read a batch as `create`, `look` and `cancel` return it."""

    def look(self, protocol: ProviderProtocol, base_url: str, batch_id: str) -> PlainRequest:
        """The request that asks where a batch stands."""
        return PlainRequest(self._place(protocol, base_url, batch_id))

    def cancel(self, protocol: ProviderProtocol, base_url: str, batch_id: str) -> PlainRequest:
        """The request that cancels a batch; what is done already is kept, and paid."""
        path, content = self.cancelling
        return PlainRequest(self._place(protocol, base_url, batch_id) + path, "POST", content)

    def page(self, protocol: ProviderProtocol, base_url: str, after: str) -> PlainRequest:
        """The request for a page of 100 batches, the latest first; `after` is what the last page said of the next."""
        size, next_ = self.paging
        more = f"&{next_}={quote(after, safe='')}" if after else ""
        return PlainRequest(f"{protocol.place_path(base_url, self.folder)}?{size}=100{more}")

    def read_page(self, protocol: ProviderProtocol, base_url: str, data: Any) -> tuple[list[BatchState], str]:
        """Read a page, and what comes after it, "" for nothing: here the batches after the last one."""
        given = mapping(data)
        found = self.read_states(protocol, base_url, given.get("data"))
        return found, found[-1].batch_id if found and given.get("has_more") is True else ""

    def read_states(self, protocol: ProviderProtocol, base_url: str, listed: Any) -> list[BatchState]:
        """The batches in a list; what is none is left out."""
        read = (self.read_state(protocol, base_url, each) for each in objects(listed))
        return [state for state in read if isinstance(state, BatchState)]

    def _place(self, protocol: ProviderProtocol, base_url: str, batch_id: str) -> str:
        return protocol.place_path(base_url, f"{self.folder}/{quote(batch_id, safe='')}")

    def read_results(self, protocol: ProviderProtocol, data: bytes) -> Iterator[BatchAnswer | Failure]:
        """Read what one of `results` gave: an answer, or why a part of it is none."""
        for line in _lines(data):
            if len(line) > MOST_LINE:
                yield Failure("costly", f"sent a line of {len(line):,} bytes, more than is read of one answer")
                continue
            found = parsed(line)
            if not isinstance(found, dict):
                yield found if isinstance(found, Failure) else Failure("costly", "sent a line that is not an object")
                continue
            yield self.read_line(protocol, found)

    @abstractmethod
    def read_line(self, protocol: ProviderProtocol, line: Mapping[str, Any]) -> BatchAnswer:
        """Read one answer."""


def is_batch_id(value: Any) -> bool:
    """Whether this may stand in a path as the id of a batch or a file."""
    return isinstance(value, str) and bool(_ID.fullmatch(value)) and value not in (".", "..")


def no_batch(what: str) -> Failure:
    """The failure of an answer in which no batch is."""
    return Failure("fatal", f"sent no {what} in its answer: base-url may be that of another API")


def read_answer(protocol: ProviderProtocol, body: Any) -> Completion | Failure:
    """Read the body of a call that succeeded."""
    if not isinstance(body, dict):
        return Failure("costly", "sent an answer that is not an object")
    return protocol.read_completion(body)


def describe(error: Any) -> str:
    """What an error object says, in words."""
    given = mapping(error)
    return text(given.get("message")) or text(given.get("code")) or text(given.get("type")) or "no reason given"


def _lines(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if line := data[at:end].strip():
            yield line
        at = end + 1
