"""What stands in for a model."""
