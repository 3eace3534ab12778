"""What the protocol of a provider is, and what its module must offer.

A module of this package whose name has no underscore in front is one provider; `openai-responses` is
`openai_responses.py`. It has

    PROVIDER     an object of a subclass of ProviderProtocol

and imports nothing at its top that the base installation does not have. Two ask it: the client (bench/http), which has
a conversation of ours to put into words, and the gateway of the effectiveness benchmark, through which an agent's
program speaks to the provider itself. All that a provider does is pure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.json_values import objects
from skill_health.bench.http.messages import Completion, Conversation, Outgoing, Usage
from skill_health.text.patterns import lazy

UNSAID = 131_072
"""The tokens that a call is taken to answer at most where it does not say: no model writes more at once."""
MODEL_NAME = r"[\w.@:~+-]+(?:/[\w.@:~+-]+)*"
"""A model's name in a path, as a regular expression."""
_MOST_TOKENS, _MOST_ANSWERS = 10**9, 1000
_VERSIONED = lazy(r"/v[0-9]+[a-z0-9]*(?:/|$)")

RouteKind = Literal["call", "count", "models"]


class AmbiguousRequest(Exception):
    """A request that two readers would read differently; the text says why."""


class RequestFields:
    """The members of a JSON object, however their names are written: `max_tokens` and `maxTokens` are one.

    Some servers do not mind, so a rule that looked for one spelling could be got around. Raises AmbiguousRequest where
    two members have the same name in that sense: only one of both would be looked at.
    """

    def __init__(self, data: Any) -> None:
        given = data if isinstance(data, dict) else {}
        self._values = {normalize_name(name): value for name, value in given.items()}
        if len(self._values) != len(given):
            raise AmbiguousRequest("two fields of the body are the same to some servers")

    def get(self, name: str, missing: Any = None) -> Any:
        """The value of a member, in whatever way its name is written."""
        return self._values.get(normalize_name(name), missing)

    def names(self) -> list[str]:
        """The names of all members, normalized and sorted."""
        return sorted(self._values)


def normalize_name(name: str) -> str:
    """The name of a field in one way of writing."""
    return name.replace("_", "").replace("-", "").lower()


@dataclass(frozen=True, slots=True)
class RoutePattern:
    """What an agent may ask: `path` is a regular expression for the whole path behind the version of the API."""

    kind: RouteKind
    method: str
    path: str


@dataclass(frozen=True, slots=True)
class CallRequest:
    """What an agent's request asks for: `model` ("" where it does not say), and the tokens of all answers at most."""

    model: str = ""
    most_tokens: int = UNSAID


