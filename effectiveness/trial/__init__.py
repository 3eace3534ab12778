"""One trial, from an empty folder to a verdict."""
