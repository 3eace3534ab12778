"""The addresses of the project in its metadata, and in its README: those of the repository that the build names.

Nothing here knows where this repository is hosted, and a fork must not name another's pages.
"""

import os
import re
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "SKILL_HEALTH_REPOSITORY"


class RepositoryUrls(MetadataHookInterface):
    """Fills `project.urls` and `project.readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add addresses where the environment names the repository, and the README."""
        address = os.environ.get(VARIABLE, "").rstrip("/")
        if address and not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", address):
            raise ValueError(f"{VARIABLE} is no https address: {address!r}")
        metadata["urls"] = {
            "Source": address,
            "Documentation": f"{address}/blob/v{metadata['version']}/docs",
            "Changes": f"{address}/blob/v{metadata['version']}/CHANGELOG.md",
            "Issues": f"{address}/issues",
        } if address else {}  # fmt: skip
        with open(os.path.join(self.root, "README.md"), encoding="utf-8") as file:
            text = file.read()
        if address:
            text = absolute(text, address, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute(text: str, address: str, tag: str) -> str:
    """A text with pictures and links by their addresses, since an index shows it without the repository."""
    text = re.sub(r'((?:src|srcset)=")(?![a-z]+:)', rf"\g<1>{address}/raw/{tag}/", text)
    return re.sub(r"(\]\()(?![a-z]+:|#)", rf"\g<1>{address}/blob/{tag}/", text)
