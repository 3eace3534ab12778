"""One record for each skill: health, routing and effect, and what to do next."""
