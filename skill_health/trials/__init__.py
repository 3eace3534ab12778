"""What a run has kept of its trials, read back for whoever looks at them: whole, and side by side."""
