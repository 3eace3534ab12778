"""What the data come to: a verdict for each skill, and the answers to the four questions."""
