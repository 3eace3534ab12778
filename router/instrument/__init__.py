"""Is a model to be trusted as an instrument? Planted prompts before a run, patterns of answers after it."""
