"""The page on loopback, rebuilt when what it rests on changes."""
