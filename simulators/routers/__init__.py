"""The simulated router."""
