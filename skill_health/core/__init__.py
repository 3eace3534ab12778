"""The base layer: errors, files, git, histories, JSON and extras. It imports no other room of ours but text."""
