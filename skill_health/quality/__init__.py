"""How well skills are written: twelve points, eight patterns of authors, and what they go with."""
