"""Put real output into the README: runs its console blocks on its own example and writes what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
QUIET = {"lint --fix", "explain LI003"}


def main() -> None:
    """Rewrite the blocks of the section `What you see`."""
    text = README.read_text("utf-8")
    head, section = text.split("## What you see", 1)
    section, rest = section.split("\n## ", 1)
    with tempfile.TemporaryDirectory() as folder:
        skill = Path(folder, "skills", "release-notes")
        (skill / "scripts").mkdir(parents=True)
        example = re.search(r"```markdown\n(.*?)```", section, re.DOTALL)
        assert example is not None
        (skill / "SKILL.md").write_text(example[1])
        (skill / "scripts" / "gather.py").write_text("")

        def rerun(match: re.Match[str]) -> str:
            out = ""
            for command in re.findall(r"^\$ skill-health (.*)$", match[1], re.MULTILINE):
                done = subprocess.run(
                    [sys.executable, "-m", "skill_health", *command.split()], cwd=folder, capture_output=True,
                    encoding="utf-8", env={**os.environ, "NO_COLOR": "1"},
                )  # fmt: skip
                out += f"$ skill-health {command}\n" + ("" if command in QUIET else done.stdout)
            return f"```console\n{out}```"

        section = re.sub(r"```console\n(.*?)```", rerun, section, flags=re.DOTALL)
    README.write_text(head + "## What you see" + section + "\n## " + rest, encoding="utf-8")


if __name__ == "__main__":
    main()
