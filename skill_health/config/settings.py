"""`[tool.skill-health]` of pyproject.toml, or skill-health.toml -> frozen Config."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from skill_health.core.files import blake2b

# Few configurations have rules of their own.
if TYPE_CHECKING:
    from skill_health.config.custom import CustomRule


class PerPath(NamedTuple):
    """Rules to ignore (or select) for the files that match a glob."""

    glob: str
    ignore: tuple[str, ...] = ()
    select: tuple[str, ...] = ()


class RuleLimits(NamedTuple):
    """Thresholds of the rules. Sizes are lines, estimated tokens or characters, as named."""

    body_lines: int = 500
    body_tokens: int = 5000
    reference_lines: int = 300
    trigger_within: int = 350
    similarity: float = 0.75
    containment: float = 0.9
    positives: int = 5
    negatives: int = 3


class Volatility(NamedTuple):
    """After how many days a claim is stale, by its volatility."""

    high: int = 30
    medium: int = 90
    low: int = 365


class SourceGlobs(NamedTuple):
    """Globs, relative to the root, of the registries and the evaluation material."""

    claims: tuple[str, ...] = (
        "claims.jsonl",
        "registries/claims.jsonl",
        "claims/index.jsonl",
        "researcher/claims/index.jsonl",
    )
    mechanisms: tuple[str, ...] = (
        "mechanisms.jsonl",
        "registries/mechanisms.jsonl",
        "mechanisms/registry.jsonl",
        "researcher/mechanisms/registry.jsonl",
    )
    activation: tuple[str, ...] = (
        "activation-cases.jsonl",
        "registries/activation-cases.jsonl",
        "fixtures/activation-cases.jsonl",
        "researcher/fixtures/activation-cases.jsonl",
    )
    prompts: tuple[str, ...] = (
        "prompts.jsonl",
        "registries/prompts.jsonl",
        "benchmarks/router/prompts.jsonl",
        "researcher/benchmarks/router/prompts.jsonl",
    )
    tasks: tuple[str, ...] = (
        "tasks/*/metadata.json",
        "benchmarks/effectiveness/tasks/*/metadata.json",
        "researcher/benchmarks/effectiveness/tasks/*/metadata.json",
    )


class Daily(NamedTuple):
    """What counts as drift, and where the daily run keeps its files (relative to the root).

    A risk (see `router risk`) is named that moves by more than `risk_change`, or of a new skill is `high_risk` or more.
    """

    max_drop: float = 0.05
    max_skill_drop: float = 0.10
    new_errors: int = 0
    due_days: int = 14
    window: int = 7
    reports: str = "reports"
    risk: bool = True
    risk_change: float = 0.10
    high_risk: float = 0.50


class Provider(NamedTuple):
    """One server that answers models of this name. The key is in the environment variable `key_env`, never here.

    `protocol` names a module of bench/providers. Times are seconds; `requests_per_minute` 0 means no limit of ours.
    `context` are the tokens that question and answer may have together, 0 where the price data may say it.
    """

    protocol: str
    base_url: str = ""
    key_env: str = ""
    concurrency: int = 4
    max_output_tokens: int = 1024
    timeout: int = 120
    idle_timeout: int = 60
    requests_per_minute: int = 0
    context: int = 0
    think_tags: bool = False


class ModelPrice(NamedTuple):
    """US dollars per million tokens of one model; `cached` and `cache_write` cost as `input` where they are None.

    `batch` is the part of that which calls in a batch cost.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    batch: float | None = None


class RouterSettings(NamedTuple):
    """The router benchmark. `max_loss` is the share of top-1 that a sweep may lose before it fails.

    A skill passes where the whole interval of the share of its requests that find it is at least `found`, and fails
    where it is below.

    `false_fires` is the share of prompts without a skill that local routers may answer with one, as far as the prompts
    that their threshold is chosen on can say; at 1 the threshold is chosen by `abstention`.

    Above 0, `retrieve` is how many skills the free router `retriever` leaves for a model to choose from.
    """

    models: tuple[str, ...] = ("lexical",)
    hook_models: tuple[str, ...] = ("lexical:tfidf",)
    reps: int = 3
    seed: int = 1
    mode: str = "text"
    listing: str = "full"
    template: str = "none"
    indexing: str = "description"
    namesakes: str = "as-listed"
    retrieve: int = 0
    retriever: str = "hybrid"
    controls: int = 20
    max_loss: float = 0.02
    found: float = 0.5
    abstention: str = "most-right"
    false_fires: float = 1.0
    providers: Mapping[str, Provider] = {}
    prices: Mapping[str, ModelPrice] = {}


