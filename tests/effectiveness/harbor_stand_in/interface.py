"""What of Harbor's interface the back end uses, printed as JSON: of Harbor itself, or of the stand-in."""

import enum
import importlib
import inspect
import json

USED = {
    "environments.base": ("BaseEnvironment", "ExecResult"),
    "environments.capabilities": ("EnvironmentCapabilities", "EnvironmentResourceCapabilities"),
    "environments.factory": ("EnvironmentFactory",),
    "models.environment_type": ("EnvironmentType",),
    "models.task.config": ("EnvironmentConfig", "NetworkMode", "NetworkPolicy"),
    "models.trial.config": ("EnvironmentConfig", "ResourceMode"),
    "models.trial.paths": ("TrialPaths",),
}


def parameters(function):
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls", "args", "kwargs")]


def described(kind):
    """Values of an enumeration, fields of a record, else the parameters of methods."""
    if issubclass(kind, enum.Enum):
        return {"values": sorted(each.value for each in kind)}
    fields = getattr(kind, "model_fields", None) or getattr(kind, "__dataclass_fields__", None)
    methods = {
        name: parameters(getattr(kind, name)) for name, member in inspect.getmembers(kind)
        if not name.startswith("_") and callable(member) and not fields
    }  # fmt: skip
    return {
        "fields": sorted(fields or ()),
        "methods": methods | ({} if fields else {"__init__": parameters(kind.__init__)}),
        "properties": [name for name, member in inspect.getmembers(kind) if isinstance(member, property)],
        "abstract": sorted(getattr(kind, "__abstractmethods__", ())),
    }


print(json.dumps({
    f"{module}.{name}": described(getattr(importlib.import_module(f"harbor.{module}"), name))
    for module, names in USED.items() for name in names
}))  # fmt: skip
