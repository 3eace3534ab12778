"""What stands in for an agent."""
