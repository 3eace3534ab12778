"""A run: each request within the caps, journaled, and resumed where it was stopped."""
