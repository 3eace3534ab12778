"""As much of Harbor's interface as the back end uses, for the tests that run without it.

`test_harbor_real.py` compares it with Harbor itself, so that the two cannot drift apart.
"""

import enum
import importlib
import sys
import types
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace


@dataclass
class ExecResult:
    return_code: int
    stdout: str | None = None
    stderr: str | None = None


class EnvironmentType(str, enum.Enum):
    DOCKER = "docker"
    DAYTONA = "daytona"


class ResourceMode(str, enum.Enum):
    AUTO = "auto"
    LIMIT = "limit"


class NetworkMode(str, enum.Enum):
    PUBLIC = "public"
    NO_NETWORK = "no-network"


@dataclass
class NetworkPolicy:
    network_mode: NetworkMode = NetworkMode.PUBLIC


@dataclass
class EnvironmentCapabilities:
    disable_internet: bool = False


@dataclass
class EnvironmentResourceCapabilities:
    cpu_limit: bool = False
    memory_limit: bool = False
    fractional_cpus: bool = False


@dataclass
class TaskEnvironment:
    build_timeout_sec: float = 600.0
    docker_image: str | None = None
    cpus: float | None = None
    memory_mb: int | None = None
    workdir: str | None = None


@dataclass
class TrialEnvironment:
    type: EnvironmentType | None = None
    import_path: str | None = None
    cpu_enforcement_policy: ResourceMode = ResourceMode.AUTO
    memory_enforcement_policy: ResourceMode = ResourceMode.AUTO
    kwargs: dict[str, object] = field(default_factory=dict)


@dataclass
class TrialPaths:
    trial_dir: Path

    def mkdir(self) -> None:
        (self.trial_dir / "agent").mkdir(parents=True, exist_ok=True)


class BaseEnvironment(ABC):
    def __init__(
        self, environment_dir, environment_name, session_id, trial_paths, task_env_config, logger=None, *,
        network_policy=None, **kwargs,
    ):  # fmt: skip
        self.environment_dir, self.environment_name, self.session_id = environment_dir, environment_name, session_id
        self.trial_paths, self.task_env_config = trial_paths, task_env_config
        self._network_policy = network_policy or NetworkPolicy()
        self._validate_definition()
        if self._network_policy.network_mode == NetworkMode.NO_NETWORK and not self.capabilities.disable_internet:
            raise ValueError("network_mode='no-network' is not supported")

    @property
    def network_policy(self):
        return self._network_policy

    @property
    def capabilities(self):
        return EnvironmentCapabilities()

    @classmethod
    def resource_capabilities(cls):
        return None

    @classmethod
    def preflight(cls):
        return None

    @staticmethod
    @abstractmethod
    def type(): ...

    @abstractmethod
    def _validate_definition(self): ...

    @abstractmethod
    async def start(self, force_build): ...

    @abstractmethod
    async def stop(self, delete): ...

    @abstractmethod
    async def upload_file(self, source_path, target_path): ...

    @abstractmethod
    async def upload_dir(self, source_dir, target_dir): ...

    @abstractmethod
    async def download_file(self, source_path, target_path): ...

    @abstractmethod
    async def download_dir(self, source_dir, target_dir): ...

    @abstractmethod
    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None): ...


class EnvironmentFactory:
    @staticmethod
    def _class(type, import_path):
        if import_path is None:
            raise ImportError(f"The '{type.value}' environment requires extra dependencies. Install them with:\n  pip")
        module, _, name = import_path.partition(":")
        return getattr(importlib.import_module(module), name)

    @classmethod
    def run_preflight(cls, type, import_path=None):
        cls._class(type, import_path).preflight()

    @classmethod
    def resource_capabilities(cls, type, import_path=None):
        return cls._class(type, import_path).resource_capabilities()

    @classmethod
    def create_environment_from_config(
        cls, config, environment_dir, environment_name, session_id, trial_paths, task_env_config, logger=None, **kwargs
    ):
        return cls._class(config.type, config.import_path)(
            environment_dir=environment_dir, environment_name=environment_name, session_id=session_id,
            trial_paths=trial_paths, task_env_config=task_env_config, logger=logger, **kwargs,
        )  # fmt: skip


MODULES = {
    "environments.base": {"BaseEnvironment": BaseEnvironment, "ExecResult": ExecResult},
    "environments.capabilities": {
        "EnvironmentCapabilities": EnvironmentCapabilities,
        "EnvironmentResourceCapabilities": EnvironmentResourceCapabilities,
    },
    "environments.factory": {"EnvironmentFactory": EnvironmentFactory},
    "models.environment_type": {"EnvironmentType": EnvironmentType},
    "models.task.config": {
        "EnvironmentConfig": TaskEnvironment,
        "NetworkMode": NetworkMode,
        "NetworkPolicy": NetworkPolicy,
    },
    "models.trial.config": {"EnvironmentConfig": TrialEnvironment, "ResourceMode": ResourceMode},
    "models.trial.paths": {"TrialPaths": TrialPaths},
}
for _name, _names in MODULES.items():
    _parts = _name.split(".")
    for _at in range(1, len(_parts) + 1):
        _full = ".".join([__name__, *_parts[:_at]])
        _module = sys.modules.setdefault(_full, types.ModuleType(_full))
        vars(_module).update(vars(SimpleNamespace(**_names)) if _at == len(_parts) else {"__path__": []})
