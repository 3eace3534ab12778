"""Settings: what a file says -> one frozen configuration."""
