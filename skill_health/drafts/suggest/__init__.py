"""Candidates for a description: selected on some prompts, confirmed on others that are sealed, or no better."""
