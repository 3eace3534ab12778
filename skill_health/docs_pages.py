"""docs/configuration.md and docs/schemas.md."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from skill_health.docs_markdown import MARK, code, table
from skill_health.docs_schema import Field, Schema, fields

SCHEMAS = Path(__file__).parent / "core" / "schemas"
CONFIG = "config.schema.json"

_CONFIG_HEAD = """# Configuration

Settings stand in `skill-health.toml`, or in the table `[tool.skill-health]` of `pyproject.toml`, in the folder that is
the root of the collection; `skill-health init` writes the first. An unknown key is an error that names the nearest known
one. What the command line says has the last word. Globs are those of a `.gitignore`.

```toml
# skill-health.toml
fail-on = "warning"
extend-select = ["ST008"]
exclude = ["/vendor/"]

[severity]
links = "error"

[[per-path]]
glob = "skills/legacy-*"
ignore = ["structure"]
```

The same keys as a JSON Schema, for editors: `skill_health/core/schemas/config.schema.json`.
"""
_SCHEMA_HEAD = """# Schemas

The files that skill-health reads and writes beside the skills. The JSON Schemas themselves are in
`skill_health/core/schemas/` and are part of the package. A key that a schema does not know is allowed in the registries
and tasks.
"""


def configuration_page() -> str:
    """Every key with its type, default and meaning; one table for each table of the file."""
    schema = _read(SCHEMAS / CONFIG)
    groups: dict[str, list[Field]] = {"": []}
    for field in fields(schema):
        name, _, rest = field.name.partition("." if "[]." not in field.name else "[].")
        if rest:
            groups.setdefault(name, []).append(field._replace(name=rest))
        else:
            groups[""].append(field)
    parts = [MARK, _CONFIG_HEAD, "\n## Top level\n\n", _settings(groups.pop(""))]
    for name, rows in groups.items():
        listed = schema["properties"][name].get("type") == "array"
        parts.append(f"\n## {f'[[{name}]]' if listed else f'[{name}]'}\n\n{_settings(rows)}")
    return "".join(parts)


def schemas_page() -> str:
    """The fields of every schema but the configuration's."""
    parts = [MARK, _SCHEMA_HEAD]
    for path in sorted(SCHEMAS.glob("*.schema.json")):
        if path.name == CONFIG:
            continue
        schema = _read(path)
        about = f"{schema['description']}\n\n" if "description" in schema else ""
        rows = ((code(f.name), f.type, "yes" if f.required else "no", f.meaning) for f in fields(schema))
        parts.append(f"\n## {schema['title']}\n\n{about}{code(path.name)}, {code(schema['$id'])}.\n\n")
        parts.append(table(("field", "type", "required", "meaning"), rows))
    return "".join(parts)


def _settings(rows: Iterable[Field]) -> str:
    cells = ((code(f.name), f.type, code(f.default) if f.default else "", f.meaning) for f in rows)
    return table(("key", "type", "default", "meaning"), cells)


def _read(path: Path) -> Schema:
    schema: Schema = json.loads(path.read_text(encoding="utf-8"))
    return schema
