"""The simulated agent."""