class JudgeSettings(NamedTuple):
    """Who judges kept trials, and how often; `repeat_share` of them once more, to see whether a verdict holds."""

    models: tuple[str, ...] = ()
    votes: int = 1
    repeat_share: float = 0.10


class Effectiveness(NamedTuple):
    """The effectiveness benchmark.

    `sandbox` "" is the first that works; `pairs` are tried in the place of `arms`. `acp_*` say how
    an ACP agent is started.
    """

    agents: tuple[str, ...] = ()
    arms: tuple[str, ...] = (
        "control",
        "target",
        "placebo",
        "negative",
        "full",
        "target_plus_one",
        "target_plus_unrelated",
    )
    pairs: tuple[str, ...] = ()
    hint: str = "no"
    delivery: tuple[str, ...] = ("files",)
    reps: int = 3
    seed: int = 1
    sandbox: str = ""
    image: str = ""
    network: str = "gateway"
    allow_host: tuple[str, ...] = ()
    margin: float = 0.10
    acp_command: tuple[str, ...] = ()
    acp_env: Mapping[str, str] = {}
    judge: JudgeSettings = JudgeSettings()


class CodeFile(NamedTuple):
    """A Python file with a rule: its path, relative to the root, the code it gives, and its text where it may run."""

    path: str
    code: str
    text: str | None = None


class CustomRules(NamedTuple):
    """The rules of a repository beside ours. `python` names files with rules as code, relative to the root.

    They run only where the user says so, for this run or, in their own settings, for the repositories in `allow_code`;
    `code` is what is known of the files.
    """

    rules: "tuple[CustomRule, ...]" = ()
    python: tuple[str, ...] = ()
    allow_code: tuple[str, ...] = ()
    code: tuple[CodeFile, ...] = ()


class Config(NamedTuple):
    """One frozen configuration. `source` is the file it came from, relative to the root, or "".

    `refused` names, with their places, the settings of a repository that are for the user to say and were left out.
    `layout` are the folders and files of the root that tell which hosts its skills are for, where `hosts` does not.
    """

    source: str = ""
    refused: tuple[str, ...] = ()
    layout: tuple[str, ...] = ()
    profile: str = "standard"
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    severity: Mapping[str, str] = {}
    per_path: tuple[PerPath, ...] = ()
    baseline: str = ""
    fail_on: str = "error"
    needs_work: str = "warning"
    fail_under: float = 0.0
    limits: RuleLimits = RuleLimits()
    volatility: Volatility = Volatility()
    sources: SourceGlobs = SourceGlobs()
    daily: Daily = Daily()
    custom: CustomRules = CustomRules()
    hosts: tuple[str, ...] = ()
    listing: Mapping[str, Mapping[str, float]] = {}
    router: RouterSettings = RouterSettings()
    effectiveness: Effectiveness = Effectiveness()


def load_config(root: str, file: str | None = None) -> Config:
    """The configuration of a collection; the defaults where there is none.

    It is in skill-health.toml or in `[tool.skill-health]` of pyproject.toml in `root`, not in both; `file`
    (relative to the current directory) is read instead of them. Servers, prices and what starts programs come from that
    file or from the user's own settings, never from the repository.

    Raises UsageError, naming file and line where it can, for a file that cannot be read, invalid TOML, an unknown key
    or a value of the wrong kind.
    """
    from skill_health.config.load import read_config

    return read_config(root, file)


def config_with(config: Config, **overrides: Any) -> Config:
    """The configuration with these fields replaced, as the command line does.

    None leaves a field as it is; a list becomes a tuple. Raises ValueError for a name that is no field.
    """
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in overrides.items()}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return config._replace(**changes)


def config_digest(config: Config) -> str:
    """A hash of all linter settings in force, 32 hexadecimal digits; the same whichever file they come from."""
    import json

    plain = _plain(config._replace(source="", refused=()))
    del plain["router"], plain["effectiveness"]
    text = json.dumps(plain, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {key: _plain(inner) for key, inner in value._asdict().items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple) else value
