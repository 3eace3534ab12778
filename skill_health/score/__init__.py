"""From measurements to the score of a skill and of a collection."""
