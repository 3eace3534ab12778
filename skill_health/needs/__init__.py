"""What the environment of an agent must offer for a skill to work: sixteen categories, found by reading it."""
