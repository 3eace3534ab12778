"""What a branch does to the skills of a collection."""
