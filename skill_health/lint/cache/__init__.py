"""What one run found, kept for the next: see lint_cache.py."""
