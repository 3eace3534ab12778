"""What OpenCode is given: its environment and its one file of configuration."""

from __future__ import annotations

import json
from typing import Any

from skill_health.effectiveness.agents._api import Job
from skill_health.effectiveness.tasks._folder import File

PROVIDER, SKILLS = "gateway", ".opencode/skills"

# The libraries that it brings along for each protocol, and the version in the URL that they expect.
LIBRARIES = {
    "openai": ("@ai-sdk/openai-compatible", "/v1"),
    "anthropic": ("@ai-sdk/anthropic", "/v1"),
    "openai-responses": ("@ai-sdk/openai", "/v1"),
    "gemini": ("@ai-sdk/google", "/v1beta"),
}
_BUILT_IN = "customize-opencode"
_OFF = (
    "AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE", "EXTERNAL_SKILLS", "PROJECT_CONFIG", "DEFAULT_PLUGINS"
)  # fmt: skip
_FOLDERS = {"CONFIG": ".config", "DATA": ".local/share", "STATE": ".local/state", "CACHE": ".cache"}


def environment(job: Job) -> dict[str, str]:
    """Nothing is fetched, and no folder but the trial's own is looked into."""
    off = {f"OPENCODE_DISABLE_{what}": "1" for what in _OFF}
    folders = {f"XDG_{name}_HOME": f"{job.home}/{folder}" for name, folder in _FOLDERS.items()}
    # Else, where there is a network, it installs a package of its own into each new home.
    return {**off, **folders, "npm_config_offline": "true", "NO_COLOR": "1"}


def files(job: Job) -> tuple[File, ...]:
    """The configuration below home, as one in the workspace would be part of the work."""
    library, version = LIBRARIES[job.protocol]
    model: dict[str, Any] = {"name": job.model, "tool_call": True}
    if job.max_output_tokens:
        # 0 is a context of unknown size, which is never compacted.
        model["limit"] = {"context": 0, "output": job.max_output_tokens}
    whole = f"{PROVIDER}/{job.model}"
    staged = any(skill.name == _BUILT_IN for skill in job.skills)
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "model": whole,
        "small_model": whole,
        "enabled_providers": [PROVIDER],
        "permission": {"webfetch": "deny", "skill": {} if staged else {_BUILT_IN: "deny"}},
        "skills": {"paths": [f"{job.workspace}/{SKILLS}"]},
        "instructions": [f"{job.workspace}/AGENTS.md"],
        "provider": {
            PROVIDER: {
                "npm": library,
                "name": PROVIDER,
                "options": {"baseURL": job.base_url + version, "apiKey": job.key},
                "models": {job.model: model},
            }
        },
    }
    return (File(".config/opencode/opencode.json", json.dumps(settings, indent=1).encode("ascii")),)
