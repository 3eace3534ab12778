"""The rules of a repository's own configuration, as ordinary rules."""
