"""Text: safe printing, blocks and tables, and similarity. Uses only the standard library."""
