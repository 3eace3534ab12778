"""The interface of a provider's protocol, and of its module.

A module of this package without a leading underscore is one provider; `openai-responses` is `openai_responses.py`. It
has

    PROVIDER     an object of a subclass of ProviderProtocol

and imports nothing at its top that the base installation does not have. It has two users: the client (bench/http),
which turns our conversations into requests, and the gateway of the effectiveness benchmark, through which an agent's
program talks to the provider itself. All its methods are pure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.json_values import mapping, objects, text
from skill_health.bench.http.messages import Completion, Conversation, Outgoing, PlainRequest, Usage
from skill_health.bench.providers._batch import BatchProtocol
from skill_health.text.patterns import lazy

UNSAID = 131_072
"""The limit assumed for a call that sets none: no model writes more tokens at once."""
MODEL_NAME = r"[\w.@:~+-]+(?:/[\w.@:~+-]+)*"
"""A model's name in a path, as a regular expression."""
_MOST_TOKENS, _MOST_ANSWERS = 10**9, 1000
_VERSIONED = lazy(r"/v[0-9]+[a-z0-9]*(?:/|$)")

RouteKind = Literal["call", "count", "models"]


class AmbiguousRequest(Exception):
    """A request that two readers could read differently; the text says why."""


class RequestFields:
    """The members of a JSON object, however their names are spelled: `max_tokens` and `maxTokens` are one.

    Some servers accept any spelling, so a rule that looked for one could be bypassed. Raises AmbiguousRequest if two
    members have the same name in that sense, since only one of them would be checked.
    """

    def __init__(self, data: Any) -> None:
        given = data if isinstance(data, dict) else {}
        self._values = {normalize_name(name): value for name, value in given.items()}
        if len(self._values) != len(given):
            raise AmbiguousRequest("two fields of the body are the same to some servers")

    def get(self, name: str, missing: Any = None) -> Any:
        """The value of a member, however its name is spelled."""
        return self._values.get(normalize_name(name), missing)

    def names(self) -> list[str]:
        """The names of all members, normalized and sorted."""
        return sorted(self._values)


def normalize_name(name: str) -> str:
    """The name of a field in one normal spelling."""
    return name.replace("_", "").replace("-", "").lower()


@dataclass(frozen=True, slots=True)
class RoutePattern:
    """A request that an agent may make: `path` is a regular expression for the whole path after the API version."""

    kind: RouteKind
    method: str
    path: str


@dataclass(frozen=True, slots=True)
class CallRequest:
    """What an agent's request asks for: `model` ("" if it does not say), and the most tokens of all answers."""

    model: str = ""
    most_tokens: int = UNSAID


