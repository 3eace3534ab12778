"""The page over a fleet."""
