"""Two runs of the same tasks -> what has changed in what skills do."""
