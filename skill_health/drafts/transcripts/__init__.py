"""One module per agent whose logs can be read: what its user asked for, beside the skill that was loaded for it."""
