"""The stand-in for Harbor is as Harbor is: the interface of both, as each Python that has one says it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from skill_health.effectiveness.sandbox import harbor

pytestmark = pytest.mark.real
STAND_IN = Path(__file__).parent / "harbor_stand_in"


def interface(python: str, **more: str) -> Any:
    """What `interface.py` prints on a Python."""
    environment = {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **more}
    # Isolated from the folder of the script, in which the stand-in lies.
    code = f"import runpy; runpy.run_path({str(STAND_IN / 'interface.py')!r})"
    ran = subprocess.run([python, "-P", "-c", code], env=environment, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def missing_in(real: Any, ours: Any) -> list[str]:
    """What the stand-in has and Harbor has not; and what Harbor demands of an environment and the stand-in does not."""
    found = []
    for name, one in ours.items():
        there = real[name]
        if one.get("abstract") != there.get("abstract"):
            found.append(f"{name}: {one.get('abstract')} != {there.get('abstract')}")
        for part in ("values", "fields", "properties"):
            lacking = set(one.get(part, ())) - {*there.get(part, ()), *there.get("methods", ())}
            found += [f"{name}: {part} {each}" for each in sorted(lacking)]
        for method, parameters in one.get("methods", {}).items():
            lacking = set(parameters) - set(there["methods"].get(method, ()))
            found += (
                [f"{name}.{method}: {each}" for each in sorted(lacking)]
                if method in there["methods"]
                else [f"{name}.{method}"]
            )
    return found


def test_the_stand_in_is_as_harbor_is() -> None:
    python = harbor._python()
    if not python:
        pytest.skip("no container engine through Harbor: `uv tool install harbor`, which needs Python 3.12 or later")
    assert missing_in(interface(python), interface(python, PYTHONPATH=str(STAND_IN))) == []
