"""Before a release: the tag is the version of the package, and the change log has a dated section for it.

python scripts/check_release.py v0.2.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def problems(tag: str, root: Path) -> list[str]:
    """What keeps this tag from being released."""
    source = (root / "skill_health" / "__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    version = found[1] if found else "none"
    wrong = [] if tag == f"v{version}" else [f"the tag is {tag}, and the version {version}"]
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## {re.escape(version)}, \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        wrong.append(f"CHANGELOG.md has no section of {version} with a date")
    return wrong


if __name__ == "__main__":
    told = problems(sys.argv[1], Path(__file__).resolve().parents[1])
    print(*told, sep="\n", file=sys.stderr)
    sys.exit(1 if told else 0)
