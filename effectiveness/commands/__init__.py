"""One command of `skill-health effectiveness` in each module."""
