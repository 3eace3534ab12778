"""A task under review: its facts, its oracle, what agents did with it, and what that recommends."""
