"""Skills -> proposals of tasks -> executable tasks, each held against deterministic rules before a person sees it."""
