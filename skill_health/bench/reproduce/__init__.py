"""Runs that were made: repeated from their manifests, and verified from their raw files."""
