"""Rules about the file SKILL.md itself and the YAML block at its head."""
