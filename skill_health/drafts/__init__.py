"""Prompts and tasks drafted from the skills themselves; only what a person accepts measures anything."""