class ProviderProtocol(ABC):
    """One protocol, in two parts: what the client needs, and what the gateway must know of an agent's requests.

    Names of fields are written as the provider's reference has them. Names of headers are in lower case.
    """

    # --- For the client ---

    title: str
    """One line for `router models`."""
    base_url: str
    """The vendor's own server, for a configuration that says nothing else."""
    key_env: str
    """The environment variable that holds the key of the vendor's own server."""
    price_vendor: str = ""
    """The vendor's name in the data of genai-prices, "" for one that is not in there."""
    version: str = "/v1"
    """What stands before a path where the base URL names no version of the API itself."""
    request_ids: tuple[str, ...] = ("x-request-id",)
    """Headers of an answer that may hold the id of the request, the best first."""
    limit_headers: tuple[tuple[str, str], ...] = (("x-ratelimit-remaining-{}", "x-ratelimit-reset-{}"),)
    """Pairs of headers: what is left of a limit, and when it is full again.

    `{}` is the name of the limit: requests, tokens, input-tokens or output-tokens.
    """

    @property
    def name(self) -> str:
        """The name in front of a model: that of the module."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    def build_key_header(self, key: str) -> tuple[str, str]:
        """The header that carries the key."""
        return "authorization", f"Bearer {key}"

    @abstractmethod
    def build_request(self, conversation: Conversation, base_url: str) -> Outgoing:
        """The request of a conversation to the server at `base_url`."""

    @abstractmethod
    def read_completion(self, data: Mapping[str, Any]) -> Completion | Failure:
        """What the body of an answer says that HTTP calls a success. Some vendors hide a failure there."""

    @abstractmethod
    def read_usage(self, raw: Any) -> Usage:
        """The tokens, from the object in which the provider tells them."""

    def read_limit(self, headers: Mapping[str, str], name: str) -> tuple[str, str]:
        """What the headers of an answer say is left of a limit, and when it is full again; "" for what they do not."""
        left, reset = (
            next((value for form in forms if (value := headers.get(form.format(name)))), "")
            for forms in zip(*self.limit_headers, strict=True)
        )
        return left, reset

    def adapt(self, failure: Failure) -> ProviderProtocol | None:
        """The protocol in the form that this failure says is wanted; None where it says nothing of the kind."""
        return None

    def place_path(self, base_url: str, path: str, version: str = "") -> str:
        """A path below the base URL, with the version of the API (or our own) where the base URL names none."""
        return path if _VERSIONED.search(urlsplit(base_url).path) else f"{version or self.version}{path}"

    # --- For the gateway: which requests pass ---

    routes: tuple[RoutePattern, ...]
    """What an agent may ask. Nothing else passes, so nothing may be in here that stores, lists or runs something."""
    versions: str = "/v1"
    """The versions that an agent may write before a path, as a regular expression; it may leave them out, too."""
    parameters: tuple[str, ...] = ("limit", "after", "order", "api-version")
    """Parameters of a URL that go along; `name=value` for one with this value only.

    Others carry keys, or leave the tokens out of an answer, or give it another form.
    """
    request_headers: tuple[str, ...] = ()
    """Headers of the agent that go along."""
    answer_headers: tuple[str, ...] = ("x-request-id", "x-ratelimit-")
    """Beginnings of the names of headers of an answer that the agent gets to see."""

    def find_keys(self, headers: Mapping[str, str], parameters: Mapping[str, Sequence[str]]) -> list[str]:
        """The keys that an agent shows, wherever this protocol may have one. `parameters` are those of the URL."""
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return [key.strip()] if scheme.lower() == "bearer" else []

    # --- For the gateway: what a request says ---

    conversation: tuple[str, ...] = ("messages",)
    """The fields that hold the turns of the conversation."""
    instructions: tuple[str, ...] = ()
    """The fields that hold what the model is told before it."""
    output_limits: tuple[str, ...]
    """The fields that limit the tokens of an answer."""
    answer_counts: tuple[str, ...] = ("n",)
    """The fields that say how many answers are wanted."""
    usage_option: tuple[str, str] | None = None
    """The object in a request and its switch without which no tokens are told in a stream."""

    free_fields: tuple[str, ...] = ()
    """Fields of a turn whose objects are a model's or a tool's own: no server reads anything in them."""
    own_tools: tuple[str, ...] = ()
    """The `type` of tools that the agent itself runs; with "_" at its end the beginning of it, before a date."""

    # What no request may ask for. Servers that speak one vendor's protocol often take over another's fields, so each of
    # these holds for all protocols.
    reaching_fields: tuple[str, ...] = ()
    """Fields that make the server look elsewhere, run something, or keep something."""
    usual_values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Fields with another price than the usual, and the values with which they have the usual one, or less."""
    address_fields: tuple[str, ...] = ()
    """Fields of a turn that hold an address, which the server fetches; `a.b` is b in the object a.

    An address is whatever is no `data:` URL.
    """
    data_fields: tuple[str, ...] = ()
    """The same for fields that hold data as a rule, and where some servers take an address, too."""

    def read_call(self, path: str, fields: RequestFields) -> CallRequest:
        """What a call or a count of tokens asks for. `path` is where it goes."""
        model = fields.get("model")
        return CallRequest(model if isinstance(model, str) else "", self.count_tokens(fields))

    def count_tokens(self, fields: RequestFields) -> int:
        """The tokens of all answers at most. Of several limits the largest: which one holds, only the server knows."""
        limits = [_whole(fields.get(name)) for name in self.output_limits]
        answers = max(_whole(fields.get(name)) for name in self.answer_counts) if self.answer_counts else 1
        most = max((limit for limit in limits if 0 < limit <= _MOST_TOKENS), default=UNSAID)
        return most * max(1, min(answers, _MOST_ANSWERS))

    def list_inner_requests(self, fields: RequestFields) -> list[RequestFields]:
        """Whole requests inside of one, to which the same rules apply."""
        return []

    def list_tools(self, fields: RequestFields) -> Iterator[RequestFields]:
        """Every tool that a request offers to its model."""
        return map(RequestFields, list_objects(fields.get("tools")))

    def find_foreign_tool(self, tool: RequestFields) -> str:
        """The kind of a tool that the provider runs; "" for one that the agent itself runs.

        What is known to be the agent's passes; a kind of tool that nobody here has heard of does not.
        """
        kind = tool.get("type")
        if kind is None:
            return ""
        if not isinstance(kind, str):
            return "of no kind"
        own = any(kind.startswith(name) if name.endswith("_") else kind == name for name in self.own_tools)
        return "" if own else kind or "of no kind"

    def is_answer(self, turn: Mapping[str, Any]) -> bool:
        """Whether a turn is the model's, or was made for its sake: what follows in a conversation offers no skills."""
        return turn.get("role") in ("assistant", "model", "tool", "function")

    # --- For the gateway: what an answer says ---

    usage_field: str = "usage"
    """The field of an answer that tells the tokens. All providers count up in a stream, so the last number holds."""
    model_field: str = "model"
    """The field of an answer that names the model."""
    event_field: str = ""
    """The field of a stream's event that may hold the answer so far, "" where the event is that itself."""

    def is_usage_only(self, event: Mapping[str, Any]) -> bool:
        """Whether an event of a stream holds nothing but the tokens, and is there because of `usage_option` only."""
        return False

    # --- For the gateway: what it says itself ---

    @abstractmethod
    def write_error(self, status: int, message: str) -> Mapping[str, Any]:
        """An error as the provider words it."""

    @abstractmethod
    def write_models(self, name: str) -> Mapping[str, Any]:
        """A list of no models while no server is asked, or with a name that one, as if the provider had it."""

    def write_count(self, tokens: int) -> Mapping[str, Any]:
        """The answer to a count of tokens."""
        return {"input_tokens": tokens}


def list_objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list, or the one that stands in its place."""
    return objects([value] if isinstance(value, dict) else value)


def _whole(value: Any) -> int:
    """A whole number, 0 for whatever is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
