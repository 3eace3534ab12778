"""Skills that an agent writes for itself: a session of its own before the trial, and what it left."""
