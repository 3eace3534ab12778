"""Texts: what is safe to print, blocks and tables, and how alike two texts are. Uses the standard library alone."""