class ProviderProtocol(ABC):
    """One protocol, in two parts: what the client needs, and what the gateway must know of an agent's requests.

    Field names are spelled as in the provider's reference. Header names are in lower case.
    """

    # --- For the client ---

    title: str
    """One line for `router models`."""
    base_url: str
    """The vendor's own server, unless the configuration says otherwise."""
    key_env: str
    """The environment variable that holds the key of the vendor's own server."""
    price_vendor: str = ""
    """The vendor's name in the data of genai-prices; "" if it is not there."""
    fewest_cached: int = 0
    """The fewest tokens at the start of a question that the vendor's own server caches; 0 where it does not."""
    batches: BatchProtocol | None = None
    """How it takes calls in batches; None where it does not."""
    version: str = "/v1"
    """The prefix of a path if the base URL names no API version itself."""
    request_ids: tuple[str, ...] = ("x-request-id",)
    """Headers of an answer that may contain the id of the request, best first."""
    limit_headers: tuple[tuple[str, str], ...] = (("x-ratelimit-remaining-{}", "x-ratelimit-reset-{}"),)
    """Pairs of headers: what is left of a rate limit, and when it is full again.

    `{}` is the name of the limit: requests, tokens, input-tokens or output-tokens.
    """

    @property
    def name(self) -> str:
        """The name in front of a model, which is that of the module."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    def build_key_header(self, key: str) -> tuple[str, str]:
        """The header that carries the key."""
        return "authorization", f"Bearer {key}"

    @abstractmethod
    def build_request(self, conversation: Conversation, base_url: str) -> Outgoing:
        """The request of a conversation to the server at `base_url`."""

    @abstractmethod
    def read_completion(self, data: Mapping[str, Any]) -> Completion | Failure:
        """Read the body of an answer with a success status. Some vendors hide a failure there."""

    @abstractmethod
    def read_usage(self, raw: Any) -> Usage:
        """The tokens, from the object in which the provider reports them."""

    def list_models(self, base_url: str, after: str) -> PlainRequest:
        """The request for a page of the models that a server offers; `after` is what the last page said of the next."""
        return PlainRequest(self.place_path(base_url, "/models"))

    def read_models(self, data: Any) -> tuple[list[str], str]:
        """Read a page: the models by the names that calls take, and what comes after it, "" for nothing."""
        return [text(each.get("id")) for each in objects(mapping(data).get("data"))], ""

    def read_limit(self, headers: Mapping[str, str], name: str) -> tuple[str, str]:
        """What the headers of an answer say is left of a limit, and when it is full again; "" if they do not say."""
        left, reset = (
            next((value for form in forms if (value := headers.get(form.format(name)))), "")
            for forms in zip(*self.limit_headers, strict=True)
        )
        return left, reset

    def adapt(self, failure: Failure) -> ProviderProtocol | None:
        """The protocol in the form that this failure asks for; None if it asks for none."""
        return None

    def place_path(self, base_url: str, path: str, version: str = "") -> str:
        """A path below the base URL, with this API version (or the protocol's own) if the base URL names none."""
        return path if _VERSIONED.search(urlsplit(base_url).path) else f"{version or self.version}{path}"

    # --- For the gateway: which requests pass ---

    routes: tuple[RoutePattern, ...]
    """The requests that an agent may make. All others are refused; none of these may store, list or run anything."""
    versions: str = "/v1"
    """The API versions that an agent may put before a path, as a regular expression; it may also leave them out."""
    parameters: tuple[str, ...] = ("limit", "after", "order", "api-version")
    """URL parameters that are passed on; `name=value` for one with this value only.

    Others carry keys, omit the tokens from an answer, or change its form.
    """
    request_headers: tuple[str, ...] = ()
    """Headers of the agent that are passed on."""
    answer_headers: tuple[str, ...] = ("x-request-id", "x-ratelimit-")
    """Prefixes of the names of answer headers that the agent gets to see."""

    def find_keys(self, headers: Mapping[str, str], parameters: Mapping[str, Sequence[str]]) -> list[str]:
        """The keys that an agent sends, wherever this protocol may have one. `parameters` are those of the URL."""
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return [key.strip()] if scheme.lower() == "bearer" else []

    # --- For the gateway: what a request says ---

    conversation: tuple[str, ...] = ("messages",)
    """The fields that contain the turns of the conversation."""
    instructions: tuple[str, ...] = ()
    """The fields that contain what the model is told before it."""
    output_limits: tuple[str, ...]
    """The fields that limit the tokens of an answer."""
    answer_counts: tuple[str, ...] = ("n",)
    """The fields that say how many answers to give."""
    usage_option: tuple[str, str] | None = None
    """The object in a request, and its switch, without which a stream reports no tokens."""

    free_fields: tuple[str, ...] = ()
    """Fields of a turn whose objects belong to a model or a tool: no server interprets them."""
    own_tools: tuple[str, ...] = ()
    """The `type` of tools that the agent itself runs; with a trailing "_", the prefix before a date."""

    # What no request may ask for. Servers that speak one vendor's protocol often adopt another's fields, so each of
    # these applies to all protocols.
    reaching_fields: tuple[str, ...] = ()
    """Fields that make the server reach elsewhere, run something, or store something."""
    usual_values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Fields that may change the price, and their values at the usual price or below."""
    address_fields: tuple[str, ...] = ()
    """Fields of a turn with an address, which the server fetches; `a.b` is b in the object a.

    Anything but a `data:` URL is an address.
    """
    data_fields: tuple[str, ...] = ()
    """The same for fields that normally contain data, but in which some servers accept an address, too."""

    def read_call(self, path: str, fields: RequestFields) -> CallRequest:
        """Read what a call or a count of tokens asks for. `path` is where it goes."""
        model = fields.get("model")
        return CallRequest(model if isinstance(model, str) else "", self.count_tokens(fields))

    def count_tokens(self, fields: RequestFields) -> int:
        """The most tokens of all answers: the largest of several limits, as only the server knows which applies."""
        limits = [_whole(fields.get(name)) for name in self.output_limits]
        answers = max(_whole(fields.get(name)) for name in self.answer_counts) if self.answer_counts else 1
        most = max((limit for limit in limits if 0 < limit <= _MOST_TOKENS), default=UNSAID)
        return most * max(1, min(answers, _MOST_ANSWERS))

    def list_inner_requests(self, fields: RequestFields) -> list[RequestFields]:
        """Whole requests inside this one, to which the same rules apply."""
        return []

    def list_tools(self, fields: RequestFields) -> Iterator[RequestFields]:
        """Every tool that a request offers to its model."""
        return map(RequestFields, list_objects(fields.get("tools")))

    def find_foreign_tool(self, tool: RequestFields) -> str:
        """The kind of a tool that the provider runs; "" for one that the agent itself runs.

        Only tools known to run at the agent pass; unknown kinds do not.
        """
        kind = tool.get("type")
        if kind is None:
            return ""
        if not isinstance(kind, str):
            return "of no kind"
        own = any(kind.startswith(name) if name.endswith("_") else kind == name for name in self.own_tools)
        return "" if own else kind or "of no kind"

    def is_answer(self, turn: Mapping[str, Any]) -> bool:
        """Whether a turn is the model's, or follows from one: later turns of a conversation offer no skills."""
        return turn.get("role") in ("assistant", "model", "tool", "function")

    # --- For the gateway: what an answer says ---

    usage_field: str = "usage"
    """The field of an answer with the tokens. All providers count up in a stream, so the last number is right."""
    model_field: str = "model"
    """The field of an answer that names the model."""
    event_field: str = ""
    """The field of a stream event that may contain the answer so far; "" if the event itself is the answer."""

    def is_usage_only(self, event: Mapping[str, Any]) -> bool:
        """Whether a stream event contains only the tokens, and is there only because of `usage_option`."""
        return False

    # --- For the gateway: what it says itself ---

    @abstractmethod
    def write_error(self, status: int, message: str) -> Mapping[str, Any]:
        """An error as the provider words it."""

    @abstractmethod
    def write_models(self, name: str) -> Mapping[str, Any]:
        """A list of models that asks no server: empty, or with the one that is named, as if the provider had it."""

    def write_count(self, tokens: int) -> Mapping[str, Any]:
        """The answer to a count of tokens."""
        return {"input_tokens": tokens}


def list_objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list, or a single object in its place."""
    return objects([value] if isinstance(value, dict) else value)


def _whole(value: Any) -> int:
    """A whole number; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
