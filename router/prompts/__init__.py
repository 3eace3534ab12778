"""Labelled prompts, one format per file; `_load` finds the formats by walking this package."""
