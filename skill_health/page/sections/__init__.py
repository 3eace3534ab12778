"""The sections of the page over the whole collection."""
